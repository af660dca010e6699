"""Where the parts of a stage are worked on: in this process, in a pool of local processes, or on a Ray cluster.

An executor only decides where and when a task runs. What a task reads and writes is in the task, each output is
committed by the task itself, and so the bytes do not depend on the executor or on the number of workers.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, Literal, Protocol, TypeVar, get_args

from pipeline.config import RecipeError

ExecutorKind = Literal["local", "ray"]
EXECUTORS: tuple[ExecutorKind, ...] = get_args(ExecutorKind)
T = TypeVar("T")
TERMINATED = 128 + signal.SIGTERM
"""Exit code of a process that SIGTERM ended, as shells tell it."""


class Executor(Protocol):
    def run(self, function: Callable[[T], int], tasks: Sequence[T]) -> Iterator[int]:
        """The result of each task, in the order in which they end. Raises what a task raised."""
        ...


class InProcess:
    """One task after the other, here."""

    def run(self, function: Callable[[T], int], tasks: Sequence[T]) -> Iterator[int]:
        yield from map(function, tasks)


class LocalPool:
    """A pool of local processes."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def run(self, function: Callable[[T], int], tasks: Sequence[T]) -> Iterator[int]:
        if len(tasks) == 1:
            yield function(tasks[0])
            return
        waiting: list[Future[int]] = [self._pool.submit(function, task) for task in tasks]
        try:
            for future in as_completed(waiting):
                yield future.result()
        except BrokenProcessPool:
            raise RuntimeError(
                "a worker process was killed (out of memory? fewer --workers need less); "
                "the same command goes on from here"
            ) from None
        finally:
            for future in waiting:
                future.cancel()


class RayCluster:
    """Ray Data: one block a task. The folder of the run must be on storage that every node sees under the same path."""

    def run(self, function: Callable[[T], int], tasks: Sequence[T]) -> Iterator[int]:
        import ray.data  # pyright: ignore[reportMissingImports]

        def work(row: dict[str, Any]) -> dict[str, Any]:
            # Ray keeps of an exception its text only; the user's mistakes must arrive as what they are.
            try:
                return {"rows": function(tasks[row["task"]]), "mistake": ""}
            except RecipeError as error:
                return {"rows": 0, "mistake": str(error)}

        if not tasks:
            return
        numbers = ray.data.from_items([{"task": number} for number in range(len(tasks))])
        for row in numbers.repartition(len(tasks)).map(work).iter_rows():
            if row["mistake"]:
                raise RecipeError(row["mistake"])
            yield row["rows"]


def default_workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def executor(kind: ExecutorKind, workers: int, modules: Sequence[str] = ()) -> Iterator[Executor]:
    """`modules` are imported once for all local workers. Raises RecipeError when Ray is wanted and not installed."""
    if kind == "ray":
        with _ray(workers):
            yield RayCluster()
    elif workers <= 1:
        yield InProcess()
    else:
        with _local_pool(workers, modules) as pool:
            yield LocalPool(pool)


@contextmanager
def _local_pool(workers: int, modules: Sequence[str]) -> Iterator[ProcessPoolExecutor]:
    """However the block is left, its workers are gone: at its end, on an error at once, and with a killed parent."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    processes = multiprocessing.get_context(method)
    if method == "forkserver":
        processes.set_forkserver_preload(["__main__", "pipeline.parts_work", *modules])
    theirs, ours = processes.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=processes, initializer=_begin_worker, initargs=(theirs,))
    try:
        yield pool
    finally:
        ours.close()
        pool.shutdown(wait=True, cancel_futures=True)
        theirs.close()


def _begin_worker(lifeline: Connection) -> None:
    """A worker leaves Ctrl-C to its parent and ends when the other end of the lifeline is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _end_with(lifeline)


def bind_to_parent() -> None:
    """A child process leaves Ctrl-C to its parent and ends when the parent has ended, however it did."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        _end_with(parent.sentinel)


def _end_with(closing: Connection | int) -> None:
    threading.Thread(target=_follow, args=(closing,), daemon=True).start()


def _follow(closing: Connection | int) -> None:
    wait([closing])
    os._exit(1)


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """SIGTERM leaves the block as an exception does, so that workers and locks are let go. For the main thread."""

    def stop(_number: int, _frame: object) -> None:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _ray(workers: int) -> Iterator[None]:
    """The cluster that RAY_ADDRESS names, else one on this machine for as long as the block lasts."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # pyright: ignore[reportMissingImports]
        import ray.data  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise RecipeError(
            f"executor 'ray' needs Ray, which is not installed ({error}); "
            "pip install 'verigold[ray]', or leave executor out for local processes"
        ) from None
    if ray.is_initialized():
        yield
        return
    local: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False}
    ray.init(**({} if os.environ.get("RAY_ADDRESS") else local), log_to_driver=False, logging_level=logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    try:
        yield
    finally:
        ray.shutdown()
