"""croissant.json, read by the format's own library, offline."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import mlcroissant
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from pipeline.config import load
from pipeline.croissant import describe_folder
from pipeline.problem import to_row
from pipeline.run import CurateConfig, curate
from pipeline.shards import read_shards

MakeRecipe = Callable[..., Path]


@pytest.fixture
def folder(recipe: MakeRecipe, tmp_path: Path) -> Path:
    curate(load(CurateConfig, [recipe(20)]), tmp_path / "out", console=Console(quiet=True), workers=1)
    return tmp_path / "out"


def test_it_loads_without_fault_and_the_records_are_the_rows(folder: Path) -> None:
    data = mlcroissant.Dataset(str(folder / "croissant.json"))
    issues = data.metadata.ctx.issues
    assert not issues.errors
    assert [text for text in issues.warnings if "datePublished" not in text] == []
    records = list(data.records("problems"))
    rows = [to_row(problem) for problem in read_shards(folder)]
    assert len(records) == len(rows) > 0
    for record, row in zip(records, rows, strict=True):
        assert record["problems/id"].decode() == row["id"]
        prompt = [(turn["problems/prompt/role"], turn["problems/prompt/content"]) for turn in record["problems/prompt"]]
        assert prompt == [(turn["role"].encode(), turn["content"].encode()) for turn in row["prompt"]]
        gold = record["problems/reward_model"]["problems/reward_model/ground_truth"]
        assert gold.decode() == row["reward_model"]["ground_truth"]
        assert record["problems/extra_info"]["problems/extra_info/index"] == row["extra_info"]["index"]
        assert record["problems/pass_rate"] is None
    dropped = list(data.records("dropped-rows"))
    counts = json.loads((folder / "manifest.json").read_text())["dropped"]
    assert len(dropped) == sum(sum(reasons.values()) for reasons in counts.values())
    assert {record["dropped-rows/stage"].decode() for record in dropped} == set(counts)


def test_it_names_every_file_column_and_licence(folder: Path) -> None:
    told = json.loads((folder / "croissant.json").read_text())
    files = {item["contentUrl"]: item["sha256"] for item in told["distribution"] if item["@type"] == "cr:FileObject"}
    lying = {str(path.relative_to(folder)): path for path in folder.rglob("*.parquet") if ".work" not in path.parts}
    assert files == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in lying.items()}
    problems = next(item for item in told["recordSet"] if item["@id"] == "problems")
    shard = next(path for name, path in lying.items() if name.startswith("data/"))
    assert [field["name"] for field in problems["field"]] == pq.read_schema(shard).names
    assert told["license"] == ["https://spdx.org/licenses/MIT"]
    assert [(item["name"], item["license"]) for item in told["isBasedOn"]] == [
        ("words", "https://spdx.org/licenses/MIT")
    ]
    assert "croissant.json" in (folder / "README.md").read_text()


def test_it_is_a_pure_function_of_the_manifest(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    again = json.dumps(describe_folder(manifest), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert (folder / "croissant.json").read_text() == again
    quarantined = describe_folder(manifest | {"quarantined": {"dedupe": {"conflicting-golds": 1}}})
    assert "quarantined-rows" in [item["@id"] for item in quarantined["recordSet"]]
