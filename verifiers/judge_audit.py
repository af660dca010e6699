"""What a judge behind the rules changes, on labelled rows: per reason what it turned and how often rightly, the error
rates of the rules and of both together, and their paired difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verifiers.audit import SHOWN_TAIL, AuditResult, Pairs, accepted, rate, rates_of_pairs
from verifiers.cases import LabelledRow
from verifiers.hybrid import Asked, Hybrid
from verifiers.verdict import Status, Verdict

RESAMPLES = 2_000
LABELLED = ("turned_right", "turned_wrong", "missed", "missed_drawn", "first_right", "first_wrong")
EXAMPLES = 24
"""Turned rows that are shown, the wrong ones first."""


def asked_of(rows: Sequence[LabelledRow]) -> list[Asked]:
    return [Asked(request=row.request(), question=row.question) for row in rows]


def judge_audit(result: AuditResult, found: Hybrid, settings: Mapping[str, Any]) -> dict[str, Any]:
    """`judge` of audit.json. result: the rules' verdicts, found: the hybrid's on the same rows, in order."""
    rules = result.pairs
    both = list(zip(result.rows, found.verdicts, strict=True))
    return {
        **settings,
        "n": len(rules),
        "labelled": sum(row.correct is not None for row in result.rows),
        "rules": _rates(rules),
        "hybrid": _rates(both),
        "difference": _differences(rules, found.verdicts),
        "reasons": _reasons(rules, found),
        "examples": _examples(rules, found),
    }


def _rates(pairs: Pairs) -> dict[str, Any]:
    labelled = [(row, verdict) for row, verdict in pairs if row.correct is not None]
    good = sum(_right(row, verdict) for row, verdict in labelled)
    rates = rates_of_pairs(labelled) | {"accuracy": rate(good, len(labelled))}
    return {name: value.to_json() for name, value in rates.items()}


def _right(row: LabelledRow, verdict: Verdict) -> bool:
    """Undecided is not right."""
    return verdict.status is not Status.UNDECIDED and accepted(verdict) == row.correct


def _reasons(rules: Pairs, found: Hybrid) -> dict[str, dict[str, Any]]:
    """By the rules' reason: the counts of the hybrid, and of the labelled rows that were turned how many rightly.

    missed: rows with the reason that are labelled correct, whether or not anybody may ask about them: what the rules
    lost.  missed_drawn: of those the ones that were judged.  first_right, first_wrong: what the first order alone would
    have accepted, by the label.
    """
    table = {reason: count.to_json() for reason, count in found.counts.items()}
    for entry in table.values():
        entry |= dict.fromkeys(LABELLED, 0)
    for place, ((row, rule), verdict) in enumerate(zip(rules, found.verdicts, strict=True)):
        if rule.status is Status.CORRECT or row.correct is None:
            continue
        entry = table[rule.reason]
        entry["missed"] += row.correct
        if place in found.ballots:
            entry["missed_drawn"] += row.correct
            accepts = (found.ballots[place].first or 0.0) > 0.5
            entry["first_right" if row.correct else "first_wrong"] += accepts
        if verdict is not rule and verdict.status is not Status.UNDECIDED:
            entry["turned_right" if accepted(verdict) == row.correct else "turned_wrong"] += 1
    for entry in table.values():
        told = entry["turned_right"] + entry["turned_wrong"]
        entry["rightly"] = rate(entry["turned_right"], told).to_json()
    return dict(sorted(table.items(), key=lambda item: (-item[1]["seen"], item[0])))


def _differences(rules: Pairs, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Hybrid less rules, paired row by row, in accuracy, FNR and FPR. Rows of one question are drawn together in the
    bootstrap, for a judge errs on all of them alike. low, high: None where no row differs."""
    labelled = [
        (row, rule, verdict) for (row, rule), verdict in zip(rules, verdicts, strict=True) if row.correct is not None
    ]
    groups = _numbered([f"{row.question}\x00{row.ground_truth}" for row, _, _ in labelled])
    accuracy = [_right(row, verdict) - _right(row, rule) for row, rule, verdict in labelled]
    fnr = [accepted(rule) - accepted(verdict) for _, rule, verdict in labelled]
    fpr = [accepted(verdict) - accepted(rule) for _, rule, verdict in labelled]
    positive = [row.correct is True for row, _, _ in labelled]
    negative = [row.correct is False for row, _, _ in labelled]
    return {
        "accuracy": _paired(accuracy, [True] * len(labelled), groups),
        "fnr": _paired(fnr, positive, groups),
        "fpr": _paired(fpr, negative, groups),
    }


def _numbered(names: Sequence[str]) -> list[int]:
    number: dict[str, int] = {}
    return [number.setdefault(name, len(number)) for name in names]


def _paired(changes: Sequence[int], counts: Sequence[bool], groups: Sequence[int]) -> dict[str, Any]:
    """The mean change of the rows that count, with a 95 % percentile interval over resampled groups."""
    n = sum(counts)
    moved = [change for change, counted in zip(changes, counts, strict=True) if counted and change]
    empty = {"estimate": 0.0 if n else None, "low": None, "high": None, "n": n, "groups": 0, "changed": 0}
    if not moved:
        return empty
    total = np.bincount(groups, np.where(counts, changes, 0))
    size = np.bincount(groups, np.asarray(counts, float))
    total, size = total[size > 0], size[size > 0]
    draws = np.random.default_rng(0).multinomial(len(size), np.full(len(size), 1 / len(size)), RESAMPLES)
    low, high = np.quantile((draws @ total) / (draws @ size), (0.025, 0.975))
    estimate = float(sum(moved)) / n
    return {"estimate": estimate, "low": float(low), "high": float(high), "n": n} | {
        "groups": len(size),
        "changed": len(moved),
    }


def _examples(rules: Pairs, found: Hybrid) -> list[dict[str, Any]]:
    turned = [
        (row, rule, verdict)
        for (row, rule), verdict in zip(rules, found.verdicts, strict=True)
        if verdict is not rule and verdict.status is not Status.UNDECIDED
    ]
    turned.sort(key=lambda item: item[0].correct is None or accepted(item[2]) == item[0].correct)
    return [
        {
            "id": row.id,
            "source": row.source,
            "question": row.question[:SHOWN_TAIL],
            "ground_truth": row.ground_truth if isinstance(row.ground_truth, str) else list(row.ground_truth),
            "extracted": verdict.extracted,
            "correct": row.correct,
            "rule": f"{rule.status.value}, {rule.reason}",
            "status": verdict.status.value,
            "detail": verdict.detail,
        }
        for row, rule, verdict in turned[:EXAMPLES]
    ]
