"""Every preset takes a step on a real model: its names fit together, its loss moves the weights, metrics are finite."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from engines.engine import Completion
from pipeline.problem import Problem
from trainer.checkpoint import RunFolder
from trainer.config import TrainConfig, algorithms_file
from trainer.corrections import CORRECTIONS
from trainer.loop import _step
from trainer.prompts import Draw
from trainer.start import start
from verifiers.verdict import Verdict, correct, incorrect

Recipe = Callable[..., TrainConfig]
PRESETS = tomllib.loads(algorithms_file().read_text(encoding="utf-8"))

CRITIC_FREE = {
    "reinforce", "remax", "rloo", "reinforce_pp", "reinforce_pp_baseline", "opo", "raft", "topr", "kimi", "max_rl",
    "grpo", "grpo_kl", "grpo_dual_clip", "dr_grpo", "dapo", "dapo_prompt_mean", "lite_ppo", "gspo", "gspo_token",
    "gmpo", "cispo", "dppo_tv", "dppo_kl", "prime_rl", "scale_rl", "pass_at_k", "best_of_group", "clip_cov", "kl_cov",
    "high_entropy", "luffy", "sapo",
}  # fmt: skip


def test_the_field_is_there() -> None:
    assert set(PRESETS) >= CRITIC_FREE


class FirstRight:
    """One sample a prompt is right, so that no estimator is without a signal (pass@k where all k are right, the best of
    several best ones)."""

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        return [correct("x", None) if sample == 0 else incorrect("x", None) for _, sample, _ in samples]


@pytest.fixture
def one_step(recipe: Recipe, quiet: Console, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def run(**changes: Any) -> dict[str, Any]:
        config = recipe(**changes, sampling={"samples": 6}, optimiser={"minibatches": 2, "lr": 1e-3})
        folder = RunFolder.open(tmp_path / "run", config, fresh=False)
        taken = start(config, folder, quiet, FirstRight())
        before = [parameter.detach().clone() for parameter in taken.policy.parameters]
        _step(taken)
        assert taken.state.version == 1
        assert any(not torch.equal(*pair) for pair in zip(before, taken.policy.parameters, strict=True))
        return json.loads(folder.metrics.read_text(encoding="utf-8"))

    return run


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_step_of_every_preset(
    name: str, one_step: Callable[..., dict[str, Any]], problems: list[Problem], tmp_path: Path
) -> None:
    shown = tmp_path / "shown.jsonl"
    rows = [{"id": problem.id, "response": problem.ground_truth} for problem in problems]
    shown.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    changes = {"demonstrations": {"path": str(shown)}} if "demonstrations" in PRESETS[name] else {}
    found = one_step(algorithm=name, **changes)
    numbers = [value for value in found.values() if isinstance(value, float)]
    assert all(math.isfinite(value) for value in numbers)
    assert found["grad/norm"] > 0
    assert found["loss/policy"] is not None
    assert found.get("demonstrations/rows", 0) == (found["groups/kept"] if changes else 0)


@pytest.mark.parametrize("name", sorted(CORRECTIONS))
def test_a_step_with_every_correction(name: str, one_step: Callable[..., dict[str, Any]]) -> None:
    """The engine is the policy itself, so that every weight is 1 up to rounding."""
    found = one_step(correction={"name": name})
    assert found["mismatch/effective_samples"] == pytest.approx(1.0, abs=1e-4)
