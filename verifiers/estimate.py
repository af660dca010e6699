"""How often a verifier is wrong, from its verdicts on all rows and labels on a few of them.

The rows are put into strata by verifier, verdict, reason and source; inside a stratum the verdict is a constant, so
the prediction-powered estimate of a total is the sum over strata of size times labelled error share (Angelopoulos et
al. 2023, "Prediction-powered inference"; stratified: Fisch et al. 2024). FNR = P(not accepted | truly correct) and
FPR = P(accepted | truly wrong) are ratios of such totals.

Errors are rare and labels few, so a normal interval would be too short. Error shares of the strata of one verifier and
one verdict are taken as draws of a beta distribution whose mean and concentration are integrated out on a grid; unseen
rows are drawn from the posterior, and the interval is a quantile range of the ratio. The lower bound comes from a
prior that leans to few errors, the upper bound from one that leans to many, so that neither prior is trusted to be
right (`benchmarks/audit_coverage.py` prints the coverage).

All this needs the labels to be a random sample inside each stratum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SMALLEST_SHARE = 0.02
"""A stratum with a smaller share of the rows is merged with the others of its verifier and verdict."""
OTHER = "(other)"
DRAWS = 4_000
LEVEL = 0.95

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Where a row belongs before any label is known."""

    verifier: str
    accepted: bool
    reason: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strata:
    """Counts by stratum, all of shape (strata,). of_row: the stratum of every row, shape (rows,).

    errors: labelled rows whose label contradicts the verdict. groups: strata of one verifier and one verdict.
    """

    cells: tuple[Cell, ...]
    of_row: Ints
    size: Ints
    labelled: Ints
    errors: Ints
    accepted: NDArray[np.bool_]
    groups: tuple[Ints, ...]

    def with_labels(self, labelled: Ints, errors: Ints) -> Strata:
        return replace(self, labelled=labelled, errors=errors)


def stratify(cells: Sequence[Cell], correct: Sequence[bool | None]) -> Strata:
    """cells: one a row. correct: the label of each row, None without one."""
    counts = Counter(cells)
    small = {cell for cell, n in counts.items() if n < SMALLEST_SHARE * len(cells)}
    merged = [replace(cell, reason=OTHER, source=OTHER) if cell in small else cell for cell in cells]
    names = sorted(set(merged), key=lambda cell: (cell.verifier, not cell.accepted, cell.reason, cell.source))
    place = {cell: index for index, cell in enumerate(names)}
    of_row = np.array([place[cell] for cell in merged], dtype=np.int64)
    known = np.array([label is not None for label in correct], dtype=bool)
    wrong = np.array([label is not None and label != cell.accepted for label, cell in zip(correct, cells, strict=True)])
    members: dict[tuple[str, bool], list[int]] = {}
    for index, cell in enumerate(names):
        members.setdefault((cell.verifier, cell.accepted), []).append(index)
    count = len(names)
    return Strata(
        cells=tuple(names),
        of_row=of_row,
        size=np.bincount(of_row, minlength=count),
        labelled=np.bincount(of_row[known], minlength=count),
        errors=np.bincount(of_row[wrong.astype(bool)], minlength=count),
        accepted=np.array([cell.accepted for cell in names], dtype=bool),
        groups=tuple(np.array(group, dtype=np.int64) for group in members.values()),
    )


# ---- model ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Beta(few, many) on the mean error share of a group of strata."""

    few: float
    many: float


MIDDLE, LOW = Prior(few=0.5, many=3.0), Prior(few=0.05, many=3.0)
HIGH_MANY = 2.0


def low_prior(_: float) -> Prior:
    """Leans to few errors."""
    return LOW


def high_prior(share: float) -> Prior:
    """Leans to many errors: one error more than seen, shared by the groups with the same verdict according to size.
    With a single group that is the prior whose upper bound is Clopper and Pearson's."""
    return Prior(few=max(0.1, share), many=HIGH_MANY)


_MEANS = (0.001, 0.002, 0.004, 0.007, 0.012, 0.02, 0.035, 0.06, 0.1, 0.15, 0.22, 0.3, 0.4, 0.5, 0.62, 0.75, 0.88)
_CONCENTRATIONS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


