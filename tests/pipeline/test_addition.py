"""The embedded task: solutions, splits and planted defects."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import addition
from pipeline.problem import Problem, problem_id
from verifiers import verify_math


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(*[st.integers(10 ** (n - 1), 10**n - 1)] * 2)))
def test_worked_solutions_are_right_line_by_line(pair: tuple[int, int]) -> None:
    a, b = pair
    *lines, last = addition.worked(a, b).split("\n")
    assert last == f"\\boxed{{{a + b}}}"
    assert len(lines) == len(str(a))
    for line in lines:
        terms, total = line.split("=")
        assert sum(map(int, terms.split("+"))) == int(total)
    assert verify_math(addition.worked(a, b), str(a + b)).status == "correct"


def test_the_example_of_the_module() -> None:
    assert addition.worked(113, 848) == "3+8+0=11\n1+4+1=6\n1+8+0=9\n\\boxed{961}"


def test_flaws_have_the_stated_rates() -> None:
    rng = Random(0)
    drawn = [(a, b, addition.flawed(a, b, rng)) for a, b in islice(addition.pairs(0, "warm-start"), 8000)]
    assert all(re.fullmatch(r"(\d\+\d\+[01]=\d{1,2}\n)*\\boxed\{\d+\}", text) for _, _, text in drawn)
    for digits, rate in addition.NO_WORKING.items():
        texts = [(a, b, text) for a, b, text in drawn if len(str(a)) == digits]
        bare = [(a, b, text) for a, b, text in texts if "=" not in text]
        if digits > 1:
            assert len(bare) / len(texts) == pytest.approx(rate, abs=0.04)
        if bare:
            wrong = sum(text != f"\\boxed{{{a + b}}}" for a, b, text in bare) / len(bare)
            assert wrong == pytest.approx(addition.NO_WORKING_WRONG, abs=0.05)
    right = sum(text.endswith(f"{{{a + b}}}") for a, b, text in drawn) / len(drawn)
    assert 0.3 < right < 0.5
    easy = [(a, b, text) for a, b, text in drawn if addition.is_easy(a, b)]
    assert all(text == addition.worked(a, b) for a, b, text in easy)


def test_splits_are_disjoint_in_either_order() -> None:
    for a, b in islice(addition.pairs(0, "pool"), 200):
        assert addition.split_of(b, a) == "pool"
    warm = [question for question, _ in islice(addition.solutions(0, flaws=True), 3000)]
    pool = [row.question for row in addition.plant(400, 0)]
    held_out = [problem.question for problem in addition.problems(1024, 0)]
    addition.assert_disjoint(warm=warm, pool=pool, held_out=held_out)


def test_a_shared_question_is_found_however_it_is_written() -> None:
    with pytest.raises(AssertionError, match="of b is also in a"):
        addition.assert_disjoint(a=["12+34=?"], b=["$34 + 12 = ?$\n"])
    addition.assert_disjoint(a=["12+34=?", "34+12=?"], b=["12+35=?"])


def test_problems_are_distinct_right_and_repeatable() -> None:
    drawn = addition.problems(1024, 0)
    assert drawn == addition.problems(1024, 0)
    assert drawn != addition.problems(1024, 1)
    assert len({problem.id for problem in drawn}) == len({problem.question for problem in drawn}) == 1024
    for problem in drawn:
        a, b = map(int, problem.question.removesuffix("=?").split("+"))
        assert int(problem.ground_truth) == a + b
        assert problem.id == problem_id(problem.question, problem.ground_truth)
    lengths = Counter(json.loads(problem.meta_json)["digits"] for problem in drawn)
    assert set(lengths) == {2, 3, 4}
    assert 400 < lengths[3] < 620


def test_a_split_that_is_too_small_says_so() -> None:
    with pytest.raises(ValueError, match="fewer than 60 pairs"):
        addition.problems(60, 0, digits=(1,))


@pytest.mark.parametrize("seed", [0, 1])
def test_planted_defects_are_what_they_say(seed: int, tmp_path: Path) -> None:
    rows = addition.write_pool(tmp_path / "pool.jsonl", 400, seed)
    assert addition.read_pool(tmp_path / "pool.jsonl") == rows == addition.plant(400, seed)
    counts = Counter(row.kind for row in rows)
    assert {kind: counts[kind] / 400 for kind in addition.POOL_SHARES} == pytest.approx(dict(addition.POOL_SHARES))
    clusters: dict[int, list[addition.Planted]] = {}
    for row in rows:
        a, b = map(int, re.findall(r"\d+", row.question))
        assert row.true_answer == str(a + b)
        assert (row.answer != row.true_answer) == (row.kind == "wrong-gold")
        assert row.kind != "too-easy" or addition.is_easy(a, b)
        assert (len(str(a)) >= 5) == (row.kind == "too-hard")
        clusters.setdefault(row.cluster, []).append(row)
    for members in clusters.values():
        kinds = [row.kind for row in members]
        assert len(members) == 1 or ("clean" in kinds and {"duplicate", "reformatted"} & set(kinds))
        original = next((row.question for row in members if row.kind == "clean"), None)
        for row in members:
            assert row.kind != "duplicate" or row.question == original
            assert row.kind != "reformatted" or row.question != original


def as_problems(rows: list[addition.Planted]) -> list[Problem]:
    base = addition.to_problem(1, 2, 0, "pool")
    return [replace(base, index=index, question=row.question) for index, row in enumerate(rows)]


def test_removal_is_counted_by_kind() -> None:
    rows = addition.plant(200, 0)
    problems = as_problems(rows)
    everything = addition.planted_removal(rows, problems)
    assert all(entry["removed"] == 0 for entry in everything.values())
    assert sum(entry["n"] for entry in everything.values()) == 200
    nothing = addition.planted_removal(rows, [])
    assert all(entry["removed"] == entry["n"] for entry in nothing.values())
    without = [p for p, row in zip(problems, rows, strict=True) if row.kind != "wrong-gold"]
    assert addition.planted_removal(rows, without)["wrong-gold"] == {"n": 40, "removed": 40}


def test_a_copy_counts_as_removed_whichever_of_the_two_is_left() -> None:
    rows = addition.plant(200, 0)
    problems = as_problems(rows)
    copy = next(index for index, row in enumerate(rows) if row.kind == "duplicate")
    original = next(i for i, row in enumerate(rows) if row.cluster == rows[copy].cluster and i != copy)
    for gone in (copy, original):
        kept = [problem for problem in problems if problem.index != gone]
        assert addition.planted_removal(rows, kept)["duplicate"]["removed"] == 1


def test_the_corpus_is_fixed() -> None:
    assert addition.tokenizer_corpus() == addition.tokenizer_corpus()
