"""Runs side by side: refused on unequal evaluation sets, compared at equal compute, fitted or told why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import RecipeError
from verigold.report.blocks import Paragraph, Table
from verigold.report.compute import at_equal_compute, check_evaluations, scaling
from verigold.report.folders import read_run
from verigold.report.make import document


def run(folder: Path, rates: list[float], *, tokens: int = 1000, **changes: Any) -> Path:
    (folder / "eval").mkdir(parents=True)
    lines = [{"step": step, "generated_tokens_total": step * tokens} for step in range(1, len(rates) + 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    for step, value in enumerate(rates, start=1):
        told = {"estimate": value, "low": value - 0.05, "high": value + 0.05}
        settings = {"temperature": 1.0, "max_tokens": 48, "samples": 4}
        result = {"shards_digest": "d", "n": 9, "pass_at_1": told, "greedy": told, "settings": settings} | changes
        (folder / "eval" / f"step-{step:05d}.json").write_text(json.dumps(result), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"shards_digest": "other"}, "other problems"),
        ({"settings": {"temperature": 0.6, "max_tokens": 48, "samples": 4}}, "temperature 1.0 and 0.6"),
    ],
)
def test_unequal_evaluations_are_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    one, other = run(tmp_path / "a", [0.1, 0.2]), run(tmp_path / "b", [0.1, 0.2], **changes)
    with pytest.raises(RecipeError, match=reason):
        document([one, other])
    check_evaluations([read_run(one)])
    check_evaluations([read_run(other)])


def test_runs_are_compared_at_the_tokens_of_the_shorter(tmp_path: Path) -> None:
    short, long = run(tmp_path / "a", [0.1, 0.2, 0.3]), run(tmp_path / "b", [0.2, 0.4, 0.6], tokens=2000)
    (found,) = at_equal_compute([read_run(short), read_run(long)])
    assert isinstance(found, Table)
    assert "3,000 generated tokens" in found.caption
    assert [[cell.text for cell in row] for row in found.rows] == [
        ["a", "3,000", "30.0\u00a0%", "30.0\u00a0%"],
        ["b", "2,000", "20.0\u00a0%", "20.0\u00a0%"],
    ]
    assert at_equal_compute([read_run(short)]) == []


def test_a_fit_or_the_reason_why_not(tmp_path: Path) -> None:
    rates = [0.3, *(0.3 + 0.5 / (1 + (4 / step) ** 2) for step in range(2, 21))]
    fitted, few = read_run(run(tmp_path / "a", rates)), read_run(run(tmp_path / "b", [0.1, 0.2]))
    found, why = scaling([fitted, few])
    assert isinstance(found, Table)
    assert found.rows[0][2].text == "80.0\u00a0%"
    assert isinstance(why, Paragraph)
    assert "b: no scaling fit of pass@1: 2 measurements" in why.text
