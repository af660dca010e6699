"""What the service takes and how long it may take."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

ROW_CPU_S = 4.0
"""CPU seconds of a worker for one row. The verifiers' own budgets end far below it; this is for what they overlook."""
ROW_WALL_S = 20.0
"""The backstop on the clock for one row."""


def default_workers() -> int:
    """One a core, and one that no single client can hold."""
    return (os.cpu_count() or 1) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one service.

    deadline_s: from a request's last byte to its answer.  body_s: from its head to its last byte.  head_s: for the
    head.  unread_s: for the client to take the answer.  grace_s: what requests get to finish after a stop.
    max_rows, max_chars, max_body_bytes: of one request, one response or ground truth, one body.  queued_rows: of all
    clients together; one client may hold half.  held_bytes: of the bodies of all requests under way.
    undecided: the number that trainers without a notion of undecided get.  verifier: of labels that name none.
    """

    workers: int = field(default_factory=default_workers)
    deadline_s: float = 60.0
    body_s: float = 30.0
    head_s: float = 10.0
    unread_s: float = 30.0
    grace_s: float = 10.0
    max_rows: int = 1_024
    max_chars: int = 1_000_000
    max_body_bytes: int = 8 << 20
    queued_rows: int = 32_768
    held_bytes: int = 256 << 20
    max_connections: int = 1_000
    undecided: float = 0.0
    verifier: str = "math"
