"""Which pairs of rows are worth a look: rows that share a MinHash band, or their numbers and answer.

Buckets are runs of a sorted column, so memory is a few columns whatever the data. In a bucket of up to `max_bucket`
rows every pair counts. In a larger one the rows are ordered by what makes two of them alike (their numbers, or a
content word), and each meets its next `max_bucket - 1` neighbours; once duplicates have gone, the rows that moved
closer together meet in the next round, until nothing changes. So a bucket costs a bounded number of pairs a row, and
repeats are never the reason that a copy stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.dedupe_rows import Positions, Rows
from pipeline.dedupe_sketch import BANDS, Counts, Words
from pipeline.duplicates import COPY, FORMULA_COPY, LONG_FORMULA, MANY_NUMBERS, NEAR_COPY, REWORDED, SHARED_CONTENT

BLOCK = 1 << 20
"""Pairs that are looked at together: bounds memory."""
FULL_BUCKET = 255
"""Bags count up to this, so they bound nothing for two texts that are both longer."""
SLACK = 1e-9
MOST_APART = max(apart for _, apart in REWORDED)
LEAST = np.array([[REWORDED.get((shared, apart), np.inf) for apart in range(MOST_APART + 1)] for shared in range(4)])
"""[different numbers shared, numbers that differ]."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Which rows take part.

    alive: the rows to compare.  before: those of the last round, if there was one; then only pairs are wanted that were
    not neighbours in it.  reach: neighbours that a row meets in a bucket.
    """

    alive: Flags
    before: Flags | None
    reach: int


def candidates(rows: Rows, turn: Round) -> Positions:
    """Codes (earlier * rows + later) of pairs that may match, sorted."""
    found: list[Positions] = []
    for first, second in _neighbours(rows, turn):
        likely = possible(rows, first, second)
        first, second = first[likely], second[likely]
        found.append(np.minimum(first, second) * len(rows) + np.maximum(first, second))
        if sum(map(len, found)) > 8 * BLOCK:
            found = [np.unique(np.concatenate(found))]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _neighbours(rows: Rows, turn: Round) -> Iterator[tuple[Positions, Positions]]:
    wanted = turn.alive if turn.before is None else turn.alive | turn.before
    members = np.flatnonzero(wanted)
    for band in range(BANDS):
        keys = rows.band(band)[members]
        yield from _in_buckets(keys, members, rows.facts["number_sum"], turn)
    positions, keys = rows.number_keys
    taken = wanted[positions]
    yield from _in_buckets(keys[taken], positions[taken], rows.facts["content_min"], turn)


def _in_buckets(
    keys: Words, positions: Positions, likeness: Words, turn: Round
) -> Iterator[tuple[Positions, Positions]]:
    """Pairs of neighbours with equal keys; `likeness` orders the rows of a bucket, then priority."""
    order = np.lexsort((positions, likeness[positions], keys))
    keys, positions = keys[order], positions[order]
    repeated = np.zeros(len(keys), bool)
    repeated[1:] = keys[1:] == keys[:-1]
    repeated[:-1] |= repeated[1:]
    keys, positions = keys[repeated], positions[repeated]
    place = None if turn.before is None else np.cumsum(turn.before[positions])
    now = turn.alive[positions]
    keys, positions = keys[now], positions[now]
    place = None if place is None else place[now]
    for gap in range(1, turn.reach + 1):
        close = keys[gap:] == keys[:-gap]
        if not close.any():
            return
        left = np.flatnonzero(close)
        if place is not None and turn.before is not None:
            new = place[left + gap] - place[left] > turn.reach
            new |= ~turn.before[positions[left]] | ~turn.before[positions[left + gap]]
            left = left[new]
        for start in range(0, len(left), BLOCK):
            part = left[start : start + BLOCK]
            yield positions[part], positions[part + gap]


def possible(rows: Rows, first: Positions, second: Positions) -> Flags:
    """Whether the rules of `duplicates` could match each pair, whatever the answers: a necessary condition on sketches,
    so a pair that is ruled out here is ruled out there."""
    facts, counts = rows.facts, rows.counts
    gap = np.abs(counts["numbers"][first] - counts["numbers"][second])
    equal = (gap == 0) & (facts["number_sum"][first] == facts["number_sum"][second])
    apart = np.bitwise_count(facts["number_mask"][first] ^ facts["number_mask"][second])
    out = equal | (gap == 1) | (apart <= MOST_APART)
    maybe = np.flatnonzero(out)
    near = equal | (gap == 1)
    first, second, equal, near, apart = first[maybe], second[maybe], equal[maybe], near[maybe], apart[maybe]
    content = Content(rows, first, second)
    similarity = _most_similar(rows, first, second)
    reworded = similarity + content.same_words >= _least(counts["different_numbers"], first, second, apart)
    reworded &= (content.shared >= 1) & ~(content.equal & (apart > 0))
    formula = np.minimum(counts["formula"][first], counts["formula"][second]) >= LONG_FORMULA
    formula &= similarity >= FORMULA_COPY
    bare = (counts["content"][first] == 0) & (counts["content"][second] == 0)
    likely = reworded | (equal & ((similarity >= COPY) | (content.overlap >= SHARED_CONTENT) | formula | bare))
    likely |= near & ((similarity >= NEAR_COPY) | (counts["script"][first] != counts["script"][second]))
    out[maybe] = likely
    return out


class Content:
    """Upper bounds on what the content words of pairs share: a bit that only one mask has is a word that only one row
    has.

    shared: words.  same_words: Jaccard similarity.  overlap: share of the shorter list.  equal: the same words.
    """

    def __init__(self, rows: Rows, first: Positions, second: Positions) -> None:
        one, other = rows.counts["content"][first], rows.counts["content"][second]
        alone = np.zeros((2, len(first)), np.int32)
        for name in ("content_mask_a", "content_mask_b"):
            left, right = rows.facts[name][first], rows.facts[name][second]
            alone[0] = np.maximum(alone[0], np.bitwise_count(left & ~right))
            alone[1] = np.maximum(alone[1], np.bitwise_count(right & ~left))
        self.shared = np.minimum(one - alone[0], other - alone[1])
        self.same_words = self.shared / np.maximum(1, one + other - self.shared) + SLACK
        self.overlap = self.shared / np.maximum(1, np.minimum(one, other)) + SLACK
        self.equal = (one == other) & (rows.facts["content_sum"][first] == rows.facts["content_sum"][second])


def _most_similar(rows: Rows, first: Positions, second: Positions) -> NDArray[np.float64]:
    """Upper bound on the Indel similarity of tokens: no common subsequence is longer than what two bags share."""
    shared = np.minimum(rows.bags[first], rows.bags[second]).sum(axis=1, dtype=np.int32)
    one, other = rows.counts["length"][first], rows.counts["length"][second]
    bound = 2 * shared / (one + other) + SLACK
    return np.where(np.minimum(one, other) > FULL_BUCKET, 1.0, bound)


def _least(different: Counts, first: Positions, second: Positions, apart: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Least sum of similarity and same words that a rewording must have, given that at least `apart` numbers differ."""
    one, other = different[first], different[second]
    least = np.full(len(first), np.inf)
    for wrong in range(MOST_APART + 1):
        shared = (one + other - wrong) // 2
        fits = (wrong >= apart) & (wrong >= np.abs(one - other)) & ((one + other - wrong) % 2 == 0) & (shared >= 0)
        least = np.minimum(least, np.where(fits, LEAST[np.clip(shared, 0, MANY_NUMBERS), wrong], np.inf))
    return least
