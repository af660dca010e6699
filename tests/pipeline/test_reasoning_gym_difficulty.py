"""A reasoning-gym task through a stage with a model: its own scorer decides what the model solves sometimes."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from rich.console import Console

from pipeline.config import load
from pipeline.problem import Problem
from pipeline.run import CurateConfig, curate
from pipeline.shards import read_shards
from pipeline.sources import read_source
from trainer.warmstart import Example, Schedule, build_tokenizer, finetune, new_model, save

pytest.importorskip("reasoning_gym")

RECIPE = """
[[sources]]
name = "chain_sum"
preset = "reasoning_gym"
reasoning_gym = {task = "chain_sum", size = 4, config = {min_terms = 2, max_terms = 2, max_digits = 1}}

[sampling]
engine = {model = "model", device = "cpu"}
max_tokens = 24

[stages.difficulty]
samples = 8
test = "fixed"
"""


def answers_of(problems: list[Problem]) -> dict[str, list[str]]:
    """The first is always solved, the second half of the time, the third never; the fourth never says anything."""
    right = [f"<answer>{one.ground_truth}</answer>" for one in problems]
    wrong = [f"<answer>{int(one.ground_truth) + 1}</answer>" for one in problems]
    said = [[right[0]], [right[1], wrong[1]], [wrong[2]], ["?"]]
    return {one.question: texts for one, texts in zip(problems, said, strict=True)}


def remember(folder: Path, answers: dict[str, list[str]]) -> None:
    """A tiny model that has learned these answers by heart."""
    tokenizer, model = build_tokenizer(), new_model(0, hidden=32, layers=1, heads=2, feed_forward=64)
    examples: list[Example] = [
        (tokenizer.encode(f"{question}\n"), [*tokenizer.encode(text), 2])
        for question, texts in answers.items()
        for text in (texts * 2)[:2]
    ]
    list(finetune(model, cycle([examples]), Schedule(learning_rate=1e-2, steps=150, warmup_steps=10)))
    save(model, tokenizer, folder)


def test_its_scorer_decides_what_a_model_solves(tmp_path: Path) -> None:
    path = tmp_path / "gym.toml"
    path.write_text(RECIPE, encoding="utf-8")
    config = load(CurateConfig, [path])
    problems = [one for one in read_source(config.sources[0]) if isinstance(one, Problem)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    remember(tmp_path / "model", answers_of(problems))
    manifest = curate(config, tmp_path / "out", console=Console(quiet=True), workers=1)
    torch.set_num_threads(threads)
    assert manifest["sampling"]["difficulty"]["samples"] == 4 * 8
    (kept,) = read_shards(tmp_path / "out")
    assert (kept.id, kept.verifier) == (problems[1].id, "reasoning_gym")
    assert kept.pass_rate is not None
    assert 0 < kept.pass_rate < 1
    (entry,) = kept.difficulty
    assert (entry.attempts, entry.correct) == (8, round(8 * kept.pass_rate))
    assert manifest["dropped"]["difficulty"] == {"too-easy": 1}
    assert manifest["quarantined"]["difficulty"] == {"unsolved-at-n": 2}
    rows = pq.read_table(tmp_path / "out" / "dropped" / "difficulty.parquet").to_pylist()
    assert [row["id"] for row in rows] == [problems[0].id]
