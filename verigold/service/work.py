"""Requests under way: their bodies' bytes, their rows in the queue, and their deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from verifiers.registry import Request
from verifiers.verdict import Verdict
from verigold.service.errors import Refusal, full, stopping
from verigold.service.lanes import Lane
from verigold.service.limits import Limits
from verigold.service.metrics import Metrics
from verigold.service.queue import Batch, FairQueue

T = TypeVar("T")
_START_S = 180.0


class Desk:
    """The queue and the lanes of one service, as the server's event loop sees them."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held_bytes = 0
        self.queue = FairQueue(workers=limits.workers, rows=limits.queued_rows, old_s=limits.deadline_s / 2)
        self.metrics = Metrics(queued_rows=lambda: self.queue.rows, held_bytes=lambda: self.held_bytes)
        self.lanes: list[Lane] = []
        self.stopping = False
        self._aborted = asyncio.Event()

    async def open(self) -> None:
        """Returns when every worker is warm. Raises RuntimeError when one does not start."""
        self.lanes = [
            Lane(
                self.queue,
                started=lambda why: self.metrics.workers.labels(why).inc(),
                row_s=self.metrics.row_s.observe,
            )
            for _ in range(self.limits.workers)
        ]
        for lane in self.lanes:
            if not await asyncio.to_thread(lane.ready.wait, _START_S):
                raise RuntimeError(f"a worker process was not ready after {_START_S:g} s")

    async def close(self) -> None:
        """No worker is left."""
        self.queue.close()
        await asyncio.gather(*(asyncio.to_thread(lane.stop) for lane in self.lanes))

    def stop(self) -> None:
        """New requests are refused; those under way have grace_s to finish."""
        if not self.stopping:
            self.stopping = True
            asyncio.get_running_loop().call_later(self.limits.grace_s, self._aborted.set)

    @contextmanager
    def holding(self) -> Iterator[Callable[[int], None]]:
        """Yields add(bytes): of one body, counted until its request is answered. add raises Refusal (503) when all
        requests under way hold too many."""
        own = 0

        def add(count: int) -> None:
            nonlocal own
            if self.held_bytes + count > self.limits.held_bytes:
                raise full("requests under way hold too many bytes")
            own += count
            self.held_bytes += count

        if self.stopping:
            raise stopping()
        try:
            yield add
        finally:
            self.held_bytes -= own

    async def verdicts(
        self, client: str, requests: Sequence[Request], gone: Callable[[], Coroutine[Any, Any, object]]
    ) -> list[Verdict | None]:
        """In order; None for rows that had no verdict at the deadline. gone(): ends when the client hangs up.

        Raises Refusal when the queue is full, the service stops, or nobody waits for the answer any more.
        """
        loop = asyncio.get_running_loop()
        found: list[Verdict | None] = [None] * len(requests)
        missing = len(requests)
        done = loop.create_future()

        def note(place: int, verdict: Verdict) -> None:
            nonlocal missing
            found[place] = verdict
            missing -= 1
            if not missing and not done.done():
                done.set_result(None)

        batch = Batch(client, requests, lambda place, verdict: loop.call_soon_threadsafe(note, place, verdict))
        self.queue.put(batch)
        try:
            await self.until(done, self.limits.deadline_s, gone=gone())
        except TimeoutError:
            self.metrics.late_rows.inc(missing)
        finally:
            self.queue.drop(batch)
        return found

    async def until(
        self, wanted: Awaitable[T], seconds: float, *, gone: Coroutine[Any, Any, object] | None = None
    ) -> T:
        """What is awaited. Raises TimeoutError after so many seconds, and Refusal when the service stops or `gone`
        ends first."""
        task = asyncio.ensure_future(wanted)
        aborted = asyncio.ensure_future(self._aborted.wait())
        others = [aborted] if gone is None else [aborted, asyncio.ensure_future(gone)]
        try:
            await asyncio.wait((task, *others), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if aborted.done():
                raise stopping()
            if others[-1].done():
                raise Refusal(499, "gone", "the client has hung up")
            raise TimeoutError
        finally:
            for one in (task, *others):
                one.cancel()
