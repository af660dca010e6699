"""The key table of the dedupe stage in order of priority: sketches as NumPy columns, texts fetched when needed.

A position is the place of a row in order of priority: an earlier row is kept before a later one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.canonical import Canonical
from pipeline.dedupe_sketch import BANDS, COUNTS, FACTS, Counts, Words

Positions = NDArray[np.int64]


class Rows:
    """Views of a key table. The table may be mapped from disk: whole columns are read one at a time, texts in parts."""

    def __init__(self, keys: pa.Table) -> None:
        self.keys = keys
        lengths = pc.call_function("binary_length", [keys.column("answer")])
        by_priority = pa.table(
            {
                "rank": keys.column("rank"),
                "unanswered": pc.call_function("equal", [lengths, pa.scalar(0, pa.int32())]),
                "id": keys.column("id"),
                "source_row": keys.column("source_row"),
            }
        )
        options = pc.SortOptions(sort_keys=[(name, "ascending") for name in by_priority.column_names])
        order = pc.call_function("sort_indices", [by_priority], options)
        self.order: Positions = order.to_numpy().astype(np.int64)

    def __len__(self) -> int:
        return self.keys.num_rows

    def _fixed(self, name: str, width: int) -> Iterator[Any]:
        for chunk in self.keys.column(name).chunks:
            yield chunk.flatten().to_numpy().reshape(-1, width)

    def band(self, band: int) -> Words:
        """One band hash a position."""
        return _joined([part[:, band] for part in self._fixed("bands", BANDS)], np.uint64)[self.order]

    @cached_property
    def facts(self) -> dict[str, Words]:
        parts = list(self._fixed("facts", len(FACTS)))
        return {
            name: _joined([part[:, place] for part in parts], np.uint64)[self.order] for place, name in enumerate(FACTS)
        }

    @cached_property
    def counts(self) -> dict[str, Counts]:
        parts = list(self._fixed("counts", len(COUNTS)))
        return {
            name: _joined([part[:, place] for part in parts], np.int32)[self.order] for place, name in enumerate(COUNTS)
        }

    @cached_property
    def bags(self) -> NDArray[np.uint8]:
        parts = list(self._fixed("bag", 64))
        joined = np.concatenate(parts) if parts else np.empty((0, 64), np.uint8)
        return joined[self.order]

    @cached_property
    def number_keys(self) -> tuple[Positions, Words]:
        """(positions, keys), flat, in order of positions."""
        column = self.keys.column("number_keys")
        lengths = _joined([chunk.value_lengths().to_numpy() for chunk in column.chunks], np.int64)
        values = _joined([chunk.flatten().to_numpy() for chunk in column.chunks], np.uint64)
        place = np.empty(len(self), np.int64)
        place[self.order] = np.arange(len(self))
        positions = np.repeat(place, lengths)
        order = np.argsort(positions, kind="stable")
        return positions[order], values[order]

    def texts(self, name: str, positions: Positions) -> Sequence[str]:
        """One string column at these positions; only the parts that hold them are read."""
        column = self.keys.column(name)
        ends = np.cumsum([len(chunk) for chunk in column.chunks])
        places = self.order[positions]
        by_place = np.argsort(places, kind="stable")
        found: list[str] = [""] * len(places)
        chunks = np.searchsorted(ends, places[by_place], side="right")
        for chunk in np.unique(chunks).tolist():
            wanted = by_place[chunks == chunk]
            start = int(ends[chunk]) - len(column.chunk(chunk))
            values = column.chunk(chunk).take(pa.array(places[wanted] - start)).to_pylist()
            for place, value in zip(wanted.tolist(), values, strict=True):
                found[place] = value
        return found

    def forms(self, positions: Positions) -> list[Canonical]:
        texts = zip(self.texts("tokens", positions), self.texts("options", positions), strict=True)
        return [as_form(tokens, options) for tokens, options in texts]


def as_form(tokens: str, options: str) -> Canonical:
    """A canonical form from its key columns."""
    return Canonical(tokens=tuple(tokens.split(" ")), options=tuple(options.split("\x1f")) if options else ())


def _joined(parts: Sequence[Any], kind: type[np.generic]) -> Any:
    return np.concatenate(parts).astype(kind, copy=False) if parts else np.empty(0, kind)
