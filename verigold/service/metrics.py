"""What the service counts, in a registry of its own; Prometheus reads it as text."""

from __future__ import annotations

from collections.abc import Callable

import psutil
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from verifiers.verdict import Status

_ROW_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_REQUEST_S = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """queued_rows, held_bytes: read at every scrape."""

    def __init__(self, *, queued_rows: Callable[[], float], held_bytes: Callable[[], float]) -> None:
        registry = self._registry = CollectorRegistry()
        self.requests = Counter("verigold_requests", "Answered requests.", ("path", "status"), registry=registry)
        self.request_s = Histogram(
            "verigold_request_seconds",
            "From the last byte of a request to its answer.",
            ("path",),
            buckets=_REQUEST_S,
            registry=registry,
        )
        self.rows = Counter("verigold_rows", "Judged rows by verdict.", ("status",), registry=registry)
        for status in Status:
            self.rows.labels(status.value)
        self.late_rows = Counter("verigold_late_rows", "Rows that had no verdict at the deadline.", registry=registry)
        self.row_s = Histogram("verigold_row_seconds", "Worker seconds of a row.", buckets=_ROW_S, registry=registry)
        self.workers = Counter("verigold_workers_started", "Worker processes by reason.", ("why",), registry=registry)
        gauge = Gauge("verigold_queued_rows", "Rows that wait for a worker.", registry=registry)
        gauge.set_function(queued_rows)
        held = Gauge("verigold_held_bytes", "Bodies of requests under way.", registry=registry)
        held.set_function(held_bytes)
        memory = Gauge("verigold_memory_bytes", "Resident memory.", ("of",), registry=registry)
        memory.labels("service").set_function(lambda: psutil.Process().memory_info().rss)
        memory.labels("workers").set_function(worker_bytes)

    def text(self) -> bytes:
        return generate_latest(self._registry)


def worker_bytes() -> int:
    """Resident memory of all processes below this one."""
    total = 0
    for child in psutil.Process().children(recursive=True):
        try:
            total += child.memory_info().rss
        except psutil.Error:
            continue
    return total
