"""Runs stages over parts: map stages in a local process pool, table stages on narrow keys, model stages in order here.

What a part holds depends on the order of the content only, so any number of workers writes the same bytes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ledger import LedgerError, row_keys
from pipeline.parts import Parts, write_parquet
from pipeline.problem import Problem
from pipeline.progress import progress, stderr_console
from pipeline.recipe import build_stage
from pipeline.stage import Context, Drop, Outcome

MODEL_BATCH = 256
"""Problems a committed batch of a stage that samples, unless the stage says `batch_problems`."""

FETCH_CACHE_PARTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One part of one stage, as it goes to a worker."""

    stage: str
    table: dict[str, Any]
    source: Parts
    target: Parts
    part: int
    seed: int
    rollouts: Path


def default_workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def worker_pool(workers: int, modules: Sequence[str] = ()) -> Iterator[ProcessPoolExecutor | None]:
    """None for one worker: the work is then done in this process. `modules` are imported once for all workers."""
    if workers <= 1:
        yield None
        return
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    processes = multiprocessing.get_context(method)
    if method == "forkserver":
        processes.set_forkserver_preload(["__main__", "pipeline.executor", *modules])
    pool = ProcessPoolExecutor(workers, mp_context=processes, initializer=bind_to_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def bind_to_parent() -> None:
    """A worker leaves Ctrl-C to its parent and ends when the parent has ended, however it did."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _context(task: Task) -> Context:
    return Context(seed=task.seed, rollouts=task.rollouts, console=stderr_console(quiet=True))


def run_map_part(task: Task) -> int:
    """Rows of one part through a map stage; returns how many went in."""
    problems = task.source.read(task.part)
    outcome = build_stage(task.stage, task.table)(problems, _context(task))
    task.target.commit(task.part, task.stage, row_keys(problems), outcome)
    return len(problems)


def _keys_path(target: Parts, part: int) -> Path:
    return target.folder / f"keys-{part:05d}.parquet"


def run_keys_part(task: Task) -> int:
    """Keys of one part for a table stage."""
    problems = task.source.read(task.part)
    keys = build_stage(task.stage, task.table).keys(problems)
    if keys.column("source_row").to_pylist() != row_keys(problems):
        raise LedgerError(f"stage {task.stage}: keys must hold one row a problem, in order, by source_row")
    write_parquet(_keys_path(task.target, task.part), keys)
    return len(problems)


def run_apply_part(task: Task) -> int:
    """Splits one part by the drops that a table stage decided on; a key column `template_id` is written to the rows."""
    problems = task.source.read(task.part)
    drops = {row["source_row"]: row for row in pq.read_table(_verdict_path(task.target, task.part)).to_pylist()}
    keys = pq.read_table(_keys_path(task.target, task.part))
    if "template_id" in keys.column_names:
        templates = keys.column("template_id").to_pylist()
        problems = [replace(row, template_id=mark) for row, mark in zip(problems, templates, strict=True)]
    kept = [problem for problem in problems if problem.source_row not in drops]
    gone = [_to_drop(drops[row.source_row]) for row in problems if row.source_row in drops]
    task.target.commit(task.part, task.stage, row_keys(problems), Outcome(kept=kept, drops=gone))
    return len(problems)


def _verdict_path(target: Parts, part: int) -> Path:
    return target.folder / f"verdict-{part:05d}.parquet"


def _to_drop(row: dict[str, Any]) -> Drop:
    import json

    return Drop(**{**row, "evidence": json.loads(row["evidence"])})


def _run(
    pool: ProcessPoolExecutor | None,
    function: Callable[[Task], int],
    tasks: Sequence[Task],
    advance: Callable[[int], None],
) -> None:
    if pool is None or len(tasks) <= 1:
        for task in tasks:
            advance(function(task))
        return
    waiting: list[Future[int]] = [pool.submit(function, task) for task in tasks]
    try:
        for future in as_completed(waiting):
            advance(future.result())
    except BrokenProcessPool:
        raise RuntimeError("a worker process was killed (out of memory?); the same command goes on from here") from None
    finally:
        for future in waiting:
            future.cancel()


def run_stage(
    name: str,
    stage: Any,
    table: dict[str, Any],
    source: Parts,
    target: Parts,
    context: Context,
    pool: ProcessPoolExecutor | None,
) -> Parts:
    """Brings `target` to completion and returns it; parts that are there stay untouched."""
    if target.complete:
        return target
    target.folder.mkdir(parents=True, exist_ok=True)
    tasks = [
        Task(
            stage=name,
            table=table,
            source=source,
            target=target,
            part=part,
            seed=context.seed,
            rollouts=context.rollouts,
        )
        for part in range(len(source))
    ]
    if getattr(stage, "samples_model", False):
        _run_model_stage(name, stage, source, target, context)
        return target
    with progress(context.console, name, source.total().rows_out) as advance:
        if hasattr(stage, "drops"):
            _run_table_stage(name, stage, tasks, context, pool, advance)
        else:
            _run(pool, run_map_part, [task for task in tasks if not target.has(task.part)], advance)
    target.finish(len(tasks))
    return target


def _run_table_stage(
    name: str,
    stage: Any,
    tasks: Sequence[Task],
    context: Context,
    pool: ProcessPoolExecutor | None,
    advance: Callable[[int], None],
) -> None:
    target = tasks[0].target if tasks else None
    if target is None:
        return

    def nothing(_: int) -> None:
        return

    missing = [task for task in tasks if not _keys_path(target, task.part).exists()]
    _run(pool, run_keys_part, missing, nothing)
    decided = target.folder / "decided.json"
    if not decided.exists():
        keys = [pq.read_table(_keys_path(target, task.part)) for task in tasks]
        places = {
            row: task.part
            for task, table in zip(tasks, keys, strict=True)
            for row in table.column("source_row").to_pylist()
        }
        drops = stage.drops(pa.concat_tables(keys), _Fetch(tasks[0].source, places), context)
        _write_verdicts(name, target, tasks, places, drops)
    _run(pool, run_apply_part, [task for task in tasks if not target.has(task.part)], advance)


def _write_verdicts(
    name: str, target: Parts, tasks: Sequence[Task], places: dict[str, int], drops: Sequence[Drop]
) -> None:
    from pipeline.atomic import write_json
    from pipeline.ledger import drops_table

    by_part: dict[int, list[Drop]] = {}
    for drop in drops:
        if drop.source_row not in places:
            raise LedgerError(f"stage {name}: drops a row that did not go in: {drop.source_row}")
        by_part.setdefault(places[drop.source_row], []).append(drop)
    for task in tasks:
        write_parquet(_verdict_path(target, task.part), drops_table(by_part.get(task.part, [])))
    write_json(target.folder / "decided.json", {"drops": len(drops)})


class _Fetch:
    """Problems by row key, read from their parts; the last few parts stay in memory."""

    def __init__(self, source: Parts, places: dict[str, int]) -> None:
        self._source, self._places = source, places
        self._recent: dict[int, dict[str, Problem]] = {}

    def __call__(self, rows: Sequence[str]) -> Sequence[Problem]:
        found: dict[str, Problem] = {}
        for part in sorted({self._places[row] for row in rows}):
            inside = self._part(part)
            found.update((row, inside[row]) for row in rows if row in inside)
        return [found[row] for row in rows]

    def _part(self, part: int) -> dict[str, Problem]:
        if part not in self._recent:
            if len(self._recent) >= FETCH_CACHE_PARTS:
                self._recent.pop(next(iter(self._recent)))
            self._recent[part] = {problem.source_row: problem for problem in self._source.read(part)}
        return self._recent[part]


def _run_model_stage(name: str, stage: Any, source: Parts, target: Parts, context: Context) -> None:
    """Batches are cut from the rows in order, so the same content gives the same batches after a resume."""
    size = int(getattr(stage, "batch_problems", MODEL_BATCH))
    part = 0
    with progress(context.console, name, source.total().rows_out) as advance:
        for problems in _batches(source, size):
            if not target.has(part):
                outcome = stage(problems, context)
                target.commit(part, name, row_keys(problems), outcome)
            advance(len(problems))
            part += 1
    target.finish(part)


def _batches(source: Parts, size: int) -> Iterator[list[Problem]]:
    waiting: list[Problem] = []
    for part in range(len(source)):
        waiting.extend(source.read(part))
        while len(waiting) >= size:
            yield waiting[:size]
            waiting = waiting[size:]
    if waiting:
        yield waiting
