"""The stages of a curation recipe, one file each."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import is_dataclass
from typing import Any

from pipeline.config import RecipeError

STAGES: dict[str, str] = {
    "select": "pipeline.stages.select:Select",
    "clean": "pipeline.stages.clean:Clean",
    "dedupe": "pipeline.stages.dedupe:Dedupe",
    "decontaminate": "pipeline.stages.decontaminate:Decontaminate",
    "integers": "pipeline.stages.integers:Integers",
    "guessable": "pipeline.stages.guessable:Guessable",
    "answerable": "pipeline.stages.answerable:Answerable",
    "suspects": "pipeline.stages.suspects:Suspects",
    "difficulty": "pipeline.stages.difficulty:Difficulty",
    "balance": "pipeline.stages.balance:Balance",
}
"""Name in a recipe -> "module:class"; imported when used. A recipe may name any other "package.module:Class"."""


def stage_class(name: str, where: str = "recipe") -> Any:
    """The frozen dataclass of a stage. Raises RecipeError for a name that is neither known nor importable."""
    place = STAGES.get(name, name)
    module_name, separator, class_name = place.partition(":")
    if not separator:
        nearest = difflib.get_close_matches(name, STAGES, n=1, cutoff=0.5)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"known stages: {', '.join(STAGES)}"
        raise RecipeError(f'{where}: stages.{name}: unknown stage; {hint} (or give "package.module:Class")')
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise RecipeError(f"{where}: stages.{name}: cannot import {place}: {error}") from None
    if not (isinstance(found, type) and is_dataclass(found) and (hasattr(found, "drops") or "__call__" in vars(found))):
        raise RecipeError(
            f"{where}: stages.{name}: {place} is no stage; give a frozen dataclass that can be called with problems, "
            "or has keys and drops"
        )
    return found


def stage_module(name: str) -> str:
    return STAGES.get(name, name).partition(":")[0]
