"""Stored samples of curation as first batches: on-policy, used once, resumed, refused when they are another's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from rich.console import Console

from engines.build import TorchConfig
from engines.torch_engine import TorchEngine
from pipeline.config import RecipeError
from pipeline.problem import Problem
from pipeline.rollouts import Rollout, RolloutStore
from pipeline.sampling import Draws, Sampling
from trainer.clock import Clock
from trainer.config import TrainConfig
from trainer.first_batch import open_first_batch
from trainer.groups import GroupSource
from trainer.loop import train
from trainer.prompts import PromptStream, Task
from trainer.rollout_group import Group
from trainer.scorers import Scorer
from trainer.template import encode
from trainer.warmstart import build_tokenizer, new_model, save

Recipe = Callable[..., TrainConfig]


def draw(folder: Path, model: Path, problems: Sequence[Problem], samples: int, instruction: str = "") -> Path:
    """A curated folder's store, as a stage with the training's own settings leaves it."""
    sampling = Sampling(engine=TorchConfig(model=model), max_tokens=6, instruction=instruction)
    Draws.start("difficulty", sampling, 0, folder / "rollouts", problems).ensure(problems, samples)
    return folder


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory, model_folder: Path, problems: list[Problem]) -> Path:
    return draw(tmp_path_factory.mktemp("curated"), model_folder, problems, 4)


@pytest.fixture
def copied(curated: Path, tmp_path: Path) -> Path:
    return shutil.copytree(curated, tmp_path / "copied")


def stored(folder: Path, problems: Sequence[Problem]) -> dict[str, list[Rollout]]:
    return RolloutStore(folder / "rollouts").of_problems(problem.id for problem in problems)


def metrics(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in row.items() if not key.startswith("time/")} for row in rows]


def rollouts(folder: Path) -> list[dict[str, Any]]:
    paths = sorted((folder / "rollouts").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def same_weights(one: Path, other: Path) -> bool:
    ours, theirs = (safetensors.torch.load_file(folder / "final" / "model.safetensors") for folder in (one, other))
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_first_steps_train_on_what_is_stored_and_pay_nothing(
    recipe: Recipe, scorer: Scorer, quiet: Console, curated: Path, problems: list[Problem], tmp_path: Path
) -> None:
    config = recipe(sampling={"reuse": str(curated)})
    summary = train(config, tmp_path / "run", console=quiet, scorer=scorer)
    rows, written = metrics(tmp_path / "run"), rollouts(tmp_path / "run")
    texts = {(id_, one.sample): one.text for id_, drawn in stored(curated, problems).items() for one in drawn}
    for row in rows[:2]:
        assert row["groups/reused"] == row["groups/drawn"] >= 4 - rows[0]["groups/surplus"]
        assert row["generated_tokens"] == 0 < row["groups/reused_tokens"]
        first = [one for one in written if one["step"] == row["step"]]
        assert all(one["response"] == texts[one["id"], one["sample"]] and one["version"] == 0 for one in first)
    assert [row["groups/reused"] for row in rows[2:]] == [0, 0], "older than filter.max_age"
    assert rows[0]["mismatch/max_abs"] < 1e-4, "drawn by the very policy that is trained"
    assert (
        rows[-1]["generated_tokens_total"] == sum(row["generated_tokens"] for row in rows) == summary.generated_tokens
    )
    paid = [one for one in written if one["version"] > 0]
    assert summary.generated_tokens == sum(one["tokens"] for one in paid) > 0
    visits = [(one["group"], one["sample"]) for one in written if one["step"] < 3]
    assert len(visits) == len(set(visits)), "every stored sample at most once"


def test_a_killed_run_repeats_itself(
    recipe: Recipe, scorer: Scorer, quiet: Console, copied: Path, tmp_path: Path
) -> None:
    config = recipe(sampling={"reuse": str(copied)}, checkpoints={"every": 1, "keep": 9}, filter={"max_age": 2})
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train(config, whole, console=quiet, scorer=scorer)
    shutil.copytree(whole, killed)
    shutil.rmtree(killed / "final")
    (killed / "summary.json").unlink()
    for path in sorted((killed / "checkpoints").iterdir())[1:]:
        shutil.rmtree(path)
    again = shutil.copytree(killed, tmp_path / "again")
    train(config, killed, console=quiet, scorer=scorer)
    assert metrics(killed) == metrics(whole)
    assert metrics(whole)[2]["groups/reused"] > 0
    assert rollouts(killed) == rollouts(whole)
    assert same_weights(killed, whole)
    for path in sorted((copied / "rollouts").glob("*.parquet")):
        path.unlink()
    with pytest.raises(RecipeError, match=r"reuse_digest|sampling\.reuse"):
        train(config, again, console=quiet, scorer=scorer)


def test_what_is_not_stored_is_drawn_as_without_a_store(
    recipe: Recipe, scorer: Scorer, model_folder: Path, problems: list[Problem], tmp_path: Path
) -> None:
    engine = TorchEngine.from_folder(model_folder)
    known = draw(tmp_path / "half", model_folder, problems[::2], 4)
    config = recipe(sampling={"reuse": str(known), "prompts": 12}, filter={"keep": "all"})

    def first_groups(config: TrainConfig) -> list[Group]:
        tasks = [Task(problem=one, prompt_ids=encode(one, config.template, engine.tokenizer)) for one in problems]
        source = GroupSource(
            stream=PromptStream(tasks, seed=0, samples=4),
            sampler=engine,
            scorer=scorer,
            sampling=config.sampling,
            rules=config.filter,
            reward=config.reward,
            seed=0,
        )
        source.first_batch = open_first_batch(config, tasks, engine.digest)
        return source.fill(0, Clock()).kept

    half, plain = first_groups(config), first_groups(replace(config, sampling=replace(config.sampling, reuse=None)))
    assert [group.key for group in half] == [group.key for group in plain], "the same visits in the same order"
    assert {group.problem_id for group in half if group.reused} == (
        {group.problem_id for group in plain} & {problem.id for problem in problems[::2]}
    )
    texts = stored(known, problems)
    for mine, theirs in zip(half, plain, strict=True):
        if mine.reused:
            assert [one.response for one in mine.samples] == [one.text for one in texts[mine.problem_id]]
            assert [one.logprobs for one in mine.samples] == [one.logprobs for one in texts[mine.problem_id]]
        else:
            assert [one.token_ids for one in mine.samples] == [one.token_ids for one in theirs.samples]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampling": {"temperature": 0.9}}, r"drawn at temperature 1\.0, max_tokens 6, .* temperature 0\.9"),
        ({"sampling": {"max_tokens": 7}}, r"max_tokens 7; make sampling\.temperature and sampling\.max_tokens equal"),
        ({"sampling": {"stages": [{"until_step": 1, "max_tokens": 5}]}}, "max_tokens 5"),
        ({"sampling": {"samples": 5}}, r"50 of 50 sampled problems .* sampling\.samples = 4"),
        ({"template": {"suffix": "\nThink."}}, r"template\.suffix"),
        ({"template": {"system": "Think."}}, r"template\.suffix"),
    ],
)
def test_others_samples_are_refused(
    changes: dict[str, Any], message: str, recipe: Recipe, scorer: Scorer, quiet: Console, curated: Path, tmp_path: Path
) -> None:
    tables = {"sampling": {}} | changes
    config = recipe(**(tables | {"sampling": tables["sampling"] | {"reuse": str(curated)}}))
    with pytest.raises(RecipeError, match=message):
        train(config, tmp_path / "run", console=quiet, scorer=scorer)
    assert not (tmp_path / "run" / "recipe.toml").exists(), "the folder stays free for the right command"


def test_other_weights_and_empty_folders_are_refused(
    recipe: Recipe, scorer: Scorer, quiet: Console, curated: Path, tmp_path: Path
) -> None:
    save(new_model(1, hidden=32, layers=1, heads=2, feed_forward=64), build_tokenizer(), tmp_path / "other")
    config = recipe(model=str(tmp_path / "other"), sampling={"reuse": str(curated)})
    with pytest.raises(RecipeError, match=r"drawn by tiny with other weights.*engine\.model"):
        train(config, tmp_path / "run", console=quiet, scorer=scorer)
    with pytest.raises(RecipeError, match="no samples of a model in there"):
        train(recipe(sampling={"reuse": str(tmp_path)}), tmp_path / "run", console=quiet, scorer=scorer)


def test_samples_that_outcomes_chose_are_refused(
    recipe: Recipe, scorer: Scorer, quiet: Console, copied: Path, model_folder: Path, problems: list[Problem],
    tmp_path: Path,
) -> None:  # fmt: skip
    """A curtailed stage draws more of what it cannot decide: those with 8 samples began with 4 of one kind."""
    draw(copied, model_folder, problems[:20], 8)
    eight = recipe(sampling={"reuse": str(copied), "samples": 8})
    with pytest.raises(RecipeError, match=r'30 of 50 .* biased choice.*test = "fixed".*sampling\.samples = 4'):
        train(eight, tmp_path / "run", console=quiet, scorer=scorer)
    four = recipe(steps=1, sampling={"reuse": str(copied)})
    train(four, tmp_path / "run", console=quiet, scorer=scorer)
    assert metrics(tmp_path / "run")[0]["groups/reused"] > 0


def test_an_instruction_of_curation_is_a_suffix_of_training(
    recipe: Recipe, scorer: Scorer, quiet: Console, model_folder: Path, problems: list[Problem], tmp_path: Path
) -> None:
    known = draw(tmp_path / "asked", model_folder, problems, 4, instruction="2+2=?")
    config = recipe(steps=1, template={"suffix": "\n2+2=?"}, sampling={"reuse": str(known)})
    train(config, tmp_path / "run", console=quiet, scorer=scorer)
    (row,) = metrics(tmp_path / "run")
    assert row["generated_tokens"] == 0
    assert row["mismatch/max_abs"] < 1e-4
