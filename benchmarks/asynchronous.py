"""Sampling one batch ahead of training, against in turn: what is learned at equal tokens, and how much time is hidden.

    python benchmarks/asynchronous.py --json
    python benchmarks/asynchronous.py --seeds 1 --tokens 60000

Both train data/recipes/train/addition.toml from the same base model on the same pool. `in turn` samples from the
policy's own module; `ahead` has `asynchronous = true`, whose batches are a version old and corrected by TIS. Greedy and
pass@1 (T = 1) on held-out problems: mean over the seeds and the lowest and highest seed; the difference of pass@1 by
seed with its paired t interval. Finished runs are kept under --out and not repeated.

Overlap is the share of the drawing time behind which the run went on. Where torch draws and trains on the same cores
the two slow each other down, so the run is no shorter for it; CPU seconds and the share are printed, not speed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy.stats import ttest_rel
from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from benchmarks.learning import prepare
from pipeline.atomic import write_json
from pipeline.progress import stderr_console
from pipeline.shards import read_shards
from trainer.config import algorithms_file, load_recipe
from trainer.evaluate import EvalSettings, evaluate
from trainer.loop import train

MODES: dict[str, tuple[str, ...]] = {"in turn": (), "ahead": ("asynchronous=true",)}


def main() -> None:
    arguments = parse()
    logging.disable_progress_bar()
    out: Path = arguments.out
    console = stderr_console(quiet=arguments.quiet)
    base, pool, held_out = prepare(out, console)
    runs = []
    for seed in range(arguments.seeds):
        for mode, settings in MODES.items():
            folder = out / f"{mode.replace(' ', '-')}-{seed}-{arguments.tokens}"
            common = (f"seed={seed}", f"model={base}", f"shards={pool}", f"max_generated_tokens={arguments.tokens}")
            # Both may use surplus of the same number of versions beyond the age that their batches have anyway.
            runs.append(run_once(folder, held_out, mode, [*common, "filter.max_age=2", *settings]))
            console.print(f"{mode}, seed {seed}: pass@1 {runs[-1]['pass_at_1']:.3f}")
    report = {"tokens": arguments.tokens, "runs": runs, "difference": difference(runs)}
    print(json.dumps(report, indent=1) if arguments.json else table(report))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/asynchronous"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=200_000, help="generated in training, per run")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    return arguments


def run_once(folder: Path, held_out: Path, mode: str, settings: Sequence[str]) -> dict[str, Any]:
    """Trains and evaluates, once; what came out."""
    found = folder / "measured.json"
    if not found.exists():
        started = time.process_time()
        summary = train(
            load_recipe([algorithms_file().parent / "addition.toml"], settings),
            folder,
            console=stderr_console(quiet=True),
        )
        cpu_s = time.process_time() - started
        steps = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        result = evaluate(
            folder / "final", list(read_shards(held_out)), settings=EvalSettings(samples=4, k_samples=4), label=mode
        )
        write_json(
            found,
            {
                "mode": mode,
                "steps": summary.steps,
                "tokens": summary.generated_tokens,
                "cpu_s": round(cpu_s, 1),
                "wall_s": summary.wall_s,
                "overlap": overlap(steps),
                "age": statistics.fmean(step["groups/age_mean"] or 0.0 for step in steps),
                "stale_share": steps[-1]["groups/stale_total"] / steps[-1]["groups/produced_total"],
                "effective": statistics.fmean(step.get("mismatch/effective_samples", 1.0) for step in steps),
                "greedy": statistics.fmean(result.greedy_values()),
                "pass_at_1": statistics.fmean(result.pass_at_1_values()),
            },
        )
    return json.loads(found.read_text(encoding="utf-8"))


def overlap(steps: Sequence[dict[str, Any]]) -> float | None:
    """Of all seconds of drawing ahead, those that the run did not wait for."""
    ahead = [step for step in steps if "time/drawing_s" in step]
    drawing = sum(step["time/drawing_s"] for step in ahead)
    hidden = sum(step["time/drawing_s"] * step["time/overlap_share"] for step in ahead)
    return hidden / drawing if drawing else None


def difference(runs: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """pass@1 ahead minus in turn, the mean of the seeds; the interval holds what seeds differ by."""
    turn, ahead = ([run["pass_at_1"] for run in runs if run["mode"] == mode] for mode in MODES)
    mean = statistics.fmean(ahead) - statistics.fmean(turn)
    if len(turn) < 2:
        return {"estimate": mean, "low": None, "high": None}
    found = ttest_rel(ahead, turn).confidence_interval(0.95)
    return {"estimate": mean, "low": float(found.low), "high": float(found.high)}


def table(report: dict[str, Any]) -> str:
    lines = [
        "| | greedy | pass@1, T = 1 | steps | age, versions | stale groups | effective samples | overlap | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for mode in MODES:
        chosen = [run for run in report["runs"] if run["mode"] == mode]
        cells = [_spread([run[key] for run in chosen]) for key in ("greedy", "pass_at_1")]
        cells.append(_spread([run["steps"] for run in chosen], ".0f"))
        cells.append(f"{statistics.fmean(run['age'] for run in chosen):.2f}")
        cells.append(f"{100 * statistics.fmean(run['stale_share'] for run in chosen):.1f} %")
        cells.append(f"{statistics.fmean(run['effective'] for run in chosen):.3f}")
        shares = [run["overlap"] for run in chosen if run["overlap"] is not None]
        cells.append(f"{100 * statistics.fmean(shares):.0f} %" if shares else "")
        cells.append(_spread([run["cpu_s"] for run in chosen], ".0f"))
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    gap = report["difference"]
    bounds = "" if gap["low"] is None else f" ({gap['low']:+.3f} to {gap['high']:+.3f})"
    lines += ["", f"pass@1, ahead minus in turn, by seed: {gap['estimate']:+.3f}{bounds}"]
    return "\n".join(lines)


def _spread(values: Sequence[float], form: str = ".3f") -> str:
    mean = format(statistics.fmean(values), form)
    return mean if len(values) == 1 else f"{mean} ({format(min(values), form)} to {format(max(values), form)})"


if __name__ == "__main__":
    sys.exit(main())
