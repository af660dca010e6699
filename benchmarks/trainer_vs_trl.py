"""Our trainer beside TRL's GRPOTrainer: CPU seconds a step, peak memory, and the reward curves of both.

    tests/peers/run.sh ENVIRONMENTS trl       # once: makes ENVIRONMENTS/trl by requirements/peers-trl.txt (TRL 1.16)
    python benchmarks/trainer_vs_trl.py --trl-python ENVIRONMENTS/trl/bin/python --json

Cost: a randomly initialised Llama of 3.3M parameters whose end token it cannot draw, so that every response has 32
tokens (checked); 8 prompts x 8 samples; rewards by a hash of the response, which cost nothing and vary in every group.
Curves: the embedded base model learns additions for 20 steps, judged by this project's verifiers on both sides.
On both: GRPO (group std + 1e-4, clip .2, mean over responses of the mean over tokens), no KL, temperature 1, AdamW with
the same constants, float32, one thread, one child process a run, the sides in turn. `recompute` is TRL's gradient
checkpointing, which it does unless told otherwise. Peak memory is the highest resident set of the process (ru_maxrss):
interpreter, imported packages, weights, optimiser, activations; verifier processes are counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap
from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from grpo_sides import Job

from pipeline import addition
from pipeline.atomic import write_json
from pipeline.progress import stderr_console
from pipeline.shards import write_problems
from trainer.warmstart import build_tokenizer, make_base, new_model, save

WARM_UP = 2
"""Steps that are not counted: memory pools, lazy imports, the trainer's own checks."""

ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "ours": ("ours", {"rows": 16}),
    "ours, share_prompts": ("ours", {"rows": 16, "share_prompts": True}),
    "TRL": ("trl", {"rows": 64}),
    "TRL, recompute": ("trl", {"rows": 64, "recompute": True}),
}
"""rows of a forward pass: ours takes a quarter of them, which costs nothing; TRL takes all at once."""

Result = dict[str, Any]


