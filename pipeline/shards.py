"""Curated folders: `data/train-*.parquet` in an order fixed by hash, drops by stage, and reading them back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.atomic import atomic_file
from pipeline.config import RecipeError
from pipeline.problem import DROP_SCHEMA, SHARD_SCHEMA, Problem, from_batch, to_batch
from pipeline.version import file_digest

SHARDS_A_PASS = 16
"""Shards gathered in one pass over the parts: bounds the rows in memory."""

Tables = Callable[[], Iterable[pa.Table]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    path: str
    rows: int
    sha256: str


def order_key(seed: int, row_id: str, source_row: str) -> bytes:
    """Where a row stands in the shards: a hash of seed and id, so that no source or worker decides."""
    head = hashlib.blake2b(f"{seed}\x1f{row_id}".encode(), digest_size=16).digest()
    return head + source_row.encode("utf-8", "surrogatepass")


def write_shards(folder: Path, tables: Tables, *, seed: int, rows_per_shard: int = 8192) -> list[WrittenFile]:
    """Rows of `SHARD_SCHEMA` as shards under `folder/data`; shards of another run are removed.

    tables: gives the rows, part by part, each time it is called. A shard whose bytes would not change stays untouched.
    """
    keys = [key for table in tables() for key in _keys(table, seed)]
    if len(set(keys)) != len(keys):
        raise ValueError("two rows have the same source_row")
    rank = {key: place for place, key in enumerate(sorted(keys))}
    shards = max(1, -(-len(keys) // rows_per_shard))
    names = [f"train-{shard:05d}-of-{shards:05d}.parquet" for shard in range(shards)]
    data = folder / "data"
    for stale in set(data.glob("*.parquet")) - {data / name for name in names}:
        stale.unlink()
    written: list[WrittenFile] = []
    for first in range(0, shards, SHARDS_A_PASS):
        chosen = names[first : first + SHARDS_A_PASS]
        rows = _gather(tables, seed, rank, first * rows_per_shard, (first + len(chosen)) * rows_per_shard)
        for place, name in enumerate(chosen):
            piece = rows.slice(place * rows_per_shard, rows_per_shard)
            written.append(_write(folder, f"data/{name}", [piece], SHARD_SCHEMA))
    return written


def write_problems(folder: Path, problems: Sequence[Problem], *, seed: int = 0, rows_per_shard: int = 8192) -> None:
    """Shards of problems that are in memory."""
    table = pa.Table.from_batches([to_batch(problems)])
    write_shards(folder, lambda: [table], seed=seed, rows_per_shard=rows_per_shard)


def write_drops(folder: Path, kind: str, stage: str, tables: Iterable[pa.Table]) -> WrittenFile | None:
    """`dropped/STAGE.parquet` or `quarantined/STAGE.parquet`; None, and no file, when there is no such row."""
    name = f"{kind}/{stage.replace(':', '.').replace('/', '.')}.parquet"
    chosen = [table.filter(pa.array([k == kind for k in table["kind"].to_pylist()], pa.bool_())) for table in tables]
    if not any(table.num_rows for table in chosen):
        (folder / name).unlink(missing_ok=True)
        return None
    return _write(folder, name, chosen, DROP_SCHEMA)


def _write(folder: Path, name: str, tables: Iterable[pa.Table], schema: pa.Schema) -> WrittenFile:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    unchanged = path.with_name(f".tmp-unchanged-{path.name}")
    rows = 0
    with pq.ParquetWriter(unchanged, schema, compression="zstd") as writer:
        for table in tables:
            rows += table.num_rows
            writer.write_table(table.cast(schema))
    digest = file_digest(unchanged)
    if path.exists() and file_digest(path) == digest:
        unchanged.unlink()
    else:
        with atomic_file(path) as temporary:
            unchanged.replace(temporary)
    return WrittenFile(path=name, rows=rows, sha256=digest)


def _keys(table: pa.Table, seed: int) -> Iterator[bytes]:
    ids = table.column("id").to_pylist()
    rows = table.select(["extra_info"]).flatten().column("extra_info.source_row").to_pylist()
    for row_id, source_row in zip(ids, rows, strict=True):
        yield order_key(seed, row_id, source_row)


def _gather(tables: Tables, seed: int, rank: dict[bytes, int], low: int, high: int) -> pa.Table:
    """Rows with ranks in [low, high), in order."""
    pieces: list[pa.Table] = []
    ranks: list[int] = []
    for table in tables():
        places = [rank[key] for key in _keys(table, seed)]
        wanted = [row for row, place in enumerate(places) if low <= place < high]
        pieces.append(table.take(pa.array(wanted, pa.int64())))
        ranks.extend(places[row] for row in wanted)
    if not pieces:
        return SHARD_SCHEMA.empty_table()
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    return pa.concat_tables(pieces).take(pa.array(order, pa.int64())).combine_chunks()


def shard_paths(folder: Path) -> list[Path]:
    """The Parquet files of a curated folder, or the one file itself. Raises RecipeError when there are none."""
    if folder.is_file():
        return [folder]
    paths = sorted((folder / "data").glob("*.parquet")) or sorted(folder.glob("*.parquet"))
    if not paths:
        raise RecipeError(f"{folder}: no shards here; give a folder written by `verigold curate`, or a Parquet file")
    return paths


def read_shards(folder: Path) -> list[Problem]:
    """Every problem of a curated folder (or one Parquet file). Raises RecipeError when missing or of another schema."""
    problems: list[Problem] = []
    for path in shard_paths(folder):
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
