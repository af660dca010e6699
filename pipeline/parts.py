"""The output of one stage: numbered parts on disk, each committed by its record, so that a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.atomic import atomic_file, write_json
from pipeline.ledger import Counts, check_conservation, check_kinds, count, drops_table, row_keys, total
from pipeline.problem import Problem, from_batch, to_batch
from pipeline.stage import Outcome

COMPLETE = "complete.json"


def write_parquet(path: Path, table: pa.Table) -> None:
    """Atomic; the same table gives the same bytes under one version of pyarrow."""
    with atomic_file(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", row_group_size=65536)


@dataclass(frozen=True, slots=True)
class Parts:
    """A folder named by stage and content key. A part is there once its record is; all are once `complete.json` is."""

    folder: Path
    key: str

    def kept_path(self, part: int) -> Path:
        return self.folder / f"kept-{part:05d}.parquet"

    def drops_path(self, part: int) -> Path:
        return self.folder / f"drops-{part:05d}.parquet"

    def record_path(self, part: int) -> Path:
        return self.folder / f"part-{part:05d}.json"

    def has(self, part: int) -> bool:
        return self.record_path(part).exists()

    @property
    def complete(self) -> bool:
        return (self.folder / COMPLETE).exists()

    def finish(self, parts: int) -> None:
        write_json(self.folder / COMPLETE, {"parts": parts})

    def __len__(self) -> int:
        return json.loads((self.folder / COMPLETE).read_text(encoding="utf-8"))["parts"]

    def counts(self, part: int) -> Counts:
        return Counts(**json.loads(self.record_path(part).read_text(encoding="utf-8")))

    def total(self) -> Counts:
        return total(self.counts(part) for part in range(len(self)))

    def read(self, part: int) -> Sequence[Problem]:
        return from_batch(pq.read_table(self.kept_path(part)))

    def tables(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Kept rows, part by part."""
        for part in range(len(self)):
            yield pq.read_table(self.kept_path(part), columns=columns)

    def drop_tables(self) -> Iterator[pa.Table]:
        for part in range(len(self)):
            yield pq.read_table(self.drops_path(part))

    def commit(self, part: int, stage: str, rows_in: Sequence[str], outcome: Outcome) -> None:
        """Checks that no row is lost, then writes drops, kept rows and last the record."""
        check_conservation(stage, rows_in, row_keys(outcome.kept), outcome.drops)
        check_kinds(stage, outcome.drops)
        drops = [replace(drop, stage=stage) for drop in outcome.drops]
        write_parquet(self.drops_path(part), drops_table(drops))
        write_parquet(self.kept_path(part), pa.Table.from_batches([to_batch(outcome.kept)]))
        counts = count(len(rows_in), len(outcome.kept), outcome.drops, outcome.samples, outcome.generated_tokens)
        write_json(self.record_path(part), counts.to_json())
