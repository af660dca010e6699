"""Recipes: presets, overrides, and what is refused before any model is loaded."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from pipeline.config import STRICT, RecipeError, dump
from trainer.config import TrainConfig, algorithms_file, load_recipe, objective
from trainer.refusals import notes

Recipe = Callable[..., TrainConfig]
PRESETS = tomllib.loads(algorithms_file().read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_loads(name: str, recipe: Recipe) -> None:
    config = recipe(algorithm=name, sampling={"samples": 8})
    assert config.loss.name == PRESETS[name]["loss"]["name"]
    assert config.advantage.name == PRESETS[name]["advantage"]["name"]
    assert objective(config).aggregation == PRESETS[name]["reduction"]["name"]
    assert PRESETS[name]["about"]


def test_the_recipes_of_the_repository_load() -> None:
    for path in algorithms_file().parent.glob("*.toml"):
        if path != algorithms_file():
            assert load_recipe([path]).algorithm in PRESETS


def test_a_recipe_overrides_its_preset(recipe: Recipe) -> None:
    config = recipe(loss={"options": {"clip_high": 0.3}})
    assert config.loss.options == {"clip_low": 0.2, "clip_high": 0.3}
    other = recipe(loss={"name": "cispo", "options": {"ratio_max": 4.0}})
    assert other.loss.options == {"ratio_max": 4.0}
    assert other.advantage.name == "group_z"


def test_the_resolved_recipe_loads_again(recipe: Recipe, tmp_path: Path) -> None:
    config = recipe(algorithm="grpo_kl")
    path = tmp_path / "recipe.toml"
    path.write_text(dump(config), encoding="utf-8")
    assert load_recipe([path]) == config


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"algorithm": "dappo"}, "algorithm: unknown 'dappo'"),
    ({"optimiser": {"learning_rate": 1e-6}}, "optimiser.learning_rate: unknown key"),
    ({"lost": 1}, "lost: unknown key; did you mean 'loss'"),
    ({"loss": {"name": "clop"}}, "loss.name: unknown 'clop'"),
    ({"loss": {"options": {"clip_hihg": 0.3}}}, "loss.options: clip: unknown option 'clip_hihg'"),
    ({"advantage": {"name": "group_z", "options": {"epsilon": 1.0}}}, "unknown option 'epsilon'"),
    ({"correction": {"name": "tis", "options": {"cap": 2.0}}}, "correction.options: tis: unknown option 'cap'"),
    ({"reduction": {"name": "mean"}}, "reduction.name: unknown 'mean'"),
    ({"sampling": {"temperature": 0.0}}, "sampling.temperature"),
    ({"sampling": {"top_p": 0.9}}, "sampling.top_p"),
    ({"sampling": {"top_k": 50}}, "sampling.top_k"),
    ({"sampling": {"min_p": 0.1}}, "sampling.min_p"),
    ({"sampling": {"samples": 1}}, "needs at least 2 responses"),
    ({"steps": 0}, "steps: must be 1 or more"),
    ({"optimiser": {"lr": 0.0}}, "optimiser.lr"),
    ({"reward": {"overlong_cache": 6}}, "reward.overlong_cache"),
    ({"reward": {"correct": -1.0}}, "reward.correct"),
    ({"evaluation": {"every": 5}}, "evaluation.shards"),
    ({"loss": {"name": "luffy"}}, "add the table [demonstrations]"),
    ({"demonstrations": {}}, "loss 'clip' would take them for the policy's own samples"),
    ({"algorithm": "luffy", "advantage": {"name": "batch_mean"}}, "demonstrations: advantage 'batch_mean'"),
    ({"algorithm": "luffy", "kl": {"coef": 0.1}}, "kl.coef"),
    ({"algorithm": "luffy", "reward": {"kind": "random"}}, "reward.kind: demonstrations"),
    ({"algorithm": "luffy", "demonstrations": {"samples": 0}}, "demonstrations.samples"),
    ({"algorithm": "luffy", "demonstrations": {"response": "answer"}}, "demonstrations.response"),
    ({"reward": {"length": {"name": "kimy"}}}, "reward.length.name: unknown 'kimy'"),
    ({"reward": {"length": {"name": "l1_max"}}}, "reward.length.options: l1_max: needs the option 'target'"),
    ({"reward": {"length": {"name": "kimi", "options": {"target": 3}}}}, "unknown option 'target'"),
    ({"reward": {"length": {"name": "l1_exact", "options": {"target": 7}}}}, "from 1 to sampling.max_tokens"),
    ({"reward": {"length": {"name": "kimi", "options": {"weight": -1.0}}}}, "weight must be a number"),
    ({"reward": {"length_after": 3}}, "reward.length_after"),
    ({"lora": {"rank": 0}}, "lora.rank"),
    ({"lora": {"float32_head": True}}, "lora.float32_head"),
    ({"lora": {}, "kl": {"coef": 0.1, "reset_every": 5}}, "kl.reset_every: with lora"),
    ({"checkpoints": {"best": "pass_at_1"}}, "checkpoints.best: chooses by evaluations"),
    ({"prompts": {"curriculum": {"name": "e2h_cosine"}}}, "needs the option 'levels'"),
    ({"prompts": {"curriculum": {"name": "e2h_cosine", "options": {"levels": 1}}}}, "2 or more"),
    ({"prompts": {"prior": True, "skip": "success"}}, "choose one of them"),
    ({"sampling": {"stages": [{"until_step": 2, "max_tokens": 9}]}}, "sampling.stages"),
    ({"sampling": {"stages": [{"until_step": 0, "max_tokens": 3}]}}, "sampling.stages"),
    (
        {"algorithm": "dr_grpo", "sampling": {"stages": [{"until_step": 2, "max_tokens": 3}]}},
        "reduction.max_length: must be given with sampling.stages",
    ),
    (
        {"sampling": {"stages": [{"until_step": 2, "max_tokens": 3}]}, "reward": {"overlong_cache": 3}},
        "smaller than the budget of every stage",
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_refused(changes: dict[str, Any], message: str, recipe: Recipe) -> None:
    with pytest.raises(RecipeError) as caught:
        recipe(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [("dappo", "unknown 'dappo'; did you mean 'dapo'? known: "), ("qqq", "unknown 'qqq'; known: "), ("[1]", "unknown")],
)
def test_an_unknown_algorithm_is_reported_where_it_was_set(value: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("steps = 1\n", encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        load_recipe([path], [f"algorithm={value}", "model=m", "shards=s"])
    assert str(caught.value).startswith(f"--set algorithm: algorithm: {hint}")


def test_a_curation_recipe_is_sent_to_its_verb() -> None:
    path = algorithms_file().parent.parent / "curate" / "real.toml"
    with pytest.raises(RecipeError) as caught:
        load_recipe([path], ["steps=1"])
    assert str(caught.value) == f"{path}: is a curation recipe (it has sources); give it to `verigold curate`"


def test_choices_that_evidence_speaks_against_are_told(recipe: Recipe) -> None:
    assert notes(recipe(algorithm="dr_grpo")) == []
    assert len(notes(recipe(algorithm="grpo"))) == 2
    assert "k1" in notes(recipe(algorithm="dr_grpo", kl={"name": "k1", "coef": 0.1}))[0]
    assert "minibatches" in notes(recipe(algorithm="rloo"))[0]


def sections(schema: Any) -> list[Any]:
    found = [schema]
    for field in fields(schema):
        hint = get_type_hints(schema)[field.name]
        for option in (hint, *get_args(hint)):
            if is_dataclass(option):
                found += sections(option)
    return found


def test_every_section_is_strict() -> None:
    for section in sections(TrainConfig):
        assert section.__pydantic_config__ == STRICT, section
