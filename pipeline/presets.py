"""Presets of public data sets: which columns mean what, under which licence, with which known defects.

One TOML file a set in `data/recipes/sources`: `[about]` says what is known and from where, `[source]` holds keys of
`pipeline.sources.Source`. A recipe's source or benchmark with `preset = "gsm8k"` takes them; its own keys win.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.bundled import data_folder
from pipeline.config import STRICT, Layer, RecipeError, Table, build, read_toml

TRAINING_ONLY = frozenset(
    ("license", "license_field", "ability", "verifier", "verifier_options", "meta", "answer_list", "image")
)
"""Keys of a source that a benchmark has no use for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedFile:
    """A file that the preset was run on: its rows, and how many of them are dropped for which reason."""

    __pydantic_config__ = STRICT
    name: str
    rows: int
    drops: dict[str, int] = field(default_factory=dict)
    split: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of a set.

    verified: the columns were run on a file (then `files` names them); otherwise they were only read about.
    evidence: where the schema was read.  defects: known ones.  not_evidenced: what nothing was found for.
    unscored: why no verifier here can judge its answers; such a set needs an explicit `verifier`.
    """

    __pydantic_config__ = STRICT
    title: str
    verified: bool
    evidence: tuple[str, ...]
    defects: tuple[str, ...]
    files: tuple[TriedFile, ...] = ()
    not_evidenced: tuple[str, ...] = ()
    unscored: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    __pydantic_config__ = STRICT
    about: About
    source: dict[str, Any]


def presets_folder() -> Path:
    return data_folder() / "recipes" / "sources"


def load_preset(name: str, where: str) -> Preset:
    """Raises RecipeError for an unknown name, with the nearest known one."""
    path = presets_folder() / f"{name}.toml"
    if not path.is_file():
        known = sorted(file.stem for file in presets_folder().glob("*.toml"))
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"known: {', '.join(known)}"
        raise RecipeError(f"{where}: unknown preset '{name}'; {hint}")
    return build(Preset, [read_toml(path)])


def with_presets(layers: Sequence[Layer]) -> list[Layer]:
    """The layers with every preset filled in and every relative path under `data_root`, where one is set."""
    root = next((_root(layer) for layer in reversed(layers) if isinstance(layer.table.get("data_root"), str)), None)
    return [replace(layer, table=_filled(layer, root)) for layer in layers]


def _root(layer: Layer) -> Path:
    return (layer.base / Path(layer.table["data_root"]).expanduser()).resolve()


def _filled(layer: Layer, root: Path | None) -> Table:
    table = dict(layer.table)
    if isinstance(table.get("sources"), list):
        table["sources"] = [_entry(layer, item, root, training=True) for item in table["sources"]]
    stages = table.get("stages")
    inner = stages.get("decontaminate") if isinstance(stages, dict) else None
    if isinstance(stages, dict) and isinstance(inner, dict) and isinstance(inner.get("benchmarks"), list):
        benchmarks = [_entry(layer, item, root, training=False) for item in inner["benchmarks"]]
        table["stages"] = {**stages, "decontaminate": {**inner, "benchmarks": benchmarks}}
    return table


def _entry(layer: Layer, item: Any, root: Path | None, *, training: bool) -> Any:
    """One source or benchmark with its preset's keys and its paths under the root; its own keys win."""
    if not isinstance(item, dict):
        return item
    own = dict(item)
    if root is not None:
        for key in ("path", "hashes"):
            if isinstance(own.get(key), str):
                own[key] = str(root / Path(own[key]).expanduser())
    name = own.pop("preset", None)
    if name is None:
        return own
    kind = "sources" if training else "stages.decontaminate.benchmarks"
    where = f"{layer.name}: {kind} '{own.get('name', name)}'"
    preset = load_preset(str(name), where)
    if training and preset.about.unscored is not None and "verifier" not in own:
        raise RecipeError(f"{where}: preset '{name}': {preset.about.unscored}; set verifier to score it yourself")
    given = dict(_kept(preset.source, own, training))
    if not {"path", "hub", "reasoning_gym"} & ({*own} | {*given}):
        raise RecipeError(f"{where}: preset '{name}' has no place on the hub; give path")
    return {"name": name, **given, **own}


def _kept(source: Table, own: Table, training: bool) -> Iterator[tuple[str, Any]]:
    """The preset's keys that this entry takes: a path of its own replaces the place on the hub."""
    placed = "path" in own
    for key, value in source.items():
        if not (training or key not in TRAINING_ONLY) or (placed and key in ("hub", "subset", "revision")):
            continue
        yield key, value
