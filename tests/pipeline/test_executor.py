"""Executors: the same bytes from any of them, the user's mistakes as they are, faults of stages named."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from pipeline.config import RecipeError, load
from pipeline.executor import executor
from pipeline.ledger import LedgerError
from pipeline.parts import Parts
from pipeline.parts_work import Places, run_stage
from pipeline.problem import Problem
from pipeline.run import CurateConfig, curate
from pipeline.stage import Context, Outcome, Removal

MakeRecipe = Callable[..., Path]
MakeProblem = Callable[..., Problem]


def double(number: int) -> int:
    if number == 13:
        raise RecipeError("recipe.toml: thirteen: unlucky; take another number")
    return 2 * number


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_run_once_and_a_mistake_arrives_as_it_is(workers: int) -> None:
    with executor("local", workers) as chosen:
        assert sorted(chosen.run(double, range(5))) == [0, 2, 4, 6, 8]
        assert list(chosen.run(double, [])) == []
        with pytest.raises(RecipeError, match=r"^recipe\.toml: thirteen: unlucky; take another number$"):
            list(chosen.run(double, [1, 13, 2]))


def end_abruptly(_: int) -> int:
    os._exit(9)


def test_a_killed_worker_is_one_sentence() -> None:
    with executor("local", 2) as chosen, pytest.raises(RuntimeError, match=r"worker process was killed.*same command"):
        list(chosen.run(end_abruptly, [1, 2, 3]))


def test_without_ray_the_extra_is_named(recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def no_ray(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "ray":
            raise ModuleNotFoundError("No module named 'ray'")
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", no_ray)
    config = load(CurateConfig, [recipe()], ["executor=ray"])
    with pytest.raises(RecipeError, match=r"executor 'ray'.*pip install 'verigold\[ray\]'"):
        curate(config, tmp_path / "out", console=Console(quiet=True))


@pytest.mark.slow
def test_ray_gives_the_bytes_of_the_local_pool(
    recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray.data")
    monkeypatch.setattr("pipeline.run.PART_ROWS", 32)
    monkeypatch.setattr("pipeline.run.code_version", lambda _: "fixed: sources may be edited while tests run")
    path = recipe(200)
    for kind in ("local", "ray"):
        config = load(CurateConfig, [path], [f"executor={kind}"])
        curate(config, tmp_path / kind, console=Console(quiet=True), workers=2)
    local, ray = (contents(tmp_path / kind) for kind in ("local", "ray"))
    assert local == ray
    assert len(local) > 5


@pytest.mark.slow
def test_a_mistake_on_ray_arrives_as_it_is() -> None:
    pytest.importorskip("ray.data")
    with executor("ray", 2) as chosen:
        assert sorted(chosen.run(double, range(5))) == [0, 2, 4, 6, 8]
        with pytest.raises(RecipeError, match=r"^recipe\.toml: thirteen: unlucky; take another number$"):
            list(chosen.run(double, [1, 13, 2]))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in (".work", "run.json", ".lock")
    }


def test_places_of_rows() -> None:
    names = [pa.chunked_array([["a", "b"]]), pa.chunked_array([[]], pa.string()), pa.chunked_array([["c"], ["d"]])]
    places = Places(names)
    assert places.parts(pa.array(["d", "a", "nowhere", "c", "b"])).tolist() == [2, 0, -1, 2, 0]
    assert places.parts(pa.array([], pa.string())).tolist() == []


class Decides:
    """A table stage that removes what it is told to."""

    def __init__(self, removals: Iterable[Removal]) -> None:
        self.removals = removals

    def keys(self, problems: Sequence[Problem]) -> pa.Table:
        return pa.table({"source_row": pa.array([problem.source_row for problem in problems], pa.string())})

    def drops(self, keys: pa.Table, _fetch: object, _context: Context) -> Iterable[Removal]:
        assert keys.num_rows == 6
        yield from self.removals


def ingested(folder: Path, problems: Sequence[Problem]) -> Parts:
    parts = Parts(folder, "k")
    for part in range(3):
        rows = problems[2 * part : 2 * part + 2]
        parts.commit(part, "sources", [row.source_row for row in rows], Outcome(kept=rows))
    parts.finish(3)
    return parts


def apply(
    tmp_path: Path, make: MakeProblem, context: Context, monkeypatch: pytest.MonkeyPatch, removals: Iterable[Removal]
) -> Parts:
    problems = [make(f"What is {number} + 1?", str(number + 1), number) for number in range(6)]
    stage = Decides(removals)
    monkeypatch.setattr("pipeline.parts_work.build_stage", lambda *_: stage)
    source, target = ingested(tmp_path / "in", problems), Parts(tmp_path / "out", "t")
    with executor("local", 1) as chosen:
        return run_stage("decides", stage, {}, source, target, context, chosen)


def test_removals_get_their_texts_where_the_rows_lie(
    tmp_path: Path, make: MakeProblem, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    removals = (
        Removal(source_row="s#5", reason="odd", kind="quarantined", evidence={"of": [5], "π": None}),
        Removal(source_row="s#0", reason="first"),
    )
    done = apply(tmp_path, make, context, monkeypatch, iter(removals))
    rows = [row for table in done.drop_tables() for row in table.to_pylist()]
    assert [(row["source_row"], row["kind"], row["stage"], row["reason"], row["evidence"]) for row in rows] == [
        ("s#0", "dropped", "decides", "first", "{}"),
        ("s#5", "quarantined", "decides", "odd", '{"of": [5], "π": null}'),
    ]
    assert [(row["question"], row["ground_truth"]) for row in rows] == [
        ("What is 0 + 1?", "1"),
        ("What is 5 + 1?", "6"),
    ]
    assert [problem.source_row for part in range(3) for problem in done.read(part)] == ["s#1", "s#2", "s#3", "s#4"]


@pytest.mark.parametrize(
    ("rows", "message"), [(("s#9",), "row that did not go in: s#9"), (("s#1", "s#1"), "drops a row twice")]
)
def test_a_stage_may_not_remove_strangers_or_twice(
    tmp_path: Path,
    make: MakeProblem,
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
    rows: tuple[str, ...],
    message: str,
) -> None:
    with pytest.raises(LedgerError, match=message):
        apply(tmp_path, make, context, monkeypatch, [Removal(source_row=row, reason="why") for row in rows])
