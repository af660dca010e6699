"""reasoning-gym as a source: ten tasks through the whole pipeline, the same rows for the same seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.config import RecipeError, load
from pipeline.problem import Problem
from pipeline.reasoning_gym import GymTask, entries
from pipeline.rollouts import request_for
from pipeline.run import CurateConfig, curate
from pipeline.shards import read_shards
from pipeline.sources import read_source
from verifiers import Status, verify_many
from verifiers.reasoning_gym import ALLOWED

pytest.importorskip("reasoning_gym")

RECIPE = Path(__file__).resolve().parents[2] / "data" / "recipes" / "curate" / "reasoning_gym.toml"
SIZE = 4


def recipe(folder: Path, *sources: str) -> Path:
    path = folder / "gym.toml"
    tables = [f'[[sources]]\npreset = "reasoning_gym"\n{source}\n' for source in sources]
    path.write_text("\n".join(tables) + "[stages.clean]\n", encoding="utf-8")
    return path


def source(task: str, extra: str = "") -> str:
    return f'name = "{task}"\nreasoning_gym = {{task = "{task}", size = {SIZE}{extra}}}'


def test_ten_tasks_through_the_whole_pipeline(tmp_path: Path) -> None:
    whole = load(CurateConfig, [RECIPE])
    tasks = [one.reasoning_gym.task for one in whole.sources if one.reasoning_gym is not None]
    assert len(tasks) == 10
    path = tmp_path / "small.toml"
    stages = "".join(f"[stages.{name}]\n" for name in whole.stages)
    small = [f'[[sources]]\npreset = "reasoning_gym"\n{source(task)}\n' for task in tasks]
    path.write_text("\n".join(small) + stages, encoding="utf-8")
    manifest = curate(load(CurateConfig, [path]), tmp_path / "out", console=Console(quiet=True), workers=1)
    assert manifest["rows_in"] == 10 * SIZE
    assert manifest["rows_kept"] >= 9 * SIZE, manifest["dropped"]
    assert not manifest["quarantined"]
    problems = read_shards(tmp_path / "out")
    assert {one.data_source for one in problems} == set(tasks)
    verdicts = verify_many([request_for(one, f"<answer>{one.ground_truth}</answer>") for one in problems])
    assert {verdict.status for verdict in verdicts} == {Status.CORRECT}


def rows(seed: int) -> str:
    gym = GymTask(task="word_sorting", size=3, seed=seed)
    return json.dumps([raw.row for raw in entries(gym, "test")])


def test_the_same_seed_gives_the_same_rows_in_every_process() -> None:
    """Another process has another order of sets."""
    root = Path(__file__).resolve().parents[2]
    code = (
        "import json; from pipeline.reasoning_gym import GymTask, entries;"
        "gym = GymTask(task='word_sorting', size=3, seed=3);"
        "print(json.dumps([raw.row for raw in entries(gym, 'test')]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == rows(3)
    assert rows(3) != rows(4)


def test_rows_carry_what_the_scorer_needs(tmp_path: Path) -> None:
    path = recipe(tmp_path, source("chain_sum", ", config = {min_terms = 2, max_terms = 2}"))
    found = list(read_source(load(CurateConfig, [path]).sources[0]))
    assert len(found) == SIZE
    one = found[0]
    assert isinstance(one, Problem)
    assert (one.verifier, one.license, one.ability) == ("reasoning_gym", "Apache-2.0", "reasoning")
    options = json.loads(one.verifier_options)
    assert options["task"] == "chain_sum"
    assert options["config"] == {"min_terms": 2, "max_terms": 2}
    assert options["metadata"]["num_terms"] == 2


def test_rules_of_ours_can_judge_instead(tmp_path: Path) -> None:
    path = recipe(tmp_path, source("gcd") + '\nverifier = "math"')
    one = next(iter(read_source(load(CurateConfig, [path]).sources[0])))
    assert isinstance(one, Problem)
    assert (one.verifier, one.verifier_options) == ("math", "{}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (source("n_queens"), "runs text as Python code"),
        (source("no_such"), "no task of that name"),
        (source("gcd") + '\npath = "x.jsonl"', "one of path, hub and reasoning_gym"),
    ],
)
def test_refused_recipes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        load(CurateConfig, [recipe(tmp_path, text)])


@pytest.mark.parametrize("config", [{"min_terms": 9, "max_terms": 2}, {"no_such_setting": 1}])
def test_settings_that_a_task_does_not_take(config: dict) -> None:
    with pytest.raises(RecipeError, match=r"reasoning_gym\.config of 'chain_sum'"):
        list(entries(GymTask(task="chain_sum", size=1, config=config), "here"))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(RecipeError, match=r"verigold\[reasoning-gym\]"):
        list(entries(GymTask(task="gcd", size=1), "here"))


def test_the_recipe_takes_allowed_tasks_only() -> None:
    sources = tomllib.loads(RECIPE.read_text(encoding="utf-8"))["sources"]
    assert {one["reasoning_gym"]["task"] for one in sources} <= ALLOWED
