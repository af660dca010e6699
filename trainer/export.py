"""The trained policy as a Hugging Face folder with a short model card."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from pipeline.atomic import atomic_folder
from pipeline.config import dump
from trainer.checkpoint import RunSummary
from trainer.config import TrainConfig
from trainer.error_rates import read_error_rates
from trainer.lora import save_merged
from trainer.policy import Policy
from trainer.sections import Reward


def export(path: Path, policy: Policy, config: TrainConfig, summary: RunSummary) -> None:
    """Weights, tokenizer and card; whole or not at all. With LoRA the merged weights, and the adapter in adapter/."""
    with atomic_folder(path) as temporary:
        adapter = policy.unsharded_adapter()
        if adapter is not None:
            save_merged(adapter, config.model, temporary)
        else:
            policy.unsharded().save_pretrained(temporary)
        policy.tokenizer.save_pretrained(temporary)
        (temporary / "README.md").write_text(card(config, summary), encoding="utf-8")


def card(config: TrainConfig, summary: RunSummary) -> str:
    """The model card: where the model comes from, what it was trained on, and the whole recipe."""
    control = config.reward.kind == "random"
    lines = [
        "---",
        "library_name: transformers",
        "pipeline_tag: text-generation",
        "tags: [verigold, reinforcement-learning]",
        "---",
        f"# {config.model.name}, {'random-reward control' if control else 'trained with verified rewards'}",
        "",
        f"- Base model: `{config.model.name}`",
        f"- Problems: the shards `{config.shards.name}`",
        *_sources(config.shards),
        *_error_rates(config.reward),
        f"- Algorithm: {config.algorithm or config.loss.name}, seed {config.seed}",
        f"- Steps: {summary.steps}; generated tokens: {summary.generated_tokens:,}; ended by: {summary.exit_reason}",
    ]
    if control:
        lines.append("- Rewards were coin flips: this model shows what training does without any signal.")
    return "\n".join([*lines, "", "## Recipe", "", "```toml", _portable(config).rstrip(), "```", ""])


def _sources(shards: Path) -> list[str]:
    """Where the problems came from and under which licences, by the curated folder's manifest."""
    path = shards / "manifest.json"
    if not path.is_file():
        return []
    manifest = json.loads(path.read_text(encoding="utf-8"))
    kept = manifest["by_source"]
    named = [
        f"{source['name']} ({source['license']}, {kept[source['name']]['rows_kept']:,} problems)"
        for source in manifest["sources"]
        if kept[source["name"]]["rows_kept"]
    ]
    return [f"- Their sources: {', '.join(named)}"]


def _error_rates(reward: Reward) -> list[str]:
    if reward.kind == "random" or reward.audit is None:
        return []
    return [f"- Errors of the verifier: {read_error_rates(reward.audit, judged=reward.judge is not None)}"]


def _portable(config: TrainConfig) -> str:
    """The recipe with file names instead of this machine's paths."""
    text = dump(config)
    for path in sorted(set(_paths(config)), key=lambda item: -len(str(item))):
        text = text.replace(str(path), path.name)
    return text


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _paths(getattr(value, field.name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _paths(item)
