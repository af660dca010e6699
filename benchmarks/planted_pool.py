"""What curation with a model in the loop removes from pools with planted defects, and what it costs.

    python benchmarks/planted_pool.py --seeds 5
    python benchmarks/planted_pool.py --seeds 2 --problems 200 --json

Every seed plants another pool of the embedded task, curated by data/recipes/quickstart/addition.toml with
the same base model, which is made once under --out (minutes on one core). Removal by planted kind with its Wilson 95 %
interval over all pools and the stages that removed, samples and tokens per decision, and, over the stored samples, what
a fixed number of samples would have cost. `clean` rows go as originals of a copy that stays, or because this model
always or never solves them; `wrong-gold` rows stay where the flawed base model hits the wrong gold at times.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from scipy.stats import binomtest
from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from pipeline.addition import Planted, planted_removal, write_pool
from pipeline.config import Layer, read_toml
from pipeline.progress import stderr_console
from pipeline.run import CurateConfig, curate
from pipeline.shards import read_shards
from trainer.warmstart import make_base

RECIPE = Path(__file__).resolve().parent.parent / "data" / "recipes" / "quickstart" / "addition.toml"
FIXED = {"guessable": "tries", "answerable": "samples", "difficulty": "samples"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/planted-pool"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--problems", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    logging.disable_progress_bar()
    console = stderr_console(quiet=arguments.quiet)
    out: Path = arguments.out.resolve()
    base = make_base(out / "base", seed=0, console=console)
    found = [measure(out / f"pool-{arguments.problems}-{seed}", base, arguments.problems, seed)
             for seed in range(arguments.seeds)]  # fmt: skip
    result = summarise(found)
    print(json.dumps({"problems": arguments.problems, "seeds": arguments.seeds} | result, indent=1)
          if arguments.json else table(result))  # fmt: skip


def measure(folder: Path, base: Path, problems: int, seed: int) -> dict[str, Any]:
    """Plants and curates one pool; a finished one is taken as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = write_pool(folder / "pool.jsonl", problems, seed)
    recipe = read_toml(RECIPE)
    sources = [source | {"path": "pool.jsonl"} for source in recipe.table["sources"]]
    own = {"sources": sources, "sampling": {"engine": {"model": str(base)}}}
    config = CurateConfig.from_layers([recipe, Layer(name="benchmark", base=folder, table=own)])
    manifest = curate(config, folder / "out", console=stderr_console(quiet=True), workers=1)
    stages = {
        stage["name"]: {
            "decisions": stage["rows_in"],
            "fixed": stage["rows_in"] * stage["params"][FIXED[stage["name"]]],
            **manifest["sampling"][stage["name"]],
        }
        for stage in manifest["stages"]
        if stage["name"] in FIXED
    }
    removed = planted_removal(pool, read_shards(folder / "out"))
    return {"removed": removed, "by": dict(removers(pool, folder / "out")), "stages": stages}


def removers(pool: list[Planted], out: Path) -> Counter[tuple[str, str]]:
    """Rows by planted kind and the stage that dropped them or set them aside."""
    found = Counter[tuple[str, str]]()
    for path in (*(out / "dropped").glob("*.parquet"), *(out / "quarantined").glob("*.parquet")):
        for source_row in pq.read_table(path, columns=["source_row"])["source_row"].to_pylist():
            found[pool[int(source_row.split("#")[1])].kind, path.stem] += 1
    return found


def summarise(found: list[dict[str, Any]]) -> dict[str, Any]:
    kinds: dict[str, Any] = {}
    for kind in sorted({kind for one in found for kind in one["removed"]}):
        n = sum(one["removed"][kind]["n"] for one in found)
        removed = sum(one["removed"][kind]["removed"] for one in found)
        interval = binomtest(removed, n).proportion_ci(0.95, method="wilson")
        by = Counter[str]()
        for one in found:
            by.update({stage: rows for (of, stage), rows in one["by"].items() if of == kind})
        kinds[kind] = {"n": n, "removed": removed, "low": float(interval.low), "high": float(interval.high)}
        kinds[kind]["by"] = dict(by.most_common())
    stages: dict[str, Any] = {}
    for name in FIXED:
        total = Counter[str]()
        for one in found:
            total.update(one["stages"][name])
        stages[name] = dict(total) | {"samples_per_decision": total["samples"] / max(1, total["decisions"])}
    return {"kinds": kinds, "stages": stages}


def table(result: dict[str, Any]) -> str:
    lines = ["| planted | rows | removed | 95 % interval | rows that went, by stage |", "|---|---|---|---|---|"]
    for kind, row in result["kinds"].items():
        share = row["removed"] / row["n"]
        by = ", ".join(f"{stage} {rows}" for stage, rows in row["by"].items())
        lines.append(f"| {kind} | {row['n']} | {share:.1%} | {row['low']:.1%} to {row['high']:.1%} | {by} |")
    lines += [
        "",
        "| stage | decisions | new samples | a decision | of a fixed number | tokens |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in result["stages"].items():
        lines.append(
            f"| {name} | {row['decisions']} | {row['samples']} | {row['samples_per_decision']:.2f} "
            f"| {row['samples'] / max(1, row['fixed']):.0%} | {row['generated_tokens']} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
