"""Verdicts -> rewards, and shaping that never reaches the group filter."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from verifiers.reward import soft_overlong
from verifiers.rubric import weighted_share
from verifiers.verdict import Status, Verdict, correct, incorrect

if TYPE_CHECKING:
    from trainer.sections import Reward


def outcome(verdict: Verdict, reward: Reward) -> float:
    """correct, wrong, or between them for a graded score; nan when undecided: the row is then absent."""
    if verdict.status is Status.UNDECIDED:
        return math.nan
    return reward.wrong + (reward.correct - reward.wrong) * verdict.score


def shaped(
    outcomes: Sequence[float],
    right: Sequence[bool],
    lengths: Sequence[int],
    *,
    max_tokens: int,
    reward: Reward,
    updates: int = 0,
) -> list[float | None]:
    """Rewards of one group: outcomes and what length adds; None for an undecided response, which no other one feels.

    A proxy never outweighs correctness: what length takes is at most correct - wrong, and a wrong response gains
    nothing, so that no wrong response is worth more than a right one.  updates: that the sampling policy has had.
    """
    decided = [place for place, value in enumerate(outcomes) if not math.isnan(value)]
    terms = [0.0] * len(decided)
    if reward.length is not None and updates >= reward.length_after and decided:
        term = LENGTH_TERMS[reward.length.name]
        terms = term([lengths[i] for i in decided], [right[i] for i in decided], **reward.length.options)
    found: list[float | None] = [None] * len(outcomes)
    for place, added in zip(decided, terms, strict=True):
        if reward.overlong_cache > 0:
            added += soft_overlong(lengths[place], max_tokens, min(reward.overlong_cache, max_tokens))
        found[place] = outcomes[place] + max(added, reward.wrong - reward.correct)
    return found


def random_verdict(seed: int, key: str, sample: int) -> Verdict:
    """The control's verdict: right with probability 1/2 by (seed, visit, sample), whatever the response says."""
    digest = hashlib.blake2b(f"random-reward:{seed}:{key}:{sample}".encode(), digest_size=1).digest()
    return correct("random", None) if digest[0] & 1 else incorrect("random", None)


def kimi_length(lengths: Sequence[int], correct: Sequence[bool], *, weight: float = 1.0) -> list[float]:
    """Kimi k1.5's length term of one group (arXiv 2501.12599): right responses get lam = 1/2 - (n - min)/(max - min),
    wrong ones min(0, lam), times `weight`; 0 where all lengths agree."""
    low, high = min(lengths), max(lengths)
    if low == high:
        return [0.0] * len(lengths)
    lams = [0.5 - (length - low) / (high - low) for length in lengths]
    return [weight * (lam if right else min(0.0, lam)) for lam, right in zip(lams, correct, strict=True)]


def l1_exact(target: int, length: int, right: bool, *, alpha: float = 3e-4) -> float:
    """L1 with an exact target length (arXiv 2503.04697): correct - alpha |target - n|."""
    return float(right) - alpha * abs(target - length)


def l1_max(target: int, length: int, right: bool, *, alpha: float = 3e-4, delta: float = 0.5) -> float:
    """L1 with a longest length (arXiv 2503.04697): correct * clip(alpha (target - n) + delta, 0, 1)."""
    return float(right) * min(max(alpha * (target - length) + delta, 0.0), 1.0)


def _l1_exact_terms(
    lengths: Sequence[int], correct: Sequence[bool], *, target: int, alpha: float = 3e-4
) -> list[float]:
    return [-alpha * abs(target - length) for length, _ in zip(lengths, correct, strict=True)]


def _l1_max_terms(
    lengths: Sequence[int], correct: Sequence[bool], *, target: int, alpha: float = 3e-4, delta: float = 0.5
) -> list[float]:
    pairs = zip(lengths, correct, strict=True)
    return [l1_max(target, length, right, alpha=alpha, delta=delta) - float(right) for length, right in pairs]


LENGTH_TERMS: dict[str, Callable[..., list[float]]] = {
    "kimi": kimi_length,
    "l1_exact": _l1_exact_terms,
    "l1_max": _l1_max_terms,
}
"""(lengths, which are right, options) of one group -> what is added to each outcome."""


def turn_returns(scores: Sequence[float], *, gamma: float = 0.4) -> list[float]:
    """Kevin's credit of each turn (arXiv 2507.11948): sum over later turns of gamma^(j-i) score_j."""
    returns: list[float] = []
    for score in reversed(scores):
        returns.append(score + gamma * (returns[-1] if returns else 0.0))
    return returns[::-1]


rubric = weighted_share
"""RaR (arXiv 2507.17746): the weighted share of a rubric's items that are satisfied."""


def majority_rewards(answers: Sequence[str | None]) -> tuple[str | None, list[float], float]:
    """TTRL (arXiv 2504.16084): (label, rewards, share of the majority). Unparsed answers never vote; of answers with
    equally many votes the first in sample order wins."""
    votes = Counter(answer for answer in answers if answer is not None)
    if not votes:
        return None, [0.0] * len(answers), 0.0
    label, top = votes.most_common(1)[0]  # of equal counts the one that was inserted first
    return label, [float(answer == label) for answer in answers], top / len(answers)
