"""Verdicts on candidate pairs, in blocks: forms are read, compared and forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from pipeline.answers import digits, plain_answer, texts_agree, truth_values
from pipeline.canonical import Canonical
from pipeline.dedupe_rows import Positions, Rows
from pipeline.duplicates import CERTAIN, STRONG, WEAK, Match, Pair, Relation, judge, plausible
from verifiers import Request, verify_many

BLOCK = 1 << 14
"""Pairs whose texts are in memory together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One pair that matches, by positions: first is earlier in order of priority."""

    first: int
    second: int
    match: Match


def verify(rows: Rows, codes: Positions) -> list[Found]:
    """The candidate pairs that match, in order of their codes (see `candidates`)."""
    return [found for start in range(0, len(codes), BLOCK) for found in _verify(rows, codes[start : start + BLOCK])]


def _verify(rows: Rows, codes: Positions) -> Iterator[Found]:
    firsts, seconds = np.divmod(codes, max(1, len(rows)))
    positions, places = np.unique(np.concatenate((firsts, seconds)), return_inverse=True)
    forms = rows.forms(positions)
    ones, others = places[: len(codes)].tolist(), places[len(codes) :].tolist()
    open_pairs = [pair for pair in zip(ones, others, strict=True) if _is_open(Pair(forms[pair[0]], forms[pair[1]]))]
    needed = np.unique(np.array(open_pairs, np.int64).reshape(-1))
    answers = dict(zip(needed.tolist(), rows.texts("answer", positions[needed]), strict=True))
    verifiers = dict(zip(needed.tolist(), rows.texts("verifier", positions[needed]), strict=True))
    relations = relate([(answers[one], answers[other], verifiers[one]) for one, other in open_pairs])
    for (one, other), relation in zip(open_pairs, relations, strict=True):
        match = judge(Pair(forms[one], forms[other]), relation, _least_odds(answers[one], forms[one]))
        if match is not None:
            yield Found(first=int(positions[one]), second=int(positions[other]), match=match)


def _least_odds(answer: str, form: Canonical) -> float:
    """Of truth values, and of a word that the question holds, no rewording is certain: the words alone decide."""
    if truth_values(answer) or answer.casefold() in form.content:
        return inf
    length = digits(answer)
    return CERTAIN + (WEAK if length == 1 else STRONG if length > 2 else 0.0)


def _is_open(pair: Pair) -> bool:
    """Whether some relation of the answers makes this a match; only then are they compared, which costs most. What
    matches when they differ matches when nothing is known of them."""
    return plausible(pair) and any(judge(pair, relation, CERTAIN + STRONG) for relation in ("equal", "unknown"))


def relate(answers: Sequence[tuple[str, str, str]]) -> list[Relation]:
    """How two answers relate (answer, answer, verifier), by their spelling and else by the verifier, both ways."""
    relations: dict[tuple[str, str, str], Relation] = {}
    unclear: list[tuple[str, str, str]] = []
    for key in dict.fromkeys(answers):
        first, second, _ = key
        if not first or not second:
            relations[key] = "unknown"
        elif plain_answer(first) == plain_answer(second):
            relations[key] = "equal"
        elif _plain_integer(first) and _plain_integer(second):
            relations[key] = "differ"
        elif truth_values(first) and truth_values(second):
            relations[key] = "equal" if truth_values(first) == truth_values(second) else "differ"
        elif texts_agree(first, second):
            relations[key] = "equal"
        else:
            unclear.append(key)
    requests = [
        Request(response=f"\\boxed{{{response}}}", ground_truth=gold, verifier=verifier)
        for one, other, verifier in unclear
        for gold, response in ((one, other), (other, one))
    ]
    judged = iter(verify_many(requests, workers=1))
    for key in unclear:
        statuses = {next(judged).status.value, next(judged).status.value}
        if "correct" in statuses:
            relations[key] = "equal"
        else:
            relations[key] = "unknown" if statuses == {"undecided"} else "differ"
    return [relations[key] for key in answers]


def _plain_integer(text: str) -> bool:
    return plain_answer(text).lstrip("-").isdigit()
