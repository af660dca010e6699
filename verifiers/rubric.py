"""Rubrics as rewards (RaR, arXiv:2507.17746): weighted criteria, each judged by a model, their share as the score.

`verify_rubric` alone decides nothing but that there is a response: the criteria want a judge (`score_rubrics`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verifiers import extract
from verifiers.judge import Judge
from verifiers.judge_fields import MAX_QUESTION, MAX_RESPONSE, field
from verifiers.judge_prompts import RUBRIC
from verifiers.verdict import Verdict, correct, incorrect, undecided

MAX_CRITERIA = 32
MAX_CRITERION = 400
NEEDS_JUDGE = "needs-judge"
UNUSABLE = "gold-unparsable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """weight: below 0 it is a pitfall, which takes away when it is met."""

    text: str
    weight: float


def weighted_share(weights: Sequence[float], met: Sequence[bool]) -> float:
    """Weighted share of the criteria met, of the positive weights; within [0, 1]; 0 without a positive weight."""
    whole = sum(weight for weight in weights if weight > 0)
    reached = sum(weight for weight, one in zip(weights, met, strict=True) if one)
    return min(max(reached / whole, 0.0), 1.0) if whole > 0 else 0.0


def read_criteria(criteria: Any) -> tuple[Criterion, ...]:
    """From a list of {"criterion": text, "weight": number} (weight 1 by default). Raises ValueError: what is wrong."""
    if not isinstance(criteria, Sequence) or isinstance(criteria, str) or not 0 < len(criteria) <= MAX_CRITERIA:
        raise ValueError(f"criteria must be a list of 1 to {MAX_CRITERIA} objects with `criterion` and `weight`")
    found = [_criterion(item) for item in criteria]
    if not any(one.weight > 0 for one in found):
        raise ValueError("criteria: one weight at least must be above 0")
    return tuple(found)


def _criterion(item: Any) -> Criterion:
    text, weight = (item.get("criterion"), item.get("weight", 1)) if isinstance(item, Mapping) else (None, 1)
    if not isinstance(text, str) or not 0 < len(text.strip()) <= MAX_CRITERION:
        raise ValueError(f"criteria: `criterion` must be a text of 1 to {MAX_CRITERION} characters")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight) or weight == 0:
        raise ValueError(f"criteria: `weight` must be a number other than 0, got {weight!r}")
    return Criterion(text=text.strip(), weight=float(weight))


def verify_rubric(
    response: str, ground_truth: str | Sequence[str] = "", /, *, criteria: Sequence[Mapping[str, Any]] = ()
) -> Verdict:
    """Undecided (`needs-judge`) where there is a response to hold against the criteria; incorrect where there is none.

    criteria: objects with `criterion` and `weight`. The ground truth is not read. Never raises for bad text or
    criteria.
    """
    del ground_truth
    try:
        read_criteria(criteria)
    except ValueError as error:
        return undecided(UNUSABLE, detail=str(error))
    text = extract.after_thoughts(response)
    if text is None or not text.strip():
        return incorrect("truncated" if text is None else "no-answer", None)
    return undecided(NEEDS_JUDGE, text.strip()[:MAX_RESPONSE])


def check_criteria(ground_truth: str, options: Mapping[str, Any]) -> Verdict:
    """Correct when the criteria can be used; otherwise undecided."""
    try:
        read_criteria(options.get("criteria", ()))
    except ValueError as error:
        return undecided(UNUSABLE, detail=str(error))
    return correct("exact", ground_truth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Essay:
    """A response to score: what `verify_rubric` found of it, the question and the usable criteria."""

    response: str
    question: str
    criteria: tuple[Criterion, ...]


def score_rubrics(judge: Judge, essays: Sequence[Essay]) -> list[Verdict]:
    """One graded verdict each. A doubt is never to the response's advantage: a criterion is met when both orders say
    so, a pitfall is avoided when both say so. Undecided (`judge-failed`) when a criterion could not be judged."""
    fields = [_fields(essay, criterion) for essay in essays for criterion in essay.criteria]
    orders = [judge.ask_order(fields, order, RUBRIC) for order in (0, 1)]
    votes = iter(zip(*orders, strict=True))
    return [_scored(essay, [next(votes) for _ in essay.criteria]) for essay in essays]


def _fields(essay: Essay, criterion: Criterion) -> dict[str, str]:
    return {
        "question": field(essay.question, MAX_QUESTION) or "(not given)",
        "response": field(essay.response, MAX_RESPONSE),
        "criterion": field(criterion.text, MAX_CRITERION),
    }


def _scored(essay: Essay, votes: Sequence[tuple[float | None, float | None]]) -> Verdict:
    said = [[value > 0.5 for value in vote if value is not None] for vote in votes]
    if any(len(both) < 2 for both in said):
        return undecided("judge-failed", essay.response)
    met = [all(both) if one.weight > 0 else any(both) for one, both in zip(essay.criteria, said, strict=True)]
    score = weighted_share([one.weight for one in essay.criteria], met)
    detail = f"{sum(met)} of {len(met)} criteria met"
    if score == 1.0:
        return correct("rubric", essay.response, detail=detail)
    return incorrect("rubric", essay.response, score=score, detail=detail)
