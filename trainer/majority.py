"""The answer that most samples give: maj@k, and as a label where there is none (TTRL). Answers are alike when the
verifier takes one for the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.problem import Problem
from pipeline.rollouts import request_for
from trainer.rewards import majority_rewards
from verifiers import Request, check_gold, verify_many
from verifiers.hybrid import answer_of
from verifiers.judge_fields import emptiness
from verifiers.verdict import Status, Verdict, correct, incorrect, undecided

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
    joined = _merged(problems, [_wrong_texts(found) for found in verdicts], workers)
    return [_classes(found, roots) for found, roots in zip(verdicts, joined, strict=True)]


def _merged(problems: Sequence[Problem], texts: Sequence[Sequence[str]], workers: int | None) -> list[dict[str, str]]:
    """Per problem each of its texts with the first one that is alike."""
    pairs = [(place, i, j) for place, known in enumerate(texts) for j in range(len(known)) for i in range(j)]
    requests = [_request(problems[place], texts[place][i], texts[place][j]) for place, i, j in pairs]
    joined = [{text: text for text in known} for known in texts]
    for (place, i, j), verdict in zip(pairs, verify_many(requests, workers=workers), strict=True):
        if verdict.status is Status.CORRECT:
            _join(joined[place], texts[place][i], texts[place][j])
    return joined


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


# ---- without a gold ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A group judged by its own majority. agreement: share of all its samples that gave the majority's answer."""

    verdicts: tuple[Verdict, ...]
    agreement: float
    abstained: int


def label_free(
    problems: Sequence[Problem], responses: Sequence[Sequence[str]], *, workers: int | None = None
) -> list[Labelled]:
    """TTRL (arXiv 2504.16084): per problem its samples' verdicts, right when they give the answer that most give.

    A sample without one readable answer never votes and is wrong, or the policy would learn to write none. Of answers
    with equally many votes the first in sample order wins. No gold is read.
    """
    answers = [[_vote(problem, text) for text in group] for problem, group in zip(problems, responses, strict=True)]
    texts = [list(dict.fromkeys(answer for answer in group if answer is not None)) for group in answers]
    joined = _merged(problems, texts, workers)
    return [_labelled(group, roots) for group, roots in zip(answers, joined, strict=True)]


def _vote(problem: Problem, response: str) -> str | None:
    """The answer of a response, None when there is none that could be a gold."""
    request = request_for(problem, response)
    answer = answer_of(request, undecided("not-judged"))
    if not answer or emptiness(answer):
        return None
    readable = check_gold(answer, problem.verifier, request.options)
    return answer if readable.status is Status.CORRECT else None


def _labelled(answers: Sequence[str | None], roots: dict[str, str]) -> Labelled:
    label, rewards, _ = majority_rewards([None if answer is None else roots[answer] for answer in answers])
    verdicts = [
        incorrect("no-vote", None)
        if answer is None
        else correct("majority", answer)
        if reward
        else incorrect("minority", answer, detail=f"majority: {label}")
        for answer, reward in zip(answers, rewards, strict=True)
    ]
    abstained = sum(answer is None for answer in answers)
    return Labelled(verdicts=tuple(verdicts), agreement=sum(rewards) / len(answers), abstained=abstained)
