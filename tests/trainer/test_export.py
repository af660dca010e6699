"""The card of a trained model names its data and no path of the machine it was trained on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from trainer.checkpoint import RunSummary
from trainer.config import TrainConfig
from trainer.export import card

SUMMARY = RunSummary(steps=3, generated_tokens=1234, exit_reason="steps", wall_s=1.0)


def test_the_card_names_sources_and_no_path(recipe: Callable[..., TrainConfig], tmp_path: Path) -> None:
    manifest = {
        "sources": [{"name": "sums", "license": "MIT"}, {"name": "lost", "license": "MIT"}],
        "by_source": {"sums": {"rows_kept": 1200}, "lost": {"rows_kept": 0}},
    }
    shards = tmp_path / "curated"
    shards.mkdir()
    (shards / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    evaluation = {"every": 1, "shards": str(tmp_path / "held-out")}
    config = recipe(shards=str(shards), sampling={"reuse": str(shards)}, evaluation=evaluation)
    text = card(config, SUMMARY)
    assert "- Their sources: sums (MIT, 1,200 problems)\n" in text
    assert 'shards = "curated"' in text
    assert 'reuse = "curated"' in text
    assert str(tmp_path) not in text
    assert str(config.model.parent) not in text


def test_shards_without_a_manifest_have_a_card_too(recipe: Callable[..., TrainConfig]) -> None:
    assert "sources" not in card(recipe(), SUMMARY)
