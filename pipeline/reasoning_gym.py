"""reasoning-gym (Apache-2.0) as a source: the entries of one procedural task, the same for the same seed."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.config import STRICT, RecipeError
from pipeline.readers import RawRow

EXTRA = "reasoning-gym"


@dataclass(frozen=True, slots=True, kw_only=True)
class GymTask:
    """One task: size entries from a seed. config: further settings of the task, e.g. {min_terms = 2, max_terms = 3}."""

    __pydantic_config__ = STRICT
    task: str
    size: int = 500
    seed: int = 0
    config: dict[str, Any] = field(default_factory=dict)


def package_version(where: str) -> str:
    """Raises RecipeError where the package is not installed."""
    try:
        return importlib.metadata.version("reasoning-gym")
    except importlib.metadata.PackageNotFoundError:
        raise RecipeError(f"{where}: reasoning-gym is not installed; pip install 'verigold[{EXTRA}]'") from None


def entries(gym: GymTask, where: str) -> Iterator[RawRow]:
    """Rows with `question`, `answer` and `metadata` (as JSON has it). An entry that JSON cannot hold has a reason.

    Raises RecipeError for a task or setting that the package does not know, and without the package.
    """
    package_version(where)
    from reasoning_gym.factory import DATASETS, create_dataset

    if gym.task not in DATASETS:
        raise RecipeError(f"{where}: reasoning-gym has no task '{gym.task}'; known: {', '.join(sorted(DATASETS))}")
    if gym.size < 1:
        raise RecipeError(f"{where}: reasoning_gym.size must be at least 1 (got {gym.size})")
    try:
        dataset = create_dataset(gym.task, **{**gym.config, "seed": gym.seed, "size": gym.size})
    except (TypeError, ValueError, AssertionError) as error:
        raise RecipeError(f"{where}: reasoning_gym.config of '{gym.task}': {error or 'out of range'}") from None
    for index in range(gym.size):
        yield _row(index, dataset[index])


def _row(index: int, entry: dict[str, Any]) -> RawRow:
    row = {"question": entry["question"], "answer": str(entry["answer"]), "metadata": entry["metadata"]}
    try:
        return RawRow(index=index, row=json.loads(json.dumps(row)))
    except (TypeError, ValueError) as error:
        return RawRow(index=index, reason="not-json", detail=str(error)[:200], text=str(entry["question"])[:2000])


def scorer_options(gym: GymTask, row: dict[str, Any]) -> dict[str, Any]:
    """What the verifier `reasoning_gym` reads."""
    return {"task": gym.task, "config": gym.config, "metadata": row["metadata"]}
