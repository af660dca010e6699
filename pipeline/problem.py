"""A problem, and the Arrow schema of the shards: the contract with trainers."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

SCHEMA_VERSION = 1

MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
DIFFICULTY = pa.struct(
    [
        ("model", pa.string()),
        ("sampler_digest", pa.string()),
        ("correct", pa.int32()),
        ("attempts", pa.int32()),
        ("truncated", pa.int32()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("bucket", pa.string()),
    ]
)
EXTRA_INFO = pa.struct(
    [
        ("index", pa.int64()),
        ("split", pa.string()),
        ("source_row", pa.string()),
        ("license", pa.string()),
        ("original_answer", pa.string()),
        ("template_id", pa.string()),
        ("integer_form", pa.string()),
        ("meta_json", pa.string()),
        ("verifier", pa.string()),
        ("verifier_options", pa.string()),
    ]
)
"""`verifier` and `verifier_options` again: verl hands a reward function `extra_info` and no other column."""

SHARD_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("data_source", pa.string()),
        ("prompt", pa.list_(MESSAGE)),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        ("extra_info", EXTRA_INFO),
        ("solution", pa.string()),
        ("verifier", pa.string()),
        ("verifier_options", pa.string()),
        ("pass_rate", pa.float64()),
        ("difficulty", pa.list_(DIFFICULTY)),
    ]
)
"""Columns of `data/*.parquet`, a superset of verl's layout; the same in every file, never inferred."""

DROP_SCHEMA = pa.schema(
    [
        ("source_row", pa.string()),
        ("id", pa.string()),
        ("data_source", pa.string()),
        ("kind", pa.string()),
        ("stage", pa.string()),
        ("reason", pa.string()),
        ("evidence", pa.string()),
        ("question", pa.string()),
        ("ground_truth", pa.string()),
    ]
)
"""Columns of `dropped/STAGE.parquet` and `quarantined/STAGE.parquet`; `evidence` is a JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """What one sampler did on one problem; low and high are the Wilson 95 % bounds of its pass rate."""

    model: str
    sampler_digest: str
    correct: int
    attempts: int
    truncated: int
    low: float
    high: float
    bucket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One question with its gold, on its way through the pipeline.

    id: hash of the raw question and raw gold, fixed at ingestion (`problem_id`).
    source_row: `data_source#index`, the ledger's key, unique even among exact duplicates.
    question: the text asked of the model.  ground_truth: the gold that the verifier reads.
    original_answer: the gold as the source gave it.  meta_json: free-form source fields as a JSON object.
    """

    id: str
    data_source: str
    source_row: str
    index: int
    question: str
    ground_truth: str
    original_answer: str
    license: str
    ability: str = "math"
    split: str = "train"
    verifier: str = "math"
    verifier_options: str = "{}"
    template_id: str | None = None
    integer_form: str | None = None
    meta_json: str = "{}"
    pass_rate: float | None = None
    difficulty: tuple[Difficulty, ...] = ()
    system_prompt: str | None = None


def problem_id(question: str, ground_truth: str) -> str:
    """32 hex digits of the raw question (Unicode NFC) and raw gold."""
    raw = json.dumps([unicodedata.normalize("NFC", question), ground_truth], ensure_ascii=False)
    return hashlib.blake2b(raw.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def to_row(problem: Problem) -> dict[str, Any]:
    """A problem as one row of `SHARD_SCHEMA`."""
    prompt = [{"role": "user", "content": problem.question}]
    if problem.system_prompt is not None:
        prompt.insert(0, {"role": "system", "content": problem.system_prompt})
    return {
        "id": problem.id,
        "data_source": problem.data_source,
        "prompt": prompt,
        "ability": problem.ability,
        "reward_model": {"style": "rule", "ground_truth": problem.ground_truth},
        "extra_info": {
            "index": problem.index,
            "split": problem.split,
            "source_row": problem.source_row,
            "license": problem.license,
            "original_answer": problem.original_answer,
            "template_id": problem.template_id,
            "integer_form": problem.integer_form,
            "meta_json": problem.meta_json,
            "verifier": problem.verifier,
            "verifier_options": problem.verifier_options,
        },
        "solution": f"\\boxed{{{problem.ground_truth}}}",
        "verifier": problem.verifier,
        "verifier_options": problem.verifier_options,
        "pass_rate": problem.pass_rate,
        "difficulty": [{name: getattr(entry, name) for name in DIFFICULTY.names} for entry in problem.difficulty],
    }


def from_row(row: dict[str, Any]) -> Problem:
    """The inverse of `to_row`."""
    extra, messages = row["extra_info"], row["prompt"]
    system = messages[0]["content"] if messages[0]["role"] == "system" else None
    return Problem(
        id=row["id"],
        data_source=row["data_source"],
        source_row=extra["source_row"],
        index=extra["index"],
        question=messages[-1]["content"],
        ground_truth=row["reward_model"]["ground_truth"],
        original_answer=extra["original_answer"],
        license=extra["license"],
        ability=row["ability"],
        split=extra["split"],
        verifier=row["verifier"],
        verifier_options=row["verifier_options"],
        template_id=extra["template_id"],
        integer_form=extra["integer_form"],
        meta_json=extra["meta_json"],
        pass_rate=row["pass_rate"],
        difficulty=tuple(Difficulty(**entry) for entry in row["difficulty"] or ()),
        system_prompt=system,
    )


def to_batch(problems: Iterable[Problem]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([to_row(problem) for problem in problems], schema=SHARD_SCHEMA)


def from_batch(batch: pa.RecordBatch | pa.Table) -> Sequence[Problem]:
    return [from_row(row) for row in batch.to_pylist()]
