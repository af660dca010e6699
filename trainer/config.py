"""The recipe of a training run; its sections are in sections.py, presets come from recipes/train/algorithms.toml."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pipeline.bundled import recipe
from pipeline.config import STRICT, Layer, RecipeError, build, parse_override, read_toml
from trainer.engines import with_engine_defaults
from trainer.objective import Objective
from trainer.refusals import check
from trainer.sections import (
    Checkpoints,
    Choice,
    Demonstrations,
    EntropyTerm,
    Evaluation,
    GroupFilter,
    KlTerm,
    Lora,
    Optimiser,
    PromptRules,
    Reduction,
    Reward,
    Sampling,
    SamplingEngine,
    Template,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A whole run. `algorithm` names a preset that supplies advantage, loss and what belongs to them.

    steps and max_generated_tokens: the run ends at whichever comes first.
    threads: of torch; 0 = torch's own choice, recorded at the start and enforced by a resume.
    engine: samples instead of the policy's own module, with weights of its own (engines.py).
    asynchronous: each batch is drawn while the one before it is trained on (asynchronous.py).
    """

    __pydantic_config__ = STRICT
    model: Path
    shards: Path
    advantage: Choice
    loss: Choice
    algorithm: str | None = None
    seed: int = 0
    steps: int = 100
    max_generated_tokens: int | None = None
    threads: int = 0
    reduction: Reduction = field(default_factory=Reduction)
    correction: Choice | None = None
    kl: KlTerm = field(default_factory=KlTerm)
    entropy: EntropyTerm = field(default_factory=EntropyTerm)
    high_entropy_share: float | None = None
    drop_zero_variance: bool = False
    sampling: Sampling = field(default_factory=Sampling)
    engine: SamplingEngine | None = None
    asynchronous: bool | None = None
    demonstrations: Demonstrations | None = None
    prompts: PromptRules = field(default_factory=PromptRules)
    filter: GroupFilter = field(default_factory=GroupFilter)
    reward: Reward = field(default_factory=Reward)
    optimiser: Optimiser = field(default_factory=Optimiser)
    lora: Lora | None = None
    template: Template = field(default_factory=Template)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    evaluation: Evaluation = field(default_factory=Evaluation)
    trackers: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()


def algorithms_file() -> Path:
    """The presets: one table an algorithm."""
    return recipe("train/algorithms")


def load_recipe(paths: Sequence[Path], overrides: Sequence[str] = ()) -> TrainConfig:
    """Later files win over earlier ones, overrides over files, all of them over the preset of `algorithm`."""
    layers = [read_toml(path) for path in paths] + [parse_override(text) for text in overrides]
    return from_layers(layers)


def from_layers(layers: Sequence[Layer]) -> TrainConfig:
    """Raises RecipeError for an unknown algorithm, key or option and for settings that cannot be trained with."""
    for layer in layers:
        if "sources" in layer.table:
            raise RecipeError(f"{layer.name}: is a curation recipe (it has sources); give it to `verigold curate`")
    name = next((layer.table["algorithm"] for layer in reversed(layers) if "algorithm" in layer.table), None)
    if name is not None:
        layers = [_preset(name, layers), *layers]
    config = with_engine_defaults(build(TrainConfig, layers))
    check(config)
    return config


def _preset(name: object, layers: Sequence[Layer]) -> Layer:
    presets = read_toml(algorithms_file())
    if not isinstance(name, str) or name not in presets.table:
        raise RecipeError(_unknown_algorithm(name, sorted(presets.table), layers))
    table = {key: value for key, value in presets.table[name].items() if key != "about"}
    for key in ("advantage", "loss", "correction"):
        chosen = [layer.table[key] for layer in layers if isinstance(layer.table.get(key), Mapping)]
        if key in table and any("name" in choice for choice in chosen):
            del table[key]  # another function: the preset's options are not its options
    return Layer(name=f"{presets.name}: {name}", base=presets.base, table=table)


def _unknown_algorithm(name: object, known: Sequence[str], layers: Sequence[Layer]) -> str:
    """Names the layer that chose the algorithm, which need not be the last one."""
    where = next(layer.name for layer in reversed(layers) if "algorithm" in layer.table)
    nearest = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f"did you mean '{nearest[0]}'? " if nearest else ""
    return f"{where}: algorithm: unknown '{name}'; {hint}known: {', '.join(known)}"


def objective(config: TrainConfig) -> Objective:
    """The algorithm of a recipe."""
    return Objective(
        advantage=config.advantage.name,
        advantage_options=config.advantage.options,
        loss=config.loss.name,
        loss_options=config.loss.options,
        aggregation=config.reduction.name,
        max_length=config.reduction.max_length or config.sampling.max_tokens,
        correction=None if config.correction is None else config.correction.name,
        correction_options={} if config.correction is None else config.correction.options,
        kl=config.kl.name,
        kl_coef=config.kl.coef,
        entropy_coef=config.entropy.coef,
        high_entropy_share=config.high_entropy_share,
        drop_zero_variance=config.drop_zero_variance,
    )
