"""Fit of a training curve over compute: R(C) = R_0 + (A - R_0) / (1 + (C_mid / C)^B) (ScaleRL, arXiv 2510.13786).

A is the level the curve tends to, B how steeply it rises, C_mid where half of the rise is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeWarning, curve_fit

MIN_POINTS = 8
"""Three parameters and a noise level ask for this many evaluations at least."""

RESAMPLES = 200
MAX_STEEPNESS = 10.0


class NoFitError(ValueError):
    """The curve does not tell A, B and C_mid; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A parameter with its 95 % interval: percentiles over refits to the curve plus resampled residuals."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sigmoid:
    """start: R_0, the first measurement.  residual: root mean square of what the curve leaves."""

    start: float
    asymptote: Fitted
    steepness: Fitted
    midpoint: Fitted
    residual: float
    points: int


Array = NDArray[np.float64]


def sigmoid(compute: Array, start: float, asymptote: float, steepness: float, midpoint: float) -> Array:
    return start + (asymptote - start) / (1.0 + (midpoint / compute) ** steepness)


def fit_sigmoid(compute: Sequence[float], reward: Sequence[float], *, seed: int = 0) -> Sigmoid:
    """Least squares over the points after the first, which is R_0; rewards are rates in [0, 1].

    The residuals are taken to be independent; the interval says nothing of another run's noise. Raises NoFitError for
    too few points, for a curve that does not rise, and for one that has not bent yet, for then any A above fits.
    """
    x, y = np.asarray(compute, dtype=np.float64), np.asarray(reward, dtype=np.float64)
    if len(x) < MIN_POINTS:
        raise NoFitError(f"{len(x)} measurements; a fit of A, B and C_mid needs at least {MIN_POINTS}")
    start, x, y = float(y[0]), x[1:], y[1:]
    if y[-3:].mean() <= start:
        raise NoFitError("the curve does not rise above its first measurement")
    scale = float(x[-1])
    best = _least_squares(x / scale, y, start, (min(max(float(y.max()), start + 1e-3), 1.0), 1.0, 0.3))
    if best[2] > 1.0:
        raise NoFitError("the curve has not bent yet: half of the rise lies beyond the last measurement")
    left = y - sigmoid(x / scale, start, *best)
    refits = _refits(x / scale, y - left, left - left.mean(), start, best, seed)
    low, high = np.percentile(refits, [2.5, 97.5], axis=0)
    units = np.array([1.0, 1.0, scale])
    asymptote, steepness, midpoint = (
        Fitted(estimate=float(value), low=float(least), high=float(most))
        for value, least, most in zip(best * units, low * units, high * units, strict=True)
    )
    return Sigmoid(
        start=start,
        asymptote=asymptote,
        steepness=steepness,
        midpoint=midpoint,
        residual=float(np.sqrt(np.mean(left**2))),
        points=len(x) + 1,
    )


def _least_squares(x: Array, y: Array, start: float, first: Sequence[float] | Array) -> Array:
    def model(at: Array, asymptote: float, steepness: float, midpoint: float) -> Array:
        return sigmoid(at, start, asymptote, steepness, midpoint)

    bounds = ((start, 0.1, 1e-4), (max(1.0, start + 1e-2), MAX_STEEPNESS, 100.0))
    try:
        found, _ = curve_fit(model, x, y, p0=first, bounds=bounds, max_nfev=2000)
    except (RuntimeError, OptimizeWarning) as error:
        raise NoFitError(f"least squares do not converge ({error})") from None
    return np.asarray(found, dtype=np.float64)


def _refits(x: Array, curve: Array, left: Array, start: float, best: Array, seed: int) -> Array:
    random = np.random.default_rng(seed)
    wider = np.sqrt(len(x) / max(len(x) - 3, 1))  # residuals of a fit are smaller than the noise by the parameters
    return np.array(
        [_least_squares(x, curve + wider * random.choice(left, len(left)), start, best) for _ in range(RESAMPLES)]
    )
