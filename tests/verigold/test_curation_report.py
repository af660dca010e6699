"""Duplicates, benchmark items and kept rows in the report on a curated folder, and rows on a narrow terminal."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pipeline.problem import DROP_SCHEMA, SHARD_SCHEMA, Problem, problem_id, to_row
from pipeline.progress import colours
from verigold.report import curation, terminal
from verigold.report.blocks import Block, Details, Document, Example, Figure, Gallery, Paragraph, Section, Table
from verigold.report.evidence import overlap_benchmark
from verigold.report.kept import _bin, _named
from verigold.report.markdown import to_markdown
from verigold.report.page import to_html


def lost(row: str, stage: str, reason: str, **evidence: Any) -> dict[str, Any]:
    question = f"What is the question of {row}?"
    return {
        "source_row": row,
        "id": problem_id(question, "1"),
        "data_source": row.partition("#")[0],
        "kind": "dropped",
        "stage": stage,
        "reason": reason,
        "evidence": json.dumps(evidence),
        "question": question,
        "ground_truth": "1",
    }


def kept(index: int, question: str, **fields: Any) -> Problem:
    base: dict[str, Any] = {
        "id": problem_id(question, "17"),
        "data_source": "a",
        "source_row": f"a#{index}",
        "index": index,
        "question": question,
        "ground_truth": "17",
        "original_answer": "17",
        "license": "MIT",
    }
    return Problem(**(base | fields))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    problems = [kept(number, f"How many days have {number} weeks?", template_id="weeks") for number in range(4)]
    overlap = json.dumps({"template_overlap": {"benchmark": "bench", "index": 3}})
    problems += [kept(9, "Q" * 250, template_id="alone", meta_json=overlap)]
    keeper = {"keeper": "a#0", "keeper_id": problems[0].id}
    drops = {
        "dedupe": [
            lost("a#20", "dedupe", "near-duplicate", rule="reworded", score=0.35, **keeper),
            lost("b#21", "dedupe", "near-duplicate", rule="near-copy", score=0.97, **keeper),
            lost("b#22", "dedupe", "near-duplicate", rule="near-copy", score=0.92, **keeper),
            lost("b#23", "dedupe", "exact-duplicate", rule="same-form", score=1.0, **keeper),
        ],
        "decontaminate": [
            lost("b#30", "decontaminate", "benchmark-item", benchmark="bench", benchmark_index=7, rule="contained",
                 score=0.8, item_begins="A farmer plants"),
        ],
    }  # fmt: skip
    (tmp_path / "data").mkdir()
    (tmp_path / "dropped").mkdir()
    rows = [to_row(problem) for problem in problems]
    pq.write_table(pa.Table.from_pylist(rows, SHARD_SCHEMA), tmp_path / "data" / "train-00000-of-00001.parquet")
    for stage, lines in drops.items():
        pq.write_table(pa.Table.from_pylist(lines, DROP_SCHEMA), tmp_path / "dropped" / f"{stage}.parquet")
    stages = [
        {"name": "dedupe", "rows_in": 10, "dropped": {"near-duplicate": 3, "exact-duplicate": 1}, "quarantined": {}},
        {"name": "decontaminate", "rows_in": 6, "dropped": {"benchmark-item": 1}, "quarantined": {}},
    ]
    manifest = {
        "rows_in": 10, "rows_kept": 5, "stages": stages,
        "dropped": {stage["name"]: stage["dropped"] for stage in stages}, "quarantined": {},
        "by_source": {"a": {"rows_in": 6, "rows_kept": 5}, "b": {"rows_in": 4, "rows_kept": 0}},
        "splits": {"train": 4, "validation": 1},
    }  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


def walk(blocks: Any) -> list[Block]:
    found: list[Block] = []
    for block in blocks:
        found.append(block)
        found += walk(getattr(block, "blocks", ()))
        found += walk(getattr(block, "figures", ()))
    return found


def tables(document: Document) -> dict[str, list[list[str]]]:
    blocks = walk(document.blocks)
    all_tables = [b for b in blocks if isinstance(b, Table)] + [b.table for b in blocks if isinstance(b, Figure)]
    return {table.caption: [[cell.text for cell in row] for row in table.rows] for table in all_tables}


def test_tables_of_duplicates_and_benchmark_items(folder: Path) -> None:
    document = curation.document(folder)
    found = tables(document)
    assert found["Which source repeats which"] == [["b", "a", "1", "2"], ["a", "the same source", "none", "1"]]
    assert found["Rules by which rows are duplicates"] == [
        ["near-copy", "near-duplicate", "2", "0.92"],
        ["reworded", "near-duplicate", "1", "0.35"],
        ["same-form", "exact-duplicate", "1", "1.00"],
    ]
    assert found["How alike near-duplicates are"][0] == ["0.3–0.4", "1"]
    assert found["How alike near-duplicates are"][-1] == ["0.9–1.0", "2"]
    assert found["Rows that are benchmark items, by source"] == [["bench", "b", "contained", "1"]]
    assert found["Rows and the items found in them"] == [["b#30", "bench#7", "0.80", "A farmer plants…"]]
    stages = dict(
        zip(
            ("source", "dedupe", "decontaminate"),
            found["Share of each source's rows that each stage removed"][1],
            strict=True,
        )
    )
    assert stages["source"] == "b"
    assert stages["dedupe"].startswith("75.0")
    pairs = next(b for b in walk(document.blocks) if isinstance(b, Details) and "least alike" in b.summary)
    first, *_ = pairs.blocks
    assert isinstance(first, Example)
    assert first.title == "a#20 was dropped, a#0 kept"
    assert [field.text for field in first.fields[:2]] == [
        "What is the question of a#20?",
        "How many days have 0 weeks?",
    ]


def test_kept_rows_alarm_splits_and_overlaps(folder: Path) -> None:
    document = curation.document(folder)
    found = tables(document)
    assert [row[:2] for row in found["Length of the questions"]] == [
        ["1–49", "4"],
        ["50–99", "0"],
        ["100–199", "0"],
        ["200–399", "1"],
    ]
    assert [row[:2] for row in found["Rows of a template"]] == [["1", "1"], ["2", "0"], ["3–5", "4"]]
    texts = [b.text for b in walk(document.blocks) if isinstance(b, Paragraph)]
    assert any(text.startswith("b loses an unusual share of its rows: 100.0") for text in texts)
    assert "Splits: 4 in train and 1 in validation. Rows that differ in numbers only are in the same split." in texts
    assert any("other numbers, marked in meta_json: bench 1." in text for text in texts)
    for render in (to_html, to_markdown):
        assert "Which source repeats which" in render(document)


def test_a_folder_without_duplicates_has_no_such_section(folder: Path) -> None:
    for path in (folder / "dropped").iterdir():
        path.unlink()
    titles = [block.title for block in curation.document(folder).blocks if isinstance(block, Section)]
    assert "Duplicates" not in titles
    assert "Kept rows" in titles
    assert any(isinstance(block, Gallery) for block in walk(curation.document(folder).blocks))


@given(st.integers(0, 5000), st.lists(st.integers(1, 2000), min_size=1, max_size=6, unique=True).map(sorted))
def test_every_value_is_in_the_bin_that_names_it(value: int, ends: list[int]) -> None:
    place = _bin(value, ends)
    ((name, rows),) = _named(Counter({place: 3}), ends)
    assert rows == 3
    low, _, high = name.rstrip("+").partition("–")
    assert value == 0 or int(low) <= value
    assert name.endswith("+") or value <= int(high or low)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"template_overlap": "b#3"}', "b"),
        ('{"template_overlap": {"benchmark": "b"}}', "b"),
        ("{", None),
        ("[]", None),
    ],
)
def test_the_benchmark_of_an_overlap(text: str, name: str | None) -> None:
    assert overlap_benchmark(text) == name


@pytest.mark.parametrize("width", [24, 38, 50, 80, 200])
def test_no_word_is_broken_on_any_screen(folder: Path, width: int) -> None:
    console = Console(width=width, record=True, file=io.StringIO(), highlight=False)
    terminal.show_lost(folder, console, "dropped", "dedupe", reason="near-duplicate")
    terminal.show_kept(folder, console, limit=2)
    said = console.export_text()
    words = set(said.split())
    assert all(len(line) <= width for line in said.splitlines())
    for word in ("near-duplicate", "question", "a#20?", "reworded", "weeks?", "0.35"):
        assert word in words or f"{word}:" in words
    assert "3 of 3 rows" in " ".join(said.split())
    assert "2 of 5 rows" in " ".join(said.split())


def test_no_color_leaves_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert colours() is None
    monkeypatch.setenv("NO_COLOR", "")
    assert colours() == "auto"
