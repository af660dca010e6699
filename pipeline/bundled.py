"""Where the recipes and sample rows lie: beside the packages in a checkout, inside verigold/ in a wheel."""

from __future__ import annotations

from pathlib import Path

from pipeline.config import RecipeError


def data_folder() -> Path:
    """Raises RecipeError when the installation lacks its data."""
    root = Path(__file__).resolve().parent.parent
    for candidate in (root / "verigold" / "data", root / "data"):
        if (candidate / "recipes").is_dir():
            return candidate
    raise RecipeError(f"{root}: recipes and samples are missing; install verigold again")


def recipe(name: str) -> Path:
    """`quickstart/default` -> the bundled TOML file of that name."""
    return data_folder() / "recipes" / f"{name}.toml"
