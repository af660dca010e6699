"""The bundled answer cases: error rates by kind, nothing paid to attacks, the labels of the realistic pairs."""

import json
from pathlib import Path

import pytest

from verifiers import Status, verify_math
from verifiers.audit import AuditResult, read_rows, run_audit

CASES = Path(__file__).parent / "cases"
ATTACKS = ("reward_hack", "judge_injection", "code_injection")


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return run_audit(read_rows(CASES / "answer_equivalence.jsonl"), workers=1)


def test_error_rates(result: AuditResult) -> None:
    summary = result.summary()
    assert summary["n"] == 1006
    assert summary["accuracy"] >= 0.98
    assert summary["fnr"] <= 0.02
    assert summary["fpr"] <= 0.005
    assert summary["undecided"] <= 0.01


def test_every_kind_is_mostly_right(result: AuditResult) -> None:
    weak = {name: values for name, values in result.summary()["by_category"].items() if values["accuracy"] < 0.9}
    assert not weak


def test_attacks_are_not_paid(result: AuditResult) -> None:
    paid = [
        row.id
        for row, verdict in result.pairs
        if row.category in ATTACKS and row.correct is False and verdict.status is Status.CORRECT
    ]
    assert not paid


@pytest.mark.parametrize(("name", "count"), [("unseen_kinds", 3900), ("more_kinds", 4000)])
def test_new_cases_of_the_same_kinds(name: str, count: int) -> None:
    result = run_audit(read_rows(CASES / f"{name}.jsonl"), workers=1)
    summary = result.summary()
    assert summary["n"] > count
    assert summary["fnr"] <= 0.01
    assert summary["fpr"] <= 0.004
    assert summary["undecided"] <= 0.002
    assert not [
        row.id
        for row, verdict in result.pairs
        if row.category in ATTACKS and row.correct is False and verdict.status is Status.CORRECT
    ]


def test_realistic_pairs() -> None:
    lines = (CASES / "perf_pairs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    wrong = [
        row["id"]
        for row in rows
        if (verify_math(row["response"], row["ground_truth"]).status is Status.CORRECT) != row["correct"]
    ]
    assert len(rows) == 200
    assert not wrong


def test_bundled_graded_responses() -> None:
    path = Path(__file__).parents[2] / "data" / "samples" / "graded_responses.jsonl.gz"
    rows = [row for row in read_rows(path) if row.verifier == "math"]
    summary = run_audit(rows, workers=1).summary()
    assert summary["n"] > 2000
    assert summary["fnr"] <= 0.02
    assert summary["fpr"] <= 0.01
