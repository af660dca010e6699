"""Two processes by torchrun (gloo, CPU) against one: gradients, a whole run, its resume."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from rich.console import Console

from pipeline.config import dump
from trainer.config import TrainConfig
from trainer.loop import train
from trainer.ranks import Ranks
from trainer.scorers import Scorer

HERE = Path(__file__).parent
Recipe = Callable[..., TrainConfig]

BOTH = """
import shutil
import sys
from pathlib import Path
sys.path[:0] = [{root!r}, {here!r}]
from rank_gradients import gradients
from trainer.ranks import join, leave
import torch
import safetensors.torch
from conftest import EvenScorer
from trainer.config import load_recipe
from rich.console import Console
from trainer.loop import train
torch.set_num_threads(1)
ranks = join()
out = Path({out!r})
for packing in (False, True):
    found = gradients(Path({model!r}), ranks, packing=packing)
    if ranks.first:
        safetensors.torch.save_file(found, out / f"gradients-{{packing}}.safetensors")
for name in ("all", "adapter"):
    config = load_recipe([out / f"{{name}}.toml"])
    run, cut = out / f"{{name}}-run", out / f"{{name}}-cut"
    train(config, run, console=Console(quiet=True), scorer=EvenScorer())
    if ranks.first:
        shutil.copytree(run, cut)
        (cut / "summary.json").unlink()
        shutil.rmtree(cut / "checkpoints" / "step-00004")
    ranks.wait()
    train(config, cut, console=Console(quiet=True), scorer=EvenScorer())
leave(ranks)
"""


def torchrun(script: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=300)


@pytest.mark.slow
def test_two_ranks_are_one(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path, model_folder: Path) -> None:
    """Nine rows of 1 to 12 tokens in unequal parts. Gradients and metrics in float64 within 1e-10, padded and packed,
    of all weights and of an adapter; runs in float32 go the same way, and their resumes are bit-exact."""
    pytest.importorskip("peft")
    plain = {"steps": 4, "algorithm": "grpo_kl"}
    for name, config in (("all", recipe(**plain)), ("adapter", recipe(**plain, lora={"rank": 4, "alpha": 8}))):
        train(config, tmp_path / f"{name}-alone", console=quiet, scorer=scorer)
        (tmp_path / f"{name}.toml").write_text(dump(config), encoding="utf-8")
    script = tmp_path / "script.py"
    root = str(HERE.parents[1])
    script.write_text(
        BOTH.format(root=root, here=str(HERE), out=str(tmp_path), model=str(model_folder)),
        encoding="utf-8",
    )
    torchrun(script)
    sys.path.insert(0, str(HERE))
    from rank_gradients import gradients

    for packing in (False, True):
        one = gradients(model_folder, Ranks(), packing=packing)
        two = safetensors.torch.load_file(tmp_path / f"gradients-{packing}.safetensors")
        assert one.keys() == two.keys()
        assert any(bool(value.any()) for value in one.values())
        for name, value in one.items():
            torch.testing.assert_close(two[name], value, rtol=0, atol=1e-10, msg=name)
    for name in ("all", "adapter"):
        assert_close_runs(tmp_path / f"{name}-alone", tmp_path / f"{name}-run")
        runs = (tmp_path / f"{name}-{part}" / "final" / "model.safetensors" for part in ("run", "cut"))
        assert len({path.read_bytes() for path in runs}) == 1
    assert (tmp_path / "adapter-run" / "final" / "adapter" / "adapter_model.safetensors").is_file()


def assert_close_runs(one: Path, other: Path) -> None:
    rows = [[json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()] for path in (one, other)]
    for first, second in zip(*rows, strict=True):
        for key in ("groups/kept", "reward/mean", "loss/policy", "grad/norm", "kl/reference", "entropy/mean"):
            assert second[key] == pytest.approx(first[key], rel=1e-3, abs=1e-5), key
    weights = [safetensors.torch.load_file(path / "final" / "model.safetensors") for path in (one, other)]
    assert weights[0].keys() == weights[1].keys()
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-3, atol=1e-4)


def test_every_rank_gets_equally_many_appointments() -> None:
    for count in range(8):
        shares = [Ranks(rank, 3).share(list(range(count))) for rank in range(3)]
        assert len({len(share) for share in shares}) == 1
        assert sorted(item for share in shares for item, counts in share if counts) == list(range(count))
