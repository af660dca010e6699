"""Duplicates and benchmark items among the removed rows, counted and read from the evidence of each drop."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from verigold.report.blocks import (
    Block,
    Cell,
    Details,
    Example,
    Field,
    Figure,
    Paragraph,
    Table,
    code,
    counted,
    left,
    plain,
    right,
)
from verigold.report.figures import histogram
from verigold.report.ledger import LONGEST, drop_file, evidence_of, others, read_parquet
from verigold.report.words import count, number, plural, shorten

PAIRS_SHOWN = 8
MOST_ROWS = 40
"""Lines of one table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """One removed row: where it was, why it went, and its evidence."""

    row: str
    source: str
    reason: str
    evidence: Mapping[str, Any]

    @property
    def keeper_source(self) -> str:
        return str(self.evidence.get("keeper", "")).rpartition("#")[0] or "?"

    @property
    def score(self) -> float | None:
        return number(self.evidence.get("score"))


def removed_by(folder: Path, kind: str, stage: str) -> list[Gone]:
    """Rows that a stage removed, without their texts; empty where it removed none."""
    path = drop_file(folder, kind, stage)
    if not path.is_file():
        return []
    table = read_parquet(path, ["source_row", "data_source", "reason", "evidence"])
    columns = (table.column(name).to_pylist() for name in ("source_row", "data_source", "reason", "evidence"))
    return [
        Gone(row=row, source=source, reason=reason, evidence=evidence_of(evidence))
        for row, source, reason, evidence in zip(*columns, strict=True)
    ]


def duplicate_blocks(folder: Path) -> list[Block]:
    """Which source repeats which, how alike the pairs are, and the least alike ones to read."""
    gone = removed_by(folder, "dropped", "dedupe")
    if not gone:
        return []
    return [_by_sources(gone), *_scores(gone), _rules(gone), *_pairs_to_read(folder, gone)]


def _by_sources(gone: Sequence[Gone]) -> Table:
    pairs = Counter((item.source, item.keeper_source, item.reason) for item in gone)
    reasons = sorted({item.reason for item in gone})
    places = Counter((item.source, item.keeper_source) for item in gone)
    rows = [
        [plain(source), plain(keeper if keeper != source else "the same source")]
        + [_counted(pairs[source, keeper, reason]) for reason in reasons]
        for (source, keeper), _ in places.most_common(MOST_ROWS)
    ]
    return Table(
        caption="Which source repeats which",
        columns=[*left("dropped from", "kept in"), *right(*reasons)],
        rows=rows,
        note=_cut(len(places), "pair of sources", "pairs of sources"),
    )


def _counted(rows: int) -> Cell:
    return counted(rows) if rows else plain("none", "muted")


def _cut(there: int, noun: str, many: str) -> str:
    return f"The {MOST_ROWS} largest of {plural(there, noun, many)}." if there > MOST_ROWS else ""


def _scores(gone: Sequence[Gone]) -> Iterator[Figure]:
    scores = [item.score for item in gone if item.reason == "near-duplicate" and item.score is not None]
    if not scores:
        return
    tenths = Counter(min(int(score * 10 + 1e-9), 9) for score in scores)
    bins = [(f"0.{tenth}–{(tenth + 1) / 10:.1f}", tenths[tenth]) for tenth in range(min(tenths), 10)]
    yield Figure(
        title="How alike near-duplicates are",
        description="Dropped rows by the token similarity to the row that was kept.",
        words="; ".join(f"{label} {count(rows)}" for label, rows in bins) + ".",
        draw=lambda width: histogram(bins, width),
        table=Table(
            caption="How alike near-duplicates are",
            columns=[*left("similarity"), *right("rows")],
            rows=[[plain(label), counted(rows)] for label, rows in bins],
        ),
    )


def _rules(gone: Sequence[Gone]) -> Table:
    rules = Counter((str(item.evidence.get("rule", "")), item.reason) for item in gone)
    lowest: dict[tuple[str, str], float] = {}
    for item in gone:
        key = (str(item.evidence.get("rule", "")), item.reason)
        if item.score is not None:
            lowest[key] = min(lowest.get(key, item.score), item.score)
    rows = [
        [
            code(rule),
            plain(reason),
            counted(n),
            plain(f"{lowest[rule, reason]:.2f}" if (rule, reason) in lowest else ""),
        ]
        for (rule, reason), n in rules.most_common(MOST_ROWS)
    ]
    columns = [*left("rule", "reason"), *right("rows", "lowest similarity")]
    return Table(caption="Rules by which rows are duplicates", columns=columns, rows=rows)


