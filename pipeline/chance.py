"""Randomness from an explicit key (seed, row, purpose): the same for any worker count, order or resume."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa


def chance(seed: int, key: str, purpose: str) -> float:
    """A number in [0, 1) fixed by its arguments."""
    digest = hashlib.blake2b(f"{seed}\x1f{key}\x1f{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def chances(seed: int, keys: pa.ChunkedArray, purpose: str) -> np.ndarray:
    """`chance` of every key; float64."""
    values: Iterable[float] = (chance(seed, str(key), purpose) for key in keys)
    return np.fromiter(values, np.float64, len(keys))


def hash_order(chance_of: np.ndarray, source_rows: pa.ChunkedArray) -> np.ndarray:
    """Places by rising chance, equal ones by source_row: an order that no order of the input decides."""
    table = pa.table({"chance": chance_of, "row": source_rows, "place": np.arange(len(chance_of))})
    return table.sort_by([("chance", "ascending"), ("row", "ascending")]).column("place").to_numpy()


def codes(values: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """Small numbers for strings, and the string of each number."""
    encoded = values.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
