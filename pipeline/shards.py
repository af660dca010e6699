"""Curated folders: `data/train-*.parquet` in an order fixed by hash, drops by stage, and reading them back."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.atomic import TEMPORARY_PREFIX, atomic_file, room_for
from pipeline.config import RecipeError
from pipeline.problem import DROP_SCHEMA, SHARD_SCHEMA, Problem, from_batch, to_batch
from pipeline.version import file_digest

TRAIN = "train"
ROWS_A_PASS = 65536
"""Rows gathered in one pass over the parts, for as many whole shards: bounds the rows in memory."""

Tables = Callable[[list[str] | None], Iterable[pa.Table]]
"""The rows, part by part, in these columns (None: all); the same each time it is called."""

ROWS_A_GROUP = 65536
"""Rows gathered before they are written, so that many small tables do not become many small row groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    path: str
    rows: int
    sha256: str


def order_key(seed: int, row_id: str) -> bytes:
    """Where a row stands in the shards: a hash of seed and id, so that no source or worker decides."""
    return hashlib.blake2b(f"{seed}\x1f{row_id}".encode(), digest_size=16).digest()


def write_shards(
    folder: Path,
    tables: Tables,
    *,
    seed: int,
    rows_per_shard: int = 8192,
    splits: Sequence[str] = (),
    advance: Callable[[int], None] = lambda _: None,
) -> list[WrittenFile]:
    """Rows of `SHARD_SCHEMA` as shards under `folder/data`; shards of another run are removed.

    splits: each gets the rows that name it in `extra_info.split`, and files of its name; without splits all rows are
    training rows, whatever split of their source they come from. A shard whose bytes would not change stays
    untouched. advance: told the rows of each shard once it is there.
    """
    written: list[WrittenFile] = []
    for split in splits or (TRAIN,):
        chosen = _of_split(tables, split) if splits else tables
        written += _write_split(folder, chosen, split, seed, rows_per_shard, advance)
    keep = {folder / file.path for file in written}
    for stale in set((folder / "data").glob("*.parquet")) - keep:
        stale.unlink()
    return written


def _of_split(tables: Tables, split: str) -> Tables:
    def chosen(columns: list[str] | None) -> Iterator[pa.Table]:
        wanted = columns if columns is None or "extra_info" in columns else [*columns, "extra_info"]
        for table in tables(wanted):
            yield table.filter(pc.field("extra_info", "split") == split)

    return chosen


