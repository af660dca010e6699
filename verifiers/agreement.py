"""Several verifiers on the same rows: how often they disagree, and what follows from it about their errors.

Where two verifiers disagree at least one is wrong, so their error shares add up to at least the disagreement and the
larger is at least half of it. Nothing bounds the errors from above: verifiers that share a parser share its misses.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from verifiers.audit import SHOWN_TAIL, Pairs, Rate, accepted, cells_of, rate, rates_of_pairs
from verifiers.cases import LabelledRow, option_names
from verifiers.estimate import Cell, estimate, stratify
from verifiers.peers import PEERS, start
from verifiers.registry import VERIFIERS, Request, verify_many
from verifiers.verdict import Status, Verdict, undecided
from verifiers.workers import Worker, WorkerFailure

NAMED = "named by row"
"""The verifier that each row names."""
NOT_IDENTIFIED = (
    "Without labels the error rate of no verifier is identified: verdicts tell where verifiers differ, not which is "
    "right.",
    "The bounds hold from below only. Verifiers that share a parser or a rule share its mistakes, and no disagreement "
    "shows them: full agreement is compatible with any error rate.",
    "Whether a disagreement is one verifier's false negative or the other's false positive takes a label to tell.",
)
EXAMPLES = 12
"""Rows that a pair shows."""
PEER_WALL_S = 12.0


def known_verifiers() -> tuple[str, ...]:
    return (*sorted(VERIFIERS), *sorted(PEERS))


def sides_of(names: Sequence[str]) -> tuple[str, ...]:
    """What is held side by side: one name alone stands beside the verifiers that the rows name."""
    return (NAMED, *names) if len(names) < 2 else tuple(names)


def verdicts_of(
    name: str, rows: Sequence[LabelledRow], *, workers: int | None = None, advance: Callable[[int], None] | None = None
) -> list[Verdict]:
    """Verdicts of the verifier called `name` on all rows. Options of a row go to the verifier that it names only.

    Raises PeerMissing for a peer that is not installed.
    """
    if name in PEERS:
        return _peer_verdicts(name, rows, workers or os.cpu_count() or 1, advance or (lambda _: None))
    if name == NAMED:
        return verify_many([row.request() for row in rows], workers=workers)
    known = option_names(VERIFIERS[name])
    requests = [
        Request(
            response=row.response,
            ground_truth=row.ground_truth,
            verifier=name,
            options={key: value for key, value in row.options.items() if key in known} if row.verifier == name else {},
        )
        for row in rows
    ]
    return verify_many(requests, workers=workers)


def _peer_verdicts(
    name: str, rows: Sequence[LabelledRow], workers: int, advance: Callable[[int], None]
) -> list[Verdict]:
    """Each row in a killable child; a child that hangs or dies is replaced and its row is undecided."""
    found: list[Verdict] = [undecided("not-run")] * len(rows)
    places = iter(range(len(rows)))
    lock = threading.Lock()

    def run(worker: Worker) -> None:
        try:
            while True:
                with lock:
                    place = next(places, None)
                if place is None:
                    return
                verdict = _ask_peer(worker, rows[place])
                if verdict is None:
                    worker = start(name)
                found[place] = verdict or undecided("no-answer")
                with lock:
                    advance(1)
        finally:
            worker.kill()

    children = [start(name) for _ in range(min(workers, len(rows)))]
    threads = [threading.Thread(target=run, args=(child,), daemon=True) for child in children]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _ask_peer(worker: Worker, row: LabelledRow) -> Verdict | None:
    """None when the child did not answer and is dead."""
    golds = [row.ground_truth] if isinstance(row.ground_truth, str) else list(row.ground_truth)
    try:
        reply = worker.ask({"golds": golds, "response": row.response, "source": row.source}, PEER_WALL_S)
    except WorkerFailure:
        return None
    status = Status(reply["status"])
    score = math.nan if status is Status.UNDECIDED else float(status is Status.CORRECT)
    return Verdict(status=status, score=score, reason=reply["reason"], extracted=None)


# ---- comparison ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One verifier's verdicts on the rows."""

    name: str
    verdicts: tuple[Verdict, ...]


