"""Rows that left the pipeline, read back from `dropped/` and `quarantined/` for people to look at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.config import RecipeError
from verigold.report.blocks import Details, Example, Field
from verigold.report.folders import as_text
from verigold.report.words import count, plural, shorten

KINDS = ("dropped", "quarantined")
EXAMPLES = 3
LONGEST = 700
"""Characters of one text of an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """by_source: rows lost per (source, stage, reason). examples: a few rows per (kind, stage, reason).
    others: id -> question of the rows that the examples' evidence names."""

    by_source: Counter[tuple[str, str, str]]
    examples: dict[tuple[str, str, str], list[dict[str, str | None]]]
    others: dict[str, str]


def drop_file(folder: Path, kind: str, stage: str) -> Path:
    """Where the drops of one stage lie; the pipeline names files so."""
    return folder / kind / f"{stage.replace(':', '.').replace('/', '.')}.parquet"


def read_parquet(path: Path, columns: Sequence[str] | None = None, rows: pc.Expression | None = None) -> pa.Table:
    """Raises RecipeError when the file is not Parquet. rows: a condition on those that are read."""
    try:
        return pq.read_table(path, columns=None if columns is None else list(columns), filters=rows)
    except (OSError, pa.ArrowInvalid) as error:
        raise RecipeError(f"{path}: not a readable Parquet file ({error}); curate again with --fresh") from None


def read_ledger(folder: Path) -> Ledger:
    """Examples are the rows with the smallest ids: a choice without regard to content that stays the same."""
    by_source: Counter[tuple[str, str, str]] = Counter()
    examples: dict[tuple[str, str, str], list[dict[str, str | None]]] = {}
    for kind in KINDS:
        for path in sorted((folder / kind).glob("[!.]*.parquet")):
            keys = read_parquet(path, ["id", "source_row", "data_source", "stage", "reason"])
            for group in keys.group_by(["data_source", "stage", "reason"]).aggregate([([], "count_all")]).to_pylist():
                by_source[group["data_source"], group["stage"], group["reason"]] += group["count_all"]
            for stage, reason, rows in _smallest_ids(path, keys):
                examples[kind, stage, reason] = rows
    shown = [row for rows in examples.values() for row in rows]
    return Ledger(by_source=by_source, examples=examples, others=others(folder, shown))


def _smallest_ids(path: Path, keys: pa.Table) -> Iterator[tuple[str, str, list[dict[str, str | None]]]]:
    """(stage, reason, a few rows); only those rows are read with their texts."""
    for pair in keys.group_by(["stage", "reason"]).aggregate([]).to_pylist():
        same = (pc.field("stage") == pair["stage"]) & (pc.field("reason") == pair["reason"])
        chosen = keys.filter(same).sort_by([("id", "ascending"), ("source_row", "ascending")]).slice(0, EXAMPLES)
        among = pc.field("source_row").isin(chosen["source_row"].to_pylist()) & same
        yield pair["stage"], pair["reason"], read_parquet(path, rows=among).sort_by("id").to_pylist()


def others(folder: Path, rows: Sequence[dict[str, str | None]]) -> dict[str, str]:
    """id -> question of the rows that the evidence names: keepers of duplicates, rows with a conflicting gold."""
    wanted = {
        value
        for row in rows
        for key, value in evidence_of(row.get("evidence")).items()
        if key.endswith("_id") and isinstance(value, str)
    }
    found: dict[str, str] = {}
    if not wanted:
        return found
    among = pc.field("id").isin(sorted(wanted))
    for path in sorted((folder / "data").glob("[!.]*.parquet")):
        for row in read_parquet(path, ["id", "prompt"], among).to_pylist():
            found[row["id"]] = row["prompt"][-1]["content"]
    for kind in KINDS:
        for path in sorted((folder / kind).glob("[!.]*.parquet")):
            for row in read_parquet(path, ["id", "question"], among).to_pylist():
                found.setdefault(row["id"], row["question"] or "")
    return found


def details(ledger: Ledger, counts: dict[tuple[str, str, str], int]) -> list[Details]:
    """One drawer per stage and reason, in the order of `counts`."""
    drawers = []
    for key, rows in counts.items():
        some = ledger.examples.get(key, [])
        kind, stage, reason = key
        title = f"{stage}: {reason}, {plural(rows, 'row')} {kind}"
        if some:
            shown = "" if len(some) == rows else f", {count(len(some))} shown"
            drawers.append(Details(summary=title + shown, blocks=[example(row, ledger.others) for row in some]))
    return drawers


def example(row: dict[str, str | None], others: Mapping[str, str]) -> Example:
    """A lost row with its evidence."""
    fields = [
        Field(label="question", text=shorten(row.get("question") or "(empty)", LONGEST)),
        Field(label="gold", text=shorten(row.get("ground_truth") or "(none)", LONGEST)),
        *evidence_fields(evidence_of(row.get("evidence")), others),
    ]
    return Example(title=row.get("source_row") or row.get("id") or "row", fields=fields)


def evidence_of(text: str | None) -> dict[str, Any]:
    """The JSON object of evidence."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"evidence": value}


def evidence_fields(evidence: Mapping[str, Any], others: Mapping[str, str]) -> list[Field]:
    """One field a key. Digests are left out; an id gives way to the question of its row."""
    fields = []
    for key, value in evidence.items():
        words = str(key).replace("_", " ")
        if str(key).endswith("_id") and str(value) in others:
            fields.append(
                Field(label=f"{words.removesuffix(' id')}'s question", text=shorten(others[str(value)], LONGEST))
            )
        elif value not in (None, "", [], {}) and not str(key).endswith(("_id", "digest")):
            fields.append(Field(label=words, text=shorten(as_text(value), LONGEST)))
    return fields
