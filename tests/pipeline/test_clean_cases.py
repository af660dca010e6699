"""Every kind of defect on hand-written rows: those that have it, and those that only look like it.

`cases/clean.jsonl`: kind, positive, question, gold; `after` and `gold_after` where the row is mended.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.mending import mend_question
from pipeline.problem import Problem
from pipeline.stage import Context
from pipeline.stages.clean import Clean
from pipeline.stages.dedupe import dedupe_problems

Make = Callable[..., Problem]
FILE = Path(__file__).resolve().parent / "cases" / "clean.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
MENDED = ("mojibake", "markup", "appendix", "instructions")
KINDS = sorted({case["kind"] for case in CASES})


def of(kind: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["kind"] == kind]


def right(make: Make, context: Context, case: dict[str, Any]) -> bool:
    kind, positive = case["kind"], case["positive"]
    if kind in MENDED:
        mended, notes = mend_question(case["question"])
        return mended == case["after"] and (kind in notes) == positive
    row = make(case["question"], case["gold"], verifier=case.get("verifier", "math"))
    if kind == "conflicting-golds":
        other = make(case["other_question"], case["other_gold"], 1)
        kept = Clean()([row, other], context).kept
        reasons = [drop.reason for drop in dedupe_problems(kept, context)]
        return len(kept) == 2 and (kind in reasons) == positive
    outcome = Clean()([row], context)
    if kind == "choice-opened":
        opened = [(one.question, one.ground_truth) for one in outcome.kept if "opened_choice" in one.meta_json]
        return opened == ([(case["after"], case["gold_after"])] if positive else [])
    return [drop.reason == kind for drop in outcome.drops] == [True] if positive else not outcome.drops


def test_every_kind_has_twenty_of_both() -> None:
    counts = Counter((case["kind"], case["positive"]) for case in CASES)
    assert min(counts[kind, positive] for kind in KINDS for positive in (True, False)) >= 20
    assert len(KINDS) == 17


@pytest.mark.parametrize("kind", KINDS)
def test_defects_are_found_and_good_rows_stay(kind: str, make: Make, context: Context) -> None:
    assert [case for case in of(kind) if not right(make, context, case)] == []
