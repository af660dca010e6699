"""`verigold train` and `verigold eval` as a user calls them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from pipeline.config import RecipeError
from verigold.commands import eval as eval_command
from verigold.commands import train as train_command

RUNNER = CliRunner()


def app() -> typer.Typer:
    found = typer.Typer(rich_markup_mode=None)
    found.command("train", help=train_command.__doc__)(train_command.command)
    found.command("eval", help=eval_command.__doc__)(eval_command.command)
    return found


@pytest.fixture
def recipe_file(tmp_path: Path, model_folder: Path, shards: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(
        f"algorithm = 'dr_grpo'\nmodel = '{model_folder}'\nshards = '{shards}'\nsteps = 1\nthreads = 1\n"
        "[sampling]\nprompts = 2\nsamples = 4\nmax_tokens = 4\n[reward]\nkind = 'random'\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("verb", ["train", "eval"])
def test_help_has_two_examples(verb: str) -> None:
    text = RUNNER.invoke(app(), [verb, "--help"]).output
    assert text.count(f"  verigold {verb} ") == 2


def test_dry_run_prints_the_resolved_recipe(recipe_file: Path, tmp_path: Path) -> None:
    result = RUNNER.invoke(
        app(), ["train", str(recipe_file), "--dry-run", "--set", "steps=7", "--out", str(tmp_path / "run")]
    )
    assert result.exit_code == 0
    table = tomllib.loads(result.stdout)
    assert table["steps"] == 7
    assert table["loss"]["name"] == "clip"
    assert table["reduction"]["name"] == "constant"
    assert not (tmp_path / "run").exists()


def test_train_then_eval(recipe_file: Path, shards: Path, tmp_path: Path) -> None:
    out, answer = tmp_path / "run", tmp_path / "eval.json"
    result = RUNNER.invoke(app(), ["train", str(recipe_file), "--out", str(out), "--quiet"])
    assert result.exit_code == 0
    assert f"{out}: done after 1 step, " in result.stdout
    arguments = ["eval", str(out / "final"), str(shards), "--out", str(answer), "--quiet"]
    arguments += ["--problems", "3", "--samples", "2", "--k-samples", "2", "--max-tokens", "4"]
    first = RUNNER.invoke(app(), arguments)
    assert first.exit_code == 0
    assert "pass@1, T = 1.0" in first.stdout
    assert "pass@1, 2 samples each on 3 problems" in first.stdout
    assert "pass@2, 2 samples each on 3 problems" in first.stdout
    value = json.loads(answer.read_text(encoding="utf-8"))
    assert value["n"] == 3
    assert value["label"] == "final"
    changed = answer.stat().st_mtime_ns
    assert RUNNER.invoke(app(), arguments).stdout == first.stdout
    assert answer.stat().st_mtime_ns == changed
    compared = RUNNER.invoke(app(), [*arguments, "--against", str(answer)])
    assert "+0.000" in compared.stdout
    fewer = [
        "eval",
        str(out / "final"),
        str(shards),
        "--quiet",
        "--problems",
        "2",
        "--k-samples",
        "0",
        "--max-tokens",
        "4",
    ]
    unequal = RUNNER.invoke(app(), [*fewer, "--against", str(answer)])
    assert isinstance(unequal.exception, RecipeError)
    other = RUNNER.invoke(app(), [*arguments, "--seed", "1"])
    assert isinstance(other.exception, RecipeError)
    assert "seed was 0, now 1" in str(other.exception)


def test_eval_says_what_pass_at_k_was_measured_on(model_folder: Path, shards: Path) -> None:
    arguments = ["eval", str(model_folder), str(shards), "--quiet", "--problems", "3", "--max-tokens", "4"]
    result = RUNNER.invoke(app(), [*arguments, "--samples", "1", "--k-samples", "4", "--k-problems", "2"])
    assert result.exit_code == 0
    for k in (1, 2, 4):
        assert f"pass@{k}, 4 samples each on 2 problems" in result.stdout


def test_the_token_budget_is_named(recipe_file: Path, tmp_path: Path) -> None:
    arguments = ["train", str(recipe_file), "--out", str(tmp_path / "run"), "--quiet"]
    result = RUNNER.invoke(app(), [*arguments, "--set", "steps=9", "--set", "max_generated_tokens=1"])
    assert result.exit_code == 0
    assert "stopped at the token budget after 1 step, " in result.stdout


def test_a_stopped_run_exits_with_1(recipe_file: Path, tmp_path: Path) -> None:
    result = RUNNER.invoke(
        app(),
        ["train", str(recipe_file), "--out", str(tmp_path / "run"), "--quiet", "--set", "filter.on_exhausted=error",
         "--set", "filter.max_gen_batches=1", "--set", "sampling.prompts=25", "--set", "filter.keep=informative"],
    )  # fmt: skip
    assert result.exit_code == 1
    assert "stopped after 0 steps (exhausted)" in result.stdout
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["exit_reason"] == "exhausted"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "missing.toml"], "cannot read the recipe"),
        (["eval", "no-model", "no-shards"], "no-shards"),
        (["eval", "m", "s", "--temperature", "0"], "must be above 0"),
    ],
)
def test_mistakes_are_named(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(app(), arguments)
    assert isinstance(result.exception, RecipeError)
    assert message in str(result.exception)


def test_a_run_that_learned_nothing_exits_with_1(recipe_file: Path, tmp_path: Path) -> None:
    """A random model is right of nothing, so the one step has no signal and the weights are those of the start."""
    arguments = ["train", str(recipe_file), "--out", str(tmp_path / "run"), "--quiet", "--set", "reward.kind=verdict"]
    result = RUNNER.invoke(app(), arguments)
    assert result.exit_code == 1
    assert "nothing learned in 1 step, " in result.stdout
    assert "all steps are used up and no step had anything to learn from" in result.stderr
    assert not (tmp_path / "run" / "final").exists()
