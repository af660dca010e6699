"""Canonical forms -> fixed-width sketches, column by column: what finds candidates and what rules most of them out.

Everything here is a function of one row, so parts can be sketched anywhere. Sums and masks over token hashes stand for
multisets and sets: equal sums mean equal multisets (64 bits), a bit that only one mask has means an element that only
one set has.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rensa.rensa import RMinHash

from pipeline.answers import plain_answer
from pipeline.canonical import Canonical, is_cjk, is_content, stem
from pipeline.pair import is_formula

BANDS, BAND_ROWS = 32, 4
"""A pair of Jaccard similarity s shares a band with probability 1 - (1 - s^4)^32: 0.87 at 0.5, 0.998 at 0.65."""
SIGNATURE_SEED = 42
BAG = 64
MOST_NUMBERS = 12
"""Rows with more different numbers than this are found by all of them together only."""

Words = NDArray[np.uint64]
Counts = NDArray[np.int32]

_MULTIPLY = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93))
_SHIFT = np.uint64(32)


def mix(values: Words) -> Words:
    """A 64-bit finaliser (xor, shift, multiply), wrapping around."""
    values = (values ^ (values >> _SHIFT)) * _MULTIPLY[2]
    values = (values ^ (values >> _SHIFT)) * _MULTIPLY[2]
    return values ^ (values >> _SHIFT)


def text_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@lru_cache(maxsize=1 << 17)
def _token_facts(token: str) -> tuple[int, int, int, int, int]:
    """(hash, hash if it is a number other than one, hash of its stem if it is a content word, 1 if it is CJK, 1 if it
    belongs to a formula); 0 stands for no."""
    own = text_hash(token)
    number = own if token[0].isdigit() and token != "1" else 0
    return own, number, text_hash(stem(token)) if is_content(token) else 0, int(is_cjk(token)), int(is_formula(token))


class Encoded:
    """Tokens of some rows as ids of a common vocabulary.

    lengths: tokens of each row, all >= 1.  rows: the row of each token.  ids: its place in the vocabulary.
    hashes, numbers, stems, cjk, formula: facts of each word of the vocabulary.
    """

    def __init__(self, forms: Sequence[Canonical]) -> None:
        self.lengths: Counts = np.fromiter((len(form.tokens) for form in forms), np.int32, len(forms))
        self.ends: NDArray[np.int64] = np.cumsum(self.lengths, dtype=np.int64)
        flat = list(itertools.chain.from_iterable(form.tokens for form in forms))
        encoded = pa.array(flat, pa.string()).dictionary_encode()
        self.ids = encoded.indices.to_numpy()
        self.rows = np.repeat(np.arange(len(forms)), self.lengths)
        facts = np.array([_token_facts(word) for word in encoded.dictionary.to_pylist()], np.uint64).reshape(-1, 5)
        self.hashes, self.numbers, self.stems, self.cjk, self.formula = facts.T.copy()

    def __len__(self) -> int:
        return len(self.lengths)


def band_hashes(encoded: Encoded) -> Words:
    """[rows, BANDS]: one hash a band of the MinHash signature over token 2-grams (Broder 1997; Leskovec et al.,
    Mining of Massive Datasets, 3.4)."""
    count = len(encoded)
    if not count:
        return np.empty((0, BANDS), np.uint64)
    hashes = encoded.hashes[encoded.ids]
    grams = mix(hashes * _MULTIPLY[0] + np.append(hashes[1:], np.uint64(0)))
    counted = np.ones(len(grams), bool)
    several = encoded.lengths > 1
    counted[encoded.ends[several] - 1] = False
    single = encoded.ends[~several] - 1
    grams[single] = mix(hashes[single])
    offsets = np.concatenate(([0], np.cumsum(np.maximum(encoded.lengths - 1, 1), dtype=np.int64))).astype(np.uint64)
    digests = RMinHash.digest_matrix_from_flat_token_hashes(grams[counted], offsets, BANDS * BAND_ROWS, SIGNATURE_SEED)
    flat = np.fromiter(itertools.chain.from_iterable(digests.to_rows()), np.uint32, count * BANDS * BAND_ROWS)
    halves = flat.view(np.uint64).reshape(count, BANDS, BAND_ROWS // 2)
    return mix(halves[:, :, 0] * _MULTIPLY[0] + mix(halves[:, :, 1]) + np.arange(BANDS, dtype=np.uint64))


FACTS = ("number_sum", "number_mask", "content_sum", "content_mask_a", "content_mask_b", "content_min", "form")
"""64-bit columns of a sketch. `form` is a hash of the whole canonical form and the plain answer."""
COUNTS = ("length", "numbers", "different_numbers", "content", "formula", "script")
"""Counts of a row: tokens, numbers, different numbers (ones aside), content words, formula tokens; script: 1 with CJK
characters."""


def sketch_columns(forms: Sequence[Canonical], answers: Sequence[str]) -> dict[str, pa.Array]:
    """Key columns `bands`, `facts`, `counts`, `bag` (fixed-size lists) and `number_keys` (a list) of some rows."""
    encoded = Encoded(forms)
    facts, counts, number_keys = row_facts(encoded, forms, answers)
    return {
        "bands": _fixed(band_hashes(encoded)),
        "facts": _fixed(facts),
        "counts": _fixed(counts),
        "bag": _fixed(bags(encoded)),
        "number_keys": number_keys,
    }


def _fixed(matrix: NDArray[np.generic]) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1])


def bags(encoded: Encoded) -> NDArray[np.uint8]:
    """[rows, BAG]: how many tokens fall into each bucket, at most 255."""
    places = encoded.rows * BAG + (encoded.hashes[encoded.ids] % np.uint64(BAG)).astype(np.int64)
    counts = np.bincount(places, minlength=len(encoded) * BAG)
    return np.minimum(counts, 255).astype(np.uint8).reshape(len(encoded), BAG)


def row_facts(
    encoded: Encoded, forms: Sequence[Canonical], answers: Sequence[str]
) -> tuple[Words, Counts, pa.ListArray]:
    """([rows, FACTS], [rows, COUNTS], number keys)."""
    count = len(encoded)
    facts = dict(zip(FACTS, np.zeros((len(FACTS), count), np.uint64), strict=True))
    counts = dict(zip(COUNTS, np.zeros((len(COUNTS), count), np.int32), strict=True))
    plain = [plain_answer(answer) for answer in answers]
    counts["length"][:] = encoded.lengths
    is_number = encoded.numbers[encoded.ids] != 0
    np.add.at(facts["number_sum"], encoded.rows[is_number], encoded.numbers[encoded.ids[is_number]])
    np.add.at(counts["numbers"], encoded.rows[is_number], 1)
    rows, numbers = _different(encoded, encoded.numbers)
    np.bitwise_or.at(facts["number_mask"], rows, _bit(numbers))
    np.add.at(counts["different_numbers"], rows, 1)
    number_keys = _number_keys(rows, numbers, counts["different_numbers"], plain)
    rows, stems = _different(encoded, encoded.stems)
    np.add.at(facts["content_sum"], rows, stems)
    np.add.at(counts["content"], rows, 1)
    np.bitwise_or.at(facts["content_mask_a"], rows, _bit(stems))
    np.bitwise_or.at(facts["content_mask_b"], rows, _bit(mix(stems)))
    facts["content_min"][:] = np.iinfo(np.uint64).max
    np.minimum.at(facts["content_min"], rows, mix(stems))
    whole = (
        text_hash("\x1f".join((form.text, *form.options, "|", gold))) for form, gold in zip(forms, plain, strict=True)
    )
    facts["form"][:] = np.fromiter(whole, np.uint64, count)
    np.add.at(counts["formula"], encoded.rows, encoded.formula[encoded.ids].astype(np.int32))
    np.maximum.at(counts["script"], encoded.rows, encoded.cjk[encoded.ids].astype(np.int32))
    return np.stack(list(facts.values()), axis=1), np.stack(list(counts.values()), axis=1), number_keys


def _different(encoded: Encoded, values: Words) -> tuple[NDArray[np.int64], Words]:
    """(rows, values): the different values that are not 0 of each row, in order of rows."""
    distinct, inverse = np.unique(values, return_inverse=True)
    kinds = inverse[encoded.ids]
    wanted = values[encoded.ids] != 0
    codes = np.unique(encoded.rows[wanted] * len(distinct) + kinds[wanted])
    rows, places = np.divmod(codes, max(1, len(distinct)))
    return rows, distinct[places]


def _bit(hashes: Words) -> Words:
    return np.uint64(1) << (hashes >> np.uint64(58))


def _number_keys(rows: NDArray[np.int64], numbers: Words, different: Counts, answers: Sequence[str]) -> pa.ListArray:
    """For each row: a hash of its different numbers and its answer, and the same with each number left out in turn."""
    total = np.zeros(len(answers), np.uint64)
    np.add.at(total, rows, mix(numbers))
    gold = mix(np.fromiter(map(text_hash, answers), np.uint64, len(answers)))
    full = np.flatnonzero(different)
    gaps = (different[rows] > 1) & (different[rows] <= MOST_NUMBERS)
    owners = np.concatenate((full, rows[gaps]))
    sums = np.concatenate((total[full], total[rows[gaps]] - mix(numbers[gaps])))
    order = np.argsort(owners, kind="stable")
    keys = mix(sums + gold[owners])[order]
    ends = np.cumsum(np.bincount(owners, minlength=len(answers)), dtype=np.int64)
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], ends)), pa.int32()), pa.array(keys))
