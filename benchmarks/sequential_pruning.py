"""Error against samples of the tests of `stages.difficulty`, on four simulated pools.

    python benchmarks/sequential_pruning.py
    python benchmarks/sequential_pruning.py --json

A problem is worth keeping when its true pass rate lies in the window 1/16 to 15/16. Each pool draws the pass rates of
40,000 problems from a Beta distribution, which is also the prior; an error is a wrong decision. Fixed 64 decides by the
posterior after 64 samples, curtailed stops when that cannot change any more, Bayes stops when the posterior is certain
enough, after 96 samples at the latest. The curve (fixed n and Bayes with other numbers of samples and tolerances) is
exact, without simulation. Last, curtailed `fixed n` of the recipe (rate of n = 8, 16, 64 samples strictly between 0 and
1) against its decisions on the same recorded samples. Seconds on one core.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from pipeline.sampling import rounds
from pipeline.sequential import GO_ON, KEEP, BayesTest, Beta, bayes_table, cost, curve, fixed_table
from pipeline.stages.difficulty import Tally, verdict

POOLS: dict[str, Beta] = {"u-shaped": (0.35, 0.35), "easy": (0.9, 0.35), "hard": (0.35, 0.9), "uniform": (1.0, 1.0)}
LOW, HIGH = 1 / 16, 15 / 16
SAMPLES = 64
BAYES_SAMPLES, ERROR = 96, 0.05
"""The few problems near the border get more samples than a fixed 64 gives them, all others far fewer."""

ITEMS, SEED = 40_000, 20_260_101


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(SEED)
    pools = {name: simulate(pool, rng) for name, pool in POOLS.items()}
    recorded = {str(n): curtailed(n, rng) for n in (8, 16, 64)}
    settings = {
        "window": [LOW, HIGH],
        "fixed": SAMPLES,
        "bayes": {"samples": BAYES_SAMPLES, "error": ERROR},
        "pools": POOLS,
        "items": ITEMS,
        "seed": SEED,
    }
    if arguments.json:
        print(json.dumps({"settings": settings, "pools": pools, "recorded": recorded}, indent=1))
        return
    print("| pool | fixed 64: error | Bayes: error | samples | of 64 | curtailed: samples |")
    print("|---|---|---|---|---|---|")
    for name, row in pools.items():
        fixed, bayes, early = row["fixed"], row["bayes"], row["curtailed"]
        share = bayes["samples"] / SAMPLES
        print(
            f"| {name} Beta{POOLS[name]} | {fixed['error']:.4f} | {bayes['error']:.4f} | {bayes['samples']:.1f} "
            f"| {share:.1%} | {early['samples']:.1f} (same decisions) |"
        )
    print("\n| n | samples, curtailed | decisions that differ |")
    print("|---|---|---|")
    for n, row in recorded.items():
        print(f"| {n} | {row['samples']:.2f} | {row['different']} of {row['items']} |")


def simulate(pool: Beta, rng: np.random.Generator) -> dict[str, Any]:
    """Every problem's outcomes are drawn once; all tests decide on them."""
    fixed = BayesTest(samples=SAMPLES, low=LOW, high=HIGH, prior=pool)
    bayes = BayesTest(samples=BAYES_SAMPLES, low=LOW, high=HIGH, error=ERROR, prior=pool)
    rates = rng.beta(*pool, size=ITEMS)
    hits = (rng.random((ITEMS, BAYES_SAMPLES)) < rates[:, None]).cumsum(1)
    inside = (rates > LOW) & (rates < HIGH)
    tables = {
        "fixed": (fixed_table(fixed, curtailed=False), [SAMPLES]),
        "curtailed": (fixed_table(fixed, curtailed=True), rounds(SAMPLES)),
        "bayes": (bayes_table(bayes, rounds(BAYES_SAMPLES)), rounds(BAYES_SAMPLES)),
    }
    found: dict[str, Any] = {}
    for name, (table, at) in tables.items():
        keeps, drawn = decide(table, at, hits)
        exact = cost(table, at, LOW, HIGH, pool)
        found[name] = {
            "error": float(np.mean(keeps != inside)),
            "samples": float(drawn.mean()),
            "exact": {"error": exact.error, "samples": exact.samples},
        }
    found["curve"] = curve(LOW, HIGH, pool)
    return found


def decide(
    table: NDArray[np.int8], looks: list[int], hits: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Whether each problem is kept, and after how many samples; hits[i, n - 1] are those of its first n samples."""
    keeps = np.zeros(len(hits), dtype=bool)
    drawn = np.zeros(len(hits), dtype=np.int64)
    for n in looks:
        decision = table[n, hits[:, n - 1]]
        now = (drawn == 0) & (decision != GO_ON)
        keeps[now], drawn[now] = decision[now] == KEEP, n
    return keeps, drawn


def curtailed(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """The recipe's own rule on recorded samples: stopped early, and on all n."""
    items = 4_000
    outcomes = rng.random((items, n)) < rng.beta(0.35, 0.35, size=items)[:, None]
    different = samples = 0
    for row in outcomes:
        final = verdict(tally(row), n, 0.0, 1.0)
        early, drawn = next(
            (found, look) for look in rounds(n) if (found := verdict(tally(row[:look]), n, 0.0, 1.0)) is not None
        )
        different += early != final
        samples += drawn
    return {"items": items, "samples": samples / items, "different": different}


def tally(outcomes: NDArray[np.bool_]) -> Tally:
    right = int(outcomes.sum())
    return Tally(correct=right, wrong=len(outcomes) - right, undecided=0, truncated=0, truncated_wrong=0)


if __name__ == "__main__":
    main()
