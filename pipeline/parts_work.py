"""One stage over the parts of its input: map stages part by part, table stages on narrow keys, model stages in order.

What a part holds depends on the order of the content only, so any number of workers writes the same bytes. The parent
holds no rows: for a table stage it holds the narrow keys and, of the rows that go, key, reason and evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.atomic import write_json
from pipeline.executor import Executor
from pipeline.ledger import LedgerError, row_keys
from pipeline.parts import Parts, write_parquet
from pipeline.problem import Problem
from pipeline.progress import progress, stderr_console
from pipeline.recipe import build_stage
from pipeline.stage import Context, Drop, Outcome, Removal

MODEL_BATCH = 256
"""Problems a committed batch of a stage that samples, unless the stage says `batch_problems`."""

FETCH_CACHE_PARTS = 4
VERDICTS_A_CHUNK = 16384
VERDICT_SCHEMA = pa.schema(
    [("source_row", pa.string()), ("kind", pa.string()), ("reason", pa.string()), ("evidence", pa.string())]
)


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
    """Splits one part by what a table stage decided; a key column `template_id` is written to the rows, and what the
    stage's `mark` says, where it has one."""
    problems = task.source.read(task.part)
    verdicts = {row["source_row"]: row for row in pq.read_table(_verdict_path(task.target, task.part)).to_pylist()}
    keys_path = _keys_path(task.target, task.part)
    if "template_id" in pq.read_schema(keys_path).names:
        templates = pq.read_table(keys_path, columns=["template_id"]).column("template_id").to_pylist()
        problems = [replace(row, template_id=name) for row, name in zip(problems, templates, strict=True)]
    mark = getattr(build_stage(task.stage, task.table), "mark", None)
    problems = mark(problems, _context(task)) if mark is not None else problems
    kept = [problem for problem in problems if problem.source_row not in verdicts]
    gone = [_to_drop(task.stage, row, verdicts[row.source_row]) for row in problems if row.source_row in verdicts]
    task.target.commit(task.part, task.stage, row_keys(problems), Outcome(kept=kept, drops=gone))
    return len(problems)


def _verdict_path(target: Parts, part: int) -> Path:
    return target.folder / f"verdict-{part:05d}.parquet"


def _to_drop(stage: str, problem: Problem, verdict: dict[str, Any]) -> Drop:
    return Drop(
        source_row=problem.source_row,
        id=problem.id,
        data_source=problem.data_source,
        kind=verdict["kind"],
        stage=stage,
        reason=verdict["reason"],
        evidence=json.loads(verdict["evidence"]),
        question=problem.question,
        ground_truth=problem.ground_truth,
    )


def run_stage(
    name: str,
    stage: Any,
    table: dict[str, Any],
    source: Parts,
    target: Parts,
    context: Context,
    executor: Executor,
) -> Parts:
    """Brings `target` to completion and returns it; parts that are there stay untouched."""
    if target.complete:
        return target
    target.folder.mkdir(parents=True, exist_ok=True)
    if getattr(stage, "samples_model", False):
        _run_model_stage(name, stage, source, target, context)
        return target
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
    if hasattr(stage, "drops"):
        _run_table_stage(name, stage, tasks, context, executor)
    else:
        _run(name, run_map_part, tasks, context, executor, lambda task: target.has(task.part))
    target.finish(len(tasks))
    return target


def _run(
    label: str,
    function: Callable[[Task], int],
    tasks: Sequence[Task],
    context: Context,
    executor: Executor,
    is_done: Callable[[Task], bool],
) -> None:
    """The tasks that are not done yet, with a bar that begins at what is."""
    rows = [task.source.counts(task.part).rows_out for task in tasks]
    missing = [task for task in tasks if not is_done(task)]
    done = sum(rows) - sum(rows[task.part] for task in missing)
    with progress(context.console, label, sum(rows), done=done) as advance:
        for finished in executor.run(function, missing):
            advance(finished)


