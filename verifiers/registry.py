"""The verifiers by name, and many requests at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from verifiers.choice import verify_choice
from verifiers.format import verify_format
from verifiers.math import verify_math
from verifiers.qa import verify_qa
from verifiers.verdict import Verdict, Verifier

VERIFIERS: Mapping[str, Verifier] = MappingProxyType(
    {"math": verify_math, "choice": verify_choice, "qa": verify_qa, "format": verify_format}
)


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


def verify_many(requests: Sequence[Request], *, workers: int | None = None) -> list[Verdict]:
    """Verdicts in the order of the requests; never raises for bad text."""
    return [verify(request) for request in requests]
