"""metrics.jsonl is always whole; a tracker that fails is told about once and left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.config import RecipeError
from trainer import loop, start
from trainer.config import TrainConfig
from trainer.scorers import Scorer
from trainer.tracking import Fenced, MetricsLog, open_trackers

Recipe = Callable[..., TrainConfig]


class Broken:
    """Raises at the third step."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        assert metrics
        self.steps.append(step)
        if step == 3:
            raise ConnectionError("the server is gone")


def test_a_broken_tracker_does_not_stop_the_run(
    recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker, text = Broken(), StringIO()
    monkeypatch.setattr(start, "open_trackers", lambda *_: [tracker])
    summary = loop.train(recipe(steps=5), tmp_path / "run", console=Console(file=text), scorer=scorer)
    rows = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert summary.exit_reason == "steps"
    assert len(rows) == 5
    assert tracker.steps == [1, 2, 3]
    assert text.getvalue().count("the server is gone") == 1
    assert quiet


def test_truncate_keeps_the_trained_frontier(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.truncate(3)
    for step in range(1, 6):
        log.append({"step": step, "reward/mean": float("nan") if step == 2 else 0.5})
    with log.path.open("a", encoding="utf-8") as file:
        file.write('{"step": 6, "rew')
    log.truncate(3)
    rows = [json.loads(line) for line in log.path.read_text(encoding="utf-8").splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert rows[1]["reward/mean"] is None


def test_a_tracker_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "wandb", None)
    with pytest.raises(RecipeError, match="wandb is not installed"):
        open_trackers(["wandb"], tmp_path)
    Fenced([], Console(quiet=True)).log({"a": 1.0}, 1)
