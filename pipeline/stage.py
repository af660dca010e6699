"""What a stage is: two kinds, both frozen dataclasses of their parameters."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import pyarrow as pa
from rich.console import Console

from pipeline.config import RecipeError
from pipeline.problem import Problem

DropKind = Literal["dropped", "quarantined"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """One row that leaves the pipeline: at which stage, for which reason, on which evidence (JSON values)."""

    source_row: str
    id: str
    data_source: str
    kind: DropKind
    stage: str
    reason: str
    evidence: Mapping[str, Any]
    question: str
    ground_truth: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What a table stage decides on one row that goes. The executor adds stage and texts where the row lies, so that
    they never meet in one process."""

    source_row: str
    reason: str
    kind: DropKind = "dropped"
    evidence: Mapping[str, Any] = field(default_factory=dict)


def drop(problem: Problem, stage: str, reason: str, *, kind: DropKind = "dropped", **evidence: Any) -> Drop:
    return Drop(
        source_row=problem.source_row,
        id=problem.id,
        data_source=problem.data_source,
        kind=kind,
        stage=stage,
        reason=reason,
        evidence=evidence,
        question=problem.question,
        ground_truth=problem.ground_truth,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a map stage made of its rows. The executor asserts that every row is in exactly one of the two.

    samples, generated_tokens: what a stage with a model drew for these rows; summed into the manifest.
    """

    kept: Sequence[Problem]
    drops: Sequence[Drop] = ()
    samples: int = 0
    generated_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a stage may use besides its rows.

    seed: of the recipe; randomness is keyed by (seed, id, purpose), never by worker.
    rollouts: folder of stored model samples, shared by the stages that sample.
    console: for progress on stderr.
    """

    seed: int
    rollouts: Path
    console: Console


def check_source_names(where: str, named: Iterable[str], sources: Sequence[str]) -> None:
    """Raises RecipeError for a name that no source of the recipe has. where: file and key, for the message."""
    for name in named:
        if name not in sources:
            nearest = difflib.get_close_matches(name, sources, n=1, cutoff=0.5)
            hint = f"did you mean '{nearest[0]}'?" if nearest else f"sources: {', '.join(sources)}"
            raise RecipeError(f"{where}: '{name}' is no source of this recipe; {hint}")


@runtime_checkable
class MapStage(Protocol):
    """Row by row. A stage that samples from a model sets `samples_model` and then runs in the main process, on
    batches planned by content order only."""

    def __call__(self, problems: Sequence[Problem], context: Context) -> Outcome: ...


@runtime_checkable
class TableStage(Protocol):
    """Needs the whole set: a narrow table of keys goes in (column `source_row` first), what is to go comes out.

    `drops` may be a generator; of a `Drop` only what a `Removal` has is used. `fetch` gives problems by source_row; a
    key column `template_id` becomes that of the rows. A stage that writes more to its rows has a method
    `mark(problems, context) -> problems`; one that makes splits names them in `splits`. A stage of either kind whose
    parameters can be wrong in a way that types do not tell has `check(where, sources)`, called with the names of the
    recipe's sources before anything runs.
    """

    def keys(self, problems: Sequence[Problem]) -> pa.Table: ...

    def drops(
        self, keys: pa.Table, fetch: Callable[[Sequence[str]], Sequence[Problem]], context: Context
    ) -> Iterable[Removal | Drop]: ...
