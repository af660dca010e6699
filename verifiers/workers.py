"""Killable worker processes for what cannot be bounded beforehand, and for batches.

A worker is `python -P -m verifiers.workers`, a plain child process that reads requests and writes answers as JSON with
a length before each. It works from threads, from daemonic pool processes (which may not have multiprocessing children)
and after a fork, and uses no signal in the parent. What decides are CPU seconds of the child and its memory, so that a
busy machine changes no verdict; the wall limit is a backstop for a child that gets no CPU at all.

The child imports sympy, which takes most of a second, and then forks the process that answers. When that one has used
up its CPU, the next is forked in milliseconds, so that requests that do not end cost what their budget says.
"""

from __future__ import annotations

import atexit
import gc
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from verifiers.frames import read_frame, write_frame

CPU_LIMIT_S = 0.5
WALL_LIMIT_S = 1.6
"""When a child that has used up its CPU budget must have answered. One that the machine gave less goes on."""
LAST_RESORT_S = 30.0
MEMORY_LIMIT_BYTES = 1 << 30
MAX_IDLE = 2
"""Warm workers kept for the next request."""
_START_LIMIT_S = 60.0
_TRANSFER_LIMIT_S = 30.0
_PARENT_CHECK_S = 2.0
_OVER = "over"
"""Key of the frame that says that the answering process used up its CPU, and names the next one."""


class WorkerFailure(Exception):  # noqa: N818 - a verdict, not a mistake of ours
    """The request has no answer. kind: cpu-limit (its own budget ran out), wall-limit, or died."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


# ---- parent --------------------------------------------------------------------------------------------------------


class Worker:
    """One child process that runs `module`. Not shared between threads."""

    def __init__(self, module: str = "verifiers.workers", *arguments: str) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self.hello: Mapping[str, Any] | None = None
        self.answering = self.process.pid
        """The process whose CPU time counts."""

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def greet(self) -> Mapping[str, Any]:
        """What the child says when it is ready: its imports are not part of any request's time. Raises OSError."""
        if self.hello is None:
            assert self.process.stdout is not None
            self.hello = read_frame(self.process.stdout.fileno(), time.monotonic() + _START_LIMIT_S)
            if self.hello is None:
                raise BrokenPipeError("the child ended before it was ready")
            self.answering = self.hello.get("pid", self.process.pid)
        return self.hello

    def ask(self, request: Mapping[str, Any], wall_s: float, *, cpu_s: float | None = None) -> Any:
        """Raises WorkerFailure after wall_s seconds, or when the child has no answer; `alive` says whether the worker
        can go on.

        cpu_s: the CPU budget of the request. Past wall_s a child that did not get so much CPU goes on, up to
        LAST_RESORT_S, so that the load of the machine decides nothing.
        """
        self.send(request)
        return self.receive(wall_s, cpu_s=cpu_s)

    def send(self, request: Mapping[str, Any]) -> None:
        """A request of which the answers are then received. Raises WorkerFailure as `ask`."""
        assert self.process.stdin is not None
        try:
            self.greet()
            write_frame(self.process.stdin.fileno(), request)
        except TimeoutError:
            raise self._failed("wall-limit") from None
        except OSError:
            raise self._failed() from None

    def receive(self, wall_s: float, *, cpu_s: float | None = None) -> Any:
        """The next answer, within the limits of `ask`. Raises WorkerFailure as `ask`."""
        assert self.process.stdout is not None
        try:
            self._wait(wall_s, None if cpu_s is None else (self._cpu_s() or 0.0) + cpu_s)
            answer = read_frame(self.process.stdout.fileno(), time.monotonic() + _TRANSFER_LIMIT_S)
        except TimeoutError:
            raise self._failed("wall-limit") from None
        except OSError:
            answer = None
        if answer is None:
            raise self._failed()
        if isinstance(answer, dict) and _OVER in answer:
            self.answering = answer[_OVER]
            raise WorkerFailure("cpu-limit")
        return answer

    def _failed(self, kind: str = "") -> WorkerFailure:
        """Kills the child; without a kind, how it ended says it."""
        self.kill()
        over = self.process.returncode in (-signal.SIGVTALRM, -signal.SIGXCPU, -signal.SIGPROF)
        return WorkerFailure(kind or ("cpu-limit" if over else "died"))

    def _wait(self, wall_s: float, cpu_limit_s: float | None) -> None:
        """Until the child says something or ends. Raises TimeoutError."""
        assert self.process.stdout is not None
        started = time.monotonic()
        while not select.select([self.process.stdout], [], [], max(0.0, wall_s))[0]:
            if cpu_limit_s is None or time.monotonic() - started > LAST_RESORT_S:
                raise TimeoutError
            spent = self._cpu_s()
            if spent is None:
                return
            if spent >= cpu_limit_s:
                raise TimeoutError

    def _cpu_s(self) -> float | None:
        """CPU seconds of the answering process so far; None when it has just ended, which the child is about to say."""
        import psutil

        try:
            times = psutil.Process(self.answering).cpu_times()
        except psutil.Error:
            return None
        return times.user + times.system

    def kill(self) -> None:
        """The child and whatever it has started in its session."""
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
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
        """Raises WorkerFailure. A child that dies without reaching a limit may have been killed from outside, so the
        request is put once more."""
        try:
            return self._ask(request, wall_s)
        except WorkerFailure as failure:
            if failure.kind != "died":
                raise
            return self._ask(request, wall_s)

    def _ask(self, request: Mapping[str, Any], wall_s: float) -> Any:
        worker = self.take()
        try:
            return worker.ask(request, wall_s, cpu_s=CPU_LIMIT_S)
        finally:
            self.give_back(worker)

    def take(self) -> Worker:
        """An idle worker or a new one; the caller gives it back or kills it."""
        with self.lock:
            self.idle = [worker for worker in self.idle if worker.alive]
            return self.idle.pop(0) if self.idle else Worker()

    def give_back(self, worker: Worker) -> None:
        with self.lock:
            if worker.alive and len(self.idle) < MAX_IDLE:
                self.idle.insert(0, worker)
                return
        worker.kill()

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
                worker = worker if worker.alive else Worker()

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
            total += spent.user + spent.system + spent.children_user + spent.children_system
    return total


