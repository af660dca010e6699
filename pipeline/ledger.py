"""Every row counted: kept, dropped or quarantined, with stage, reason and evidence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pipeline.problem import DROP_SCHEMA, Problem
from pipeline.stage import Drop

KINDS = ("dropped", "quarantined")


class LedgerError(AssertionError):
    """A stage lost, invented or doubled a row: a fault of the stage, never of the data."""


def check_conservation(stage: str, rows_in: Iterable[str], kept: Sequence[str], drops: Sequence[Drop]) -> None:
    """Raises LedgerError unless every row key of `rows_in` is in exactly one of kept and drops."""
    expected = Counter(rows_in)
    found = Counter(kept)
    found.update(drop.source_row for drop in drops)
    if expected == found:
        return
    lost, extra = list(expected - found)[:3], list(found - expected)[:3]
    raise LedgerError(f"stage {stage}: in = kept + dropped + quarantined does not hold; lost {lost}, extra {extra}")


def check_kinds(stage: str, drops: Sequence[Drop]) -> None:
    for drop in drops:
        if drop.kind not in KINDS or not drop.reason:
            raise LedgerError(f"stage {stage}: malformed drop of row {drop.source_row}: {drop.kind}, {drop.reason!r}")


def drops_table(drops: Sequence[Drop]) -> pa.Table:
    """Rows of `DROP_SCHEMA`; the evidence as a JSON object with sorted keys."""
    rows = [
        {
            "source_row": drop.source_row,
            "id": drop.id,
            "data_source": drop.data_source,
            "kind": drop.kind,
            "stage": drop.stage,
            "reason": drop.reason,
            "evidence": json.dumps(dict(drop.evidence), sort_keys=True, ensure_ascii=False, default=str),
            "question": drop.question,
            "ground_truth": drop.ground_truth,
        }
        for drop in drops
    ]
    return pa.Table.from_pylist(rows, schema=DROP_SCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What happened to the rows of one part, or of one stage when summed."""

    rows_in: int = 0
    rows_out: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    samples: int = 0
    generated_tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "dropped": dict(sorted(self.dropped.items())),
            "quarantined": dict(sorted(self.quarantined.items())),
            "samples": self.samples,
            "generated_tokens": self.generated_tokens,
        }


def count(rows_in: int, rows_out: int, drops: Iterable[Drop], samples: int = 0, generated_tokens: int = 0) -> Counts:
    reasons = {kind: Counter[str]() for kind in KINDS}
    for drop in drops:
        reasons[drop.kind][drop.reason] += 1
    return Counts(
        rows_in=rows_in,
        rows_out=rows_out,
        dropped=dict(reasons["dropped"]),
        quarantined=dict(reasons["quarantined"]),
        samples=samples,
        generated_tokens=generated_tokens,
    )


def total(parts: Iterable[Counts]) -> Counts:
    """The sum of several parts."""
    dropped, quarantined = Counter[str](), Counter[str]()
    rows_in = rows_out = samples = tokens = 0
    for part in parts:
        rows_in += part.rows_in
        rows_out += part.rows_out
        samples += part.samples
        tokens += part.generated_tokens
        dropped.update(part.dropped)
        quarantined.update(part.quarantined)
    return Counts(
        rows_in=rows_in,
        rows_out=rows_out,
        dropped=dict(dropped),
        quarantined=dict(quarantined),
        samples=samples,
        generated_tokens=tokens,
    )


def row_keys(problems: Iterable[Problem]) -> list[str]:
    return [problem.source_row for problem in problems]
