"""Rewritings and near misses of random ground truths: how many does a verifier refuse, or accept, wrongly?

    python benchmarks/metamorphic.py [--draws 5000] [--seed 1] [--verifier math] [--verifier math-verify]

By answer type, for each verifier. No case was written for these draws; a new seed gives fresh ones.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from verifiers.agreement import known_verifiers, verdicts_of
from verifiers.cases import LabelledRow
from verifiers.metamorphic import TYPES, Trial, trials
from verifiers.verdict import Status

SHOWN = 5


def wrong_trials(name: str, drawn: Sequence[Trial], workers: int) -> list[Trial]:
    rows = [LabelledRow(id=trial.kind, ground_truth=trial.gold, response=trial.response) for trial in drawn]
    verdicts = verdicts_of(name, rows, workers=workers)
    return [
        trial
        for trial, verdict in zip(drawn, verdicts, strict=True)
        if (verdict.status is Status.CORRECT) != trial.equal
    ]


def shares(counts: Counter[tuple[str, bool]], wrong: Counter[tuple[str, bool]], name: str | None) -> str:
    told = ""
    for equal in (True, False):
        n = sum(count for (type_, must), count in counts.items() if must == equal and name in (None, type_))
        k = sum(count for (type_, must), count in wrong.items() if must == equal and name in (None, type_))
        told += f"{n:>14,}{k:>9,}{k / max(n, 1):>9.2%}"
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verifier", action="append", choices=known_verifiers())
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    drawn = list(trials(arguments.seed, arguments.draws))
    counts = Counter((trial.type, trial.equal) for trial in drawn)
    print(f"{arguments.draws:,} draws of {len(TYPES)} types, seed {arguments.seed}")
    for name in arguments.verifier or ["math"]:
        missed = wrong_trials(name, drawn, arguments.workers)
        wrong = Counter((trial.type, trial.equal) for trial in missed)
        print(f"{name:<22}{'rewritings':>14}{'refused':>9}{'share':>9}{'near misses':>14}{'accepted':>9}{'share':>9}")
        for type_ in TYPES:
            if wrong[type_, True] or wrong[type_, False]:
                print(f"  {type_:<20}{shares(counts, wrong, type_)}")
        print(f"  {'all types':<20}{shares(counts, wrong, None)}")
        kinds = Counter((trial.type, trial.kind) for trial in missed)
        for (type_, kind), count in kinds.most_common(SHOWN):
            first = next(trial for trial in missed if (trial.type, trial.kind) == (type_, kind))
            print(f"  {count} x {type_}, {kind}: {first.gold!r} | {first.response!r}")


if __name__ == "__main__":
    main()