def compare(pairs: Pairs, sides: Sequence[Side]) -> dict[str, Any]:
    """`agreement` of audit.json. pairs: the rows with the verdicts of the audited verifiers, whose strata the labels
    were drawn from. Undecided counts as not accepted."""
    rows = [row for row, _ in pairs]
    choices = [[accepted(verdict) for verdict in side.verdicts] for side in sides]
    minority = [min(sum(votes), len(votes) - sum(votes)) for votes in zip(*choices, strict=True)]
    labelled = sum(row.correct is not None for row in rows)
    couples: list[dict[str, Any]] = [
        _pair(a.name, b.name, choices[i], choices[j]) | {"examples": _examples(rows, a, b)}
        for (i, a), (j, b) in combinations(enumerate(sides), 2)
    ]
    errors = sum(minority) / len(minority)
    halves = [couple["worse_of_the_two_at_least"]["estimate"] for couple in couples]
    return {
        "n": len(rows),
        "labelled": labelled,
        "verifiers": [_side(pairs, side) for side in sides],
        "pairs": couples,
        "all": {
            "unanimous": rate(sum(votes == 0 for votes in minority), len(minority)).to_json(),
            "sum_of_error_rates_at_least": errors,
            "worst_error_rate_at_least": max(errors / len(sides), *halves),
        },
        "not_identified": [] if labelled else list(NOT_IDENTIFIED),
    }


def _pair(a: str, b: str, first: Sequence[bool], second: Sequence[bool]) -> dict[str, Any]:
    only_a = sum(x and not y for x, y in zip(first, second, strict=True))
    only_b = sum(y and not x for x, y in zip(first, second, strict=True))
    disagree = rate(only_a + only_b, len(first))
    return {
        "a": a,
        "b": b,
        "only_a_accepts": only_a,
        "only_b_accepts": only_b,
        "disagree": disagree.to_json(),
        "worse_of_the_two_at_least": _scaled(disagree, 0.5).to_json(),
    }


def _examples(rows: Sequence[LabelledRow], a: Side, b: Side) -> list[dict[str, Any]]:
    """Rows on which the two differ, spread over the file."""
    differ = [
        (row, first, second)
        for row, first, second in zip(rows, a.verdicts, b.verdicts, strict=True)
        if accepted(first) != accepted(second)
    ]
    step = max(1, len(differ) // EXAMPLES)
    return [
        {
            "id": row.id,
            "source": row.source,
            "ground_truth": row.ground_truth if isinstance(row.ground_truth, str) else list(row.ground_truth),
            "response": row.response[-SHOWN_TAIL:],
            "correct": row.correct,
            "a": first.status.value,
            "b": second.status.value,
        }
        for row, first, second in differ[::step][:EXAMPLES]
    ]


def _scaled(value: Rate, factor: float) -> Rate:
    def times(number: float | None) -> float | None:
        return None if number is None else number * factor

    return replace(value, estimate=times(value.estimate), low=times(value.low), high=times(value.high))


def _side(pairs: Pairs, side: Side) -> dict[str, Any]:
    own = [(row, verdict) for (row, _), verdict in zip(pairs, side.verdicts, strict=True)]
    counts = {status: sum(verdict.status is status for verdict in side.verdicts) for status in Status}
    entry: dict[str, Any] = {
        "name": side.name,
        "accepted": counts[Status.CORRECT],
        "rejected": counts[Status.INCORRECT],
        "undecided": counts[Status.UNDECIDED],
    }
    rates = _rates(pairs, own)
    return entry | {name: value.to_json() for name, value in rates.items()}


def _rates(pairs: Pairs, own: Pairs) -> Mapping[str, Rate]:
    """FNR and FPR: counted when every row has a label, estimated when some have, absent when none has."""
    correct = [row.correct for row, _ in pairs]
    labels = sum(label is not None for label in correct)
    if labels == 0:
        return {}
    if labels == len(correct):
        rates = rates_of_pairs(own)
        return {"fnr": rates["fnr"], "fpr": rates["fpr"]}
    # labels are random within the strata of the audited verifier, and so within their parts by this verifier's verdict
    cells = [
        replace(cell, accepted=accepted(verdict), verifier=_part(cell))
        for cell, (_, verdict) in zip(cells_of(pairs), own, strict=True)
    ]
    found = estimate(stratify(cells, correct))
    if found is None:
        return {}
    return {name: Rate(estimate=v.estimate, low=v.low, high=v.high, n=labels) for name, v in found.items()}


def _part(cell: Cell) -> str:
    """Rows that the audited verifier accepted and those it did not are told apart: they were sampled at different
    rates, and a verifier that contradicts it errs at another rate."""
    return f"{cell.verifier}, {'accepted' if cell.accepted else 'not accepted'}"
