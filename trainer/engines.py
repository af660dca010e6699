"""An engine beside the policy, in a recipe: what follows from it, what is refused, what is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engines.build import VllmConfig
from pipeline.config import RecipeError
from trainer.losses import LOSSES
from trainer.sections import Choice, TorchCopy

if TYPE_CHECKING:
    from trainer.config import TrainConfig

DRAWN_AHEAD = 1
"""Policy versions that a batch drawn asynchronously has missed when it is trained on."""


def with_engine_defaults(config: TrainConfig) -> TrainConfig:
    """What follows from the engine: asynchronous sampling needs one with weights of its own; vLLM and asynchronous
    sampling are corrected by TIS, unless the recipe names a correction or the loss reads the engine's
    log-probabilities itself."""
    config = replace(config, asynchronous=config.asynchronous or None)
    if config.asynchronous and config.engine is None:
        config = replace(config, engine=TorchCopy(kind="torch"))
    if config.correction is None and _samples_from_another(config) and not _reads_rollout(config):
        config = replace(config, correction=Choice(name="tis"))
    return config


def _samples_from_another(config: TrainConfig) -> bool:
    """Whether tokens come from another distribution than the trainer's: other arithmetic, or older weights."""
    return bool(config.asynchronous) or isinstance(config.engine, VllmConfig)


def _reads_rollout(config: TrainConfig) -> bool:
    """Losses with a ratio to the engine's log-probabilities would be corrected twice."""
    return config.loss.name in LOSSES and "rollout" in LOSSES[config.loss.name].reads


def engine_problems(config: TrainConfig) -> list[str]:
    """Settings of engine and asynchronous that cannot be trained with."""
    problems, engine, rules = [], config.engine, config.filter
    if engine is not None and engine.kind == "endpoint":
        problems.append(
            "engine.kind: an endpoint takes no weights, so it would go on sampling from the first ones; use 'vllm' "
            "(with base_url for a server), or leave engine out"
        )
    if isinstance(engine, VllmConfig) and engine.model is not None:
        problems.append("engine.model: the engine samples from the policy; leave it out here")
    least = DRAWN_AHEAD + (rules.keep == "informative")  # surplus is trained on one version later still
    if config.asynchronous and rules.max_age < least:
        problems.append(
            f"filter.max_age: asynchronous batches are {DRAWN_AHEAD} version old when they are trained on and surplus "
            f"of theirs one more; set it to {least} or more (got {rules.max_age})"
        )
    return problems


def engine_notes(config: TrainConfig) -> list[str]:
    """What a recipe with an engine does without having said so."""
    if not _samples_from_another(config):
        return []
    why = "samples are a version old" if config.asynchronous else "vLLM's arithmetic is not the trainer's"
    if config.correction is not None:
        return [f"correction {config.correction.name}: {why}; the default here is tis"]
    return [f"no correction: {why}, and loss {config.loss.name} has its own ratio to the engine's log-probabilities"]


def check_engine_ranks(config: TrainConfig, world: int) -> None:
    """Raises RecipeError: each rank would need an engine of its own and a share of the prompts."""
    if world > 1 and config.engine is not None:
        raise RecipeError(
            "engine: has one training process only; start it without torchrun, or leave engine out: then every rank "
            "samples its share of the prompts"
        )
