"""What lies in the folders that reports are about: curated folders, audits, training runs, quick starts."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pipeline.config import RecipeError
from verigold.report.words import number

Json = dict[str, Any]


class Kind(StrEnum):
    """What a folder is."""

    CURATED = "curated folder"
    AUDIT = "audit"
    RUN = "run folder"
    QUICKSTART = "quick start"


def detect(path: Path) -> Kind:
    """Raises RecipeError when the path is missing or holds nothing that a report is about."""
    if not path.exists():
        raise RecipeError(f"{path}: there is no such file or folder; give a folder that verigold wrote")
    if path.is_file():
        if path.suffix == ".json":
            return Kind.AUDIT
        raise RecipeError(f"{path}: not a folder; give a curated folder, a run folder or an audit.json")
    if (path / "manifest.json").is_file():
        return Kind.CURATED
    if (path / "metrics.jsonl").is_file() or (path / "rollouts").is_dir():
        return Kind.RUN
    if any((path / part).is_dir() for part in ("real", "pool", "runs")):
        return Kind.QUICKSTART
    if (path / "audit.json").is_file():
        return Kind.AUDIT
    raise RecipeError(
        f"{path}: holds no manifest.json (curated folder), metrics.jsonl (run), audit.json (audit) or real/ and runs/ "
        "(quick start); give a folder that verigold wrote"
    )


def read_json(path: Path) -> Json:
    """Raises RecipeError when the file is missing or not a JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise RecipeError(f"{path}: not JSON ({error}); write it anew with the command that made it") from None
    if not isinstance(value, dict):
        raise RecipeError(f"{path}: expected a JSON object; write it anew with the command that made it")
    return value


def read_json_if_there(path: Path) -> Json | None:
    return read_json(path) if path.is_file() else None


def read_jsonl(path: Path) -> list[Json]:
    """The objects of a JSON Lines file; a last line that a killed process left unfinished is skipped."""
    if not path.is_file():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def table(value: Any) -> Json:
    """The value if it is an object, else an empty one: a partial file shows what it has."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Json]:
    """The objects in a list; empty for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def whole(value: Any) -> int:
    """A count; 0 when it is absent."""
    return int(number(value) or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A training run as it lies on disk. metrics: one object a step, in order, the last one of each step.
    evaluations: label -> eval/<label>.json."""

    name: str
    path: Path
    metrics: list[Json]
    evaluations: dict[str, Json]
    summary: Json
    recipe: Json
    rollout_files: list[Path]

    def tokens(self) -> int:
        """Tokens that the run generated in training."""
        told = self.summary.get("generated_tokens")
        return whole(told if told is not None else (self.metrics[-1] if self.metrics else {}).get(TOKENS))


TOKENS = "generated_tokens_total"


def read_run(path: Path, name: str | None = None) -> Run:
    """Reads what is there; a run that still goes on, or was killed, has parts missing."""
    by_step = {row.get("step"): row for row in read_jsonl(path / "metrics.jsonl")}
    recipe = path / "recipe.toml"
    try:
        settings = tomllib.loads(recipe.read_text(encoding="utf-8")) if recipe.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{recipe}: not a TOML file: {error}") from None
    return Run(
        name=name or path.resolve().name,
        path=path,
        metrics=sorted(by_step.values(), key=lambda row: number(row.get("step")) or 0),
        evaluations={file.stem: read_json(file) for file in sorted((path / "eval").glob("*.json"), key=natural)},
        summary=read_json_if_there(path / "summary.json") or {},
        recipe=settings,
        rollout_files=sorted((path / "rollouts").glob("step-*.jsonl"), key=natural),
    )


def natural(path: Path) -> list[tuple[int, str]]:
    """Sort key in which step-2 comes before step-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name)]


def flatten(value: Json, prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict) and item:
            flat.update(flatten(item, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = item
    return flat


def as_text(value: Any) -> str:
    """A JSON value as a person reads it: strings bare, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
