"""How often is a verifier wrong? False negatives and false positives on labelled responses, in numbers.

The report is drawn in `verigold.report.audit`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from verifiers.cases import LabelledRow, RowError, check_options, option_names, read_rows
from verifiers.registry import verify_many
from verifiers.verdict import Status, Verdict
from verifiers.workers import cpu_seconds

__all__ = [
    "AuditResult",
    "LabelledRow",
    "Pairs",
    "Rate",
    "RowError",
    "accepted",
    "cells_of",
    "check_options",
    "exceeded",
    "option_names",
    "rate",
    "rates_of_pairs",
    "read_rows",
    "run_audit",
]

if TYPE_CHECKING:
    from verifiers.estimate import Cell, Strata

SHOWN_TAIL = 400
"""Characters of a response that a disagreement keeps."""
MAX_DISAGREEMENTS = 200


# ---- scoring -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share with its 95 % interval (Wilson); all None when there is nothing to count."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> dict[str, float | int | None]:
        return {"estimate": self.estimate, "low": self.low, "high": self.high, "n": self.n}


def rate(hits: int, n: int) -> Rate:
    from scipy.stats import binomtest

    if n == 0:
        return Rate(estimate=None, low=None, high=None, n=0)
    interval = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    return Rate(estimate=hits / n, low=float(interval.low), high=float(interval.high), n=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """Rows with their verdicts, and the CPU seconds that the verdicts took (parent and children)."""

    rows: tuple[LabelledRow, ...]
    verdicts: tuple[Verdict, ...]
    cpu_s: float
    wall_s: float

    @property
    def pairs(self) -> list[tuple[LabelledRow, Verdict]]:
        return list(zip(self.rows, self.verdicts, strict=True))

    def rates(self) -> dict[str, Rate]:
        return rates_of_pairs(self.pairs)

    def summary(self) -> dict[str, Any]:
        """{n, accuracy, fnr, fpr, undecided, by_category, per_cpu_second}; undecided counts as not accepted."""
        by_category = {name: _plain(pairs) for name, pairs in _grouped(self.pairs, lambda row: row.category).items()}
        per_cpu_second = len(self.rows) / self.cpu_s if self.cpu_s > 0 else None
        return _plain(self.pairs) | {"by_category": by_category, "per_cpu_second": per_cpu_second}

    def to_json(self) -> dict[str, Any]:
        rates = self.rates()
        return {
            "n": len(self.rows),
            "accuracy": _accuracy(self.pairs),
            **{name: rates[name].to_json() for name in ("fnr", "fpr", "undecided")},
            "confusion": _confusion(self.pairs),
            "by_category": _table(self.pairs, lambda row: row.category),
            "by_source": _table(self.pairs, lambda row: row.source),
            "by_reason": _by_reason(self.pairs),
            "disagreements": _disagreements(self.pairs),
        } | self._estimated()

    def strata(self) -> Strata:
        """The rows by verifier, verdict, reason and source, with the labels there are."""
        from verifiers.estimate import stratify

        return stratify(cells_of(self.pairs), [row.correct for row in self.rows])

    def estimated_rates(self) -> dict[str, Rate] | None:
        """`fnr` and `fpr` of all rows when only some have labels; else None. Rate.n: the labels used."""
        from verifiers.estimate import estimate

        labels = sum(row.correct is not None for row in self.rows)
        found = estimate(self.strata()) if 0 < labels < len(self.rows) else None
        if found is None:
            return None
        return {
            name: Rate(estimate=value.estimate, low=value.low, high=value.high, n=labels)
            for name, value in found.items()
        }

    def _estimated(self) -> dict[str, Any]:
        rates = self.estimated_rates()
        if rates is None:
            return {}
        strata = self.strata()
        counts = zip(strata.cells, strata.size, strata.labelled, strata.errors, strict=True)
        table = [asdict(cell) | {"n": int(n), "labelled": int(k), "wrong": int(x)} for cell, n, k, x in counts]
        labels = int(strata.labelled.sum())
        found = {"n": len(self.rows), "labelled": labels} | {name: value.to_json() for name, value in rates.items()}
        return {"estimated": found | {"strata": table}}


def run_audit(rows: Sequence[LabelledRow], *, workers: int | None = None) -> AuditResult:
    """Every row scored by the verifier that it names, with the options that it names."""
    cpu, wall = cpu_seconds(), time.monotonic()
    verdicts = verify_many([row.request() for row in rows], workers=workers)
    return AuditResult(
        rows=tuple(rows),
        verdicts=tuple(verdicts),
        cpu_s=cpu_seconds() - cpu,
        wall_s=time.monotonic() - wall,
    )


Pairs = Sequence[tuple[LabelledRow, Verdict]]


def cells_of(pairs: Pairs) -> list[Cell]:
    """Where each row belongs before its label is known. Undecided counts as not accepted."""
    from verifiers.estimate import Cell

    return [
        Cell(verifier=row.verifier, accepted=accepted(verdict), reason=verdict.reason, source=row.source)
        for row, verdict in pairs
    ]


def accepted(verdict: Verdict) -> bool:
    return verdict.status is Status.CORRECT


def rates_of_pairs(pairs: Pairs) -> dict[str, Rate]:
    right = [verdict for row, verdict in pairs if row.correct is True]
    wrong = [verdict for row, verdict in pairs if row.correct is False]
    undecided = sum(verdict.status is Status.UNDECIDED for _, verdict in pairs)
    return {
        "fnr": rate(sum(not accepted(verdict) for verdict in right), len(right)),
        "fpr": rate(sum(map(accepted, wrong)), len(wrong)),
        "undecided": rate(undecided, len(pairs)),
    }


def _accuracy(pairs: Pairs) -> float | None:
    """Undecided counts as wrong."""
    labelled = [(row, verdict) for row, verdict in pairs if row.correct is not None]
    good = sum(verdict.status is not Status.UNDECIDED and accepted(verdict) == row.correct for row, verdict in labelled)
    return good / len(labelled) if labelled else None


def _plain(pairs: Pairs) -> dict[str, Any]:
    rates = rates_of_pairs(pairs)
    return {"n": len(pairs), "accuracy": _accuracy(pairs)} | {name: value.estimate for name, value in rates.items()}


def _grouped(pairs: Pairs, key: Callable[[LabelledRow], str]) -> dict[str, list[tuple[LabelledRow, Verdict]]]:
    groups: dict[str, list[tuple[LabelledRow, Verdict]]] = {}
    for row, verdict in pairs:
        groups.setdefault(key(row), []).append((row, verdict))
    return dict(sorted(groups.items()))


def _table(pairs: Pairs, key: Callable[[LabelledRow], str]) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for name, group in _grouped(pairs, key).items():
        rates = {rate_name: value.to_json() for rate_name, value in rates_of_pairs(group).items()}
        table[name] = {"n": len(group), "accuracy": _accuracy(group)} | rates
    return table


def _confusion(pairs: Pairs) -> dict[str, dict[str, int]]:
    names = {Status.CORRECT: "accepted", Status.INCORRECT: "rejected", Status.UNDECIDED: "undecided"}
    table: dict[str, dict[str, int]] = {}
    for label, name in ((True, "labelled_correct"), (False, "labelled_wrong")):
        counts = Counter(names[verdict.status] for row, verdict in pairs if row.correct is label)
        table[name] = {column: counts[column] for column in names.values()}
    return table


def _by_reason(pairs: Pairs) -> dict[str, dict[str, int]]:
    """n: verdicts with this reason; wrong: those that a label contradicts (undecided counts as not accepted)."""
    table: dict[str, dict[str, int]] = {}
    for row, verdict in pairs:
        entry = table.setdefault(verdict.reason, {"n": 0, "wrong": 0})
        entry["n"] += 1
        entry["wrong"] += row.correct is not None and accepted(verdict) != row.correct
    return dict(sorted(table.items(), key=lambda item: (-item[1]["n"], item[0])))


def _disagreements(pairs: Pairs) -> list[dict[str, Any]]:
    """Worst first: false positives, then false negatives, then undecided."""
    found: list[tuple[int, dict[str, Any]]] = []
    for row, verdict in pairs:
        if verdict.status is Status.UNDECIDED:
            rank = 2
        elif row.correct is None or accepted(verdict) == row.correct:
            continue
        else:
            rank = 0 if accepted(verdict) else 1
        found.append((rank, _shown(row, verdict)))
    found.sort(key=lambda item: item[0])
    return [entry for _, entry in found[:MAX_DISAGREEMENTS]]


def _shown(row: LabelledRow, verdict: Verdict) -> dict[str, Any]:
    gold = row.ground_truth if isinstance(row.ground_truth, str) else list(row.ground_truth)
    return {
        "id": row.id,
        "category": row.category,
        "source": row.source,
        "verifier": row.verifier,
        "ground_truth": gold,
        "response": row.response[-SHOWN_TAIL:],
        "extracted": verdict.extracted,
        "correct": row.correct,
        "status": verdict.status.value,
        "reason": verdict.reason,
        "detail": verdict.detail,
    }


def exceeded(rates: Mapping[str, Rate], limits: Iterable[tuple[str, float | None]]) -> list[str]:
    """One line for every rate whose estimate is above its limit."""
    lines: list[str] = []
    for name, limit in limits:
        estimate = rates[name].estimate
        if limit is not None and estimate is not None and estimate > limit:
            lines.append(f"{name} {estimate:.4f} is above the limit {limit:.4f}")
    return lines
