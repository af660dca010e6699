"""Published settings of a stage by name: one small TOML file each, with its source and its numbers."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from pipeline.bundled import data_folder
from pipeline.config import Layer, RecipeError, read_toml


def stage_presets_folder() -> Path:
    return data_folder() / "recipes" / "difficulty"


def stage_preset_names() -> list[str]:
    return sorted(path.stem for path in stage_presets_folder().glob("*.toml"))


def preset_layer(name: Any, stage: str, where: str) -> Layer:
    """The table of a preset for the stage that names it. Raises RecipeError for an unknown one, or one of another."""
    names = stage_preset_names()
    if name not in names:
        nearest = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"known presets: {', '.join(names)}"
        raise RecipeError(f"{where}: stages.{stage}.preset: unknown preset {name!r}; {hint}")
    layer = read_toml(stage_presets_folder() / f"{name}.toml")
    if stage not in layer.table:
        raise RecipeError(
            f"{where}: stages.{stage}.preset: '{name}' is a preset of stages.{', stages.'.join(layer.table)}"
        )
    return Layer(name=layer.name, base=layer.base, table=layer.table[stage])
