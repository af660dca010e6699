"""Small folders in the formats of the pipeline, the audit and the trainer, with hostile text among the rows."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.problem import DROP_SCHEMA, SHARD_SCHEMA, Difficulty, Problem, problem_id, to_row

HOSTILE = (
    '<script>alert("x")</script><img src=x onerror=alert(1)> & \x1b[31mred\x07\x00 \u202eevil `code` | $x$ ](http://x)'
)
Drops = dict[tuple[str, str, str], list[dict[str, Any]]]


def drop_row(kind: str, stage: str, reason: str, index: int, source: str, **evidence: Any) -> dict[str, Any]:
    question, gold = f"Question {index} of {source}: what is {index} + {index}?\nAnswer with a number.", str(2 * index)
    if index % 7 == 0:
        question = HOSTILE
    return {
        "source_row": f"{source}#{index}",
        "id": problem_id(question + str(index), gold),
        "data_source": source,
        "kind": kind,
        "stage": stage,
        "reason": reason,
        "evidence": json.dumps(evidence, sort_keys=True),
        "question": question,
        "ground_truth": gold,
    }


def problem(index: int, source: str) -> Problem:
    entry = Difficulty(
        model="base",
        sampler_digest="d",
        correct=index % 8,
        attempts=8,
        truncated=0,
        low=0.1,
        high=0.6,
        bucket="learnable",
    )
    question = HOSTILE if index == 0 else f"What is {index} + 1?"
    return Problem(
        id=problem_id(question, str(index + 1)),
        data_source=source,
        source_row=f"{source}#{index}",
        index=index,
        question=question,
        ground_truth=str(index + 1),
        original_answer=f"#### {index + 1}",
        license="MIT",
        integer_form="as-is",
        pass_rate=(index % 8) / 8,
        difficulty=(entry,),
    )


def write_curated(
    folder: Path,
    rows_in: dict[str, int],
    plan: Sequence[tuple[str, str, str, dict[str, int]]],
    *,
    sampling: bool = False,
) -> dict[str, Any]:
    """plan: (stage, kind, reason, rows lost by source), in order. Writes shards, drops and a manifest that adds up."""
    names = list(dict.fromkeys(["sources", *(stage for stage, *_ in plan)]))
    left = dict(rows_in)
    stages: list[dict[str, Any]] = []
    next_index = dict.fromkeys(rows_in, 0)
    for name in names:
        entry = {
            "name": name,
            "params": {"threshold": 0.8} if name == "dedupe" else {},
            "dropped": {},
            "quarantined": {},
        }
        entry["rows_in"] = sum(left.values())
        for kind in ("dropped", "quarantined"):
            rows = []
            for _, _, reason, lost in (step for step in plan if step[:2] == (name, kind)):
                for source, n in lost.items():
                    evidence = {
                        "keeper": f"{source}#0",
                        "keeper_id": problem(0, source).id,
                        "score": 0.93,
                        "digest": "x",
                    }
                    start = next_index[source]
                    rows += [drop_row(kind, name, reason, start + i, source, **evidence) for i in range(n)]
                    next_index[source] += n
                    left[source] -= n
                entry[kind][reason] = sum(lost.values())
            if rows:
                path = folder / kind / f"{name}.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist(rows, schema=DROP_SCHEMA), path)
        entry["rows_out"] = sum(left.values())
        stages.append(entry)
    kept = [to_row(problem(index, source)) for source, n in left.items() for index in range(n)]
    (folder / "data").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(kept, schema=SHARD_SCHEMA), folder / "data" / "train-00000-of-00001.parquet")
    manifest = manifest_of(rows_in, left, stages, sampling=sampling)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return manifest


def manifest_of(
    rows_in: dict[str, int], left: dict[str, int], stages: list[dict[str, Any]], *, sampling: bool
) -> dict[str, Any]:
    kept = sum(left.values())
    manifest: dict[str, Any] = {
        "schema_version": 1,
        "code_version": "c",
        "recipe_digest": "0123456789abcdef",
        "seed": 0,
        "sources": [
            {"name": name, "path": f"{name}.jsonl.gz", "license": "MIT", "rows": n, "digest": "ab" * 16}
            for name, n in rows_in.items()
        ],
        "stages": stages,
        "rows_in": sum(rows_in.values()),
        "rows_kept": kept,
        "by_source": {name: {"rows_in": n, "rows_kept": left[name]} for name, n in rows_in.items()},
        "integer_forms": {"as-is": kept - kept // 5, "fraction-sum": kept // 5},
        "buckets": {},
        "benchmarks": [
            {"name": "gsm8k_test", "split": "test", "revision": "e53f048", "rows": 1319, "digest": "x", "hits": 2}
        ],
        "files": [],
    }
    for kind in ("dropped", "quarantined"):
        manifest[kind] = {stage["name"]: stage[kind] for stage in stages if stage[kind]}
    if sampling:
        manifest["sampling"] = {"difficulty": {"samples": 3200, "generated_tokens": 64500}}
        manifest["buckets"] = {"hard": kept // 4, "learnable": kept - kept // 4}
    return manifest


def rate(value: float, n: int) -> dict[str, float]:
    half = 1.96 * math.sqrt(max(value * (1 - value), 1e-4) / n)
    return {"estimate": value, "low": max(0.0, value - half), "high": min(1.0, value + half), "n": n}


def write_audit(folder: Path) -> dict[str, Any]:
    groups = {
        name: {"n": n, "fnr": rate(fnr, n), "fpr": rate(0.01, n), "undecided": rate(0.002, n), "accuracy": 1 - fnr}
        for name, n, fnr in (("integer", 900, 0.004), ("fraction", 300, 0.03), (HOSTILE[:30], 120, 0.08))
    }
    case = {
        "id": "r17",
        "category": "fraction",
        "source": "open-weights",
        "verifier": "math",
        "ground_truth": r"\frac{1}{2}",
        "response": f"so we get {HOSTILE}\n\\boxed{{0.51}}",
        "extracted": "0.51",
        "correct": False,
        "status": "correct",
        "reason": "numeric",
        "detail": HOSTILE,
    }
    audit = {
        "n": 1320,
        "accuracy": 0.981,
        "fnr": rate(0.0213, 700),
        "fpr": rate(0.0081, 620),
        "undecided": rate(0.0015, 1320),
        "confusion": {
            "labelled_correct": {"accepted": 685, "rejected": 13, "undecided": 2},
            "labelled_wrong": {"accepted": 5, "rejected": 615, "undecided": 0},
        },
        "by_category": groups,
        "by_source": {"open-weights": groups["integer"]},
        "by_reason": {"exact": {"n": 700, "wrong": 4}, "no-answer": {"n": 40, "wrong": 3}},
        "disagreements": [
            case,
            {**case, "correct": True, "status": "incorrect", "reason": "type-mismatch", "extracted": None},
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "audit.json").write_text(json.dumps(audit), encoding="utf-8")
    return audit


def evaluation(label: str, greedy: float, pass_at_1: float, pass_at_16: float) -> dict[str, Any]:
    return {
        "label": label,
        "model": f"models/{label}",
        "shards_digest": "s",
        "n": 1024,
        "greedy": rate(greedy, 1024),
        "pass_at_1": {**rate(pass_at_1, 1024), "samples": 4},
        "pass_at_k": {
            "1": rate(pass_at_1, 256),
            "4": rate(min(1, pass_at_1 + 0.15), 256),
            "16": rate(pass_at_16, 256),
        },
        "generated_tokens": 220000,
    }


def write_run(folder: Path, *, steps: int, first: float, last: float, seed: int) -> None:
    random_numbers = random.Random(seed)
    rows = []
    for step in range(1, steps + 1):
        level = last - (last - first) * math.exp(-4 * step / steps)
        row: dict[str, Any] = {
            "step": step,
            "generated_tokens": 6000,
            "generated_tokens_total": 6000 * step,
            "groups/kept_share": min(1.0, 0.9 - 0.3 * step / steps),
            "reward/mean": level + random_numbers.gauss(0, 0.02),
            "reward/undecided_share": 0.0,
            "length/correct_mean": 31 + random_numbers.random(),
            "length/wrong_mean": 27 + random_numbers.random(),
            "length/truncated_share": 0.01,
            "clip/low_share": 0.001,
            "clip/high_share": 0.002 + random_numbers.random() / 1000,
            "entropy/mean": 0.4 - 0.2 * step / steps,
            "grad/norm": 0.5 + random_numbers.random() / 5,
            "mismatch/mean_abs": 1e-6,
            "time/generate_s": 0.6,
            "time/score_s": 0.01,
            "time/update_s": 0.5,
        }
        if step % 5 == 0:
            row |= {"eval/greedy": min(1.0, level + 0.15), "eval/pass_at_1": level}
        rows.append(row)
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metrics.jsonl").write_text(lines + '{"step": 999, "rew', encoding="utf-8")
    (folder / "recipe.toml").write_text(f'seed = {seed}\n[loss]\nname = "clip"\nclip_high = 0.28\n', encoding="utf-8")
    summary = {"steps": steps, "generated_tokens": 6000 * steps, "exit_reason": "tokens", "wall_s": 33.0}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    write_rollouts(folder)


def write_rollouts(folder: Path) -> None:
    (folder / "rollouts").mkdir()
    for step in (1, 2, 10):
        samples = [
            {
                "step": step,
                "id": f"p{sample}",
                "group": 0,
                "sample": sample,
                "question": "113+848=?",
                "ground_truth": "961",
                "response": HOSTILE if sample == 2 else f"3+8+0=11\nstep {step} \\boxed{{96{sample}}}",
                "status": ("incorrect", "correct", "undecided")[sample % 3],
                "reason": ("numeric", "exact", "gold-unparsable")[sample % 3],
                "reward": (0.0, 1.0, None)[sample % 3],
                "advantage": 0.5,
                "tokens": 30,
                "finish_reason": "stop",
                "version": step - 1,
            }
            for sample in range(4)
        ]
        path = folder / "rollouts" / f"step-{step:05d}.jsonl"
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")


def write_quickstart(root: Path) -> None:
    real = {"gsm8k_train": 300, "math_train": 300, "omni_math": 200, "svamp": 40}
    plan = [
        ("sources", "dropped", "no-gold", {"math_train": 3}),
        ("clean", "dropped", "needs-image", {"omni_math": 9}),
        ("clean", "dropped", "multi-part", {"omni_math": 5, "math_train": 2}),
        ("dedupe", "dropped", "exact-duplicate", {"math_train": 8, "svamp": 1}),
        ("dedupe", "dropped", "near-duplicate", {"math_train": 24, "omni_math": 9}),
        ("decontaminate", "dropped", "benchmark-exact", {"gsm8k_train": 1, "math_train": 1}),
        ("decontaminate", "quarantined", "benchmark-near", {"math_train": 12}),
        ("integers", "dropped", "not-a-number", {"omni_math": 150, "math_train": 20}),
    ]
    write_curated(root / "real", real, plan)
    pool = [
        ("dedupe", "dropped", "exact-duplicate", {"addition": 20}),
        ("guessable", "dropped", "guessed", {"addition": 12}),
        ("answerable", "quarantined", "never-solved", {"addition": 50}),
        ("difficulty", "dropped", "too-easy", {"addition": 60}),
    ]
    write_curated(root / "pool", {"addition": 420}, pool, sampling=True)
    write_audit(root / "audit")
    (root / "eval").mkdir()
    for name, numbers in {
        "base": (0.336, 0.262, 0.86),
        "dapo": (0.984, 0.783, 0.99),
        "control": (0.508, 0.221, 0.84),
    }.items():
        (root / "eval" / f"{name}.json").write_text(json.dumps(evaluation(name, *numbers)), encoding="utf-8")
    write_run(root / "runs" / "dapo", steps=33, first=0.26, last=0.79, seed=1)
    write_run(root / "runs" / "control", steps=33, first=0.26, last=0.22, seed=2)
    transcripts = [
        {
            "model": model,
            "question": "113+848=?",
            "ground_truth": "961",
            "response": HOSTILE if model == "control" else "3+8+0=11\n1+4+1=6\n1+8+0=9\n\\boxed{961}",
            "status": status,
            "reason": "exact",
            "extracted": "961",
        }
        for model, status in (("base", "incorrect"), ("dapo", "correct"), ("control", "undecided"))
    ]
    (root / "transcripts.json").write_text(json.dumps(transcripts), encoding="utf-8")
    summary = {
        "planted": {
            "clean": {"n": 160, "removed": 8},
            "wrong-gold": {"n": 80, "removed": 71},
            "duplicate": {"n": 20, "removed": 20},
        },
        "curation_tokens": 64500,
        "wall_s": 281.0,
    }
    (root / "summary.json").write_text(json.dumps(summary), encoding="utf-8")


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished quick start."""
    folder = tmp_path_factory.mktemp("quickstart")
    write_quickstart(folder)
    return folder