def _run_table_stage(name: str, stage: Any, tasks: Sequence[Task], context: Context, executor: Executor) -> None:
    if not tasks:
        return
    target = tasks[0].target
    decided = target.folder / "decided.json"
    if not decided.exists():
        _run(f"{name}, keys", run_keys_part, tasks, context, executor, lambda t: _keys_path(target, t.part).exists())
        keys = [pq.read_table(_keys_path(target, task.part)) for task in tasks]
        places = Places([table.column("source_row") for table in keys])
        fetch = _Fetch(tasks[0].source, places)
        count = _write_verdicts(name, target, tasks, places, stage.drops(pa.concat_tables(keys), fetch, context))
        write_json(decided, {"drops": count})
    _run(name, run_apply_part, tasks, context, executor, lambda task: target.has(task.part))


class Places:
    """In which part each row lies, by its key; held as Arrow arrays."""

    def __init__(self, names: Sequence[pa.ChunkedArray]) -> None:
        self._names = pa.chunked_array([chunk for column in names for chunk in column.chunks], pa.string())
        self._ends = np.cumsum([len(column) for column in names])

    def parts(self, rows: pa.Array) -> np.ndarray:
        """Part of each row; -1 for a row that is nowhere."""
        options = pc.SetLookupOptions(value_set=self._names.combine_chunks())
        found = pc.call_function("index_in", [rows], options).fill_null(-1).to_numpy(zero_copy_only=False)
        return np.where(found < 0, -1, np.searchsorted(self._ends, found, side="right"))


def _write_verdicts(
    name: str, target: Parts, tasks: Sequence[Task], places: Places, removals: Iterable[Removal | Drop]
) -> int:
    """The decisions as one narrow file a part; returns how many there are."""
    chunks = [VERDICT_SCHEMA.empty_table(), *_narrow(removals)]
    verdicts = pa.concat_tables(chunks).combine_chunks()
    rows = verdicts.column("source_row").combine_chunks()
    parts = places.parts(rows)
    strangers = rows.filter(pa.array(parts < 0))
    if len(strangers):
        raise LedgerError(f"stage {name}: drops a row that did not go in: {strangers[0]}")
    if len(rows.unique()) != len(rows):
        raise LedgerError(f"stage {name}: drops a row twice")
    order = np.argsort(parts, kind="stable")
    verdicts, parts = verdicts.take(pa.array(order)), parts[order]
    for task in tasks:
        low, high = np.searchsorted(parts, task.part, side="left"), np.searchsorted(parts, task.part, side="right")
        write_parquet(_verdict_path(target, task.part), verdicts.slice(low, high - low))
    return verdicts.num_rows


def _narrow(removals: Iterable[Removal | Drop]) -> Iterator[pa.Table]:
    waiting: list[dict[str, str]] = []
    for item in removals:
        evidence = json.dumps(dict(item.evidence), sort_keys=True, ensure_ascii=False, default=str)
        waiting.append({"source_row": item.source_row, "kind": item.kind, "reason": item.reason, "evidence": evidence})
        if len(waiting) == VERDICTS_A_CHUNK:
            yield pa.Table.from_pylist(waiting, schema=VERDICT_SCHEMA)
            waiting = []
    yield pa.Table.from_pylist(waiting, schema=VERDICT_SCHEMA)


class _Fetch:
    """Problems by row key, read from their parts; the last few parts stay in memory."""

    def __init__(self, source: Parts, places: Places) -> None:
        self._source, self._places = source, places
        self._recent: dict[int, dict[str, Problem]] = {}

    def __call__(self, rows: Sequence[str]) -> Sequence[Problem]:
        parts = self._places.parts(pa.array(rows, pa.string()))
        found: dict[str, Problem] = {}
        for part in np.unique(parts).tolist():
            inside = self._part(part)
            found.update((row, inside[row]) for row, place in zip(rows, parts, strict=True) if place == part)
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
