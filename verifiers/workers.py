"""Killable worker processes for what cannot be bounded beforehand, and for batches.

A worker is `python -P -m verifiers.workers`, a plain child process that reads requests and writes answers as JSON with
a length before each. It works from threads, from daemonic pool processes (which may not have multiprocessing children)
and after a fork, and uses no signal in the parent. Deciding budgets are CPU seconds of the child and its memory; the
wall limit is a backstop for a machine under load.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

CPU_LIMIT_S = 0.5
WALL_LIMIT_S = 1.6
MEMORY_LIMIT_BYTES = 1 << 30
MAX_IDLE = 2
"""Warm workers kept for the next request."""
_PARENT_CHECK_S = 2.0
_HEADER = struct.Struct(">I")
_MAX_FRAME = 1 << 26
_START_LIMIT_S = 30.0


class WorkerFailure(Exception):  # noqa: N818 - a verdict, not a mistake of ours
    """The child did not answer. kind: cpu-limit (its own budget ran out), wall-limit, or died."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


# ---- frames --------------------------------------------------------------------------------------------------------


def _write(descriptor: int, value: Any) -> None:
    data = json.dumps(value).encode()
    view = memoryview(_HEADER.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read_exactly(descriptor: int, count: int, deadline: float | None, owner: int | None = None) -> bytes | None:
    """None at the end of the stream. Raises TimeoutError after the deadline. `owner`: stop when this parent is gone."""
    parts: list[bytes] = []
    while count:
        wait = _PARENT_CHECK_S if deadline is None else deadline - time.monotonic()
        if wait <= 0:
            raise TimeoutError
        if not select.select([descriptor], [], [], wait)[0]:
            if owner is not None and os.getppid() != owner:
                return None
            continue
        part = os.read(descriptor, min(count, 1 << 16))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _read(descriptor: int, deadline: float | None, owner: int | None = None) -> Any:
    """None at the end of the stream."""
    header = _read_exactly(descriptor, _HEADER.size, deadline, owner)
    if header is None:
        return None
    size = _HEADER.unpack(header)[0]
    if size > _MAX_FRAME:
        return None
    data = _read_exactly(descriptor, size, deadline, owner)
    return None if data is None else json.loads(data)


# ---- parent --------------------------------------------------------------------------------------------------------


class Worker:
    """One child process. Not shared between threads."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "verifiers.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self.ready = False

    def ask(self, request: Mapping[str, Any], wall_s: float) -> Any:
        """Raises WorkerFailure; the worker is then dead."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            if not self.ready:
                # the imports of a fresh child are not part of the request's time
                hello = _read(self.process.stdout.fileno(), time.monotonic() + _START_LIMIT_S)
                self.ready = hello is not None
            _write(self.process.stdin.fileno(), request)
            answer = _read(self.process.stdout.fileno(), time.monotonic() + wall_s)
        except TimeoutError:
            self.kill()
            raise WorkerFailure("wall-limit") from None
        except OSError:
            answer = None
        if answer is None:
            self.kill()
            over = self.process.returncode in (-signal.SIGVTALRM, -signal.SIGXCPU, -signal.SIGPROF)
            raise WorkerFailure("cpu-limit" if over else "died")
        return answer

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Pool:
    """Idle workers of one process; taken and given back under a lock, used outside it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[Worker] = []

    def ask(self, request: Mapping[str, Any], wall_s: float = WALL_LIMIT_S) -> Any:
        """Raises WorkerFailure."""
        with self.lock:
            self.idle = [worker for worker in self.idle if worker.process.poll() is None]
            worker = self.idle.pop(0) if self.idle else Worker()
            if not self.idle:
                # a warm spare, should this one be killed; it imports while the request is computed
                self.idle.append(Worker())
        answer = worker.ask(request, wall_s)
        with self.lock:
            if len(self.idle) < MAX_IDLE:
                self.idle.insert(0, worker)
                return answer
        worker.kill()
        return answer

    def close(self) -> None:
        with self.lock:
            workers, self.idle = self.idle, []
        for worker in workers:
            worker.kill()


@lru_cache(maxsize=1)
def _pool_of(process_id: int) -> Pool:
    """Keyed by the process, so that a forked child does not talk to its parent's workers."""
    pool = Pool()
    atexit.register(_close_own, process_id, pool)
    return pool


def _close_own(process_id: int, pool: Pool) -> None:
    if os.getpid() == process_id:
        pool.close()


def pool() -> Pool:
    """The pool of this process."""
    return _pool_of(os.getpid())


def ask(request: Mapping[str, Any], wall_s: float = WALL_LIMIT_S) -> Any:
    """The answer of a warm or fresh worker. Raises WorkerFailure."""
    return pool().ask(request, wall_s)


def ask_in_chunks(requests: Sequence[Mapping[str, Any]], workers: int, wall_s: float) -> list[Any]:
    """Answers in order, from so many workers at once; None for a request whose worker failed."""
    answers: list[Any] = [None] * len(requests)
    places = iter(range(len(requests)))
    lock = threading.Lock()

    def run() -> None:
        worker = Worker()
        while True:
            with lock:
                place = next(places, None)
            if place is None:
                worker.kill()
                return
            try:
                answers[place] = worker.ask(requests[place], wall_s)
            except WorkerFailure:
                worker = Worker()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(workers, len(requests)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def cpu_seconds() -> float:
    """CPU seconds of this process and its children, living and ended."""
    import psutil

    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            spent = child.cpu_times()
            total += spent.user + spent.system
    return total


# ---- child ---------------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answers requests on standard input until it ends or the parent is gone."""
    owner = os.getppid()
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from verifiers.symbolic import answer, warm

    warm()
    _write(answers, {"ready": True})
    while True:
        request = _read(requests, None, owner)
        if request is None:
            return
        budget = float(request.get("cpu_s", CPU_LIMIT_S))
        # no handler: the signal ends the process, also inside compiled code
        signal.setitimer(signal.ITIMER_VIRTUAL, budget)
        reply = answer(request)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        _write(answers, reply)


if __name__ == "__main__":
    serve()
