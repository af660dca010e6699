"""Shards: the same rows in the order of their hash, however the input is cut and however many rows a pass gathers."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import shards
from pipeline.ledger import drops_table
from pipeline.problem import SHARD_SCHEMA, Problem, problem_id, to_row
from pipeline.shards import order_key, read_shards, write_drops, write_shards
from pipeline.stage import drop


def problem(number: int, split: str = "train") -> Problem:
    question = f"What is {number % 7} + {number // 7}?"
    return Problem(
        id=problem_id(question, "1"),
        data_source="s",
        source_row=f"s#{number}",
        index=number,
        question=question,
        ground_truth="1",
        original_answer="1",
        license="MIT",
        split=split,
    )


def in_parts(problems: list[Problem], cuts: list[int]) -> list[pa.Table]:
    """The rows as tables that end at the cuts; an empty one where two are equal."""
    table = pa.Table.from_pylist([to_row(row) for row in problems], schema=SHARD_SCHEMA)
    ends = [0, *sorted(min(cut, len(problems)) for cut in cuts), len(problems)]
    return [table.slice(low, high - low) for low, high in itertools.pairwise(ends)]


def write(folder: Path, tables: list[pa.Table], rows_per_shard: int = 8192) -> dict[str, bytes]:
    def parts(columns: list[str] | None) -> Iterator[pa.Table]:
        return (table.select(columns or table.column_names) for table in tables)

    write_shards(folder, parts, seed=3, rows_per_shard=rows_per_shard)
    return {path.name: path.read_bytes() for path in sorted((folder / "data").iterdir())}


@settings(deadline=None, max_examples=12)
@given(
    rows=st.integers(0, 40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    size=st.integers(4, 20),
    a_pass=st.integers(1, 40),
)
def test_bytes_do_not_depend_on_parts_or_passes(rows: int, cuts: list[int], size: int, a_pass: int) -> None:
    problems = [problem(number) for number in range(rows)]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        plain = write(Path(folder) / "plain", in_parts(problems, []), rows_per_shard=size)
        patch.setattr(shards, "ROWS_A_PASS", a_pass)
        assert write(Path(folder) / "cut", in_parts(problems, cuts), rows_per_shard=size) == plain
        found = read_shards(Path(folder) / "cut")
    assert [row.source_row for row in found] == [
        row.source_row for row in sorted(problems, key=lambda row: (order_key(3, row.id), row.source_row))
    ]
    assert len(plain) == max(1, -(-rows // size))


def test_the_order_is_a_hash_of_seed_and_id() -> None:
    assert order_key(1, "a") == hashlib.blake2b(b"1\x1fa", digest_size=16).digest()


def test_a_row_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="same source_row"):
        write(tmp_path, in_parts([problem(1), problem(1)], []))


def test_drops_of_both_kinds_in_the_order_of_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROWS_A_GROUP", 3)
    kinds = ("dropped", "quarantined")
    drops = [drop(problem(number), "clean", "proof", kind=kinds[number % 2]) for number in range(11)]
    tables = [drops_table(drops[low : low + 4]) for low in range(0, 11, 4)]
    for place, kind in enumerate(kinds):
        written = write_drops(tmp_path, kind, "clean", iter(tables))
        assert written is not None
        rows = pq.read_table(tmp_path / written.path).column("source_row").to_pylist()
        assert rows == [f"s#{number}" for number in range(place, 11, 2)]
        assert written.rows == len(rows)
    assert write_drops(tmp_path, "dropped", "clean", iter(tables[:0])) is None
    assert not (tmp_path / "dropped" / "clean.parquet").exists()
