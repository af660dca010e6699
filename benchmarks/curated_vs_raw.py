"""Whether curation pays: GRPO and DAPO on a raw pool of the embedded task and on what curation leaves of it.

    python benchmarks/curated_vs_raw.py --json
    python benchmarks/curated_vs_raw.py --seeds 3 --problems 400 --tokens 100000 200000

Each seed plants its own pool (pipeline/addition.py: copies, too easy and too hard rows), once with a fifth of the
golds wrong and once with the same problems and right golds. Raw: every row of it. Curated: what
data/recipes/quickstart/addition.toml keeps (with `test = "fixed"`, so that its samples may be reused). Compared at
equal training tokens, and at equal total tokens: there all tokens that curation's model wrote are charged to the
curated run, which stops that much earlier, with and without reusing its samples as first batches (`sampling.reuse`).

Greedy and pass@1 (T = 1) on held-out problems; the difference to raw by seed with its paired t interval, and a
bootstrap over the problems. A budget is a point on one run's way, so a run is trained once for all of them. Finished
runs are kept under --out and not repeated; their checkpoints are removed when they are measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import safetensors.torch
from scipy.stats import ttest_rel
from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from engines.torch_engine import TorchEngine
from pipeline import addition
from pipeline.addition import Planted, plant
from pipeline.atomic import write_json, write_text
from pipeline.config import Layer, read_toml
from pipeline.problem import Problem
from pipeline.progress import stderr_console
from pipeline.run import CurateConfig, curate
from pipeline.shards import read_shards
from trainer.config import load_recipe
from trainer.evaluate import EvalSettings, evaluate, interval
from trainer.loop import train
from trainer.policy import load_model
from trainer.warmstart import make_base

RECIPES = Path(__file__).resolve().parent.parent / "data" / "recipes"
POOLS = ("wrong golds", "right golds")
ALGORITHMS = ("grpo", "dapo")
MEASURES = ("greedy", "pass_at_1")
RAW = "raw"
ARMS = {
    RAW: (RAW, False),
    "curated, equal training": ("curated", False),
    "curated, equal total": ("curated", True),
    "curated and reused, equal total": ("reuse", True),
}
"""By arm: the run it is a point of, and whether curation's tokens are taken off its budget."""

Cell = dict[str, Any]


def main() -> None:
    arguments = parse()
    logging.disable_progress_bar()
    console = stderr_console(quiet=arguments.quiet)
    base = make_base(arguments.out / "base", seed=0, console=console)
    held_out = addition.problems(arguments.held_out, 2, split="held-out")
    pools: list[dict[str, Any]] = []
    cells: list[Cell] = []
    for seed in range(arguments.seeds):
        for pool in POOLS:
            folder = arguments.out / f"pool-{pool.split()[0]}-{arguments.problems}-{seed}"
            pools.append({"pool": pool, "seed": seed} | make_pool(folder, base, pool, arguments.problems, seed))
            for algorithm in ALGORITHMS:
                about = {"pool": pool, "algorithm": algorithm, "seed": seed}
                found = compare(folder, base, held_out, about, pools[-1]["curation_tokens"], arguments.tokens)
                console.print(f"{pool}, {algorithm}, seed {seed}: done")
                cells += found
    start = measured(arguments.out, 0, base, held_out)
    result = {"tokens": arguments.tokens, "problems": arguments.problems, "held_out": arguments.held_out}
    result |= {"base": {name: start[name] for name in MEASURES}, "pools": pools, "runs": cells_without_problems(cells)}
    result["compared"] = [
        compared(cells, pool, algorithm, budget, arm)
        for budget in arguments.tokens for pool in POOLS for algorithm in ALGORITHMS for arm in ARMS
    ]  # fmt: skip
    print(json.dumps(result, indent=1) if arguments.json else table(result))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/curated-vs-raw"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tokens", type=int, nargs="+", default=[100_000], help="budgets, per run")
    parser.add_argument("--problems", type=int, default=200, help="of a pool, before curation")
    parser.add_argument("--held-out", type=int, default=512)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    arguments.tokens = sorted(arguments.tokens)
    return arguments


