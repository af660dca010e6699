"""The sigmoid over compute: planted parameters are found within their intervals, and no fit where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from trainer.scaling import NoFitError, fit_sigmoid, sigmoid

COMPUTE = np.linspace(5e3, 2e5, 24)


def planted(noise: float, *, midpoint: float = 4e4, seed: int = 1) -> list[float]:
    curve = sigmoid(COMPUTE, 0.3, 0.8, 1.7, midpoint)
    curve[0] = 0.3
    return list(curve + noise * np.random.default_rng(seed).standard_normal(len(curve)))


def test_planted_parameters_are_found() -> None:
    exact = fit_sigmoid(list(COMPUTE), planted(0.0))
    assert exact.asymptote.estimate == pytest.approx(0.8, abs=1e-3)
    assert exact.steepness.estimate == pytest.approx(1.7, abs=1e-2)
    assert exact.midpoint.estimate == pytest.approx(4e4, rel=1e-2)
    noisy = fit_sigmoid(list(COMPUTE), planted(0.01, seed=3))
    for found, truth in ((noisy.asymptote, 0.8), (noisy.steepness, 1.7), (noisy.midpoint, 4e4)):
        assert found.low < found.estimate < found.high
        assert found.low - 0.05 * truth <= truth <= found.high + 0.05 * truth
    assert noisy.asymptote.high - noisy.asymptote.low < 0.2
    assert 0.005 < noisy.residual < 0.015
    assert noisy == fit_sigmoid(list(COMPUTE), planted(0.01, seed=3))


@pytest.mark.parametrize(
    ("points", "values", "reason"),
    [
        (7, planted(0.0)[:7], "needs at least 8"),
        (24, [0.5] * 24, "does not rise"),
        (24, planted(0.0, midpoint=2e6), "not bent yet"),
    ],
)
def test_no_fit_where_the_curve_does_not_tell(points: int, values: list[float], reason: str) -> None:
    with pytest.raises(NoFitError, match=reason):
        fit_sigmoid(list(COMPUTE[:points]), values)
