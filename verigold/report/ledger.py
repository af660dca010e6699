"""Rows that left the pipeline, read back from `dropped/` and `quarantined/` for people to look at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
    """by_source: rows lost per (source, stage, reason). examples: a few rows per (kind, stage, reason)."""

    by_source: Counter[tuple[str, str, str]]
    examples: dict[tuple[str, str, str], list[dict[str, str | None]]]


def drop_file(folder: Path, kind: str, stage: str) -> Path:
    """Where the drops of one stage lie; the pipeline names files so."""
    return folder / kind / f"{stage.replace(':', '.').replace('/', '.')}.parquet"


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Raises RecipeError when the file is not Parquet."""
    try:
        return pq.read_table(path, columns=None if columns is None else list(columns))
    except (OSError, pa.ArrowInvalid) as error:
        raise RecipeError(f"{path}: not a readable Parquet file ({error}); curate again with --fresh") from None


def read_ledger(folder: Path) -> Ledger:
    """Examples are the rows with the smallest ids: a choice without regard to content that stays the same."""
    by_source: Counter[tuple[str, str, str]] = Counter()
    examples: dict[tuple[str, str, str], list[dict[str, str | None]]] = {}
    for kind in KINDS:
        for path in sorted((folder / kind).glob("[!.]*.parquet")):
            rows = read_parquet(path)
            for group in rows.group_by(["data_source", "stage", "reason"]).aggregate([([], "count_all")]).to_pylist():
                by_source[group["data_source"], group["stage"], group["reason"]] += group["count_all"]
            for pair in rows.group_by(["stage", "reason"]).aggregate([]).to_pylist():
                same = (pc.field("stage") == pair["stage"]) & (pc.field("reason") == pair["reason"])
                some = rows.filter(same).sort_by("id").slice(0, EXAMPLES).to_pylist()
                examples[kind, pair["stage"], pair["reason"]] = some
    return Ledger(by_source=by_source, examples=examples)


def details(ledger: Ledger, counts: dict[tuple[str, str, str], int]) -> list[Details]:
    """One drawer per stage and reason, in the order of `counts`."""
    drawers = []
    for key, rows in counts.items():
        some = ledger.examples.get(key, [])
        kind, stage, reason = key
        title = f"{stage}: {reason}, {plural(rows, 'row')} {kind}"
        if some:
            shown = "" if len(some) == rows else f", {count(len(some))} shown"
            drawers.append(Details(summary=title + shown, blocks=[example(row) for row in some]))
    return drawers


def example(row: dict[str, str | None]) -> Example:
    """A lost row with its evidence."""
    fields = [
        Field(label="question", text=shorten(row.get("question") or "(empty)", LONGEST)),
        Field(label="gold", text=shorten(row.get("ground_truth") or "(none)", LONGEST)),
        *evidence_fields(row.get("evidence") or "{}"),
    ]
    return Example(title=row.get("source_row") or row.get("id") or "row", fields=fields)


def evidence_fields(evidence: str) -> list[Field]:
    """The JSON object of evidence, one field a key."""
    try:
        value = json.loads(evidence)
    except ValueError:
        value = evidence
    named = value if isinstance(value, dict) else {"evidence": value}
    return [
        Field(label=str(key).replace("_", " "), text=shorten(as_text(item), LONGEST))
        for key, item in named.items()
        if item not in (None, "", [], {})
    ]
