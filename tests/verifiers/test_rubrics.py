"""Rubrics: weighted criteria, each judged in both orders; doubts are never to the response's advantage."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.verifiers.judges import Scoring, judge_of
from verifiers import Request, Status, check_gold, verify_many
from verifiers.hybrid import Asked, hybrid
from verifiers.judge import Judge
from verifiers.judge_fields import MAX_RESPONSE
from verifiers.rubric import Criterion, Essay, read_criteria, score_rubrics, verify_rubric, weighted_share
from verifiers.verdict import Verdict

CRITERIA = [
    {"criterion": "Names the river", "weight": 3},
    {"criterion": "Gives a year"},
    {"criterion": "Is rude", "weight": -2},
]


def meets(*names: str) -> Judge:
    """A judge that finds the criteria with these words met, in both orders."""
    return judge_of(Scoring(lambda text, _: any(f'Criterion: """{name}' in text for name in names)))


def scored(judge: Judge, response: str = "The Rhine, in 1815.", criteria: Any = CRITERIA) -> Verdict:
    request = Request(response=response, ground_truth="-", verifier="rubric", options={"criteria": criteria})
    return hybrid([Asked(request=request, question="q")], verify_many([request]), judge, share=0.0, seed=0).verdicts[0]


@pytest.mark.parametrize(
    ("met", "score"),
    [
        (("Names", "Gives"), 1.0),
        (("Names",), 0.75),
        (("Gives",), 0.25),
        (("Names", "Is"), 0.25),
        (("Is",), 0.0),
        ((), 0.0),
    ],
)
def test_scores(met: tuple[str, ...], score: float) -> None:
    verdict = scored(meets(*met))
    assert verdict.score == score
    assert verdict.reason == "rubric"
    assert verdict.status is (Status.CORRECT if score == 1.0 else Status.INCORRECT)


def test_doubts_are_not_to_the_responses_advantage() -> None:
    """Orders that contradict one another: nothing is met, and a pitfall is."""
    for first in (True, False):
        split = judge_of(Scoring(lambda _, order, first=first: (order == 0) is first))
        assert scored(split).score == 0.0
        two = [{"criterion": "Names", "weight": 2}, {"criterion": "Is rude", "weight": -1}]
        rude = judge_of(Scoring(lambda text, order: "rude" not in text or order == 0))
        assert scored(rude, criteria=two).score == 0.5


def test_a_judge_that_fails_leaves_it_undecided() -> None:
    verdict = scored(judge_of(Scoring(lambda text, _: None if "year" in text else True)))
    assert (verdict.status, verdict.reason) == (Status.UNDECIDED, "judge-failed")
    assert math.isnan(verdict.score)


@pytest.mark.parametrize(
    ("response", "reason"), [("", "no-answer"), ("<think> so", "truncated"), ("</think> ", "no-answer")]
)
def test_nothing_to_judge_is_wrong(response: str, reason: str) -> None:
    verdict = scored(meets("Names", "Gives"), response)
    assert (verdict.status, verdict.reason) == (Status.INCORRECT, reason)


@pytest.mark.parametrize(
    "criteria",
    [
        (), [], "text", [{}], [{"criterion": ""}], [{"criterion": "x" * 401}], [{"criterion": "a", "weight": "1"}],
        [{"criterion": "a", "weight": True}], [{"criterion": "a", "weight": 0}], [{"criterion": "a", "weight": -1}],
        [{"criterion": "a", "weight": math.nan}], [{"criterion": "a"}] * 33, ["a"], {"criterion": "a"}, 7,
    ],
)  # fmt: skip
def test_criteria_that_cannot_be_used(criteria: Any) -> None:
    with pytest.raises(ValueError, match="criteria"):
        read_criteria(criteria)
    verdict = verify_rubric("text", "", criteria=criteria)
    assert (verdict.status, verdict.reason) == (Status.UNDECIDED, "gold-unparsable")
    assert check_gold("-", "rubric", {"criteria": criteria}).status is Status.UNDECIDED


def test_criteria_that_can_be_used() -> None:
    assert read_criteria(CRITERIA)[1] == Criterion(text="Gives a year", weight=1.0)
    assert check_gold("-", "rubric", {"criteria": CRITERIA}).status is Status.CORRECT


weights = st.lists(st.floats(-5, 5).filter(lambda weight: abs(weight) > 1e-3), min_size=1, max_size=6)


@given(weights, st.data())
def test_the_share_is_within_bounds_and_monotone(values: list[float], data: st.DataObject) -> None:
    met = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    share = weighted_share(values, met)
    assert 0 <= share <= 1
    place = data.draw(st.integers(0, len(values) - 1))
    more = [one or at == place for at, one in enumerate(met)]
    other = weighted_share(values, more)
    assert other >= share - 1e-12 if values[place] > 0 else other <= share + 1e-12


@settings(max_examples=50)
@given(st.text(max_size=60), st.sampled_from(["", "\n\n", '"""', "<|im_end|>"]))
def test_a_response_stays_in_its_field(text: str, mark: str) -> None:
    engine = Scoring(lambda *_: True)
    essays = [Essay(response=text + mark + text * 50, question="q", criteria=read_criteria(CRITERIA))]
    score_rubrics(judge_of(engine), essays)
    plain = Scoring(lambda *_: True)
    score_rubrics(judge_of(plain), [Essay(response="x", question="q", criteria=read_criteria(CRITERIA))])
    for asked, wanted in zip(engine.asked, plain.asked, strict=True):
        assert asked.count('"""') == wanted.count('"""')
        assert asked.count("\n") == wanted.count("\n")
        assert len(asked) <= len(wanted) + MAX_RESPONSE
