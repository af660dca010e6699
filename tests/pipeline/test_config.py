"""Recipes: layers, paths, and errors that name file, key and nearest key."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from pipeline import config
from pipeline.config import STRICT, RecipeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    __pydantic_config__ = STRICT
    threshold: float = 0.5
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    __pydantic_config__ = STRICT
    name: str
    steps: int = 3
    kind: Literal["a", "b"] = "a"
    inner: Inner = field(default_factory=Inner)
    many: tuple[Inner, ...] = ()
    named: dict[str, Inner] = field(default_factory=dict)


def write(folder: Path, text: str, name: str = "recipe.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_layers_win_in_order_and_flags_last(tmp_path: Path) -> None:
    base = write(tmp_path, 'name = "x"\nsteps = 4\n[inner]\nthreshold = 0.1\n', "a.toml")
    later = write(tmp_path, "steps = 5\n", "b.toml")
    loaded = config.load(Outer, [base, later], ["inner.threshold=0.9", "kind=b"])
    assert (loaded.name, loaded.steps, loaded.inner.threshold, loaded.kind) == ("x", 5, 0.9, "b")


def test_paths_are_relative_to_their_file_and_overrides_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipes").mkdir()
    path = write(tmp_path / "recipes", 'name = "x"\n[inner]\nfile = "../data.txt"\n[[many]]\nfile = "y"\n')
    assert config.load(Outer, [path]).inner.file == (tmp_path / "data.txt").resolve()
    assert config.load(Outer, [path]).many[0].file == (tmp_path / "recipes" / "y").resolve()
    monkeypatch.chdir(tmp_path)
    assert config.load(Outer, [path], ["inner.file=here.txt"]).inner.file == (tmp_path / "here.txt").resolve()


def test_integers_are_taken_for_floats_but_not_strings_for_numbers(tmp_path: Path) -> None:
    assert config.load(Outer, [write(tmp_path, 'name = "x"\ninner = {threshold = 1}\n')]).inner.threshold == 1.0
    with pytest.raises(RecipeError, match=r"inner\.threshold.*'1'"):
        config.load(Outer, [write(tmp_path, 'name = "x"\ninner = {threshold = "1"}\n')])


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ('name = "x"\n[inner]\ntreshold = 1.0\n', "inner.treshold", "did you mean 'threshold'?"),
        ('name = "x"\nstep = 1\n', "step", "did you mean 'steps'?"),
        ('name = "x"\n[[many]]\nthresold = 1.0\n', "many.0.thresold", "did you mean 'threshold'?"),
        ('name = "x"\n[named.q]\nfiles = "z"\n', "named.q.files", "did you mean 'file'?"),
        ('name = "x"\nzzz = 1\n', "zzz", "known keys: inner, kind, many, name, named, steps"),
        ("steps = 1\n", "name", "required key is missing"),
        ('name = "x"\nkind = "c"\n', "kind", "'a' or 'b'"),
    ],
)
def test_a_mistake_names_file_key_and_remedy(tmp_path: Path, text: str, place: str, hint: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RecipeError) as caught:
        config.load(Outer, [path])
    assert f"{path}: {place}: " in str(caught.value)
    assert hint in str(caught.value)


def test_a_mistake_in_an_override_names_the_flag(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"--set inner\.thresh: inner\.thresh: unknown key; did you mean 'threshold'"):
        config.load(Outer, [write(tmp_path, 'name = "x"\n')], ["inner.thresh=1"])


@pytest.mark.parametrize("text", ["no equals sign", "=5", "a b=1"])
def test_a_malformed_override_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="--set"):
        config.parse_override(text)


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"absent\.toml: cannot read"):
        config.load(Outer, [tmp_path / "absent.toml"])
    with pytest.raises(RecipeError, match=r"recipe\.toml: not a TOML file"):
        config.load(Outer, [write(tmp_path, "name = = 1")])


def test_the_resolved_recipe_loads_to_itself(tmp_path: Path) -> None:
    loaded = config.load(Outer, [write(tmp_path, 'name = "x"\n[inner]\nfile = "f"\n[[many]]\nthreshold = 2\n')])
    again = write(tmp_path, config.dump(loaded), "resolved.toml")
    assert tomllib.loads(again.read_text(encoding="utf-8"))["many"] == [{"threshold": 2.0}]
    assert config.load(Outer, [again]) == loaded
