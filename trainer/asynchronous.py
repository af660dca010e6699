"""One batch ahead: a thread draws the next batch while this one is trained on.

The order of things is strict, so that a run is a function of its recipe, however fast either side is:

    step t   take batch t  ->  send the weights, version v  ->  begin batch t + 1  ->  train on batch t (v to v + 1)

Whoever is first waits for the other. Batch t + 1 is of version v and trained on at version v + 1 at most, its surplus
one version later still. A checkpoint waits for the batch that is being drawn, as the next step would, and holds it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import torch

from engines.engine import Completion, Prompt, Sampler, SamplingParams
from trainer.groups import Filled
from trainer.rollout_group import group_from_json


class Ahead:
    """The batch that is being drawn, or was drawn and not yet taken."""

    def __init__(self, ready: Filled | None = None) -> None:
        """ready: from a checkpoint."""
        self.ready = ready
        self.drawing_s: float | None = None
        self.wait_s = 0.0
        self._stop = threading.Event()
        self._pool: ThreadPoolExecutor | None = None
        self._future: Future[tuple[Filled, float]] | None = None

    def begin(self, draw: Callable[[], Filled]) -> None:
        """Draws in the thread. The last batch must have been taken: there is one engine."""
        if self.ready is not None or self._future is not None:
            raise RuntimeError("the batch before has not been taken")
        if self._pool is None:
            # A new thread would take torch's own number of threads, and with it other roundings.
            threads = torch.get_num_threads()
            self._pool = ThreadPoolExecutor(1, "drawing", initializer=torch.set_num_threads, initargs=(threads,))
        self._future = self._pool.submit(_timed, draw)

    def settle(self) -> None:
        """Waits for the batch that is being drawn. Raises what drawing it has raised."""
        if self._future is None:
            return
        future, self._future = self._future, None
        started = time.monotonic()
        self.ready, self.drawing_s = future.result()
        self.wait_s = time.monotonic() - started

    def take(self) -> Filled | None:
        """The batch drawn ahead, waiting for it if need be; None when none was begun."""
        self.settle()
        ready, self.ready = self.ready, None
        return ready

    def times(self) -> dict[str, float]:
        """Of the batch settled last: seconds it took, seconds that were spent waiting for it, and the share of its
        drawing behind which the run went on."""
        if self.drawing_s is None:
            return {}
        hidden = max(0.0, self.drawing_s - self.wait_s)
        share = hidden / self.drawing_s if self.drawing_s > 0 else 0.0
        return {"time/drawing_s": self.drawing_s, "time/wait_s": self.wait_s, "time/overlap_share": share}

    def guard(self, sampler: Sampler) -> Sampler:
        """The sampler, which stops drawing when this is closed."""
        return _Stoppable(sampler, self._stop)

    def close(self) -> None:
        """Gives up a batch that is being drawn: waits until the engine hands over its next completion."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _timed(draw: Callable[[], Filled]) -> tuple[Filled, float]:
    started = time.monotonic()
    return draw(), time.monotonic() - started


class _UnwantedError(Exception):
    """The run is over; nobody waits for this batch."""


class _Stoppable:
    def __init__(self, sampler: Sampler, stop: threading.Event) -> None:
        self.sampler = sampler
        self.stop = stop

    @property
    def digest(self) -> str:
        return self.sampler.digest

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        for found in self.sampler.generate(prompts, params):
            if self.stop.is_set():
                raise _UnwantedError
            yield found


def filled_to_json(filled: Filled) -> dict[str, Any]:
    return asdict(filled)


def filled_from_json(value: dict[str, Any]) -> Filled:
    """The inverse of `filled_to_json` after JSON."""
    groups: dict[str, Any] = {
        name: [group_from_json(group) for group in value[name]] for name in ("kept", "surplus", "drawn")
    }
    return Filled(**(value | groups))
