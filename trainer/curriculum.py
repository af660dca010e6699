"""Which prompts are worth their samples: skip rules, priorities and curricula, as pure functions of what was seen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

GRESO_KEEP_FLOOR = 0.01
"""A prompt is never skipped for sure (the authors' code; the paper has no floor)."""

GRESO_EASY_TARGET = 0.25 / 3
"""Share of groups that are all right to aim at; the target for all wrong is twice that."""


def greso_skip(consecutive: int, explore: float) -> float:
    """Probability of skipping a prompt whose last `consecutive` visits were constant of one kind (arXiv 2506.02177)."""
    return 0.0 if consecutive == 0 else 1.0 - max(explore**consecutive, GRESO_KEEP_FLOOR)


def greso_explore(
    explore: float, observed: float, target: float, *, step: float = 0.01, low: float = 0.05, high: float = 0.95
) -> float:
    """The next exploration probability: down where too many constant groups were seen, up otherwise."""
    moved = explore - step if observed >= target else explore + step
    return min(max(moved, low), high)


def prioritised(success: Sequence[float]) -> list[float]:
    """Sampling shares proportional to 1 - s (Kimi k1.5, arXiv 2501.12599); uniform when everything is mastered."""
    missing = [1.0 - rate for rate in success]
    whole = sum(missing)
    return [value / whole for value in missing] if whole > 0 else [1.0 / len(success)] * len(success)


def e2h_cosine(step: float, total: float, levels: int) -> list[float]:
    """Shares of the difficulty levels 0 (easy) to levels - 1, from easy-heavy to hard-heavy (arXiv 2506.06632)."""
    easy = (1 + math.cos(math.pi * step / total)) / 2
    whole = levels * (levels + 1) / 2
    shares = [easy * (levels - i) / whole + (1 - easy) * (i + 1) / whole for i in range(levels)]
    floor = 2 / (levels * (levels + 1))
    raised = [max(share, floor) for share in shares]
    return [share / sum(raised) for share in raised]


def e2h_gaussian(
    step: float, total: float, levels: int, *, mu_exp: float = 0.5, sigma: float = 0.5, min_prob: float = 0.0
) -> list[float]:
    """Shares of the levels by a Gaussian whose centre moves from easy to hard (arXiv 2506.06632)."""
    centre = (step / total) ** mu_exp * (levels - 1)
    weights = [math.exp(-((i - centre) ** 2) / (2 * sigma**2)) for i in range(levels)]
    whole = sum(weights)
    return [min_prob + (1 - levels * min_prob) * weight / whole for weight in weights]


E2H: dict[str, Callable[..., list[float]]] = {"e2h_cosine": e2h_cosine, "e2h_gaussian": e2h_gaussian}
"""(place in the run, its length, levels, options) -> shares of the levels."""


def levels_by_rate(rates: Mapping[str, float], levels: int) -> dict[str, int]:
    """Difficulty levels 0 (easy) to levels - 1 of nearly equal size, by falling pass rate, ties by id."""
    ranked = sorted(rates, key=lambda key: (-rates[key], key))
    return {key: place * levels // len(ranked) for place, key in enumerate(ranked)}


def keep_by_level(shares: Sequence[float], level_of: Mapping[str, int]) -> list[float]:
    """Chance of keeping a prompt of each level so that what is kept of a uniform order has these shares."""
    counts = Counter(level_of.values())
    weights = [share / counts[level] if counts[level] else 0.0 for level, share in enumerate(shares)]
    return [weight / max(weights) for weight in weights]


def keeps_group(scores: Sequence[float], *, band: tuple[float, float] | None = None) -> bool:
    """Whether a group's raw scores vary; with a band (PRIME, arXiv 2502.01456) whether its mean is inside, too."""
    if len(scores) < 2 or min(scores) == max(scores):
        return False
    return band is None or band[0] <= sum(scores) / len(scores) <= band[1]


def widest_groups(variances: Sequence[float], keep: float) -> list[int]:
    """Indices of the share `keep` of the groups whose rewards vary most (StarPO-S, arXiv 2504.20073), ties by index."""
    count = max(1, int(len(variances) * keep))
    ranked = sorted(range(len(variances)), key=lambda index: (-variances[index], index))
    return sorted(ranked[:count])


def mastered(history: Mapping[str, Sequence[float]], threshold: float = 0.9) -> list[str]:
    """Prompts dropped for good: one epoch's pass rate reached the threshold (ScaleRL, arXiv 2510.13786)."""
    return sorted(key for key, rates in history.items() if any(rate >= threshold for rate in rates))


def informative_chance(correct: float, attempts: float, samples: int, *, shown: bool = False) -> float:
    """Chance that `samples` new responses are neither all right nor all wrong, after `correct` of `attempts` were
    right: the pass rate r has a Beta(correct + 1/2, wrong + 1/2) distribution, and 1 - E[r^G] - E[(1-r)^G] is left.

    shown: a right demonstration stands beside them, so only all right is constant.
    """
    right, wrong = correct + 0.5, attempts - correct + 0.5
    return 1.0 - _beta_moment(right, wrong, samples) - (0.0 if shown else _beta_moment(wrong, right, samples))


def _beta_moment(a: float, b: float, power: int) -> float:
    """E[r^power] of r ~ Beta(a, b)."""
    return math.exp(math.lgamma(a + power) - math.lgamma(a) + math.lgamma(a + b) - math.lgamma(a + b + power))
