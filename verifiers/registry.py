"""The verifiers by name, and many requests at once."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from verifiers.choice import verify_choice
from verifiers.format import verify_format
from verifiers.math import verify_math
from verifiers.qa import verify_qa
from verifiers.reasoning_gym import verify_reasoning_gym
from verifiers.rubric import verify_rubric
from verifiers.verdict import Status, Verdict, Verifier
from verifiers.workers import ask_in_chunks

_BY_NAME: dict[str, Any] = {
    "math": verify_math,
    "choice": verify_choice,
    "qa": verify_qa,
    "format": verify_format,
    "reasoning_gym": verify_reasoning_gym,
    "rubric": verify_rubric,
}
VERIFIERS: Mapping[str, Verifier] = MappingProxyType(_BY_NAME)
"""The only registry. Options differ by verifier; `audit.check_options` reads them off the signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One response to judge. `ground_truth` as a tuple means accepted aliases."""

    response: str
    ground_truth: str | tuple[str, ...]
    verifier: str = "math"
    options: Mapping[str, Any] = field(default_factory=dict)


def verify(request: Request) -> Verdict:
    """Raises KeyError for an unknown verifier and TypeError for an unknown option: mistakes of the caller."""
    return VERIFIERS[request.verifier](request.response, request.ground_truth, **request.options)


INLINE = 2_000
"""Requests up to which other processes would cost more than they save."""
CHUNK = 100
_CHUNK_LIMIT_S = 120.0


def verify_many(requests: Sequence[Request], *, workers: int | None = None) -> list[Verdict]:
    """Verdicts in the order of the requests, the same for any number of workers; never raises for bad text.

    workers: processes; by default this one alone for few requests, else one a core. A chunk whose process dies is
    judged here.
    """
    count = workers if workers is not None else (1 if len(requests) <= INLINE else os.cpu_count() or 1)
    if count <= 1 or len(requests) <= CHUNK:
        return [verify(request) for request in requests]
    chunks = [requests[start : start + CHUNK] for start in range(0, len(requests), CHUNK)]
    asked = [
        {"task": "verify", "cpu_s": _CHUNK_LIMIT_S, "requests": [packed(item) for item in chunk]} for chunk in chunks
    ]
    verdicts: list[Verdict] = []
    for chunk, answer in zip(chunks, ask_in_chunks(asked, count, _CHUNK_LIMIT_S), strict=True):
        found = answer.get("verdicts") if answer else None
        verdicts += [unpacked(item) for item in found] if found else [verify(request) for request in chunk]
    return verdicts


def packed(request: Request) -> list[Any]:
    """A request as JSON, for a worker."""
    gold = request.ground_truth if isinstance(request.ground_truth, str) else list(request.ground_truth)
    return [request.response, gold, request.verifier, dict(request.options)]


def opened(item: Sequence[Any]) -> Request:
    """The request that was packed."""
    response, gold, name, options = item
    truth = gold if isinstance(gold, str) else tuple(gold)
    return Request(response=response, ground_truth=truth, verifier=name, options=options)


def packed_verdict(verdict: Verdict) -> list[Any]:
    """A verdict as JSON, which has no nan."""
    score = None if math.isnan(verdict.score) else verdict.score
    return [verdict.status.value, score, verdict.reason, verdict.extracted, verdict.detail]


def unpacked(item: Sequence[Any]) -> Verdict:
    """The verdict that was packed."""
    status, score, reason, extracted, detail = item
    return Verdict(
        status=Status(status),
        score=math.nan if score is None else score,
        reason=reason,
        extracted=extracted,
        detail=detail,
    )