def make_pool(folder: Path, base: Path, pool: str, problems: int, seed: int) -> dict[str, int]:
    """Plants one pool, reads it raw and curates it (what is finished stays); its rows, and what curation generated."""
    rows = plant(problems, seed)
    if pool == "right golds":
        rows = [replace(row, answer=row.true_answer, kind="clean") if row.kind == "wrong-gold" else row for row in rows]
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "pool.jsonl", "".join(json.dumps(asdict(row), sort_keys=True) + "\n" for row in rows))
    recipe = read_toml(RECIPES / "quickstart" / "addition.toml")
    sources = [source | {"path": "pool.jsonl"} for source in recipe.table["sources"]]
    raw = Layer(name="raw", base=folder, table={"seed": 0, "sources": sources})
    curate(CurateConfig.from_layers([raw]), folder / "raw", console=stderr_console(quiet=True), workers=1)
    own = {
        "sources": sources,
        "sampling": {"engine": {"model": str(base)}},
        "stages": {"difficulty": {"test": "fixed"}},
    }
    config = CurateConfig.from_layers([recipe, Layer(name="benchmark", base=folder, table=own)])
    manifest = curate(config, folder / "curated", console=stderr_console(quiet=True), workers=1)
    generated = sum(one["generated_tokens"] for one in manifest["sampling"].values())
    kept = read_shards(folder / "curated")
    return {"rows": len(rows), "wrong": wrong(rows, range(len(rows))), "kept": len(kept),
            "wrong_kept": wrong(rows, [one.index for one in kept]), "curation_tokens": generated}  # fmt: skip


def wrong(rows: Sequence[Planted], places: Sequence[int]) -> int:
    return sum(rows[place].kind == "wrong-gold" for place in places)


def compare(
    folder: Path, base: Path, held_out: list[Problem], about: dict[str, Any], spent: int, tokens: list[int]
) -> list[Cell]:
    """Trains the three runs of a pool, algorithm and seed and measures every arm at every budget."""
    cells: list[Cell] = []
    for name in dict.fromkeys(run for run, _ in ARMS.values()):
        out = folder / f"{name}-{about['algorithm']}-{'-'.join(map(str, tokens))}"
        last = tokens[-1] - spent if name == "reuse" else tokens[-1]
        if last <= 0:
            sys.exit(f"--tokens {tokens[-1]}: curation alone generated {spent}; give more")
        cpu_s = run(out, folder, base, name, about, last)
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        points = [(arm, budget, budget - spent if charged else budget)
                  for arm, (of, charged) in ARMS.items() if of == name for budget in tokens]  # fmt: skip
        for arm, budget, own in points:
            step = step_at(rows, own)
            value = measured(out, step, base, held_out)
            generated = rows[step - 1]["generated_tokens_total"] if step else 0
            saved = sum(row.get("groups/reused_tokens", 0) for row in rows[:step])
            cells.append(
                about | {"arm": arm, "budget": budget, "steps": step, "training_tokens": generated,
                         "reused_tokens": saved, "cpu_s_of_run": cpu_s}
                | {name: value[name] for name in (*MEASURES, "problems")}
            )  # fmt: skip
        shutil.rmtree(out / "checkpoints", ignore_errors=True)
    return cells


def run(out: Path, folder: Path, base: Path, name: str, about: dict[str, Any], tokens: int) -> float:
    """Trains, or takes the finished run; CPU seconds of its training."""
    record = out / "cpu_s.json"
    shards = folder / ("raw" if name == RAW else "curated")
    settings = [f"algorithm={about['algorithm']}", f"seed={about['seed']}", f"model={base}", f"shards={shards}"]
    settings += [f"max_generated_tokens={tokens}", "checkpoints.every=1", "checkpoints.keep=999"]
    settings += [f"sampling.reuse={folder / 'curated'}"] if name == "reuse" else []
    started = time.process_time()
    train(load_recipe([RECIPES / "train" / "addition.toml"], settings), out, console=stderr_console(quiet=True))
    if not record.exists():
        write_json(record, {"cpu_s": round(time.process_time() - started, 1)})
    return json.loads(record.read_text(encoding="utf-8"))["cpu_s"]


def step_at(rows: Sequence[dict[str, Any]], budget: int) -> int:
    """Where a run with this budget ends: the first step at which its own tokens reach it, 0 where none are left."""
    if budget <= 0:
        return 0
    return next((row["step"] for row in rows if row["generated_tokens_total"] >= budget), rows[-1]["step"])


