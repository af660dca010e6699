"""Threads that each keep one warm worker process and take turns from the queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from verifiers.registry import Request
from verifiers.verdict import Verdict
from verifiers.workers import Worker, WorkerFailure
from verigold.service import judging
from verigold.service.queue import FairQueue, Turn

RECYCLED_AFTER = 20_000
"""Rows after which a worker is replaced, with the processes it has started: whatever they cache stays bounded."""
_PAUSE_S = 1.0


class _Stopped(Exception):  # noqa: N818 - how a lane ends
    pass


class Lane:
    """One thread and its worker. started(why) is called for every process: start, recycled, cpu-limit, wall-limit,
    died. row_s(seconds) is called for every row."""

    def __init__(self, queue: FairQueue, *, started: Callable[[str], None], row_s: Callable[[float], None]) -> None:
        self._queue = queue
        self._started = started
        self._row_s = row_s
        self._judged = 0
        self._worker: Worker | None = None
        self._stop = threading.Event()
        self.ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="verifier-lane", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ends the thread, in the middle of a row too. The queue must be closed."""
        self._stop.set()
        worker = self._worker
        if worker is not None:
            worker.process.kill()
        self._thread.join()

    def _run(self) -> None:
        with suppress(_Stopped):
            worker = self._fresh("start")
            while (turn := self._queue.take()) is not None:
                begun = time.monotonic()
                worker, left = self._judge(worker, turn)
                self._queue.finish(turn, time.monotonic() - begun, left)
        if self._worker is not None:
            self._worker.kill()

    def _judge(self, worker: Worker, turn: Turn) -> tuple[Worker, list[int]]:
        """The worker to go on with, and the places that were not judged."""
        places = list(turn.places)
        begun = time.monotonic()

        def settle(verdict: Verdict) -> None:
            nonlocal begun
            now = time.monotonic()
            self._row_s(now - begun)
            begun = now
            turn.batch.settle(places.pop(0), verdict)

        try:
            for verdict in judging.judged(worker, turn.requests):
                settle(verdict)
        except WorkerFailure as failure:
            verdict, worker = self._resolved(turn.batch.requests[places[0]], failure.kind)
            settle(verdict)
        self._judged += len(turn.places) - len(places)
        if self._judged > RECYCLED_AFTER:
            worker.kill()
            worker = self._fresh("recycled")
        return worker, places

    def _resolved(self, request: Request, kind: str) -> tuple[Verdict, Worker]:
        """The verdict of a row that killed its worker. One that died of no limit may have been killed from outside,
        so that row is put once more."""
        worker = self._fresh(kind)
        if kind == "died":
            try:
                return next(judging.judged(worker, [request])), worker
            except WorkerFailure as failure:
                worker, kind = self._fresh(failure.kind), failure.kind
        verdict = judging.after_failure(worker, request, kind)
        return verdict, worker if worker.process.poll() is None else self._fresh(kind)

    def _fresh(self, why: str) -> Worker:
        """A worker that has imported what it needs. Tries until the lane is stopped; raises _Stopped then."""
        self._judged = 0
        while not (self._stop.is_set() or self._queue.closed):
            with suppress(OSError):
                self._worker = worker = Worker(judging.MODULE)
                worker.greet()
                self._started(why)
                self.ready.set()
                return worker
            self._stop.wait(_PAUSE_S)
            if self._worker is not None:
                self._worker.kill()
        raise _Stopped
