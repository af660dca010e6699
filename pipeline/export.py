"""Shards in another trainer's layout: one Parquet file a split, the trainer's reward function beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.atomic import atomic_file, is_foreign, write_json, write_text
from pipeline.config import RecipeError
from pipeline.exports import AS_THEY_ARE, FORMATS, Format
from pipeline.problem import Problem
from pipeline.shards import read_shards, shard_paths

ROWS_A_GROUP = 8192
MARK = "export.json"
"""Says that a folder is an export, and of what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Rows written and rows that the layout cannot carry, by split."""

    written: dict[str, int]
    left_out: dict[str, int]


def export(shards: Path, name: str, out: Path) -> Exported:
    """Writes OUT/SPLIT.parquet, OUT/reward.py where the trainer takes one, and OUT/export.json.

    The bytes depend on the shards and the format alone. Raises RecipeError for an unknown format, for one that needs
    no export, and for a folder that holds other files.
    """
    chosen = _format(name, shards)
    if out.exists() and (not out.is_dir() or is_foreign(out, MARK)):
        raise RecipeError(f"{out}: is not an empty folder or an earlier export; choose another --out")
    written: dict[str, int] = {}
    left_out: dict[str, int] = {}
    for split, paths in _splits(shards).items():
        written[split], left_out[split] = _write(out / f"{split}.parquet", _problems(paths), chosen)
    for stale in {*out.glob("*.parquet")} - {out / f"{split}.parquet" for split in written}:
        stale.unlink()
    if chosen.reward is not None:
        write_text(out / "reward.py", reward_source(chosen.reward))
    write_json(out / MARK, {"format": name, "rows": written, "left_out": left_out})
    return Exported(written=written, left_out=left_out)


def reward_source(name: str) -> str:
    """The text of a reward function under `exports/rewards`; it needs the trainer, so it is no module of ours."""
    return (files("pipeline.exports") / "rewards" / f"{name}.py.txt").read_text(encoding="utf-8")


def _format(name: str, shards: Path) -> Format:
    if name in AS_THEY_ARE:
        how = AS_THEY_ARE[name].replace("SHARDS", str(shards))
        raise RecipeError(f"--format {name}: {name} reads the shards as they are, nothing to export; use {how}")
    if name not in FORMATS:
        raise RecipeError(f"--format {name}: unknown; known: {', '.join((*FORMATS, *AS_THEY_ARE))}")
    return FORMATS[name]


def _splits(shards: Path) -> dict[str, list[Path]]:
    """Files by split, which is the beginning of a shard's name (`train-00000-of-00004.parquet`)."""
    found: dict[str, list[Path]] = {}
    for path in shard_paths(shards):
        split = path.stem.partition("-")[0] if shards.is_dir() else "train"
        found.setdefault(split, []).append(path)
    return found


def _problems(paths: Iterable[Path]) -> Iterator[Problem]:
    for path in paths:
        yield from read_shards(path)


def _write(path: Path, problems: Iterator[Problem], chosen: Format) -> tuple[int, int]:
    rows = gone = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as temporary, pq.ParquetWriter(temporary, chosen.schema, compression="zstd") as writer:
        while group := list(islice(problems, ROWS_A_GROUP)):
            kept = [row for row in map(chosen.row, group) if row is not None]
            rows, gone = rows + len(kept), gone + len(group) - len(kept)
            writer.write_table(pa.Table.from_pylist(kept, schema=chosen.schema))
    return rows, gone