# ---- child ---------------------------------------------------------------------------------------------------------


def isolated(memory_bytes: int) -> tuple[int, int]:
    """Descriptors of requests and answers, in a child whose own prints go to standard error.

    memory_bytes: of address space, beyond which allocations raise MemoryError.
    """
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return requests, answers


def serve() -> None:
    """Answers requests on standard input until it ends or the parent is gone."""
    owner = os.getppid()
    requests, answers = isolated(MEMORY_LIMIT_BYTES)
    from verifiers.symbolic import warm

    warm()
    # what is imported is shared with all processes forked from here as long as nobody writes to it
    gc.freeze()
    child = _forked(requests, answers)
    write_frame(answers, {"ready": True, "pid": child})
    while _ended(child, owner) == signal.SIGPROF:
        child = _forked(requests, answers)
        write_frame(answers, {_OVER: child})


def _forked(requests: int, answers: int) -> int:
    """The id of a process that answers. SIGCHLD stays blocked here, so that none is missed while nobody waits."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        _answer_all(requests, answers)
        status = 0
    finally:
        os._exit(status)


def _answer_all(requests: int, answers: int) -> None:
    from verifiers.symbolic import answer

    while (request := read_frame(requests, None, os.getppid())) is not None:
        # user and system time; no handler: the signal ends the process, also inside compiled code
        signal.setitimer(signal.ITIMER_PROF, float(request.get("cpu_s", CPU_LIMIT_S)))
        reply = answer(request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        write_frame(answers, reply)


def _ended(child: int, owner: int) -> int:
    """Waits for the end of the child; the signal that ended it, 0 without one. Ends it when the parent is gone."""
    while True:
        signal.sigtimedwait({signal.SIGCHLD}, _PARENT_CHECK_S)
        if os.getppid() != owner:
            os.kill(child, signal.SIGKILL)
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


if __name__ == "__main__":
    serve()
