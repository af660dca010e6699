"""Training with vLLM beside the policy, one batch ahead: updates arrive, and what is drawn is of known weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from engines.engine import Completion
from pipeline import addition
from pipeline.config import Layer
from pipeline.shards import write_problems
from trainer.config import from_layers
from trainer.loop import train
from trainer.prompts import Draw
from verifiers.verdict import Verdict, correct, incorrect

pytestmark = pytest.mark.skipif(find_spec("vllm") is None, reason="in an environment of its own: tests/vllm/run.sh")


def even(samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
    """Right when the ids add up to an even number: every model writes both kinds."""
    return [
        incorrect("odd", None) if sum(completion.token_ids or ()) % 2 else correct("even", None)
        for _, _, completion in samples
    ]


def test_a_run_ahead_with_vllm(guesser: Path, tmp_path: Path) -> None:
    write_problems(tmp_path / "shards", addition.problems(20, 1, split="pool"))
    table = {
        "algorithm": "dapo",
        "model": str(guesser),
        "shards": str(tmp_path / "shards"),
        "steps": 4,
        "threads": 1,
        "asynchronous": True,
        "engine": {"kind": "vllm", "max_model_len": 128, "max_num_seqs": 16},
        "sampling": {"prompts": 4, "samples": 4, "max_tokens": 8},
        "filter": {"max_age": 2},
        "optimiser": {"lr": 1e-3, "warmup_steps": 1},
    }
    config = from_layers([Layer(name="recipe", base=tmp_path, table=table)])
    assert config.correction is not None
    assert config.correction.name == "tis"
    summary = train(config, tmp_path / "run", console=Console(quiet=True), scorer=even)
    assert summary.exit_reason == "steps", summary.detail
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    probed = [row["probe/max_abs"] for row in rows if "probe/max_abs" in row]
    assert len(probed) == 3  # before each batch; nothing is drawn after the last one
    assert max(probed) < 5e-3
    assert rows[-1]["version"] > 1
    assert [row["groups/age_max"] for row in rows if row["groups/age_max"] is not None][:2] == [0, 1]
