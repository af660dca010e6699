"""Where the recipes and sample rows lie: inside the package in a wheel, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path


def data_folder() -> Path:
    """Raises FileNotFoundError when the installation lacks its data."""
    package = Path(__file__).resolve().parent
    for candidate in (package / "data", package.parent / "data"):
        if (candidate / "recipes").is_dir():
            return candidate
    raise FileNotFoundError(f"{package}: recipes and samples are missing; install verigold again")


def recipe(name: str) -> Path:
    """`quickstart/default` -> the bundled TOML file of that name."""
    return data_folder() / "recipes" / f"{name}.toml"
