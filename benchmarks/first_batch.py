"""Whether the samples that curation drew may stand in for a trainer's first batches, and what that saves.

    python benchmarks/first_batch.py --json
    python benchmarks/first_batch.py --seeds 3 --tokens 90000

Each seed plants and curates its own pool of the embedded task (data/recipes/quickstart/addition.toml with
`test = "fixed"`, since a curtailed stage's samples are refused) and trains DAPO twice on what is left, with and without
`sampling.reuse`. Both arms are charged with curation's samples and may generate the same tokens: their final models are
compared at equal total tokens, and the plain one's with the other's checkpoint of the same step at equal steps. Greedy
and pass@1 (T = 1) on held-out problems; the difference by seed with its paired t interval. Finished runs are kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import safetensors.torch
from scipy.stats import ttest_rel
from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from engines.torch_engine import TorchEngine
from pipeline import addition
from pipeline.atomic import write_json
from pipeline.config import Layer, read_toml
from pipeline.problem import Problem
from pipeline.progress import stderr_console
from pipeline.run import CurateConfig, curate
from trainer.config import load_recipe
from trainer.evaluate import EvalSettings, evaluate
from trainer.loop import train
from trainer.policy import load_model
from trainer.warmstart import make_base

RECIPES = Path(__file__).resolve().parent.parent / "data" / "recipes"
MEASURES = ("greedy", "pass_at_1")
ARMS = ("plain", "reuse")


def main() -> None:
    arguments = parse()
    logging.disable_progress_bar()
    out: Path = arguments.out
    base = make_base(out / "base", seed=0, console=stderr_console(quiet=arguments.quiet))
    held_out = addition.problems(arguments.held_out, 2, split="held-out")
    seeds = [one_seed(out, base, held_out, seed, arguments) for seed in range(arguments.seeds)]
    result = {"tokens": arguments.tokens, "problems": arguments.problems, "held_out": arguments.held_out}
    result |= {"seeds": seeds, "compared": {name: compared(seeds, name) for name in ("tokens", "steps")}}
    print(json.dumps(result, indent=1) if arguments.json else table(result))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/first-batch"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=90_000, help="generated in training, per run")
    parser.add_argument("--problems", type=int, default=400, help="of a pool, before curation")
    parser.add_argument("--held-out", type=int, default=512)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    return arguments


def one_seed(
    out: Path, base: Path, held_out: list[Problem], seed: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Curates, trains both arms, evaluates their last models and those of the last step that both took."""
    curated = out / f"pool-{arguments.problems}-{seed}"
    cost = curation(curated, base, arguments.problems, seed)
    runs: dict[str, Any] = {}
    for arm in ARMS:
        folder = out / f"{arm}-{arguments.problems}-{arguments.tokens}-{seed}"
        reuse = [f"sampling.reuse={curated / 'out'}"] if arm == "reuse" else []
        settings = [f"seed={seed}", f"model={base}", f"shards={curated / 'out'}", *reuse]
        settings += [f"max_generated_tokens={arguments.tokens}", "checkpoints.every=1", "checkpoints.keep=999"]
        config = load_recipe([RECIPES / "train" / "addition.toml"], settings)
        summary = train(config, folder, console=stderr_console(quiet=arguments.quiet))
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        runs[arm] = {
            "steps": summary.steps,
            "generated_tokens": summary.generated_tokens,
            "groups_reused": sum(row["groups/reused"] for row in rows),
            "tokens_saved": sum(row["groups/reused_tokens"] for row in rows),
            "final": measured(folder, summary.steps, base, held_out),
        }
    steps = min(run["steps"] for run in runs.values())
    for arm, run in runs.items():
        folder = out / f"{arm}-{arguments.problems}-{arguments.tokens}-{seed}"
        run["same_step"] = measured(folder, steps, base, held_out)
    return {"seed": seed, "same_step": steps, "curation": cost, **runs}


