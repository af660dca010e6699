"""Evaluation: unbiased estimators, intervals over problems, paired comparison, and a real model measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.problem import Problem
from pipeline.rollouts import request_for
from trainer.evaluate import (
    EvalResult,
    EvalSettings,
    ProblemResult,
    evaluate,
    interval,
    paired_difference,
    pass_at_k,
    problems_digest,
)
from trainer.majority import maj_at_k, majority, votes
from verifiers import Request, verify_many
from verifiers.verdict import Verdict, correct, incorrect


@given(n=st.integers(1, 10), data=st.data())
def test_pass_at_k_is_the_mean_over_all_subsets(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    outcomes = [1] * c + [0] * (n - c)
    subsets = list(combinations(outcomes, k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(max(subset) for subset in subsets) / len(subsets))


def test_pass_at_k_does_not_resample() -> None:
    """Bootstrap with replacement would say 0.684 for one right of four at k = 4."""
    assert pass_at_k(4, 1, 4) == 1.0
    assert pass_at_k(4, 1, 1) == 0.25
    with pytest.raises(ValueError, match="at least 5 samples"):
        pass_at_k(4, 1, 5)


def test_interval_is_over_problems() -> None:
    found = interval([0.0, 1.0] * 200)
    assert found.estimate == 0.5
    assert found.low == pytest.approx(0.45, abs=0.01)
    assert found.high == pytest.approx(0.55, abs=0.01)
    constant = interval([1.0, 1.0, 1.0])
    assert (constant.estimate, constant.low, constant.high) == (1.0, 1.0, 1.0)


def result(rates: list[list[bool]], label: str = "a") -> EvalResult:
    problems = tuple(
        ProblemResult(id=str(place), greedy=any(correct), correct=tuple(correct), undecided=0)
        for place, correct in enumerate(rates)
    )
    settings = EvalSettings(samples=2, k_samples=2, k_problems=len(rates))
    return EvalResult(
        label=label, model="m", shards_digest="d", settings=settings, generated_tokens=0, problems=problems
    )


def test_paired_comparison_is_tighter_than_two_intervals() -> None:
    """The same problems are hard for both models; the difference is constant."""
    before = [[False, False], [True, False], [True, True], [False, False]] * 50
    after = [[False, True], [True, True], [True, True], [False, True]] * 50
    found = paired_difference(result(after).to_json(), result(before).to_json())
    difference = found["pass_at_1"]
    assert difference.estimate == pytest.approx(0.375)
    own = interval(result(after).pass_at_1_values())
    assert difference.high - difference.low < (own.high - own.low)
    assert found["greedy"].estimate == pytest.approx(0.5)
    other = result(before).to_json() | {"shards_digest": "e"}
    with pytest.raises(ValueError, match="same problems"):
        paired_difference(result(after).to_json(), other)


def test_a_real_model(model_folder: Path, problems: list[Problem]) -> None:
    settings = EvalSettings(samples=2, k_samples=4, k_problems=3, max_tokens=4)
    found = evaluate(model_folder, problems[:5], settings=settings, label="tiny")
    value = found.to_json()
    assert value["n"] == 5
    assert value["greedy"] == {"estimate": 0.0, "low": 0.0, "high": 0.0}
    assert value["pass_at_1"]["samples"] == 2
    rates = [row["pass_at_1"] for row in value["problems"]]
    assert value["pass_at_1"]["standard_error"] == pytest.approx(statistics.stdev(rates) / len(rates) ** 0.5)
    assert list(value["pass_at_k"]) == ["1", "2", "4"]
    assert value["pass_at_k_problems"] == 3
    assert value["generated_tokens"] == (5 + 5 * 2 + 3 * 2) * 4
    assert value["shards_digest"] == problems_digest(problems[:5]) != problems_digest(problems[:4])
    assert [entry["of"] for entry in value["problems"]] == [4, 4, 4, 2, 2]


def test_more_samples_do_not_change_the_first_ones(
    model_folder: Path, problems: list[Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """pass@1 does not depend on how many samples pass@k asks for. A random model is right of nothing that a verifier
    accepts, so here a response is right when its length is even."""

    def verify(requests: Sequence[Request], *, workers: int | None) -> list[Verdict]:
        del workers
        return [
            correct("even", None) if len(request.response) % 2 == 0 else incorrect("odd", None) for request in requests
        ]

    monkeypatch.setattr("trainer.evaluate.verify_many", verify)
    narrow, wide = (
        evaluate(model_folder, problems[:6], settings=settings, label="x")
        for settings in (
            EvalSettings(samples=4, k_samples=4, k_problems=0, max_tokens=3),
            EvalSettings(samples=4, k_samples=8, k_problems=6, max_tokens=3),
        )
    )
    assert narrow.pass_at_1_values() == wide.pass_at_1_values()
    assert 0 < sum(narrow.pass_at_1_values()) < 6
    assert narrow.greedy_values() == wide.greedy_values()


def answers(problem: Problem, *texts: str) -> list[Verdict]:
    return verify_many([request_for(problem, text) for text in texts], workers=1)


def test_alike_answers_vote_together_and_unparsed_ones_never(problems: list[Problem]) -> None:
    """1/2, 0.5 and \\frac12 are one answer; a sample without an answer abstains; of equal votes the first wins."""
    problem = replace(problems[0], ground_truth="7")
    said = ["\\boxed{7}", "\\boxed{0.5}", "no idea at all", "\\boxed{\\frac{1}{2}}", "\\boxed{9}", "\\boxed{7}"]
    (cast,) = votes([problem], [answers(problem, *said)], workers=1)
    assert cast == (0, 1, -1, 1, 2, 0)
    assert majority(cast) == 0
    assert majority(cast[1:]) == 1
    assert majority((-1, -1)) is None
    assert maj_at_k(cast, 6) == 1.0
    assert maj_at_k(cast, 2) == pytest.approx(1 / 3)  # (0, 1) right by order, (-1, 1) wrong, (2, 0) wrong by order
    with pytest.raises(ValueError, match="at least 7"):
        maj_at_k(cast, 7)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=12), st.integers(0, 3))
def test_abstentions_change_no_majority(cast: list[int], place: int) -> None:
    spread = [*cast[:place], -1, *cast[place:], -1]
    assert majority(spread) == majority(cast)


def test_a_majority_is_measured_and_parts_are_told_apart(model_folder: Path, problems: list[Problem]) -> None:
    marked = [replace(p, meta_json='{"template_overlap": "b#1"}') if i < 2 else p for i, p in enumerate(problems[:5])]
    settings = EvalSettings(samples=2, k_samples=4, k_problems=3, max_tokens=4, majority=True)
    value = evaluate(model_folder, marked, settings=settings, label="tiny").to_json()
    assert list(value["maj_at_k"]) == ["4"]
    assert {name: part["n"] for name, part in value["parts"].items()} == {"clean": 3, "overlapping": 2}
    assert [len(entry.get("votes", ())) for entry in value["problems"]] == [4, 4, 4, 0, 0]
    assert evaluate(model_folder, problems[:2], settings=settings, label="x").to_json()["parts"] == {}