def measured(folder: Path, step: int, base: Path, held_out: list[Problem]) -> dict[str, Any]:
    """Greedy and pass@1 of the weights after a step (0: of the base), problem by problem; done once."""
    path = folder / "eval" / f"step-{step:05d}-{len(held_out)}.json"
    if not path.exists():
        model, tokenizer = load_model(base)
        if step:
            weights = safetensors.torch.load_file(folder / "checkpoints" / f"step-{step:05d}" / "model.safetensors")
            unknown = model.load_state_dict(weights, strict=False).unexpected_keys
            assert not unknown, unknown
        settings = EvalSettings(samples=4, k_samples=4, max_tokens=48)
        path.parent.mkdir(exist_ok=True)
        write_json(path, evaluate(TorchEngine(model, tokenizer), held_out, settings=settings, label="").to_json())
    return json.loads(path.read_text(encoding="utf-8"))


def cells_without_problems(cells: Sequence[Cell]) -> list[Cell]:
    return [{name: value for name, value in cell.items() if name != "problems"} for cell in cells]


def compared(cells: Sequence[Cell], pool: str, algorithm: str, budget: int, arm: str) -> dict[str, Any]:
    """Means over the seeds of an arm at a budget, and what it is better by than raw at the same budget.

    seeds: paired t interval of the difference over seeds (pools and runs).  problems: bootstrap interval over the
    held-out problems, whose differences are means over the seeds.
    """
    places = {"pool": pool, "algorithm": algorithm, "budget": budget}
    here, raw = ([cell for cell in cells if all(cell[key] == value for key, value in (places | {"arm": name}).items())]
                 for name in (arm, RAW))  # fmt: skip
    found: dict[str, Any] = places | {"arm": arm, "steps": [cell["steps"] for cell in here],
                                      "training_tokens": [cell["training_tokens"] for cell in here]}  # fmt: skip
    for name in MEASURES:
        mine, theirs = ([cell[name]["estimate"] for cell in group] for group in (here, raw))
        found[name] = {"by_seed": mine, "mean": statistics.fmean(mine)}
        if arm == RAW:
            continue
        by_problem = [
            statistics.fmean(float(one["problems"][place][name]) - float(other["problems"][place][name])
                             for one, other in zip(here, raw, strict=True))
            for place in range(len(here[0]["problems"]))
        ]  # fmt: skip
        difference: dict[str, Any] = {"mean": found[name]["mean"] - statistics.fmean(theirs)}
        difference["problems"] = {
            key: value for key, value in asdict(interval(by_problem)).items() if key != "estimate"
        }
        if len({there - own for own, there in zip(mine, theirs, strict=True)}) > 1:
            t = ttest_rel(mine, theirs).confidence_interval(0.95)
            difference["seeds"] = {"low": float(t.low), "high": float(t.high)}
        found[name]["minus_raw"] = difference
    return found


def table(result: dict[str, Any]) -> str:
    lines = ["| pool | rows | wrong golds | kept | wrong golds kept | curation's tokens |", "|---|---|---|---|---|---|"]
    for pool in POOLS:
        own = [one for one in result["pools"] if one["pool"] == pool]
        keys = ("rows", "wrong", "kept", "wrong_kept", "curation_tokens")
        lines.append(f"| {pool} | {' | '.join(_spread([one[key] for one in own], ',.0f') for key in keys)} |")
    base = ", ".join(f"{name} {result['base'][name]['estimate']:.3f}" for name in MEASURES)
    lines += ["", f"Base: {base}. Mean over seeds (lowest to highest); minus raw: 95 % over seeds; over problems.", "",
              "| budget | pool | algorithm | arm | steps | training's tokens | greedy | pass@1 | greedy minus raw "
              "| pass@1 minus raw |", "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in result["compared"]:
        cells = [_spread(row["steps"], ".0f"), f"{statistics.fmean(row['training_tokens']):,.0f}"]
        cells += [_spread(row[name]["by_seed"], ".3f") for name in MEASURES]
        cells += [_difference(row[name].get("minus_raw")) for name in MEASURES]
        lines.append(f"| {row['budget']:,} | {row['pool']} | {row['algorithm']} | {row['arm']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _spread(values: Sequence[float], form: str) -> str:
    mean, low, high = (format(value, form) for value in (statistics.fmean(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low} to {high})"


def _difference(one: dict[str, Any] | None) -> str:
    if one is None:
        return ""
    intervals = [f"{own['low']:+.3f} to {own['high']:+.3f}" for key in ("seeds", "problems") if (own := one.get(key))]
    return f"{one['mean']:+.3f} ({'; '.join(intervals)})"


if __name__ == "__main__":
    main()