@lru_cache(maxsize=128)
def _grid(prior: Prior) -> tuple[Floats, Floats, Floats]:
    """Mean, concentration and log weight of every point of the grid."""
    means, strengths = np.meshgrid(np.array(_MEANS), np.array(_CONCENTRATIONS), indexing="ij")
    spacing = np.gradient(np.array(_MEANS))[:, None] * np.ones_like(means)
    density = spacing * means ** (prior.few - 1) * (1 - means) ** (prior.many - 1)
    return means.ravel(), strengths.ravel(), np.log(density.ravel())


def _weights(prior: Prior, errors: Ints, labelled: Ints) -> Floats:
    """Posterior weights of the grid given the labelled strata of one group."""
    from scipy.special import betaln

    means, strengths, log_weight = _grid(prior)
    a, b = (means * strengths)[:, None], ((1 - means) * strengths)[:, None]
    seen = labelled > 0
    x, n = errors[seen], labelled[seen]
    total = log_weight + (betaln(a + x, b + n - x) - betaln(a, b)).sum(axis=1)
    weights = np.exp(total - total.max())
    return weights / weights.sum()


def _draw_errors(strata: Strata, prior_of: Callable[[float], Prior], generator: np.random.Generator) -> Floats:
    """Error counts of the whole strata, shape (draws, strata): those seen and those drawn for the unlabelled rows.
    prior_of: the prior of a group, given its share of the rows with the same verdict."""
    drawn = np.zeros((DRAWS, len(strata.cells)))
    for group in strata.groups:
        side = strata.accepted == strata.accepted[group[0]]
        prior = prior_of(round(float(strata.size[group].sum() / strata.size[side].sum()), 2))
        means, strengths, _ = _grid(prior)
        errors, labelled = strata.errors[group], strata.labelled[group]
        points = generator.choice(len(means), size=DRAWS, p=_weights(prior, errors, labelled))
        a = (means * strengths)[points][:, None] + errors
        b = ((1 - means) * strengths)[points][:, None] + labelled - errors
        drawn[:, group] = errors + generator.binomial(strata.size[group] - labelled, generator.beta(a, b))
    return drawn


def rates_of(strata: Strata, errors: Floats) -> tuple[Floats, Floats]:
    """FNR and FPR of error counts of shape (..., strata); nan where no row is truly correct or truly wrong."""
    accepted, size = strata.accepted, strata.size
    false_positive = errors[..., accepted].sum(axis=-1)
    false_negative = errors[..., ~accepted].sum(axis=-1)
    right = false_negative + size[accepted].sum() - false_positive
    wrong = false_positive + size[~accepted].sum() - false_negative
    with np.errstate(divide="ignore", invalid="ignore"):
        return false_negative / right, false_positive / wrong


