"""LoRA (arXiv 2106.09685) by peft: a low-rank adapter on every linear layer but the head; the base stays as it is.

The base without the adapter is the reference of a KL term, so no second model is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, PreTrainedModel

from pipeline.config import RecipeError
from trainer.sections import Lora

if TYPE_CHECKING:
    from peft import PeftModel


def add_adapter(model: PreTrainedModel, settings: Lora, *, seed: int) -> PeftModel:
    """Freezes the base and adds an adapter that changes nothing yet (B = 0; A drawn by the seed).

    The layers are changed in place, so `model` itself is the adapted model; what is returned saves and switches the
    adapter. Raises RecipeError when peft is not installed.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise RecipeError("lora: peft is not installed; `pip install verigold[lora]`, or leave it out") from None
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=0.0,  # with dropout new and old log-probabilities would differ before any update
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return cast("PeftModel", get_peft_model(model, config))


def save_merged(adapter: PeftModel, base: Path, folder: Path) -> None:
    """The base with the adapter merged into its weights, and the adapter by itself in folder/adapter."""
    from peft import PeftModel

    adapter.save_pretrained(str(folder / "adapter"))
    fresh = AutoModelForCausalLM.from_pretrained(base, local_files_only=True, dtype=adapter.dtype)
    merged = PeftModel.from_pretrained(fresh, str(folder / "adapter")).merge_and_unload()  # type: ignore[operator]
    merged.save_pretrained(folder)


def merged_weights(model: PreTrainedModel) -> Iterator[tuple[str, Tensor]]:
    """The adapted model's weights as a plain model has them: the base's names, each weight plus its update.

    One at a time, so that no second model is in memory.
    """
    from peft.tuners.lora import LoraLayer

    adapted = {name: module for name, module in model.named_modules() if isinstance(module, LoraLayer)}
    for name, value in model.named_parameters():
        module, _, rest = name.partition(".base_layer.")
        if rest == "weight" and module in adapted:
            update = adapted[module].get_delta_weight("default")  # type: ignore[operator]
            yield f"{module}.weight", value.detach() + update.detach().to(value.dtype)
        elif rest:
            yield f"{module}.{rest}", value.detach()
        elif ".lora_" not in name:
            yield name, value.detach()


def float32_head(model: PreTrainedModel) -> None:
    """Logits in float32 from a model in bfloat16 (ScaleRL, arXiv 2510.13786): a head of its own, and its input cast.

    Sampler and trainer use the same module, so both have it. A tied head is untied; here the base is frozen.
    """
    old = model.get_output_embeddings()
    if not isinstance(old, nn.Linear):
        raise RecipeError("float32_head: this model's head is no linear layer; leave the option out")
    head = nn.Linear(old.in_features, old.out_features, bias=old.bias is not None, device=old.weight.device)
    with torch.no_grad():
        head.weight.copy_(old.weight)
        if old.bias is not None:
            head.bias.copy_(old.bias)
    head.requires_grad_(False).register_forward_pre_hook(_to_float)
    model.set_output_embeddings(head)


def _to_float(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(value.float() for value in inputs)
