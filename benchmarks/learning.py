"""How well the algorithms learn the embedded task at equal generated tokens.

    python benchmarks/learning.py --json
    python benchmarks/learning.py --algorithms dapo control --seeds 3 --tokens 90000

Every run starts from the same base model and draws from the same pool; the held-out problems share no question with
either. Finished runs are kept under --out and not repeated. Prints a table, or JSON with --json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from pipeline import addition
from pipeline.atomic import write_json
from pipeline.progress import stderr_console
from pipeline.shards import read_shards, write_problems
from trainer.config import algorithms_file, load_recipe
from trainer.evaluate import EvalSettings, evaluate
from trainer.loop import train
from trainer.warmstart import make_base

ALGORITHMS = ("grpo", "dapo", "dr_grpo", "rloo", "cispo", "gspo", "max_rl", "reinforce_pp", "control")
OVERRIDES: dict[str, tuple[str, ...]] = {
    "control": ("algorithm=dapo", "reward.kind=random"),
    "gspo": ("optimiser.minibatches=4",),
}
"""GSPO's authors take four minibatches a batch: with fewer its ratio hardly moves."""

POOL, HELD_OUT = 2000, 1024


def main() -> None:
    arguments = parse()
    logging.disable_progress_bar()
    out: Path = arguments.out
    console = stderr_console(quiet=arguments.quiet)
    base, pool, held_out = prepare(out, console)
    rows = [measure(base, held_out, out / "base.json", {"algorithm": "base", "seed": None})]
    for algorithm in arguments.algorithms:
        for seed in range(arguments.seeds):
            folder = out / f"{algorithm}-{seed}-{arguments.tokens}"
            settings = (
                f"algorithm={algorithm}",
                *OVERRIDES.get(algorithm, ()),
                f"seed={seed}",
                f"model={base}",
                f"shards={pool}",
                f"max_generated_tokens={arguments.tokens}",
            )
            config = load_recipe([algorithms_file().parent / "addition.toml"], settings)
            started = time.process_time()
            summary = train(config, folder, console=stderr_console(quiet=True))
            cost = {"cpu_s": round(time.process_time() - started, 1)}
            console.print(f"{algorithm}, seed {seed}: {summary.exit_reason}, {summary.steps} steps")
            about = {
                "algorithm": algorithm,
                "seed": seed,
                "steps": summary.steps,
                "generated_tokens": summary.generated_tokens,
                **cost,
            }
            rows.append(measure(folder / "final", held_out, folder / "eval" / "final.json", about))
    print(json.dumps({"tokens": arguments.tokens, "runs": rows}, indent=1) if arguments.json else table(rows))


def prepare(out: Path, console: Console) -> tuple[Path, Path, Path]:
    """The base model, the pool and the held-out problems under `out`; made once."""
    base = make_base(out / "base", seed=0, console=console)
    pool, held_out = out / "pool", out / "held-out"
    if not (held_out / "data").exists():
        write_problems(pool, addition.problems(POOL, 1, split="pool"))
        write_problems(held_out, addition.problems(HELD_OUT, 2, split="held-out"))
    return base, pool, held_out


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/learning"))
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200_000, help="generated in training, per run")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    return arguments


def measure(model: Path, held_out: Path, path: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Greedy and pass@1 at T = 1 on the held-out problems; done once."""
    if not path.exists():
        settings = EvalSettings(samples=4, k_samples=16, k_problems=256, max_tokens=48)
        result = evaluate(model, list(read_shards(held_out)), settings=settings, label=about["algorithm"])
        write_json(path, result.to_json() | {"about": about})
    value = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: value[key] for key in ("greedy", "pass_at_1")} | {"pass_at_16": value["pass_at_k"]["16"]}
    return value["about"] | kept


def table(rows: list[dict[str, Any]]) -> str:
    """Mean over seeds and the lowest and highest seed, one line an algorithm."""
    lines = [
        "| algorithm | seeds | greedy | pass@1, T = 1 | pass@16 | steps | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["algorithm"] for row in rows):
        chosen = [row for row in rows if row["algorithm"] == name]
        cells = [_spread([row[key]["estimate"] for row in chosen]) for key in ("greedy", "pass_at_1", "pass_at_16")]
        steps = _spread([row["steps"] for row in chosen], ".0f") if "steps" in chosen[0] else ""
        cpu = _spread([row["cpu_s"] for row in chosen], ".0f") if "cpu_s" in chosen[0] else ""
        lines.append(f"| {name} | {len(chosen)} | {' | '.join(cells)} | {steps} | {cpu} |")
    return "\n".join(lines)


def _spread(values: list[float], form: str = ".3f") -> str:
    mean = format(statistics.fmean(values), form)
    return mean if len(values) == 1 else f"{mean} ({format(min(values), form)} to {format(max(values), form)})"


if __name__ == "__main__":
    sys.exit(main())
