"""Verdicts -> rewards, and shaping that never reaches the group filter."""

from __future__ import annotations

import hashlib
import math

from trainer.config import Reward
from verifiers.verdict import Status, Verdict, correct, incorrect


def outcome(verdict: Verdict, reward: Reward) -> float:
    """correct, wrong, or between them for a graded score; nan when undecided: the row is then absent."""
    if verdict.status is Status.UNDECIDED:
        return math.nan
    return reward.wrong + (reward.correct - reward.wrong) * verdict.score


def random_verdict(seed: int, key: str, sample: int) -> Verdict:
    """The control's verdict: right with probability 1/2 by (seed, visit, sample), whatever the response says."""
    digest = hashlib.blake2b(f"random-reward:{seed}:{key}:{sample}".encode(), digest_size=1).digest()
    return correct("random", None) if digest[0] & 1 else incorrect("random", None)


def soft_overlong(length: int, max_tokens: int, cache: int) -> float:
    """DAPO's punishment: 0 up to max_tokens - cache, then linear to -1 at max_tokens."""
    if cache <= 0:
        return 0.0
    start = max_tokens - cache
    return 0.0 if length <= start else max(-1.0, (start - length) / cache)
