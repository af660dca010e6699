"""What verl hands to its reward function is enough to score by the row's own verifier."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from pipeline.problem import Problem, problem_id
from pipeline.shards import write_problems
from verifiers.reward import compute_score


def test_extra_info_carries_the_verifier_and_its_options(tmp_path: Path) -> None:
    question, gold = "What is the capital of France?", "Paris"
    problem = Problem(
        id=problem_id(question, gold),
        data_source="trivia",
        source_row="trivia#0",
        index=0,
        question=question,
        ground_truth=gold,
        original_answer=gold,
        license="MIT",
        verifier="qa",
        verifier_options='{"aliases": ["City of Light"]}',
    )
    write_problems(tmp_path, [problem])
    (row,) = pq.read_table(next((tmp_path / "data").glob("*.parquet"))).to_pylist()
    for response in ("It is Paris, the capital of France.", "City of Light"):
        scored = compute_score(row["data_source"], response, row["reward_model"]["ground_truth"], row["extra_info"])
        assert scored["score"] == 1.0
