"""Does `verigold train` learn the embedded task as well when vLLM samples as with the torch engine?

    tests/vllm/run.sh .venv/vllm                                    # makes the environment
    .venv/vllm/bin/python benchmarks/vllm_learning.py --json
    .venv/vllm/bin/python benchmarks/vllm_learning.py --seeds 1 --tokens 50000

Every run starts from the same base model, is a `verigold train` of its own with data/recipes/train/addition.toml, and
is measured by the same evaluation on held-out problems. Finished runs are kept under --out and not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from scipy.stats import ttest_ind

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from benchmarks.learning import prepare
from pipeline.atomic import write_json
from pipeline.progress import stderr_console
from pipeline.shards import read_shards
from trainer.config import algorithms_file
from trainer.evaluate import EvalSettings, evaluate

ROOT = Path(__file__).resolve().parent.parent
ENGINES: dict[str, tuple[str, ...]] = {"vllm": ("engine.kind=vllm", "engine.max_num_seqs=128"), "torch": ()}
MEASURES = ("greedy", "pass_at_1")


def main() -> None:
    arguments = parse()
    out: Path = arguments.out.resolve()
    console = stderr_console(quiet=arguments.quiet)
    base, pool, held_out = prepare(out, console)
    rows: list[dict[str, Any]] = []
    for seed in range(arguments.seeds):
        for engine in ENGINES:
            folder = out / f"{engine}-{seed}-{arguments.tokens}"
            cost = out / f"{folder.name}.json"
            if not cost.exists():
                write_json(cost, {"cpu_s": train(engine, seed, arguments.tokens, base, pool, folder)})
            rows.append({"engine": engine, "seed": seed, **json.loads(cost.read_text()), **told(folder)})
            rows[-1] |= measure(folder, held_out)
            console.print(f"{engine}, seed {seed}: {json.dumps(rows[-1])}")
    found = {"tokens": arguments.tokens, "runs": rows, "vllm_minus_torch": compare(rows)}
    print(json.dumps(found, indent=1) if arguments.json else table(found))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/vllm-learning"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=200_000, help="generated in training, per run")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args()


def train(engine: str, seed: int, tokens: int, base: Path, pool: Path, folder: Path) -> float:
    """Its CPU seconds, those of its children included."""
    settings = (*ENGINES[engine], f"seed={seed}", f"model={base}", f"shards={pool}", f"max_generated_tokens={tokens}")
    command = [sys.executable, "-c", "from verigold.cli import main; main()", "train"]
    command += [str(algorithms_file().parent / "addition.toml"), "--out", str(folder), "--quiet"]
    command += [word for setting in settings for word in ("--set", setting)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)


def told(folder: Path) -> dict[str, Any]:
    """Of the run's own account: steps, tokens, and the worst mean difference of log-probabilities in a step."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    gaps = [json.loads(line).get("mismatch/mean_abs") or 0.0 for line in lines]
    return {key: summary[key] for key in ("steps", "generated_tokens", "exit_reason")} | {"mismatch": max(gaps)}


def measure(folder: Path, held_out: Path) -> dict[str, Any]:
    """Greedy and pass@1 at T = 1 on the held-out problems, by the torch engine; done once."""
    path = folder / "eval" / "final.json"
    if not path.exists():
        settings = EvalSettings(samples=4, k_samples=4, k_problems=16, max_tokens=48)
        result = evaluate(folder / "final", list(read_shards(held_out)), settings=settings, label=folder.name)
        write_json(path, result.to_json())
    value = json.loads(path.read_text(encoding="utf-8"))
    return {key: value[key]["estimate"] for key in MEASURES}


def compare(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Difference of the means over seeds with its 95 % interval (Welch); `within_noise`: it holds 0."""
    found: dict[str, Any] = {}
    for key in MEASURES:
        ours, theirs = ([row[key] for row in rows if row["engine"] == name] for name in ("vllm", "torch"))
        value = statistics.fmean(ours) - statistics.fmean(theirs)
        if len(ours) > 1:
            low, high = map(float, ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95))
            found[key] = {"estimate": value, "low": low, "high": high, "within_noise": low <= 0 <= high}
        else:
            found[key] = {"estimate": value}
    return found


def table(found: dict[str, Any]) -> str:
    """One line a run, then the differences."""
    lines = ["| engine | seed | greedy | pass@1, T = 1 | steps | tokens | mismatch | CPU s |", "|" + "---|" * 8]
    lines += [
        f"| {row['engine']} | {row['seed']} | {row['greedy']:.3f} | {row['pass_at_1']:.3f} | {row['steps']} "
        f"| {row['generated_tokens']:,} | {row['mismatch']:.1e} | {row['cpu_s']:.0f} |"
        for row in found["runs"]
    ]
    for key, value in found["vllm_minus_torch"].items():
        span = f" ({value['low']:+.3f} to {value['high']:+.3f})" if "low" in value else ""
        lines.append(f"vLLM minus torch, {key}: {value['estimate']:+.3f}{span}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
