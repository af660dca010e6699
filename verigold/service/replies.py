"""Verdicts to what each kind of client reads. Undecided is null where the client can tell, else a stated number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifiers.reward import reward
from verifiers.verdict import Status, Verdict, undecided
from verigold.service.bodies import Row
from verigold.service.errors import Refusal
from verigold.service.limits import Limits

LATE = "service-deadline"
"""Reason of a row that was not judged in time: the service had too much to do."""


def verify_reply(rows: Sequence[Row], verdicts: Sequence[Verdict | None], limits: Limits) -> Mapping[str, Any]:
    del limits
    found = [verdict or undecided(LATE) for verdict in verdicts]
    return {
        "verdicts": [
            {
                "id": row.id,
                "status": verdict.status.value,
                "score": reward(verdict),
                "reason": verdict.reason,
                "extracted": verdict.extracted,
                "detail": verdict.detail,
            }
            for row, verdict in zip(rows, found, strict=True)
        ],
        "undecided": sum(verdict.status is Status.UNDECIDED for verdict in found),
    }


def reward_reply(rows: Sequence[Row], verdicts: Sequence[Verdict | None], limits: Limits) -> Mapping[str, Any]:
    del limits
    found = [verdict or undecided(LATE) for verdict in verdicts]
    return {
        "ids": [row.id for row in rows],
        "rewards": [reward(verdict) for verdict in found],
        "undecided": [verdict.status is Status.UNDECIDED for verdict in found],
        "reasons": [verdict.reason for verdict in found],
    }


def openrlhf_reply(rows: Sequence[Row], verdicts: Sequence[Verdict | None], limits: Limits) -> Mapping[str, Any]:
    """`extra_logs` is averaged into OpenRLHF's log, so the share of undecided samples is seen there."""
    del rows
    rewards, flags = _numbers(verdicts, limits)
    return {"rewards": rewards, "scores": rewards, "extra_logs": {"undecided": flags}}


def slime_reply(rows: Sequence[Row], verdicts: Sequence[Verdict | None], limits: Limits) -> float:
    del rows
    return _numbers(verdicts, limits)[0][0]


def _numbers(verdicts: Sequence[Verdict | None], limits: Limits) -> tuple[list[float], list[float]]:
    """Rewards, and 1.0 where undecided. Raises Refusal (503) when a row has no verdict: these clients ask again, and
    a number in its place would be learned from."""
    late = next((place for place, verdict in enumerate(verdicts) if verdict is None), None)
    if late is not None:
        raise Refusal(503, LATE, "not all rows were judged in time", row=late, retry_s=1)
    found = [None if verdict is None else reward(verdict) for verdict in verdicts]
    return [limits.undecided if one is None else one for one in found], [float(one is None) for one in found]
