"""Do the audit's intervals from few labels cover the true error rates, and how wide are they?

    python benchmarks/audit_coverage.py data/samples/graded_responses.jsonl.gz [--json]

Every row of FILE has a label. The verdicts are computed once; then, many times, 100 labels are drawn as
`verigold audit --label` draws them, the others are hidden, and the estimate is compared with the rates of all labels.
Beside it: a simple random sample of the same size with Wilson intervals, and the estimate from that same sample.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from verifiers.audit import cells_of, rate, read_rows, run_audit
from verifiers.estimate import Ints, Strata, estimate, plan, rates_of, stratify

RATES = ("fnr", "fpr")
BATCH = 10
"""Labels between two plans; the command plans after every label."""
Bounds = dict[str, tuple[float, float]]


def strata_of(file: Path) -> tuple[Strata, Ints]:
    """The strata without labels, and the true errors of each."""
    rows = read_rows(file)
    result = run_audit(rows)
    cells = cells_of(result.pairs)
    whole = stratify(cells, [row.correct for row in rows])
    if (whole.labelled != whole.size).any():
        raise SystemExit(f"{file}: some rows have no label; every row needs one")
    nothing = np.zeros_like(whole.size)
    return whole.with_labels(nothing, nothing), whole.errors


def stratified(strata: Strata, truth: Ints, labels: int, batch: int, generator: np.random.Generator) -> Strata:
    """The draw of the command: a plan, a batch of labels, a new plan."""
    labelled, errors = np.zeros_like(strata.size), np.zeros_like(strata.size)
    while labelled.sum() < labels:
        added = plan(strata.with_labels(labelled, errors), min(batch, labels - int(labelled.sum())))
        left_wrong = truth - errors
        left_good = strata.size - labelled - left_wrong
        errors = errors + generator.hypergeometric(left_wrong, left_good, added)
        labelled = labelled + added
    return strata.with_labels(labelled, errors)


def simple(strata: Strata, truth: Ints, labels: int, generator: np.random.Generator) -> Strata:
    counts = np.concatenate([truth, strata.size - truth])
    drawn = generator.multivariate_hypergeometric(counts, labels)
    wrong, good = np.split(drawn, 2)
    return strata.with_labels(wrong + good, wrong)


def wilson(strata: Strata) -> Bounds:
    """What a person would compute from a simple random sample."""
    accepted, errors, labelled = strata.accepted, strata.errors, strata.labelled
    false_positive, false_negative = int(errors[accepted].sum()), int(errors[~accepted].sum())
    right = false_negative + int(labelled[accepted].sum()) - false_positive
    wrong = false_positive + int(labelled[~accepted].sum()) - false_negative
    found = {"fnr": rate(false_negative, right), "fpr": rate(false_positive, wrong)}
    return {name: (value.low or 0.0, 1.0 if value.high is None else value.high) for name, value in found.items()}


def powered(strata: Strata, seed: int) -> Bounds:
    found = estimate(strata, seed=seed)
    if found is None:
        return dict.fromkeys(RATES, (0.0, 1.0))
    return {name: (value.low, value.high) for name, value in found.items()}


def summary(found: Sequence[Bounds], truth: dict[str, float]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name in RATES:
        low, high = np.array([bounds[name] for bounds in found]).T
        result[name] = {
            "coverage": float(((low <= truth[name]) & (truth[name] <= high)).mean()),
            "mean_width": float((high - low).mean()),
            "missed_below": float((high < truth[name]).mean()),
            "missed_above": float((low > truth[name]).mean()),
        }
    return result


def run(strata: Strata, truth: Ints, *, labels: int, resamples: int, batch: int, seed: int = 0) -> dict[str, Any]:
    """Coverage and mean width by design, and the widths relative to simple random sampling."""
    fnr, fpr = rates_of(strata, truth.astype(float))
    true = {"fnr": float(fnr), "fpr": float(fpr)}
    generator = np.random.default_rng(seed)
    designs: dict[str, Callable[[int], Bounds]] = {
        "stratified draw, estimate": lambda r: powered(stratified(strata, truth, labels, batch, generator), r),
        "simple draw, estimate": lambda r: powered(simple(strata, truth, labels, generator), r),
        "simple draw, Wilson": lambda _: wilson(simple(strata, truth, labels, generator)),
    }
    results = {name: summary([draw(r) for r in range(resamples)], true) for name, draw in designs.items()}
    base = results["simple draw, Wilson"]
    for design in results.values():
        for name in RATES:
            design[name]["relative_width"] = design[name]["mean_width"] / base[name]["mean_width"]
    return {"labels": labels, "resamples": resamples, "strata": len(strata.cells), "true": true, "designs": results}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--batch", type=int, default=BATCH, help="labels between two plans")
    parser.add_argument("--json", action="store_true", dest="as_json")
    arguments = parser.parse_args()
    started = time.monotonic()
    strata, truth = strata_of(arguments.file)
    found = run(strata, truth, labels=arguments.labels, resamples=arguments.resamples, batch=arguments.batch)
    if arguments.as_json:
        print(json.dumps(found))
        return
    true = found["true"]
    print(f"{int(strata.size.sum()):,} rows in {found['strata']} strata; FNR {true['fnr']:.4f}, FPR {true['fpr']:.4f}")
    print(f"{found['resamples']} resamples of {found['labels']} labels, {time.monotonic() - started:.0f} s")
    print(f"{'design':<28}{'rate':>5}{'coverage':>10}{'width':>8}{'relative':>10}")
    for design, values in found["designs"].items():
        for name in RATES:
            value = values[name]
            shares = f"{value['coverage']:>10.1%}{value['mean_width']:>8.3f}{value['relative_width']:>10.2f}"
            print(f"{design:<28}{name.upper():>5}{shares}")


if __name__ == "__main__":
    main()
