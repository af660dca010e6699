"""The recipe of a curation: sources, then stages in the order of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pipeline.config import STRICT, Layer, RecipeError, build
from pipeline.executor import ExecutorKind
from pipeline.presets import with_presets
from pipeline.sources import Source
from pipeline.stage_presets import preset_layer
from pipeline.stages import stage_class
from verifiers import reasoning_gym
from verifiers.cases import RowError, check_options
from verifiers.registry import VERIFIERS

StageTable = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurateConfig:
    """Load with `pipeline.config.load(CurateConfig, paths, overrides)`.

    sources: each may take a preset (`preset = "gsm8k"`, see `pipeline.presets`); its own keys win.
    data_root: folder that relative paths of sources and benchmarks are in, instead of the recipe's own.
    executor: "local" processes, or "ray" (needs the extra of that name); the bytes are the same.
    stages: name -> its parameters, resolved; `stages.NAME = false` switches a stage of an earlier file off.
        `preset = "NAME"` in a stage's table takes what that preset says of the stage, under the table's own keys.
    sampling: how models are asked (`pipeline.sampling.Sampling`), for all stages that ask one; a stage's own table
        `sampling` wins. Resolved into the stages.
    """

    __pydantic_config__ = STRICT
    sources: tuple[Source, ...]
    seed: int = 0
    rows_per_shard: int = 8192
    executor: ExecutorKind = "local"
    data_root: Path | None = None
    sampling: StageTable | None = None
    stages: dict[str, StageTable | bool] = field(default_factory=dict)

    @classmethod
    def from_layers(cls, layers: Sequence[Layer]) -> CurateConfig:
        """Checks every stage's table against its dataclass and resolves its paths. Raises RecipeError."""
        for layer in layers:
            if "algorithm" in layer.table or {"model", "shards"} <= layer.table.keys():
                found = "algorithm" if "algorithm" in layer.table else "model and shards"
                raise RecipeError(f"{layer.name}: is a training recipe (it has {found}); give it to `verigold train`")
        layers = with_presets(layers)
        config = build(cls, layers)
        _check(config, layers)
        stages = {name: _resolved(name, layers) for name, table in config.stages.items() if table is not False}
        config = replace(config, stages=stages, sampling=None)
        _check_stages(config, layers)
        return config

    def build_stages(self) -> list[tuple[str, Any]]:
        """(name, stage) in order of execution."""
        return [(name, build_stage(name, table)) for name, table in self.stages.items() if isinstance(table, dict)]


def build_stage(name: str, table: StageTable) -> Any:
    return build(stage_class(name), [Layer(name="recipe", base=Path.cwd(), table=table)], prefix=("stages", name))


def _check(config: CurateConfig, layers: Sequence[Layer]) -> None:
    where = _place("sources", layers)
    if not config.sources:
        raise RecipeError(f"{where}: sources: none given; add at least one [[sources]] table")
    names = [source.name for source in config.sources]
    for name in names:
        if names.count(name) > 1:
            raise RecipeError(f"{where}: sources: the name '{name}' is used twice; names must be unique")
    if config.rows_per_shard < 1:
        place = _place("rows_per_shard", layers)
        raise RecipeError(f"{place}: rows_per_shard: must be at least 1 (got {config.rows_per_shard})")
    for source in config.sources:
        source.check(where)
        _check_verifier(source, where)


def _place(key: str, layers: Sequence[Layer]) -> str:
    """The layer that has the last word on a key."""
    return next((layer.name for layer in reversed(layers) if key in layer.table), layers[-1].name)


def _check_verifier(source: Source, where: str) -> None:
    """Not in `Source.check`: what the readers import is part of the key of their output, and verifiers are not."""
    gym = source.reasoning_gym
    if gym is not None and reasoning_gym.refusal(gym.task):
        why = reasoning_gym.refusal(gym.task)
        raise RecipeError(f"{where}: sources '{source.name}': reasoning_gym.task '{gym.task}' is not taken: {why}")
    key = "verifier_options" if source.verifier in VERIFIERS else "verifier"
    try:
        check_options(source.verifier, source.verifier_options, f"{where}: sources '{source.name}': {key}")
    except RowError as error:
        raise RecipeError(str(error)) from None


def _check_stages(config: CurateConfig, layers: Sequence[Layer]) -> None:
    sources = [source.name for source in config.sources]
    for name, stage in config.build_stages():
        if hasattr(stage, "check"):
            tables = (layer for layer in reversed(layers) if name in layer.table.get("stages", {}))
            stage.check(f"{next(tables, layers[-1]).name}: stages.{name}", sources)


def _resolved(name: str, layers: Sequence[Layer]) -> StageTable:
    schema = stage_class(
        name, next((layer.name for layer in layers if name in layer.table.get("stages", {})), "recipe")
    )
    inner = [layer for outer in layers for layer in _stage_layers(name, outer)]
    if any(field.name == "sampling" for field in fields(schema)):
        inner = [replace(layer, table={"sampling": layer.table["sampling"]})
                 for layer in layers if "sampling" in layer.table] + inner  # fmt: skip
    inner = inner or [replace(layers[-1], table={})]
    stage = build(schema, inner, prefix=("stages", name))
    return TypeAdapter(schema).dump_python(stage, mode="json", exclude_none=True)


def _stage_layers(name: str, layer: Layer) -> list[Layer]:
    """What one file says of a stage; before it what the preset says that it names."""
    table = layer.table.get("stages", {}).get(name)
    if not isinstance(table, dict):
        return []
    own = replace(layer, table={key: value for key, value in table.items() if key != "preset"})
    return [preset_layer(table["preset"], name, layer.name), own] if "preset" in table else [own]
