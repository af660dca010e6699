"""Bundled real rows through the whole model-free pipeline, with benchmark items planted among them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from pipeline.config import load
from pipeline.run import CurateConfig, Manifest, curate
from pipeline.shards import read_shards
from pipeline.stages.decontaminate import plain_text

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "data" / "samples"
GOLDLESS = (886, 1009, 5328, 5330)


def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(SAMPLES / name, "rt", encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    folder = tmp_path_factory.mktemp("real")
    math = rows("math_train.jsonl.gz")
    chosen = math[::16] + [math[index] for index in GOLDLESS]
    leaks = [
        {"problem": row["problem"].replace("  ", " "), "answer": row["answer"]}
        for row in rows("benchmarks/math500.jsonl.gz")
    ]
    planted = [dict(row, difficulty=1.0, type="leak") for row in leaks[:20]] + chosen[:10]
    files = {
        "gsm8k_train": rows("gsm8k_train.jsonl.gz")[::16],
        "math_train": chosen + planted,
        "svamp": rows("svamp.jsonl.gz")[::8],
        "omni_math_rule": rows("omni_math_rule.jsonl.gz")[::16],
    }
    text = (ROOT / "data" / "recipes" / "curate" / "real.toml").read_text(encoding="utf-8")
    for name, content in files.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, content)), encoding="utf-8")
        text = text.replace(f"../../samples/{name}.jsonl.gz", f"{name}.jsonl")
    text = text.replace("../../samples/benchmarks", str(SAMPLES / "benchmarks"))
    (folder / "real.toml").write_text(text, encoding="utf-8")
    config = load(CurateConfig, [folder / "real.toml"])
    return folder / "out", curate(config, folder / "out", console=Console(quiet=True), workers=1)


def test_the_counts_add_up(curated: tuple[Path, Manifest]) -> None:
    _, manifest = curated
    gone = sum(sum(reasons.values()) for kind in ("dropped", "quarantined") for reasons in manifest[kind].values())
    assert manifest["rows_in"] == manifest["rows_kept"] + gone
    assert manifest["rows_kept"] > 0.9 * (manifest["rows_in"] - 40)
    assert sum(manifest["integer_forms"].values()) > 0.8 * manifest["rows_kept"]


def test_rows_without_gold_are_dropped_for_that(curated: tuple[Path, Manifest]) -> None:
    folder, manifest = curated
    assert manifest["dropped"]["sources"]["no-gold"] >= len(GOLDLESS)
    dropped = pq.read_table(folder / "dropped" / "sources.parquet").to_pylist()
    assert {row["reason"] for row in dropped if row["data_source"] == "math_train"} == {"no-gold"}


def test_no_benchmark_item_no_duplicate_no_empty_gold(curated: tuple[Path, Manifest]) -> None:
    folder, manifest = curated
    problems = read_shards(folder)
    asked = [plain_text(problem.question) for problem in problems]
    benchmark = {plain_text(row["problem"]) for row in rows("benchmarks/math500.jsonl.gz")}
    benchmark |= {plain_text(row["question"]) for row in rows("benchmarks/gsm8k_test.jsonl.gz")}
    assert benchmark.isdisjoint(asked)
    assert len(set(asked)) == len(asked)
    assert all(problem.ground_truth.strip() for problem in problems)
    hits = {item["name"]: item["hits"] for item in manifest["benchmarks"]}
    assert hits["math500"] >= 20
    assert manifest["dropped"]["dedupe"]["exact-duplicate"] >= 10
