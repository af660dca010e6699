"""The real GRPOTrainer of TRL takes the shards and our reward function: one step on a tiny model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.problem import Problem
from verifiers.reward import trl_reward

trl: Any = pytest.importorskip("trl")


def test_one_step_of_grpo(shards: Path, model: Path, problems: list[Problem], tmp_path: Path) -> None:
    from datasets import load_dataset
    from transformers import AutoTokenizer

    seen: list[tuple[int, set[str]]] = []

    def reward(completions: list, **columns: list) -> list[float | None]:
        rewards = trl_reward(completions, **columns)
        seen.append((len(rewards), {entry["ground_truth"] for entry in columns["reward_model"]}))
        return rewards

    data: Any = load_dataset(str(shards), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(data) == len(problems)
    trainer = trl.GRPOTrainer(
        model=str(model),
        processing_class=AutoTokenizer.from_pretrained(model),
        reward_funcs=[reward],
        train_dataset=data,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path / "out"),
            max_steps=1,
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=8,
            use_cpu=True,
            bf16=False,
            report_to="none",
            save_strategy="no",
            logging_steps=1,
        ),
    )
    trainer.train()
    assert trainer.state.global_step == 1
    counts, golds = zip(*seen, strict=True)
    assert sum(counts) == 8
    assert set().union(*golds) <= {one.ground_truth for one in problems}
    logged = {key for entry in trainer.state.log_history for key in entry}
    assert any(key.startswith("rewards/") for key in logged)


def test_rewards_of_right_wrong_and_undecided_completions(problems: list[Problem]) -> None:
    gold = [{"style": "rule", "ground_truth": one.ground_truth} for one in problems]
    columns: dict[str, Any] = {
        "reward_model": gold,
        "verifier": [one.verifier for one in problems],
        "verifier_options": [one.verifier_options for one in problems],
    }
    chats = [[{"role": "assistant", "content": f"The answer is \\boxed{{{one.ground_truth}}}."}] for one in problems]
    assert trl_reward(chats, **columns) == [1.0] * len(problems)
    assert trl_reward(["no idea"] * len(problems), **columns) == [0.0] * len(problems)
    assert trl_reward(["\\boxed{1}"], ground_truth=[""]) == [None]
