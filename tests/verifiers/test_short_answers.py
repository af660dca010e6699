"""Short answers: cases by kind, laws, hostile text, and the comparison with alias containment."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from verifiers import Status, verify_qa
from verifiers.cases import LabelledRow, read_rows
from verifiers.fuzzing import FRAGMENTS
from verifiers.qa_words import same_spelling, same_word, unglued, words_of

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).parent / "cases" / "short_answers.jsonl"
ROWS = read_rows(CASES)
LIMIT_S = 2.0
PIECES = (
    *FRAGMENTS, "Jane", "Roe", "Dr.", "J.", "the", "of", "not", "or", "is", "was called", "by", "However, it did not",
    "until 1950", "first", "season", "two", "million", "hundred", "and", "II", "1,000", "U.S.", "byJane", "?", '"',
    "(", "北京", "ß", "\u0301", "I could not find", "instead of", "-7", "50%", "1.2.3", "½", "٣",
)  # fmt: skip
ANSWERS = (
    ("Jane Roe", "Jane"), ("J. R. Roe", "Dr. Jane Q. Roe"), ("season two",), ("2.5 million", "2,500,000"),
    ("March 3, 1931",), ("NATO",), ("World Health Organization",), ("Paris, France", "the city of Paris"), ("北京",),
    ("7",), ("not X", "no"), ("", "(a)", "/"), ("in the Near East",), ("Roe, Jane",), ("½",), ("1.2.3",),
)  # fmt: skip
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=60).map("".join),
    st.text(max_size=200),
)


def accepts(response: str, golds: str | tuple[str, ...]) -> bool:
    return verify_qa(response, golds).status is Status.CORRECT


def golds_of(row: LabelledRow) -> tuple[str, ...]:
    return (row.ground_truth,) if isinstance(row.ground_truth, str) else row.ground_truth


# ---- cases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_cases(row: LabelledRow) -> None:
    verdict = verify_qa(row.response, row.ground_truth)
    assert (verdict.status is Status.CORRECT) == row.correct, verdict


def test_half_of_the_cases_are_wrong() -> None:
    labels = Counter(row.correct for row in ROWS)
    assert len(ROWS) >= 150
    assert 0.4 < labels[False] / len(ROWS) < 0.6


def test_reasons_say_why_a_mention_is_no_answer() -> None:
    said = {
        "It is not Mars.": "negated",
        "Mars or Venus": "hedged",
        "I could not find it; Mars was close.": "declined",
        "The canals that lie on the Mars map are called canali.": "echoed",
        "Jupiter": "different",
    }
    assert {text: verify_qa(text, ("Mars",)).reason for text in said} == said


# ---- laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_blind_to_white_space_case_of_the_gold_and_order_of_aliases(row: LabelledRow) -> None:
    golds = (*golds_of(row), "Xanadu", "Shangri-La")
    verdict = accepts(row.response, golds)
    assert accepts(row.response, golds[::-1]) == verdict
    assert accepts(f"\n  {row.response}  \n", golds) == verdict
    assert accepts(f"<think>a</think>{row.response}", golds) == verdict or "think>" in row.response


@pytest.mark.parametrize(
    "wrapper", ["%s", " %s ", "**%s**", '"%s"', r"\boxed{%s}", "<answer>%s</answer>", "%s.", "The %s"]
)
def test_an_alias_is_its_own_answer(wrapper: str) -> None:
    golds = {gold for row in ROWS for gold in golds_of(row)}
    assert [gold for gold in golds if not accepts(wrapper % gold, (gold,))] == []
    assert [gold for gold in golds if not accepts(wrapper % gold.lower(), (gold,)) and gold != "-5"] == []


@given(texts, st.sampled_from(ANSWERS))
@settings(max_examples=200, deadline=None)
def test_the_order_of_aliases_does_not_matter(response: str, golds: tuple[str, ...]) -> None:
    assert accepts(response, golds) == accepts(response, golds[::-1])


@given(st.text(max_size=12), st.text(max_size=12))
@settings(max_examples=200, deadline=None)
def test_equal_words_are_symmetric(left: str, right: str) -> None:
    if left and right:
        assert same_word(left, right) == same_word(right, left)
        assert same_spelling(left, left)


@given(st.integers(0, 10**12))
@settings(max_examples=200, deadline=None)
def test_numbers_by_value(value: int) -> None:
    assert accepts(f"{value:,}", (str(value),))
    assert not accepts(f"{value + 1:,}", (str(value),))


def test_words() -> None:
    def read(text: str) -> list[str]:
        return [word.text for word in words_of(text)]

    assert read("the second season") == read("Season Two") == ["season", "2"]
    assert read("one thousand, nine hundred and fourteen") == ["1914"]
    assert read("U.S. Navy") == read("the United States Navy") == ["usa", "navy"]
    assert unglued("sung byJane Roe") == "sung by Jane Roe"
    assert unglued("MacArthur McGee") == "MacArthur McGee"


# ---- hostile text --------------------------------------------------------------------------------------------------


def check_hostile(response: str, golds: tuple[str, ...]) -> None:
    started = time.monotonic()
    verdict = verify_qa(response, golds)
    assert time.monotonic() - started < LIMIT_S
    assert verdict.status is not Status.UNDECIDED or not any(words_of(gold) for gold in golds)


@given(texts, st.sampled_from(ANSWERS))
@settings(max_examples=500, deadline=None)
def test_hostile_text(response: str, golds: tuple[str, ...]) -> None:
    check_hostile(response, golds)


@pytest.mark.slow
@given(texts, st.one_of(st.sampled_from(ANSWERS), st.lists(st.text(max_size=30), min_size=1, max_size=4).map(tuple)))
@settings(max_examples=5000, deadline=None)
def test_much_hostile_text(response: str, golds: tuple[str, ...]) -> None:
    check_hostile(response, golds)


@pytest.mark.parametrize(
    "piece", ["is ", "1,", "A. ", "one hundred ", "However, not until ", "J. ", "(", "x/", "was called by: "]
)
def test_long_repetitions(piece: str) -> None:
    for golds in ANSWERS[::2]:
        check_hostile(piece * (100_000 // len(piece)), golds)


# ---- comparison ----------------------------------------------------------------------------------------------------


def test_better_than_alias_containment_at_no_higher_false_positive_rate() -> None:
    program = ROOT / "benchmarks" / "short_answers.py"
    sample = ROOT / "data" / "samples" / "graded_responses.jsonl.gz"
    command = [sys.executable, str(program), str(sample), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(done.stdout)
    assert found["all"]["verigold"]["accuracy"]["n"] == 670
    assert found["all"]["difference"]["accuracy"]["estimate"] >= 0.025
    assert found["all"]["difference"]["fpr"]["estimate"] <= 0.0
