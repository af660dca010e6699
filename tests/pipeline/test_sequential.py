"""The sequential test against brute force, simulation and its own promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from pipeline.config import RecipeError
from pipeline.sequential import (
    DROP,
    GO_ON,
    KEEP,
    BayesTest,
    bayes_table,
    cost,
    curve,
    fit_pool,
    fixed_table,
    inside_table,
)
from pipeline.stages.difficulty import Tally, bayes_verdict

LOW, HIGH = 1 / 16, 15 / 16
PRIORS = st.tuples(st.floats(0.1, 5.0), st.floats(0.1, 5.0))


@given(PRIORS, st.integers(0, 20), st.data())
@settings(max_examples=40)
def test_the_posterior_is_scipys(prior: tuple[float, float], n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    posterior = beta(prior[0] + k, prior[1] + n - k)
    expected = posterior.cdf(HIGH) - posterior.cdf(LOW)
    assert inside_table(20, LOW, HIGH, prior)[n, k] == pytest.approx(expected, abs=1e-9)


@given(PRIORS, st.sampled_from([0.02, 0.1, 0.3]))
@settings(max_examples=20, deadline=None)
def test_tables_say_what_the_test_says(prior: tuple[float, float], error: float) -> None:
    test = BayesTest(samples=12, low=0.2, high=0.8, error=error, prior=prior)
    table = bayes_table(test, [4, 8, 12])
    for n in (4, 8, 12):
        assert [table[n, k] for k in range(n + 1)] == [test.verdict(k, n, last=n == 12) for k in range(n + 1)]
    assert (table[[5, 7, 11]] == GO_ON).all()
    assert GO_ON not in table[12, :13]


@given(PRIORS)
@settings(max_examples=15, deadline=None)
def test_curtailed_tables_agree_with_the_fixed_one_on_every_path(prior: tuple[float, float]) -> None:
    test = BayesTest(samples=6, low=0.2, high=0.8, prior=prior)
    fixed, early = fixed_table(test, curtailed=False), fixed_table(test, curtailed=True)
    for path in np.ndindex(*[2] * 6):
        hits = np.cumsum(path)
        decided = [early[n, hits[n - 1]] for n in range(1, 7) if early[n, hits[n - 1]] != GO_ON]
        assert decided[0] == fixed[6, hits[5]]


@pytest.mark.parametrize("pool", [(0.35, 0.35), (2.0, 1.0)])
def test_the_exact_cost_is_that_of_a_simulation(pool: tuple[float, float]) -> None:
    test = BayesTest(samples=16, low=LOW, high=HIGH, error=0.1)
    looks = [4, 8, 12, 16]
    table = bayes_table(test, looks)
    rng = np.random.default_rng(0)
    items = 20_000
    rates = rng.beta(*pool, size=items)
    hits = (rng.random((items, 16)) < rates[:, None]).cumsum(1)
    drawn, keeps = np.zeros(items), np.zeros(items, dtype=bool)
    for n in looks:
        decision = table[n, hits[:, n - 1]]
        now = (drawn == 0) & (decision != GO_ON)
        drawn[now], keeps[now] = n, decision[now] == KEEP
    wrong = np.mean(keeps != ((rates > LOW) & (rates < HIGH)))
    exact = cost(table, looks, LOW, HIGH, pool)
    assert exact.error == pytest.approx(wrong, abs=4 * np.sqrt(wrong / items))
    assert exact.samples == pytest.approx(drawn.mean(), rel=0.02)


@pytest.mark.parametrize("pool", [(0.35, 0.35), (0.9, 0.35), (0.35, 0.9), (1.0, 1.0)])
def test_bayes_needs_half_the_samples_of_fixed_64(pool: tuple[float, float]) -> None:
    bayes = BayesTest(samples=96, low=LOW, high=HIGH, prior=pool)
    looks = range(4, 97, 4)
    found = cost(bayes_table(bayes, looks), looks, LOW, HIGH, pool)
    plain = BayesTest(samples=64, low=LOW, high=HIGH, prior=pool)
    fixed = cost(fixed_table(plain, curtailed=False), [64], LOW, HIGH, pool)
    early = cost(fixed_table(plain, curtailed=True), range(1, 65), LOW, HIGH, pool)
    assert fixed.samples == pytest.approx(64)
    assert found.samples <= 0.48 * 64
    assert found.error <= fixed.error + 0.003
    assert early.error == pytest.approx(fixed.error, abs=1e-9)
    assert early.samples < 64


def test_the_curve_falls() -> None:
    for points in curve(LOW, HIGH, (0.35, 0.35)).values():
        ordered = sorted(points, key=lambda point: point["samples"])
        errors = [point["error"] for point in ordered]
        assert errors == sorted(errors, reverse=True)


def test_a_pool_is_fitted_whatever_stopped_the_sampling() -> None:
    rng = np.random.default_rng(1)
    rates = rng.beta(0.5, 1.5, size=4000)
    tallies: list[tuple[int, int]] = []
    for rate in rates:
        row = rng.random(16) < rate
        stop = next((n for n in (4, 8, 12) if 0 < row[:n].sum() < n), 16)
        tallies.append((int(row[:stop].sum()), stop))
    a, b = fit_pool(tallies)
    assert a == pytest.approx(0.5, rel=0.15)
    assert b == pytest.approx(1.5, rel=0.15)
    assert all(0.02 <= value <= 50 for value in fit_pool([(4, 4)] * 10))


def tally(correct: int, wrong: int, undecided: int = 0) -> Tally:
    return Tally(correct=correct, wrong=wrong, undecided=undecided, truncated=0, truncated_wrong=0)


def test_the_stages_verdicts() -> None:
    test = BayesTest(samples=32, low=LOW, high=HIGH)
    assert bayes_verdict(tally(0, 0), test) is None
    assert bayes_verdict(tally(0, 0, 32), test) == "undecided-at-n"
    assert bayes_verdict(tally(2, 2), test) == "keep"
    assert bayes_verdict(tally(4, 0), test) is None
    assert bayes_verdict(tally(32, 0), test) == "too-easy"
    assert bayes_verdict(tally(0, 32), test) == "too-hard"
    assert bayes_verdict(tally(0, 20, 4), test) in (None, "too-hard")
    assert test.verdict(0, 32, last=True) == DROP


def test_settings_that_decide_nothing_are_refused(sampling_settings: object) -> None:
    from pipeline.stages.difficulty import Difficulty

    for changes, message in (
        ({"test": "bayes"}, "needs a window inside 0 to 1"),
        ({"low": 0.5, "high": 0.5}, "low < high"),
        ({"keep_unsolved": True, "low": 0.1}, "exclude each other"),
        ({"prior": (0.0, 1.0)}, "two positive numbers"),
        ({"samples": 0}, "samples must be 1 or more"),
    ):
        with pytest.raises(RecipeError, match=message):
            Difficulty(sampling=sampling_settings, **changes)  # type: ignore[arg-type]


@pytest.fixture
def sampling_settings() -> object:
    from pathlib import Path

    from engines.build import TorchConfig
    from pipeline.sampling import Sampling

    return Sampling(engine=TorchConfig(model=Path("absent")))
