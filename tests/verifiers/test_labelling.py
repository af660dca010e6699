"""Rows drawn for a person, and the answers kept."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.audit import AuditResult, read_rows, run_audit
from verifiers.cases import LabelledRow
from verifiers.labelling import LABELS_FILE, Draw, labels_text, read_labels, with_labels

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "samples" / "graded_responses.jsonl.gz"


@pytest.fixture(scope="module")
def truth() -> list[LabelledRow]:
    return read_rows(SAMPLE)[:400]


@pytest.fixture(scope="module")
def result(truth: list[LabelledRow]) -> AuditResult:
    return run_audit([replace(row, correct=None) for row in truth], workers=1)


@settings(max_examples=10, deadline=None)
@given(stops=st.lists(st.integers(1, 6), max_size=4), skipped=st.sets(st.integers(0, 19)))
def test_an_interrupted_session_goes_on_as_if_it_had_not_been(
    result: AuditResult, truth: list[LabelledRow], stops: list[int], skipped: set[int]
) -> None:
    def answers(breaks: list[int]) -> tuple[list[str], str]:
        draw, given = Draw(result, []), []
        for step in range(20):
            if step in breaks:
                draw = Draw(result, given)
            place = draw.next()
            assert place is not None
            given.append(draw.answer(place, None if step in skipped else truth[place].correct))
        return [answer.row.id for answer in given], labels_text(given)

    whole = answers([])
    assert answers([sum(stops[: index + 1]) for index in range(len(stops))]) == whole
    assert len(set(whole[0])) == 20


def test_all_rows_are_asked_once_and_then_none_is_left(result: AuditResult) -> None:
    small = replace(result, rows=result.rows[:30], verdicts=result.verdicts[:30])
    draw, asked = Draw(small, []), []
    while (place := draw.next()) is not None:
        draw.answer(place, None if len(asked) % 3 == 0 else True)
        asked.append(place)
    assert sorted(asked) == list(range(30))


def test_labels_are_cases_and_find_their_rows_again(
    result: AuditResult, truth: list[LabelledRow], tmp_path: Path
) -> None:
    draw, given = Draw(result, []), []
    for step in range(12):
        place = draw.next()
        assert place is not None
        given.append(draw.answer(place, None if step == 3 else truth[place].correct))
    (tmp_path / LABELS_FILE).write_text(labels_text(given), encoding="utf-8")
    assert read_labels(tmp_path) == [replace(answer, row=replace(answer.row, correct=None)) for answer in given]
    cases = read_rows(tmp_path / LABELS_FILE)
    assert [case.correct for case in cases] == [answer.correct for answer in given]
    shuffled = [replace(row, id=f"other-{index}") for index, row in enumerate(reversed(result.rows))]
    filled, strangers = with_labels(shuffled, given)
    known = {row.response: row.correct for row in truth}
    assert strangers == 0
    assert sum(row.correct is not None for row in filled) >= 11
    assert all(row.correct in (None, known[row.response]) for row in filled)
    assert with_labels(truth, given)[0] == truth
    assert with_labels(shuffled[:0], given)[1] == 12


def test_equal_rows_are_asked_once(result: AuditResult) -> None:
    twice = replace(result, rows=result.rows[:20] * 2, verdicts=result.verdicts[:20] * 2)
    draw, given = Draw(twice, []), []
    while (place := draw.next()) is not None:
        given.append(draw.answer(place, True))
    assert len(given) == 20
    assert all(row.correct for row in with_labels(twice.rows, given)[0])


def test_no_answers_yet(tmp_path: Path) -> None:
    assert read_labels(tmp_path) == []
