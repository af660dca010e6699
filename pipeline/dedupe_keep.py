"""Who stays: repeats of one form at once, then rounds of candidates, verification and greedy keeping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.dedupe_candidates import Round, candidates
from pipeline.dedupe_rows import Positions, Rows
from pipeline.dedupe_verify import Found, verify
from pipeline.duplicates import Match


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """By position: rows that go because of a kept one, and rows whose gold contradicts another's."""

    dropped: dict[int, tuple[int, Match]]
    conflicts: dict[int, tuple[int, Match]]


def decide(rows: Rows, max_bucket: int) -> Decision:
    """Rounds end when the rows that stay hold no candidate pair that matches and was not looked at; so deduplicating
    what stays drops nothing."""
    leader = leaders(rows)
    singles = leader == np.arange(len(rows))
    found: list[Found] = []
    known = np.empty(0, np.int64)
    alive, before = singles, None
    decision = Decision(dropped={}, conflicts={})
    while True:
        codes = np.setdiff1d(candidates(rows, Round(alive=alive, before=before, reach=max_bucket - 1)), known)
        new = verify(rows, codes)
        if not new:
            break
        found += new
        known = np.union1d(known, codes)
        decision = keep_greedily(found)
        before, alive = alive, singles.copy()
        alive[[*decision.dropped, *decision.conflicts]] = False
    _add_repeats(rows, leader, decision)
    return decision


def leaders(rows: Rows) -> Positions:
    """For each position the first one with the same canonical form and plain answer."""
    _, firsts, groups = np.unique(rows.facts["form"], return_index=True, return_inverse=True)
    return firsts[groups].astype(np.int64)


def _add_repeats(rows: Rows, leader: Positions, decision: Decision) -> None:
    """Repeats go with their leader: to itself if it stays, else to its keeper, on the same evidence."""
    repeats = np.flatnonzero(leader != np.arange(len(rows)))
    answered = rows.texts("answer", leader[repeats])
    for place, first, answer in zip(repeats.tolist(), leader[repeats].tolist(), answered, strict=True):
        same = Match(kind="duplicate", rule="same-form" if answer else "same-text", score=1.0)
        decision.dropped[place] = decision.dropped.get(first, (first, same))


def keep_greedily(found: Sequence[Found]) -> Decision:
    """In order of priority a row goes only if it is verified against a row that is kept; so nothing depends on the
    order of the input and chains do not merge. Golds that contradict each other set both rows aside."""
    dropped: dict[int, tuple[int, Match]] = {}
    for pair in sorted(found, key=lambda pair: (pair.second, pair.first)):
        if pair.match.kind == "duplicate" and pair.second not in dropped and pair.first not in dropped:
            dropped[pair.second] = (pair.first, pair.match)
    conflicts: dict[int, tuple[int, Match]] = {}
    for pair in sorted(found, key=lambda pair: (pair.first, pair.second)):
        if pair.match.kind != "conflict":
            continue
        one, other = (dropped[place][0] if place in dropped else place for place in (pair.first, pair.second))
        if one != other:
            conflicts.setdefault(one, (other, pair.match))
            conflicts.setdefault(other, (one, pair.match))
    return Decision(dropped=dropped, conflicts=conflicts)
