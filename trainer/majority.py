"""maj@k: the answer that most of k samples give. Answers are alike when the verifier takes one for the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from pipeline.problem import Problem
from pipeline.rollouts import request_for
from verifiers import Request, verify_many
from verifiers.verdict import Status, Verdict

NO_VOTE = frozenset({"unreadable", "hedged", "response-too-complex"})
"""Reasons of verdicts on text that was found but is no one answer."""

ABSTAINS = -1
RIGHT = 0


def votes(
    problems: Sequence[Problem], verdicts: Sequence[Sequence[Verdict]], *, workers: int | None = None
) -> list[tuple[int, ...]]:
    """Per problem the class of each sample's answer: 0 = right, 1, 2 ... wrong answers as they first appear.

    A sample without one readable answer, or whose verdict is undecided, abstains (-1). Wrong answers that the problem's
    own verifier takes for one another are one class; alikeness is taken to be transitive.
    """
    texts = [_wrong_texts(found) for found in verdicts]
    pairs = [(place, i, j) for place, known in enumerate(texts) for j in range(len(known)) for i in range(j)]
    requests = [_request(problems[place], texts[place][i], texts[place][j]) for place, i, j in pairs]
    joined = [{text: text for text in known} for known in texts]
    for (place, i, j), verdict in zip(pairs, verify_many(requests, workers=workers), strict=True):
        if verdict.status is Status.CORRECT:
            _join(joined[place], texts[place][i], texts[place][j])
    return [_classes(found, roots) for found, roots in zip(verdicts, joined, strict=True)]


def _wrong_texts(verdicts: Sequence[Verdict]) -> list[str]:
    return list(dict.fromkeys(text for text in map(_wrong_text, verdicts) if text is not None))


def _wrong_text(verdict: Verdict) -> str | None:
    """The wrong answer that votes."""
    return verdict.extracted if verdict.status is Status.INCORRECT and verdict.reason not in NO_VOTE else None


def _request(problem: Problem, gold: str, answer: str) -> Request:
    return request_for(replace(problem, ground_truth=gold, verifier_options=_without_aliases(problem)), answer)


def _without_aliases(problem: Problem) -> str:
    options = json.loads(problem.verifier_options)
    options.pop("aliases", None)
    return json.dumps(options)


def _join(roots: dict[str, str], first: str, second: str) -> None:
    """The class of `second` becomes part of the class of `first`, which appeared before."""
    old, new = roots[second], roots[first]
    for text, root in roots.items():
        if root == old:
            roots[text] = new


def _classes(verdicts: Sequence[Verdict], roots: dict[str, str]) -> tuple[int, ...]:
    number: dict[str, int] = {}
    found = []
    for verdict in verdicts:
        if verdict.status is Status.CORRECT:
            found.append(RIGHT)
            continue
        text = _wrong_text(verdict)
        found.append(ABSTAINS if text is None else number.setdefault(roots[text], len(number) + 1))
    return tuple(found)


def majority(classes: Sequence[int]) -> int | None:
    """The class with most votes, of equal ones the one that appears first; None when all abstain."""
    cast = [item for item in classes if item != ABSTAINS]
    return max(cast, key=cast.count) if cast else None


def maj_at_k(classes: Sequence[int], k: int) -> float:
    """Share of the disjoint blocks of k samples, in order, whose majority is right; what is left over has no block.

    Unbiased, for the samples are independent. Raises ValueError for fewer than k samples.
    """
    if not 1 <= k <= len(classes):
        raise ValueError(f"maj@{k} needs at least {k} samples (there are {len(classes)})")
    blocks = [classes[start : start + k] for start in range(0, len(classes) - k + 1, k)]
    return sum(majority(block) == RIGHT for block in blocks) / len(blocks)
