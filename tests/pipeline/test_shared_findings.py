"""Larger labelled data that is not bundled: skipped where it is absent."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pipeline.problem import Problem
from pipeline.sources import Source, read_source
from pipeline.stages.clean import Clean
from pipeline.stages.decontaminate import Benchmark, Hit, build_index, find_hits

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT.parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the shared data are not here")

SOURCES: dict[str, dict[str, Any]] = {
    "gsm8k_train": {"path": "sources/gsm8k_train.jsonl.gz", "question": "question", "answer": "answer",
                    "answer_pattern": "after_hashes"},
    "rephrased": {"path": "sources/gsm8k_test_rephrased.jsonl.gz", "question": "text", "answer": "text",
                  "question_pattern": "Question:(.*?)\nAnswer:", "answer_pattern": "after_hashes"},
    "math_train": {"path": "sources/math_train_rllm.jsonl.gz", "question": "problem", "answer": "answer"},
    "math8k": {"path": "sources/math8k_simplerl.jsonl.gz", "question": "prompt", "answer": "answer"},
    "aime": {"path": "sources/aime_1983_2023_rllm.jsonl.gz", "question": "problem", "answer": "answer"},
    "deepscaler": {"path": "sources/deepscaler_sub_1209.parquet", "question": "prompt",
                   "answer": "reward_model.ground_truth"},
    "omni": {"path": "sources/omni_math_rule.jsonl.gz", "question": "problem", "answer": "answer"},
    "gsm_hard": {"path": "sources/gsm_hard.jsonl.gz", "question": "input", "answer": "target"},
}  # fmt: skip
BENCHMARKS: dict[str, dict[str, Any]] = {
    "gsm8k_test": {"path": "bench/gsm8k_test.jsonl.gz", "question": "question", "answer": "answer",
                   "answer_pattern": "after_hashes"},
    "math500": {"path": "bench/math500.jsonl.gz", "question": "problem", "answer": "answer"},
    "math_test": {"path": "sources/math_test_full.jsonl.gz", "question": "problem", "answer": "solution",
                  "answer_pattern": "last_boxed"},
    "aime22_24": {"path": "bench/aime22_24_aimo.jsonl.gz", "question": "question", "answer": "answer"},
    "olympiad": {"path": "sources/olympiadbench_oe_en.jsonl.gz", "question": "question", "answer": "final_answer"},
}  # fmt: skip


def hits(source: str, benchmark: str) -> tuple[list[Problem], list[tuple[Problem, Hit]]]:
    """(rows, rows with the benchmark item behind them, templates left out)."""
    raw = read_source(Source(**{**SOURCES[source], "name": source, "path": DATA / SOURCES[source]["path"]}))
    problems = [Clean().mend(row)[0] for row in raw if isinstance(row, Problem)]
    described = {**BENCHMARKS[benchmark], "name": benchmark, "path": DATA / BENCHMARKS[benchmark]["path"]}
    found = find_hits(problems, build_index((Benchmark(**described),)), 0.5)
    pairs = zip(problems, found, strict=True)
    return problems, [(problem, hit) for problem, hit in pairs if hit is not None and hit.rule != "template"]


def test_labelled_pairs() -> None:
    spec = importlib.util.spec_from_file_location("dedupe_benchmark", ROOT / "benchmarks" / "dedupe.py")
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    pairs = [json.loads(line) for line in (DATA / "dedup_pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    result = benchmark.score(pairs, benchmark.ours)
    assert result["recall_core"] >= 0.93
    assert result["false_merges"] <= 0.01
    assert result["quarantined_distinct"] <= 0.01


def test_reworded_benchmark_is_found() -> None:
    problems, found = hits("rephrased", "gsm8k_test")
    right = [1 for problem, hit in found if problem.index == hit.index]
    assert len(problems) == 1315  # four of the 1,319 have no question
    assert len(right) >= 0.95 * 1319


def test_train_set_without_leak_is_left_alone() -> None:
    problems, found = hits("gsm8k_train", "gsm8k_test")
    assert len(found) <= 0.001 * len(problems)


KNOWN = [
    ("math8k", "math500", [(3564, 386), (645, 339)]),
    ("aime", "math500", [(177, 101), (744, 110), (302, 292), (786, 80), (1, 489), (725, 285), (560, 412)]),
    ("omni", "math500", [(2614, 394), (1517, 494)]),
    ("deepscaler", "aime22_24", [(111, 49)]),
    ("math_train", "olympiad", [(6844, 346), (4520, 522)]),
    ("deepscaler", "math_test", [(659, 2624), (580, 2909), (332, 2331)]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "benchmark", "known"), KNOWN)
def test_leaks_found_by_reading_are_found(source: str, benchmark: str, known: list[tuple[int, int]]) -> None:
    _, found = hits(source, benchmark)
    assert set(known) <= {(problem.index, hit.index) for problem, hit in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "benchmark", "least"),
    [("math8k", "math_test", 2936), ("aime", "aime22_24", 56), ("omni", "olympiad", 13), ("math8k", "olympiad", 8),
     ("gsm_hard", "gsm8k_test", 329)],
)  # fmt: skip
def test_large_leaks_are_found(source: str, benchmark: str, least: int) -> None:
    _, found = hits(source, benchmark)
    assert len({hit.index for _, hit in found}) >= least


def test_instruction_suffix_is_cut() -> None:
    described = {**SOURCES["deepscaler"], "name": "d", "path": DATA / SOURCES["deepscaler"]["path"]}
    rows = [row for row in read_source(Source(**described)) if isinstance(row, Problem)]
    assert len(rows) == 1208  # one has no gold
    mended = [Clean().mend(row)[0].question for row in rows]
    assert not [text for text in mended if re.search("step by step|boxed", text)]