def _pairs_to_read(folder: Path, gone: Sequence[Gone]) -> Iterator[Details]:
    """The least alike first: where a rule errs, it errs there."""
    near = sorted((item for item in gone if item.score is not None), key=lambda item: (item.score, item.row))
    chosen = [item for item in near if item.reason != "exact-duplicate"][:PAIRS_SHOWN]
    if not chosen:
        return
    among = pc.field("source_row").isin([item.row for item in chosen])
    path = drop_file(folder, "dropped", "dedupe")
    texts = {row["source_row"]: row for row in read_parquet(path, rows=among).to_pylist()}
    kept = others(folder, list(texts.values()))
    yield Details(
        summary=f"The {plural(len(chosen), 'pair')} that are least alike, to read",
        blocks=[_pair(item, texts[item.row], kept) for item in chosen],
    )


def _pair(item: Gone, row: Mapping[str, Any], kept: Mapping[str, str]) -> Example:
    keeper = kept.get(str(item.evidence.get("keeper_id")), "(not in this folder)")
    return Example(
        title=f"{item.row} was dropped, {item.evidence.get('keeper', '?')} kept",
        fields=[
            Field(label="dropped", text=shorten(row.get("question") or "(empty)", LONGEST)),
            Field(label="kept", text=shorten(keeper, LONGEST)),
            Field(label="gold", text=shorten(row.get("ground_truth") or "(none)", LONGEST)),
            Field(label="rule", text=f"{item.evidence.get('rule', '')}, similarity {item.score:.2f}", code=False),
        ],
    )


def contamination_blocks(folder: Path, overlaps: Mapping[str, int]) -> list[Block]:
    """Benchmark items among the removed rows. overlaps: kept rows that are an item with other numbers, by benchmark."""
    gone = removed_by(folder, "dropped", "decontaminate") + removed_by(folder, "quarantined", "decontaminate")
    found: list[Block] = []
    if gone:
        found += [_hits(gone), _hit_list(gone)]
    if overlaps:
        told = ", ".join(f"{name} {count(rows)}" for name, rows in sorted(overlaps.items()))
        text = f"Kept rows that are a benchmark item with other numbers, marked in meta_json: {told}."
        found.append(Paragraph(text=text))
    return found


def _hits(gone: Sequence[Gone]) -> Table:
    places = Counter(
        (str(item.evidence.get("benchmark", "")), item.source, str(item.evidence.get("rule", item.reason)))
        for item in gone
    )
    rows = [
        [plain(benchmark), plain(source), code(rule), counted(n)]
        for (benchmark, source, rule), n in places.most_common(MOST_ROWS)
    ]
    return Table(
        caption="Rows that are benchmark items, by source",
        columns=[*left("benchmark", "source", "found by"), *right("rows")],
        rows=rows,
        note=_cut(len(places), "group", "groups"),
    )


def _hit_list(gone: Sequence[Gone]) -> Details:
    """Least certain first. Of an item only its beginning and digest are told, lest the report leak it again."""
    ordered = sorted(gone, key=lambda item: (item.score if item.score is not None else 1.0, item.row))
    rows = [
        [
            plain(item.row),
            plain(f"{item.evidence.get('benchmark', '')}#{item.evidence.get('benchmark_index', '?')}"),
            plain("" if item.score is None else f"{item.score:.2f}"),
            code(str(item.evidence.get("item_begins", "")) + "…"),
        ]
        for item in ordered[:MOST_ROWS]
    ]
    shown = plural(len(gone), "row") if len(gone) <= MOST_ROWS else f"{MOST_ROWS} of {plural(len(gone), 'row')}"
    columns = [*left("row", "item"), *right("similarity"), *left("the item begins")]
    return Details(
        summary=f"{shown} with the item found in them, the least certain first",
        blocks=[Table(caption="Rows and the items found in them", columns=columns, rows=rows)],
    )


def overlap_benchmark(meta_json: str) -> str | None:
    """The benchmark of which a kept row is an item with other numbers."""
    try:
        found = json.loads(meta_json).get("template_overlap")
    except (ValueError, AttributeError):
        return None
    if isinstance(found, Mapping):
        found = found.get("benchmark")
    name, mark, _ = str(found or "").rpartition("#")
    return name if mark else str(found) if found else None
