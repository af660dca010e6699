"""The engine that samples, and how it stays at the policy's weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from engines.build import VllmConfig, build_engine
from engines.engine import EngineError, PolicyEngine
from engines.torch_engine import Dtype, TorchEngine
from pipeline.config import RecipeError
from trainer.config import TrainConfig
from trainer.lora import merged_weights
from trainer.policy import Policy
from trainer.probe import VLLM_FLOAT32, WIDE, Probe, Tolerance, torch_tolerance
from trainer.sections import TorchCopy


def open_engine(config: TrainConfig, model: PreTrainedModel) -> PolicyEngine | None:
    """The engine beside the policy that the recipe names, with the weights that training begins with; None without.

    model: the policy's, for device and type of a copy. Raises RecipeError when the engine cannot be used here.
    """
    settings = config.engine
    try:
        if isinstance(settings, TorchCopy):
            return _torch_copy(config, settings, model)
        if isinstance(settings, VllmConfig):
            # Also a server's: updates are checked against the names and shapes of the policy's folder.
            return cast(PolicyEngine, build_engine(replace(settings, model=config.model)))
    except EngineError as error:
        raise RecipeError(f"engine: {error}") from error
    return None


def context(config: TrainConfig) -> int | None:
    """Tokens of prompt and response that the recipe allows the engine beside the policy; None where it says nothing."""
    settings = config.engine
    return settings.max_model_len if isinstance(settings, VllmConfig) and settings.base_url is None else None


def _torch_copy(config: TrainConfig, settings: TorchCopy, model: PreTrainedModel) -> TorchEngine:
    named: dict[torch.dtype, Dtype] = {
        torch.float32: "float32",
        torch.bfloat16: "bfloat16",
        torch.float16: "float16",
    }
    return TorchEngine.from_folder(
        config.model,
        device=str(model.device) if settings.device == "auto" else _known_device(settings.device),
        dtype=named[model.dtype] if settings.dtype == "auto" else settings.dtype,
    )


def _known_device(name: str) -> str:
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:  # torch raises the one or the other for a missing driver
        raise RecipeError(f"engine.device: '{name}' cannot be used: {str(error).splitlines()[0]}") from None
    return name


def tolerance(config: TrainConfig, engine: PolicyEngine, policy: Policy) -> Tolerance:
    """How far the engine's log-probabilities may be from the trainer's."""
    if isinstance(engine, TorchEngine):
        return torch_tolerance(engine.model.dtype, policy.model.dtype)
    exact = isinstance(config.engine, VllmConfig) and (
        config.engine.dtype == "float32"
        or (config.engine.dtype == "auto" and config.engine.base_url is None and not torch.cuda.is_available())
    )
    return VLLM_FLOAT32 if exact and policy.model.dtype == torch.float32 else WIDE


class Weights:
    """Keeps an engine at the policy's weights: sends them when the engine's are older, and probes what arrived."""

    def __init__(self, policy: Policy, engine: PolicyEngine, probe: Probe, *, own: bool) -> None:
        """own: the engine samples from the policy's very module, so there is nothing to send."""
        self.policy = policy
        self.engine = engine
        self.probe = probe
        self.own = own
        self.version: int | None = None  # that the engine is known to sample from
        self.gap: float | None = None  # what the last probe found

    def bring(self, version: int) -> None:
        """Sends the weights as `version` unless the engine has them, and probes what it has (the policy's own module
        at the start only: there it is the start-up check).

        Raises RunStoppedError when the engine samples from something else.
        """
        first = self.version is None
        if self.version != version:
            self.engine.load_weights(self._named(), version)
        if first or not self.own:
            self.gap = self.probe.check(version)
        self.version = version

    def report(self) -> dict[str, float]:
        """What the probe of this step found, where there was one of an engine beside the policy."""
        gap, self.gap = self.gap, None
        return {} if gap is None or self.own else {"probe/max_abs": gap}

    def close(self) -> None:
        """Gives back what the engine holds, where it holds anything."""
        close = getattr(self.engine, "close", None)
        if close is not None:
            close()

    def _named(self) -> Iterable[tuple[str, Tensor]]:
        model = self.policy.unsharded()
        if self.own or self.policy.adapter is None:
            return model.named_parameters()
        return merged_weights(model)
