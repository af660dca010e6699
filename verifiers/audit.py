"""How often is a verifier wrong? False negatives and false positives on labelled responses, in numbers.

The report is drawn in `verigold.report.audit`.
"""

from __future__ import annotations

import inspect
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verifiers.registry import VERIFIERS, Request, verify_many
from verifiers.verdict import Status, Verdict
from verifiers.workers import cpu_seconds

SHOWN_TAIL = 400
"""Characters of a response that a disagreement keeps."""
MAX_DISAGREEMENTS = 200


class RowError(ValueError):
    """A line of a case file that the user must mend; the text names file, line, field and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRow:
    """One response with, perhaps, a person's label. `correct` None: not labelled."""

    id: str
    ground_truth: str | tuple[str, ...]
    response: str
    correct: bool | None = None
    verifier: str = "math"
    options: Mapping[str, Any] = field(default_factory=dict)
    category: str = "all"
    source: str = "all"

    def request(self) -> Request:
        return Request(
            response=self.response, ground_truth=self.ground_truth, verifier=self.verifier, options=self.options
        )


# ---- reading -------------------------------------------------------------------------------------------------------


def read_rows(path: Path) -> list[LabelledRow]:
    """Rows of a JSON Lines file (also .gz) with fields ground_truth, response and optionally verifier,
    verifier_options, correct, category, source, id. Raises RowError."""
    rows: list[LabelledRow] = []
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            rows.append(_row(line, f"{path}: line {number}", number))
    if not rows:
        raise RowError(f"{path}: no rows; expected one JSON object a line with fields ground_truth and response")
    return rows


def _lines(path: Path) -> list[str]:
    import gzip

    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError) as error:
        raise RowError(
            f"{path}: cannot read it ({error.__class__.__name__}: {error}); give a JSON Lines file"
        ) from None
    except UnicodeDecodeError as error:
        raise RowError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    return text.split("\n")


def _row(line: str, where: str, number: int) -> LabelledRow:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise RowError(f"{where}: not JSON ({error}); expected one object a line") from None
    if not isinstance(value, dict):
        raise RowError(f"{where}: expected a JSON object, got {type(value).__name__}")
    verifier = _field(value, "verifier", str, where, "math")
    options = _field(value, "verifier_options", dict, where, {})
    check_options(verifier, options, where)
    return LabelledRow(
        id=str(value.get("id", number)),
        ground_truth=_ground_truth(value, where),
        response=_field(value, "response", str, where),
        correct=_field(value, "correct", bool, where, None),
        verifier=verifier,
        options=options,
        category=_field(value, "category", str, where, "all"),
        source=_field(value, "source", str, where, "all"),
    )


_MISSING = object()


def _field(value: Mapping[str, Any], name: str, kind: type, where: str, default: Any = _MISSING) -> Any:
    found = value.get(name, _MISSING)
    if found is _MISSING or (found is None and default is not _MISSING):
        if default is _MISSING:
            known = ", ".join(sorted(value)) or "none"
            raise RowError(f"{where}: field '{name}' is missing (fields there: {known}); add it")
        return default
    if not isinstance(found, kind):
        raise RowError(f"{where}: field '{name}' must be {kind.__name__}, got {type(found).__name__}")
    return found


def _ground_truth(value: Mapping[str, Any], where: str) -> str | tuple[str, ...]:
    found = value.get("ground_truth", _MISSING)
    if found is _MISSING:
        _field(value, "ground_truth", str, where)
    if isinstance(found, list) and found and all(isinstance(alias, str) for alias in found):
        return tuple(found)
    if isinstance(found, str):
        return found
    raise RowError(f"{where}: field 'ground_truth' must be a string or a list of strings, got {type(found).__name__}")


def check_options(verifier: str, options: Mapping[str, Any], where: str) -> None:
    """Raises RowError for an unknown verifier or an option that it does not have."""
    if verifier not in VERIFIERS:
        raise RowError(f"{where}: unknown verifier '{verifier}'; known: {', '.join(sorted(VERIFIERS))}")
    known = option_names(VERIFIERS[verifier])
    for name in options:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise RowError(f"{where}: verifier '{verifier}' has no option '{name}'; its options: {listed}")


def option_names(verifier: Callable[..., Verdict]) -> frozenset[str]:
    parameters = inspect.signature(verifier).parameters.values()
    return frozenset(item.name for item in parameters if item.kind is inspect.Parameter.KEYWORD_ONLY)


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
        return _rates(self.pairs)

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
        }


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


def _accepted(verdict: Verdict) -> bool:
    return verdict.status is Status.CORRECT


def _rates(pairs: Pairs) -> dict[str, Rate]:
    right = [verdict for row, verdict in pairs if row.correct is True]
    wrong = [verdict for row, verdict in pairs if row.correct is False]
    undecided = sum(verdict.status is Status.UNDECIDED for _, verdict in pairs)
    return {
        "fnr": rate(sum(not _accepted(verdict) for verdict in right), len(right)),
        "fpr": rate(sum(map(_accepted, wrong)), len(wrong)),
        "undecided": rate(undecided, len(pairs)),
    }


def _accuracy(pairs: Pairs) -> float | None:
    """Undecided counts as wrong."""
    labelled = [(row, verdict) for row, verdict in pairs if row.correct is not None]
    good = sum(
        verdict.status is not Status.UNDECIDED and _accepted(verdict) == row.correct for row, verdict in labelled
    )
    return good / len(labelled) if labelled else None


def _plain(pairs: Pairs) -> dict[str, Any]:
    rates = _rates(pairs)
    return {"n": len(pairs), "accuracy": _accuracy(pairs)} | {name: value.estimate for name, value in rates.items()}


def _grouped(pairs: Pairs, key: Callable[[LabelledRow], str]) -> dict[str, list[tuple[LabelledRow, Verdict]]]:
    groups: dict[str, list[tuple[LabelledRow, Verdict]]] = {}
    for row, verdict in pairs:
        groups.setdefault(key(row), []).append((row, verdict))
    return dict(sorted(groups.items()))


def _table(pairs: Pairs, key: Callable[[LabelledRow], str]) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for name, group in _grouped(pairs, key).items():
        rates = {rate_name: value.to_json() for rate_name, value in _rates(group).items()}
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
        entry["wrong"] += row.correct is not None and _accepted(verdict) != row.correct
    return dict(sorted(table.items(), key=lambda item: (-item[1]["n"], item[0])))


def _disagreements(pairs: Pairs) -> list[dict[str, Any]]:
    """Worst first: false positives, then false negatives, then undecided."""
    found: list[tuple[int, dict[str, Any]]] = []
    for row, verdict in pairs:
        if verdict.status is Status.UNDECIDED:
            rank = 2
        elif row.correct is None or _accepted(verdict) == row.correct:
            continue
        else:
            rank = 0 if _accepted(verdict) else 1
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
