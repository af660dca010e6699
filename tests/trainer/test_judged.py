"""Rewards beyond the rules: a judge behind the verifiers, rubrics, and the majority of a group as its label."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from engines.request_cache import RequestCache
from pipeline.config import RecipeError
from pipeline.judging import JudgeConfig, open_panel
from pipeline.problem import Problem
from pipeline.shards import write_problems
from tests.trainer.conftest import Recipe
from tests.verifiers.judges import save_tiny_judge
from trainer.checkpoint import RunFolder
from trainer.judged import ANSWERS_FILE, JudgedScorer
from trainer.loop import train
from trainer.majority import label_free
from verifiers import Status

CRITERIA = json.dumps({"criteria": [{"criterion": "It is short.", "weight": 2}, {"criterion": "It is a number."}]})


@pytest.fixture(scope="module")
def judge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_judge(tmp_path_factory.mktemp("judge") / "tiny")


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_judge_scores_training(recipe: Recipe, judge_folder: Path, quiet: Console, tmp_path: Path) -> None:
    config = recipe(steps=2, reward={"judge": {"engine": {"model": str(judge_folder)}, "share": 1.0}})
    config = replace(config, filter=replace(config.filter, keep="all"))
    train(config, tmp_path / "run", console=quiet)
    environment = json.loads((tmp_path / "run" / "environment.json").read_text())
    judge = json.loads(environment["judge"])
    assert judge["judges"][0]["prompt"] == "instruct"
    assert len(judge["judges"][0]["prompt_digest"]) == 16
    for row in metrics(tmp_path / "run"):
        assert 0 <= row["judge/turned_share"] <= row["judge/drawn_share"] <= 1


def test_rubrics_are_scored_by_the_judge(
    recipe: Recipe, judge_folder: Path, problems: list[Problem], quiet: Console, tmp_path: Path
) -> None:
    rows = [replace(problem, verifier="rubric", verifier_options=CRITERIA) for problem in problems[:8]]
    write_problems(tmp_path / "shards", rows)
    judge = {"engine": {"model": str(judge_folder)}}
    config = recipe(steps=1, shards=str(tmp_path / "shards"), reward={"judge": judge}, filter={"keep": "all"})
    train(config, tmp_path / "run", console=quiet)
    samples = [
        json.loads(line)
        for line in (tmp_path / "run" / "rollouts" / "step-00001.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {row["reason"] for row in samples} <= {"rubric", "no-answer"}
    assert {row["reward"] for row in samples} <= {0.0, 1 / 3, 2 / 3, 1.0}
    with pytest.raises(RecipeError, match=r"needs a judge; add a table reward\.judge"):
        train(recipe(shards=str(tmp_path / "shards")), tmp_path / "other", console=quiet)


def test_a_judge_that_cannot_be_asked_is_a_mistake_of_the_recipe(tmp_path: Path) -> None:
    config = JudgeConfig(engine=from_engine(tmp_path / "nothing"))
    with pytest.raises(RecipeError, match="no model there"):
        open_panel(config, seed=0)


def from_engine(path: Path) -> Any:
    from engines.build import TorchConfig

    return TorchConfig(model=path)


def test_majority_needs_no_gold(recipe: Recipe, problems: list[Problem], quiet: Console, tmp_path: Path) -> None:
    """With golds that no answer equals training goes the same way, number by number."""
    runs = []
    for name, gold in (("own", None), ("none", "\\text{nobody writes this}")):
        rows = [problem if gold is None else replace(problem, ground_truth=gold) for problem in problems]
        write_problems(tmp_path / name, rows)
        reward = {"kind": "majority"}
        config = recipe(steps=2, shards=str(tmp_path / name), reward=reward, filter={"keep": "all"})
        train(config, tmp_path / f"run-{name}", console=quiet)
        runs.append(metrics(tmp_path / f"run-{name}"))
    for own, none in zip(*runs, strict=True):
        assert 0 < own["majority/agreement"] <= 1
        for key in ("majority/agreement", "majority/abstained_share", "reward/mean", "loss/policy"):
            assert own[key] == none[key]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reward": {"kind": "majority"}, "sampling": {"samples": 2}}, "a majority wants"),
        ({"reward": {"kind": "majority"}, "advantage": {"name": "greedy"}}, "no majority"),
        ({"reward": {"kind": "random", "judge": {"engine": {"model": "/m"}}}}, "never asked"),
        ({"reward": {"judge": {"engine": {"model": "/m"}, "share": 1.5}}}, "between 0 and 1"),
        ({"reward": {"judge": {"engine": {"model": "/m"}, "promt": "xverify"}}}, "did you mean 'prompt'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(recipe: Recipe, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        recipe(**changes)


# ---- majority ------------------------------------------------------------------------------------------------------

answers = st.sampled_from(
    ["\\boxed{7}", "7", "\\boxed{8}", "\\boxed{14/2}", "", "\\boxed{}", "{", "print(7)", "3 or 4"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(answers, min_size=1, max_size=8))
def test_unparsed_never_votes_and_never_wins(texts: list[str]) -> None:
    problem = addition_problem()
    (found,) = label_free([problem], [texts])
    (other,) = label_free([replace(problem, ground_truth="12345")], [texts])
    assert found == other
    right = [text for text, verdict in zip(texts, found.verdicts, strict=True) if verdict.status is Status.CORRECT]
    assert not {"", "\\boxed{}", "{", "print(7)"} & set(right)
    assert found.agreement == len(right) / len(texts)
    sevens = sum(text in ("\\boxed{7}", "7", "\\boxed{14/2}") for text in texts)
    if sevens > len(texts) / 2:
        assert len(right) == sevens


def test_words_and_constants_vote() -> None:
    for text in (
        "\\boxed{\\pi}",
        "\\boxed{\\text{yes}}",
        "\\boxed{\\emptyset}",
        "\\boxed{x > 3}",
        "\\boxed{\\{1, 2\\}}",
    ):
        (found,) = label_free([addition_problem()], [[text, text, "Thought process:"]])
        assert (found.abstained, found.agreement) == (1, 2 / 3)


def addition_problem() -> Problem:
    from pipeline import addition

    return addition.problems(1, 1, split="pool")[0]


def test_a_judge_that_was_asked_before_a_failed_start_leaves_the_folder_free(recipe: Recipe, tmp_path: Path) -> None:
    with RequestCache(tmp_path / "run" / ANSWERS_FILE) as answers:
        answers.put("digest", {"text": "A"})
    assert RunFolder.open(tmp_path / "run", recipe(), fresh=False).latest() is None
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(RecipeError, match="holds no run"):
        RunFolder.open(tmp_path / "run", recipe(), fresh=False)


def test_counts_are_told_once(judge_folder: Path) -> None:
    panel = open_panel(JudgeConfig(engine=from_engine(judge_folder), share=1.0), seed=0)
    scorer = JudgedScorer(panel, 1)
    assert scorer([]) == ()
    assert scorer.take() == {f"judge/{name}_share": 0.0 for name in ("drawn", "turned", "split", "failed")}