def curation(folder: Path, base: Path, problems: int, seed: int) -> dict[str, int]:
    """Plants and curates one pool (a finished one is taken as it is); kept problems, and what the stages drew."""
    folder.mkdir(parents=True, exist_ok=True)
    addition.write_pool(folder / "pool.jsonl", problems, seed)
    recipe = read_toml(RECIPES / "quickstart" / "addition.toml")
    sources = [source | {"path": "pool.jsonl"} for source in recipe.table["sources"]]
    own = {
        "sources": sources,
        "sampling": {"engine": {"model": str(base)}},
        "stages": {"difficulty": {"test": "fixed"}},
    }
    config = CurateConfig.from_layers([recipe, Layer(name="benchmark", base=folder, table=own)])
    manifest = curate(config, folder / "out", console=stderr_console(quiet=True), workers=1)
    drawn = manifest["sampling"].values()
    return {"kept": manifest["rows_kept"], "samples": sum(one["samples"] for one in drawn),
            "tokens": sum(one["generated_tokens"] for one in drawn)}  # fmt: skip


def measured(folder: Path, step: int, base: Path, held_out: list[Problem]) -> dict[str, float]:
    """Greedy and pass@1 of the weights after a step; done once."""
    path = folder / "eval" / f"step-{step:05d}-{len(held_out)}.json"
    if not path.exists():
        model, tokenizer = load_model(base)
        weights = safetensors.torch.load_file(folder / "checkpoints" / f"step-{step:05d}" / "model.safetensors")
        unknown = model.load_state_dict(weights, strict=False).unexpected_keys
        assert not unknown, unknown
        settings = EvalSettings(samples=4, k_samples=4, max_tokens=48)
        write_json(path, evaluate(TorchEngine(model, tokenizer), held_out, settings=settings, label="").to_json())
    value = json.loads(path.read_text(encoding="utf-8"))
    return {name: value[name]["estimate"] for name in MEASURES}


def compared(seeds: list[dict[str, Any]], what: str) -> dict[str, Any]:
    """With reuse minus without, at equal `what`. within: the paired interval of the difference has 0 inside."""
    place = "final" if what == "tokens" else "same_step"
    found: dict[str, Any] = {}
    for name in MEASURES:
        plain, reuse = ([one[arm][place][name] for one in seeds] for arm in ARMS)
        differences = [there - here for here, there in zip(plain, reuse, strict=True)]
        found[name] = {"differences": differences, "mean": statistics.fmean(differences),
                       "plain_spread": max(plain) - min(plain)}  # fmt: skip
        if len(seeds) > 1:
            interval = ttest_rel(reuse, plain).confidence_interval(0.95)
            low, high = float(interval.low), float(interval.high)
            found[name] |= {"low": low, "high": high, "within": low <= 0 <= high}
    return found


def table(result: dict[str, Any]) -> str:
    lines = [
        "| seed | arm | kept problems | curation's tokens | training's tokens | steps | groups reused | tokens saved "
        "| greedy | pass@1 | greedy, same step | pass@1, same step |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in result["seeds"]:
        for arm in ARMS:
            run = one[arm]
            values = " | ".join(f"{run[place][name]:.3f}" for place in ("final", "same_step") for name in MEASURES)
            lines.append(
                f"| {one['seed']} | {arm} | {one['curation']['kept']} | {one['curation']['tokens']:,} "
                f"| {run['generated_tokens']:,} | {run['steps']} | {run['groups_reused']} | {run['tokens_saved']:,} "
                f"| {values} |"
            )
    lines += ["", "| at equal | measure | reuse minus plain (95 %) | by seed | plain's spread over seeds |",
              "|---|---|---|---|---|"]  # fmt: skip
    for what, measures in result["compared"].items():
        for name, one in measures.items():
            interval = f" ({one['low']:+.3f} to {one['high']:+.3f})" if "low" in one else ""
            by_seed = ", ".join(f"{value:+.3f}" for value in one["differences"])
            lines.append(f"| {what} | {name} | {one['mean']:+.3f}{interval} | {by_seed} | {one['plain_spread']:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
