"""When enough samples are drawn: a Bayesian sequential test of a pass rate, and what any such test costs and errs.

A problem's pass rate p is in the window when low < p < high. With k of n samples right and the prior Beta(a, b),
q = P(low < p < high | k, n) = I_high(a + k, b + n - k) - I_low(a + k, b + n - k), I the regularised incomplete beta
function. Sampling stops with `drop` at q < error, with `keep` at q > 1 - error, and at the last sample by q >= 1/2.

Shape suffix NK: entry [n, k] belongs to k of n samples right; entries with k > n mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betainc, betaln

KEEP, DROP, GO_ON = 1, 0, -1

CURVE_SAMPLES = (4, 8, 12, 16, 24, 32, 48, 64)
CURVE_BAYES_SAMPLES = 96
CURVE_ERRORS = (0.2, 0.15, 0.1, 0.07, 0.05, 0.03)

Beta = tuple[float, float]
"""Parameters a, b of a Beta distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BayesTest:
    """samples: the most that are drawn.  low, high: the window.  error: see above.  prior: of the pass rates."""

    samples: int
    low: float
    high: float
    error: float = 0.05
    prior: Beta = (0.5, 0.5)

    def verdict(self, correct: int, decided: int, *, last: bool) -> int:
        """KEEP, DROP or GO_ON after `correct` of `decided`; never GO_ON at the last look."""
        q = float(inside_table(self.samples, self.low, self.high, self.prior)[decided, correct])
        if q < self.error or (last and q < 0.5):
            return DROP
        return KEEP if q > 1 - self.error or last else GO_ON


@lru_cache(maxsize=16)
def inside_table(samples: int, low: float, high: float, prior: Beta) -> NDArray[np.float64]:
    """q for every n up to `samples` and every k up to n."""
    n, k = np.meshgrid(np.arange(samples + 1), np.arange(samples + 1), indexing="ij")
    misses = np.maximum(n - k, 0)
    a, b = prior
    table: Any = betainc(a + k, b + misses, high) - betainc(a + k, b + misses, low)
    table.setflags(write=False)
    return table


def bayes_table(test: BayesTest, looks: Sequence[int]) -> NDArray[np.int8]:
    """The decision at every (n, k): the whole test as a table; GO_ON between the looks."""
    table = np.full((test.samples + 1, test.samples + 1), GO_ON, dtype=np.int8)
    for n in looks:
        for k in range(n + 1):
            table[n, k] = test.verdict(k, n, last=n == test.samples)
    return table


def fixed_table(test: BayesTest, *, curtailed: bool) -> NDArray[np.int8]:
    """All samples, then q >= 1/2. curtailed: stops as soon as the samples to come cannot change that."""
    N = test.samples
    final_K = (inside_table(N, test.low, test.high, test.prior)[N] >= 0.5).astype(np.int8)
    table = np.full((N + 1, N + 1), GO_ON, dtype=np.int8)
    table[N] = final_K
    for n in range(N) if curtailed else ():
        for k in range(n + 1):
            reachable = final_K[k : k + N - n + 1]
            table[n, k] = reachable[0] if (reachable == reachable[0]).all() else GO_ON
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """error: share of wrong decisions.  samples: mean number drawn."""

    error: float
    samples: float


def cost(table_NK: NDArray[np.int8], looks: Sequence[int], low: float, high: float, pool: Beta) -> Cost:
    """Of a decision table on a pool whose pass rates follow Beta(pool): exact, by walking over (n, k).

    In the pool the next sample is right with probability (a + k) / (a + b + n), and a stop at (n, k) is wrong with
    the pool's own posterior probability of the other decision.
    """
    N = table_NK.shape[0] - 1
    inside = inside_table(N, low, high, pool)
    alive_K = np.zeros(N + 2)
    alive_K[0] = 1.0
    error = samples = 0.0
    k = np.arange(N + 1)
    for n in range(N + 1):
        if n in looks:
            here_K, decision_K = alive_K[: N + 1], table_NK[n]
            wrong_K = np.where(decision_K == KEEP, 1 - inside[n], inside[n])
            stops_K = decision_K != GO_ON
            error += float((here_K * wrong_K)[stops_K].sum())
            samples += n * float(here_K[stops_K].sum())
            alive_K = np.append(np.where(stops_K, 0.0, here_K), 0.0)
        right_K = np.append((pool[0] + k) / (sum(pool) + n) * alive_K[: N + 1], 0.0)
        alive_K = alive_K - right_K + np.roll(right_K, 1)
    return Cost(error=error, samples=samples)


def curve(low: float, high: float, pool: Beta) -> dict[str, list[dict[str, float]]]:
    """Error against mean samples on a pool: fixed n, curtailed n, and Bayes with n = 96 and several tolerances."""
    found: dict[str, list[dict[str, float]]] = {"fixed": [], "curtailed": [], "bayes": []}

    def add(name: str, label: float, table: NDArray[np.int8], looks: Sequence[int]) -> None:
        point = cost(table, looks, low, high, pool)
        found[name].append({"at": label, "error": point.error, "samples": point.samples})

    for n in CURVE_SAMPLES:
        test = BayesTest(samples=n, low=low, high=high, prior=pool)
        add("fixed", n, fixed_table(test, curtailed=False), [n])
        add("curtailed", n, fixed_table(test, curtailed=True), range(1, n + 1))
    for error in CURVE_ERRORS:
        test = BayesTest(samples=CURVE_BAYES_SAMPLES, low=low, high=high, error=error, prior=pool)
        looks = range(4, test.samples + 1, 4)
        add("bayes", error, bayes_table(test, looks), looks)
    return found


def fit_pool(tallies: Sequence[tuple[int, int]]) -> Beta:
    """Parameters of the Beta distribution under which (correct, attempts) are most likely.

    When sampling stopped does not matter: it leaves the likelihood p^k (1 - p)^(n - k) as it is. Kept within
    [0.02, 50], for a pool that is all alike has no finite maximum.
    """
    k = np.array([correct for correct, _ in tallies], dtype=np.float64)
    n = np.array([attempts for _, attempts in tallies], dtype=np.float64)

    def loss(logs: NDArray[np.float64]) -> float:
        a, b = np.exp(logs)
        return -float(np.sum(betaln(a + k, b + n - k) - betaln(a, b)))

    bound = (np.log(0.02), np.log(50.0))
    found = minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=[bound, bound])
    a, b = np.exp(found.x)
    return float(a), float(b)
