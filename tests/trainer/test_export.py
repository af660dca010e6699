"""The card of a trained model names its data and no path of the machine it was trained on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.config import RecipeError
from trainer.checkpoint import RunSummary
from trainer.config import TrainConfig
from trainer.error_rates import read_error_rates
from trainer.export import card
from verifiers.audit import run_audit
from verifiers.cases import LabelledRow

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


def test_the_card_repeats_the_verifiers_measured_errors(recipe: Callable[..., TrainConfig], tmp_path: Path) -> None:
    rows = [
        LabelledRow(id=str(place), ground_truth="7", response=f"\\boxed{{{answer}}}", correct=label)
        for place, (answer, label) in enumerate([("7", True), ("14/2", True), ("8", True), ("9", False)])
    ]
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(run_audit(rows).to_json()), encoding="utf-8")
    text = card(recipe(reward={"audit": str(path)}), SUMMARY)
    assert "- Errors of the verifier: right answers refused 33.3% (" in text
    assert ", 3 rows), wrong ones accepted 0.0% (" in text
    assert "Errors of the verifier" not in card(recipe(reward={"audit": str(path), "kind": "random"}), SUMMARY)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"fnr": {"estimate": 2, "low": 0, "high": 1, "n": 3}}'])
@pytest.mark.parametrize("judged", [False, True])
def test_an_audit_without_rates_is_the_users_mistake(text: str, judged: bool, tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match=r"reward\.audit: .*audit\.json"):
        read_error_rates(path, judged=judged)
    with pytest.raises(RecipeError, match="cannot be read"):
        read_error_rates(tmp_path / "nowhere.json", judged=judged)