def _write_split(
    folder: Path, tables: Tables, split: str, seed: int, rows_per_shard: int, advance: Callable[[int], None]
) -> list[WrittenFile]:
    ranks = _ranks(tables, seed)
    shards = max(1, -(-len(ranks) // rows_per_shard))
    names = [f"{split}-{shard:05d}-of-{shards:05d}.parquet" for shard in range(shards)]
    written: list[WrittenFile] = []
    at_once = max(1, ROWS_A_PASS // rows_per_shard)
    for first in range(0, shards, at_once):
        chosen = names[first : first + at_once]
        rows = _gather(tables, ranks, first * rows_per_shard, (first + len(chosen)) * rows_per_shard)
        for place, name in enumerate(chosen):
            piece = rows.slice(place * rows_per_shard, rows_per_shard)
            written.append(_write(folder, f"data/{name}", [piece], SHARD_SCHEMA))
            advance(piece.num_rows)
    return written


def write_problems(folder: Path, problems: Sequence[Problem], *, seed: int = 0, rows_per_shard: int = 8192) -> None:
    """Shards of problems that are in memory."""
    table = pa.Table.from_batches([to_batch(problems)])
    write_shards(
        folder, lambda columns: [table.select(columns or table.column_names)], seed=seed, rows_per_shard=rows_per_shard
    )


def write_drops(folder: Path, kind: str, stage: str, tables: Iterable[pa.Table]) -> WrittenFile | None:
    """`dropped/STAGE.parquet` or `quarantined/STAGE.parquet`; None, and no file, when there is no such row."""
    name = f"{kind}/{stage.replace(':', '.').replace('/', '.')}.parquet"
    chosen = (table.filter(pc.field("kind") == kind) for table in tables)
    groups = _groups(table for table in chosen if table.num_rows)
    first = next(groups, None)
    if first is None:
        (folder / name).unlink(missing_ok=True)
        return None
    return _write(folder, name, itertools.chain([first], groups), DROP_SCHEMA)


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(piece.num_rows for piece in waiting) >= ROWS_A_GROUP:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _write(folder: Path, name: str, tables: Iterable[pa.Table], schema: pa.Schema) -> WrittenFile:
    """Under a temporary name first; a file that is there with the same bytes stays untouched."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{TEMPORARY_PREFIX}new-{path.name}")
    rows = 0
    try:
        with room_for(path), pq.ParquetWriter(new, schema, compression="zstd") as writer:
            for table in tables:
                rows += table.num_rows
                writer.write_table(table.cast(schema))
        digest = file_digest(new)
        if not path.exists() or file_digest(path) != digest:
            with atomic_file(path) as temporary:
                new.replace(temporary)
    finally:
        new.unlink(missing_ok=True)
    return WrittenFile(path=name, rows=rows, sha256=digest)


def _ranks(tables: Tables, seed: int) -> np.ndarray:
    """Place of each row in the shards, in the order of the parts."""
    keys, names = bytearray(), []
    for table in tables(["id", "extra_info"]):
        for row_id in table.column("id").to_pylist():
            keys += order_key(seed, row_id)
        names += table.select(["extra_info"]).flatten().column("extra_info.source_row").chunks
    high, low = np.frombuffer(keys, dtype=">u8").reshape(-1, 2).astype(np.uint64).T
    rows = pa.chunked_array(names, pa.string())
    if len(rows.unique()) != len(rows):
        raise ValueError("two rows have the same source_row")
    table = pa.table({"high": high, "low": low, "row": rows, "place": np.arange(len(rows))})
    ordered = table.sort_by([("high", "ascending"), ("low", "ascending"), ("row", "ascending")])
    order = ordered.column("place").to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _gather(tables: Tables, ranks: np.ndarray, low: int, high: int) -> pa.Table:
    """Rows with ranks in [low, high), in order."""
    pieces: list[pa.Table] = []
    chosen: list[np.ndarray] = []
    start = 0
    for table in tables(None):
        places = ranks[start : start + table.num_rows]
        start += table.num_rows
        wanted = np.flatnonzero((low <= places) & (places < high))
        pieces.append(table.take(pa.array(wanted)))
        chosen.append(places[wanted])
    if not pieces:
        return SHARD_SCHEMA.empty_table()
    return pa.concat_tables(pieces).take(pa.array(np.argsort(np.concatenate(chosen)))).combine_chunks()


def shard_paths(folder: Path, split: str = TRAIN) -> list[Path]:
    """The Parquet files of one split of a curated folder, or the one file itself; of a folder of another kind all its
    Parquet files. Raises RecipeError when there are none."""
    if folder.is_file():
        return [folder]
    data = folder / "data"
    paths = sorted(data.glob(f"{split}-*.parquet")) or sorted(folder.glob("*.parquet"))
    if not paths:
        others = sorted({path.name.partition("-")[0] for path in data.glob("[!.]*-*.parquet")})
        remedy = (
            f"its splits are {', '.join(others)}"
            if others
            else "give a folder written by `verigold curate`, or a Parquet file"
        )
        raise RecipeError(f"{folder}: no shards of the split '{split}' here; {remedy}")
    return paths


def read_shards(folder: Path, split: str = TRAIN) -> list[Problem]:
    """Every problem of a split of a curated folder, or of one Parquet file.

    Raises RecipeError when missing or of another schema.
    """
    problems: list[Problem] = []
    for path in shard_paths(folder, split):
        try:
            table = pq.read_table(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise RecipeError(f"{path}: not a readable Parquet file ({error}); curate again") from None
        lacking = [name for name in SHARD_SCHEMA.names if name not in table.column_names]
        if lacking:
            remedy = "curate it first: its rows can be a source of a recipe (format = 'parquet')"
            raise RecipeError(f"{path}: not a verigold shard, lacks the columns {', '.join(lacking)}; {remedy}")
        problems.extend(from_batch(table.select(SHARD_SCHEMA.names)))
    return problems
