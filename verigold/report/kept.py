"""The kept rows as histograms: lengths of questions and answers, and how often a template recurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from verigold.report.blocks import Block, Figure, Gallery, Table, counted, left, plain, right, share
from verigold.report.evidence import overlap_benchmark
from verigold.report.figures import histogram
from verigold.report.ledger import read_parquet
from verigold.report.words import count

QUESTION_ENDS = (50, 100, 200, 400, 800, 1600)
GOLD_ENDS = (2, 3, 5, 9, 17, 33)
TEMPLATE_ENDS = (2, 3, 6, 11, 51, 501)
"""Bins are [0, first), [first, second) ... and all from the last on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """question, gold: rows by length in characters. template: rows by how many rows have their template.
    overlaps: rows marked as a benchmark item with other numbers, by benchmark."""

    question: list[tuple[str, int]]
    gold: list[tuple[str, int]]
    template: list[tuple[str, int]]
    overlaps: Counter[str]


def read_kept(folder: Path) -> Kept:
    questions, golds, templates, overlaps = Counter[int](), Counter[int](), Counter[str](), Counter[str]()
    for path in sorted((folder / "data").glob("[!.]*.parquet")):
        table = read_parquet(path, ["prompt", "reward_model", "extra_info"])
        questions.update(_bin(len(turns[-1]["content"]), QUESTION_ENDS) for turns in table["prompt"].to_pylist())
        golds.update(_bin(len(model["ground_truth"]), GOLD_ENDS) for model in table["reward_model"].to_pylist())
        for extra in table["extra_info"].to_pylist():
            templates[extra["template_id"] or ""] += 1
            benchmark = overlap_benchmark(extra["meta_json"]) if "template_overlap" in extra["meta_json"] else None
            overlaps.update([benchmark] if benchmark else [])
    rows_of = Counter[int]()
    for name, rows in templates.items():
        rows_of[_bin(rows, TEMPLATE_ENDS)] += rows if name else 0
    return Kept(
        question=_named(questions, QUESTION_ENDS),
        gold=_named(golds, GOLD_ENDS),
        template=_named(rows_of, TEMPLATE_ENDS),
        overlaps=overlaps,
    )


def _bin(value: int, ends: Sequence[int]) -> int:
    return sum(value >= end for end in ends)


def _named(rows: Counter[int], ends: Sequence[int]) -> list[tuple[str, int]]:
    """Bins with names such as `50–99`, without the empty ones at both ends."""
    names = []
    for place, (low, high) in enumerate(zip((0, *ends), (*ends, None), strict=True)):
        first = max(low, 1) if place == 0 else low
        names.append(f"{first}+" if high is None else str(first) if high - first == 1 else f"{first}–{high - 1}")
    there = [place for place in range(len(names)) if rows[place]]
    return [(names[place], rows[place]) for place in range(there[0], there[-1] + 1)] if there else []


def kept_blocks(kept: Kept) -> list[Block]:
    figures = [
        _figure("Length of the questions", "Kept rows by characters of the question.", "characters", kept.question),
        _figure("Length of the golds", "Kept rows by characters of the gold.", "characters", kept.gold),
        _figure(
            "Rows of a template",
            "Kept rows by how many differ from them in numbers only, themselves included.",
            "rows alike",
            kept.template,
        ),
    ]
    drawn = [figure for figure in figures if figure is not None]
    return [Gallery(figures=drawn)] if drawn else []


def _figure(title: str, description: str, unit: str, bins: list[tuple[str, int]]) -> Figure | None:
    total = sum(rows for _, rows in bins)
    if not total:
        return None
    return Figure(
        title=title,
        description=description,
        words="; ".join(f"{label} {unit}: {count(rows)}" for label, rows in bins) + ".",
        draw=lambda width: histogram(bins, width),
        table=Table(
            caption=title,
            columns=[*left(unit), *right("rows", "share")],
            rows=[[plain(label), counted(rows), share(rows / total)] for label, rows in bins],
        ),
        small=True,
    )