# ---- estimate ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One rate of the whole file with its 95 % interval. estimate: None where the labels show no row that counts
    (no wrong one for the FPR); the interval is then all that is said."""

    estimate: float | None
    low: float
    high: float


def estimate(strata: Strata, *, seed: int = 0) -> dict[str, Estimate] | None:
    """`fnr` and `fpr`. None when the accepted or the other rows have no label at all: nothing is known of them."""
    for side in (strata.accepted, ~strata.accepted):
        if strata.size[side].sum() and not strata.labelled[side].sum():
            return None
    generator = np.random.default_rng(seed)
    found = rates_of(strata, _weighted(strata))
    low, high = (rates_of(strata, _draw_errors(strata, prior, generator)) for prior in (low_prior, high_prior))
    tail = (1 - LEVEL) / 2
    result: dict[str, Estimate] = {}
    for name, point, below, above in zip(("fnr", "fpr"), found, low, high, strict=True):
        # sums of weights may pass 1 by a rounding
        bounds = (max(0.0, _quantile(below, tail, 0.0)), min(1.0, _quantile(above, 1 - tail, 1.0)))
        if np.isfinite(point):
            value = min(1.0, max(0.0, float(point)))
            result[name] = Estimate(estimate=value, low=min(bounds[0], value), high=max(bounds[1], value))
        else:
            result[name] = Estimate(estimate=None, low=bounds[0], high=bounds[1])
    return result


def _quantile(values: Floats, share: float, otherwise: float) -> float:
    """`otherwise` when the rate is undefined in some draws: then it is not bounded."""
    return float(np.quantile(values, share)) if np.isfinite(values).all() else otherwise


def _weighted(strata: Strata) -> Floats:
    """Error counts of the strata, extrapolated from their labels; a stratum without labels takes the share of its
    group, a group without labels that of all groups with its verdict."""
    shares = np.zeros(len(strata.cells))
    for group in strata.groups:
        side = strata.accepted == strata.accepted[group[0]]
        known = strata.labelled[group].sum()
        whole = strata.errors[side].sum() / max(1, strata.labelled[side].sum())
        pooled = strata.errors[group].sum() / known if known else whole
        own = strata.errors[group] / np.maximum(strata.labelled[group], 1)
        shares[group] = np.where(strata.labelled[group] > 0, own, pooled)
    return shares * strata.size


# ---- where the next labels help most -------------------------------------------------------------------------------


def plan(strata: Strata, count: int) -> Ints:
    """How many of the next `count` labels each stratum should get, shape (strata,).

    Between groups: each label goes where it reduces the variances of FNR and FPR most, relative to those of a simple
    random sample (Neyman, with what the labels so far say of the error shares). Inside a group: in proportion to size,
    so that the group's labels are a fair picture of it.
    """
    a, b = _group_beliefs(strata)
    size = np.array([strata.size[group].sum() for group in strata.groups])
    taken = np.array([strata.labelled[group].sum() for group in strata.groups])
    accepted = np.array([strata.accepted[group[0]] for group in strata.groups])
    added = np.zeros(len(strata.cells), dtype=np.int64)
    for _ in range(min(count, int(size.sum() - taken.sum()))):
        gain = _gain(a, b, size, accepted)
        gain[taken >= size] = -1.0
        chosen = int(gain.argmax())
        group = strata.groups[chosen]
        have = (strata.labelled + added)[group]
        wish = np.where(have < strata.size[group], strata.size[group] / (have + 0.5), -1.0)
        added[group[int(wish.argmax())]] += 1
        taken[chosen] += 1
        share = a[chosen] / (a[chosen] + b[chosen])
        a[chosen] += share
        b[chosen] += 1 - share
    return added


def _group_beliefs(strata: Strata) -> tuple[Floats, Floats]:
    """Beta parameters of the error share of every group as a whole."""
    means, strengths, _ = _grid(MIDDLE)
    a, b = np.zeros(len(strata.groups)), np.zeros(len(strata.groups))
    for index, group in enumerate(strata.groups):
        errors, labelled, size = strata.errors[group], strata.labelled[group], strata.size[group]
        weights = _weights(MIDDLE, errors, labelled)
        mean = float(weights @ means)
        strength = float(np.exp(weights @ np.log(strengths)))
        share = float(((mean * strength + errors) / (strength + labelled)) @ size / size.sum())
        total = MIDDLE.few + MIDDLE.many + labelled.sum()
        a[index], b[index] = share * total, (1 - share) * total
    return a, b


def _gain(a: Floats, b: Floats, size: Ints, accepted: NDArray[np.bool_]) -> Floats:
    """What one more label in each group takes off the summed relative variances of FNR and FPR (delta method)."""
    total = a + b
    share = a / total
    errors = share * size
    false_positive, false_negative = errors[accepted].sum(), errors[~accepted].sum()
    right = max(1e-9, false_negative + size[accepted].sum() - false_positive)
    wrong = max(1e-9, false_positive + size[~accepted].sum() - false_negative)
    fnr, fpr = false_negative / right, false_positive / wrong
    slope_fnr = np.where(accepted, fnr, 1 - fnr) / right
    slope_fpr = np.where(accepted, 1 - fpr, fpr) / wrong
    spread = share * (1 - share) / (total + 1) * size.astype(float) ** 2
    simple_fnr = max(1e-12, fnr * (1 - fnr) / right)
    simple_fpr = max(1e-12, fpr * (1 - fpr) / wrong)
    return spread / (total + 1) * (slope_fnr**2 / simple_fnr + slope_fpr**2 / simple_fpr)
