"""Adapters: only they learn, the base is the reference, a resume is bit-exact, the export is merged and apart."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from rich.console import Console
from transformers import AutoModelForCausalLM

from engines.torch_engine import TorchEngine
from trainer.checkpoint import RunFolder
from trainer.clock import Clock
from trainer.config import TrainConfig
from trainer.loop import train
from trainer.lora import add_adapter, float32_head
from trainer.policy import load_model
from trainer.scorers import Scorer
from trainer.sections import Lora
from trainer.start import start

peft = pytest.importorskip("peft")
Recipe = Callable[..., TrainConfig]
LORA = {"rank": 4, "alpha": 8}
IDS = torch.tensor([[5, 6, 7, 8]])


def test_a_fresh_adapter_changes_nothing_and_is_the_seeds(model_folder: Path) -> None:
    plain, _ = load_model(model_folder)
    models = []
    for seed in (1, 1, 2):
        model, _ = load_model(model_folder)
        add_adapter(model, Lora(rank=4), seed=seed)
        assert torch.equal(model(IDS).logits, plain(IDS).logits)
        models.append({name: value for name, value in model.named_parameters() if value.requires_grad})
    assert all("lora_" in name for name in models[0])
    assert not any("lm_head" in name for name in models[0])
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])
    assert any(not torch.equal(models[0][name], models[2][name]) for name in models[0])


def test_the_run_learns_resumes_and_exports(
    recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path, model_folder: Path
) -> None:
    """Also with the base as the reference of a KL term. final/ is the base plus the adapter beside it."""
    config = recipe(algorithm="grpo_kl", lora=LORA, steps=4, optimiser={"packing": True})
    train(config, tmp_path / "whole", console=quiet, scorer=scorer)
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (tmp_path / "cut" / "summary.json").unlink()
    shutil.rmtree(tmp_path / "cut" / "checkpoints" / "step-00004")
    train(config, tmp_path / "cut", console=quiet, scorer=scorer)
    for part in ("final/model.safetensors", "final/adapter/adapter_model.safetensors"):
        one, other = (safetensors.torch.load_file(tmp_path / run / part) for run in ("whole", "cut"))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)
    saved = safetensors.torch.load_file(tmp_path / "whole" / "checkpoints" / "step-00004" / "model.safetensors")
    assert all("lora_" in name for name in saved)
    merged, base = (
        AutoModelForCausalLM.from_pretrained(path)(IDS).logits for path in (tmp_path / "whole" / "final", model_folder)
    )
    live = peft.PeftModel.from_pretrained(load_model(model_folder)[0], str(tmp_path / "whole" / "final" / "adapter"))
    torch.testing.assert_close(live(IDS).logits, merged, rtol=0, atol=1e-5)
    assert float((merged - base).abs().max()) > 1e-3


def test_the_reference_is_the_base(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    config = recipe(lora=LORA, kl={"coef": 0.1}, optimiser={"minibatches": 1})
    run = start(config, RunFolder.open(tmp_path / "run", config, fresh=False), quiet, scorer)
    assert run.updater.reference is None
    plain = run.policy.model(IDS).logits
    totals = [run.updater.update(run.source.fill(0, Clock()).kept, version=0).report() for _ in range(2)]
    assert totals[0]["kl/reference"] == pytest.approx(0.0, abs=1e-7)
    assert totals[1]["kl/reference"] > 1e-6
    assert run.policy.adapter is not None
    with run.policy.adapter.disable_adapter():
        assert torch.equal(run.policy.model(IDS).logits, plain)
    assert not torch.equal(run.policy.model(IDS).logits, plain)


def test_a_float32_head_rounds_no_logit(model_folder: Path, scorer: Scorer, recipe: Recipe, tmp_path: Path) -> None:
    model, tokenizer = load_model(model_folder, dtype=torch.bfloat16)
    weight = model.lm_head.weight.detach().clone()
    add_adapter(model, Lora(), seed=0)
    float32_head(model)
    logits = model(IDS).logits
    hidden = model.model(IDS).last_hidden_state
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits, hidden.float() @ weight.float().T)
    assert not torch.equal(logits, logits.bfloat16().float())
    assert TorchEngine(model, tokenizer).model is model
    config = recipe(steps=1, lora=LORA | {"base": "bfloat16", "float32_head": True})
    summary = train(config, tmp_path / "run", console=Console(quiet=True), scorer=scorer)
    assert summary.exit_reason == "steps"