def main() -> None:
    arguments = parse()
    logging.disable_progress_bar()
    out: Path = arguments.out
    console = stderr_console(quiet=arguments.quiet)
    pythons = {"ours": sys.executable, "trl": str(arguments.trl_python)}
    pool, random_model = out / "pool", out / "random"
    if not (pool / "data").exists():
        write_problems(pool, addition.problems(512, 1, split="pool"))
    if not (random_model / "config.json").exists():
        make_random(random_model)
    base = make_base(out / "base", seed=0, console=console)
    common = {"shards": str(pool), "out": str(out / "run"), "prompts": 8, "samples": 8, "rows": 64}
    cost = Job(
        model=str(random_model), steps=WARM_UP + arguments.steps, max_tokens=32, lr=1e-4, reward="coin", **common
    )
    rounds: dict[str, list[Result]] = {arm: [] for arm in ARMS}
    for round_ in range(arguments.rounds):
        for arm, (side, changes) in ARMS.items():
            rounds[arm].append(run(pythons[side], side, replace(cost, seed=round_, **changes), out))
            check_lengths(arm, rounds[arm][-1], cost.max_tokens)
            console.print(f"round {round_ + 1}, {arm}: {per_step(rounds[arm][-1], 'cpu_s'):.2f} CPU s a step")
    learning = Job(model=str(base), steps=20, max_tokens=48, lr=arguments.lr, reward="verifier", **common)
    curves: dict[str, list[Result]] = {"ours": [], "trl": []}
    for seed in range(arguments.seeds):
        for side, found in curves.items():
            found.append(run(pythons[side], side, replace(learning, seed=seed), out))
            console.print(f"seed {seed}, {side}: reward {statistics.fmean(found[-1]['rewards']):.3f}")
    report: dict[str, Any] = {"cost": {arm: summary(found) for arm, found in rounds.items()}}
    if arguments.seeds:
        report["curves"] = compare(curves)
    print(json.dumps(report, indent=1) if arguments.json else table(report))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trl-python", type=Path, required=True, help="of an environment that has TRL")
    parser.add_argument("--out", type=Path, default=Path("runs/trainer-vs-trl"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5, help="that are counted, a round")
    parser.add_argument("--seeds", type=int, default=3, help="of the reward curves; 0: cost alone")
    parser.add_argument("--lr", type=float, default=3e-4, help="of the reward curves")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    if arguments.seeds == 1 or arguments.rounds < 1:
        parser.error("an interval needs 2 seeds or more, a cost 1 round or more")
    arguments.out = arguments.out.resolve()
    arguments.trl_python = arguments.trl_python.absolute()  # not resolved: a link is what makes it an environment
    return arguments


def make_random(folder: Path) -> None:
    """The end token lies outside of the model's vocabulary: no response ends early, on either side."""
    tokenizer = build_tokenizer()
    tokenizer.add_tokens(["<never>"])
    tokenizer.eos_token = "<never>"
    model = new_model(0, hidden=256, layers=4, heads=4, feed_forward=688)
    for config in (model.config, model.generation_config):
        config.eos_token_id = None
    save(model, tokenizer, folder)


def run(python: str, side: str, job: Job, out: Path) -> Result:
    """What one child process prints last; kept under `out` and not repeated. Its messages are shown when it fails."""
    asked = json.dumps(asdict(job))
    kept = out / "results" / f"{side}-{blake2b(asked.encode(), digest_size=8).hexdigest()}.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [python, str(Path(__file__).with_name("grpo_sides.py")), side, asked]
    done = subprocess.run(
        command, env=os.environ | offline | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{side} failed:\n{done.stderr[-4000:]}")
    result = json.loads(done.stdout.splitlines()[-1])
    write_json(kept, result | {"job": asdict(job)})
    return result


def check_lengths(arm: str, result: Result, length: int) -> None:
    if set(result["tokens"]) != {float(length)}:
        sys.exit(f"{arm}: responses of {result['tokens']} tokens in the mean; all were to have {length}")


def per_step(result: Mapping[str, Any], key: str) -> float:
    """Mean of what passed between the calls for rewards after the warm-up."""
    values = result[key]
    return (values[-1] - values[WARM_UP - 1]) / (len(values) - WARM_UP)


def summary(found: Sequence[Result]) -> dict[str, float]:
    steps = [per_step(result, "cpu_s") for result in found]
    return {
        "cpu_s": statistics.median(steps),
        "cpu_s_low": min(steps),
        "cpu_s_high": max(steps),
        "child_cpu_s": statistics.median(per_step(result, "child_cpu_s") for result in found),
        "peak_mib": max(result["peak_mib"] for result in found),
        "child_peak_mib": max(result["child_peak_mib"] for result in found),
    }


def compare(curves: Mapping[str, Sequence[Result]]) -> dict[str, Any]:
    """Curves of mean rewards, and the difference of the means over seeds with its bootstrap interval."""
    rewards = {side: np.array([result["rewards"] for result in found]) for side, found in curves.items()}
    return {
        "cost": {side: summary(found) for side, found in curves.items()},
        "reward": {side: values.mean(0).round(4).tolist() for side, values in rewards.items()},
        "seeds": {side: values.mean(1).round(4).tolist() for side, values in rewards.items()},
        "all_steps": difference(rewards["ours"].mean(1), rewards["trl"].mean(1)),
        "last_five": difference(rewards["ours"][:, -5:].mean(1), rewards["trl"][:, -5:].mean(1)),
    }


def difference(ours: NDArray[np.float64], trl: NDArray[np.float64]) -> dict[str, float]:
    """ours - TRL of means over seeds; 95 % percentile bootstrap, seeds drawn anew on each side."""
    found = bootstrap(
        (ours, trl),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        method="percentile",
        rng=np.random.default_rng(0),
    )
    low, high = found.confidence_interval
    return {
        "ours": float(ours.mean()),
        "trl": float(trl.mean()),
        "difference": float(ours.mean() - trl.mean()),
        "low": float(low),
        "high": float(high),
    }


def table(report: Mapping[str, Any]) -> str:
    """Markdown; the ratio is to TRL without recompute, its faster way."""
    reference = report["cost"]["TRL"]["cpu_s"]
    lines = ["| 3.3M parameters, 8 x 8 x 32 | CPU s a step (rounds) | of TRL's | peak MiB |", "|---|---|---|---|"]
    for arm, found in report["cost"].items():
        spread = f"{found['cpu_s']:.2f} ({found['cpu_s_low']:.2f} to {found['cpu_s_high']:.2f})"
        lines.append(f"| {arm} | {spread} | {found['cpu_s'] / reference:.2f} | {found['peak_mib']:.0f} |")
    return "\n".join(lines + curve_lines(report["curves"]) if "curves" in report else lines)


def curve_lines(curves: Mapping[str, Any]) -> list[str]:
    lines = ["", "| embedded task, 8 x 8 x 48 | CPU s a step | verifiers' CPU s | peak MiB | a verifier's peak MiB |"]
    lines += ["|---|---|---|---|---|"]
    for side, found in curves["cost"].items():
        cells = f"{found['cpu_s']:.2f} | {found['child_cpu_s']:.2f} | {found['peak_mib']:.0f}"
        lines.append(f"| {side} | {cells} | {found['child_peak_mib']:.0f} |")
    lines += ["", "| mean reward | ours | TRL | difference (95 % of seeds) |", "|---|---|---|---|"]
    for name, key in (("20 steps", "all_steps"), ("last 5 steps", "last_five")):
        found = curves[key]
        spread = f"{found['difference']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f})"
        lines.append(f"| {name} | {found['ours']:.3f} | {found['trl']:.3f} | {spread} |")
    return lines


if __name__ == "__main__":
    main()
