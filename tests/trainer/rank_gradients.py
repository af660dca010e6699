"""Gradients and metrics of one optimiser step, on however many ranks; run by test_ranks and by the script it starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from transformers import PreTrainedModel

from trainer.lora import add_adapter
from trainer.objective import Objective
from trainer.policy import Policy, load_model
from trainer.ranks import Ranks, whole
from trainer.sections import Lora, Optimiser
from trainer.update import Updater

if TYPE_CHECKING:
    from peft import PeftModel

sys.path.insert(0, str(Path(__file__).parent))
from test_packing import GROUPS

OBJECTIVES = {
    "token_mean": Objective(),
    "prompt_mean": Objective(aggregation="prompt_mean", entropy_coef=0.01),
    "whitened": Objective(advantage="centred_whitened", kl_coef=0.1),
    "kl_cov": Objective(loss="kl_cov", loss_options={"ratio": 0.1}, aggregation="constant", max_length=12),
}


ADAPTED = {"adapter": Objective(kl_coef=0.1, entropy_coef=0.01)}
"""Trained by an adapter; the base without it is the reference."""


def _moved_adapter(model: PreTrainedModel) -> PeftModel:
    """One whose update is not 0, so that every weight of it has a gradient."""
    adapter = add_adapter(model, Lora(rank=4), seed=0)
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "lora_B" in name:
                value.copy_(0.1 * torch.randn(value.shape, generator=draw, dtype=value.dtype))
    return adapter


def gradients(folder: Path, ranks: Ranks, *, packing: bool) -> dict[str, Tensor]:
    """By objective and parameter, in float64; of each objective the metrics too."""
    found: dict[str, Tensor] = {}
    for name, objective in (OBJECTIVES | ADAPTED).items():
        model, tokenizer = load_model(folder, dtype=torch.float64)
        adapter = _moved_adapter(model) if name in ADAPTED else None
        policy = Policy(model, tokenizer, Optimiser(max_grad_norm=1e9), 1.0, adapter, ranks)
        updater = Updater(policy, objective, minibatches=1, microbatch_tokens=30, seed=0, packing=packing)

        def keep(policy: Policy = policy, name: str = name) -> float:
            for place, parameter in enumerate(policy.parameters):
                if parameter.grad is not None:
                    found[f"{name}.{place}"] = whole(parameter.grad).clone()
            return float(whole(torch.nn.utils.clip_grad_norm_(policy.parameters, 1e9)))

        policy.apply = keep
        report = updater.update(GROUPS, version=1).report()
        found[f"{name}.metrics"] = torch.tensor([report[key] for key in sorted(report)], dtype=torch.float64)
    return found
