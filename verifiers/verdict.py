"""Verdicts: what a verifier says of one response."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Status(StrEnum):
    """The three outcomes. `UNDECIDED` is for faults of our side, never for a response that is hard to read."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One verifier's judgement of one response.

    score: 1.0, 0.0, or a graded value in [0, 1]; nan when undecided.
    reason: stable code such as `exact`, `numeric`, `symbolic`, `no-answer`, `truncated`, `hedged`,
        `type-mismatch`, `response-too-complex`, `gold-unparsable`.
    extracted: the text that was compared, None when there was none.
    detail: one line for a person.
    """

    status: Status
    score: float
    reason: str
    extracted: str | None
    detail: str = ""


def correct(reason: str, extracted: str | None, *, score: float = 1.0, detail: str = "") -> Verdict:
    return Verdict(status=Status.CORRECT, score=score, reason=reason, extracted=extracted, detail=detail)


def incorrect(reason: str, extracted: str | None, *, score: float = 0.0, detail: str = "") -> Verdict:
    return Verdict(status=Status.INCORRECT, score=score, reason=reason, extracted=extracted, detail=detail)


def undecided(reason: str, extracted: str | None = None, *, detail: str = "") -> Verdict:
    return Verdict(status=Status.UNDECIDED, score=math.nan, reason=reason, extracted=extracted, detail=detail)


class Verifier(Protocol):
    """A function from (response, ground truth) to a verdict; a sequence of ground truths means accepted aliases."""

    def __call__(self, response: str, ground_truth: str | Sequence[str], /, **options: Any) -> Verdict: ...
