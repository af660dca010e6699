"""Seconds by name."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """`with clock("score"): ...` adds up; `take("score")` returns the sum and starts it anew."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] += time.monotonic() - started

    def take(self, name: str) -> float:
        return self._seconds.pop(name, 0.0)
