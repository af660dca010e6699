"""How many leaks decontamination finds, and how many clean rows it flags.

    python benchmarks/decontamination.py --data DIR [--json]

DIR holds `sources` and `bench` as recipes/full.toml names them. Recall: MATH-500 under the reformattings of
`reformatting.py`; GSM8K test reworded by a language model; the leaks between public sets that were found by reading.
The same with benchmarks as hashes. Precision: GSM8K train against GSM8K test, which share no item.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from reformatting import PERTURBATIONS

from pipeline.benchmark_hashes import write_hashes
from pipeline.benchmarks import Benchmark
from pipeline.config import Layer, build
from pipeline.presets import TRAINING_ONLY, load_preset
from pipeline.problem import Problem
from pipeline.sources import Source, read_source
from pipeline.stages.clean import Clean
from pipeline.stages.decontaminate import Decontaminate, Hit

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    "gsm8k_train": ("gsm8k", "sources/gsm8k_train.jsonl.gz"),
    "gsm8k_test": ("gsm8k", "bench/gsm8k_test.jsonl.gz"),
    "gsm8k_test_rephrased": ("gsm8k_rephrased", "sources/gsm8k_test_rephrased.jsonl.gz"),
    "gsm_hard": ("gsm_hard", "sources/gsm_hard.jsonl.gz"),
    "math500": ("math500", "bench/math500.jsonl.gz"),
    "math_test": ("math_solutions", "sources/math_test_full.jsonl.gz"),
    "math_train": ("math_train_rllm", "sources/math_train_rllm.jsonl.gz"),
    "math8k": ("math8k_simplerl", "sources/math8k_simplerl.jsonl.gz"),
    "aime": ("aime_rllm", "sources/aime_1983_2023_rllm.jsonl.gz"),
    "aime22_24": ("aimo_validation", "bench/aime22_24_aimo.jsonl.gz"),
    "deepscaler": ("deepscaler_sub", "sources/deepscaler_sub_1209.parquet"),
    "omni": ("omni_math_rule", "sources/omni_math_rule.jsonl.gz"),
    "olympiad": ("olympiadbench", "sources/olympiadbench_oe_en.jsonl.gz"),
}
READ = (
    ("math8k", "math500", ((3564, 386), (645, 339))),
    ("aime", "math500", ((177, 101), (744, 110), (302, 292), (786, 80), (1, 489), (725, 285), (560, 412))),
    ("omni", "math500", ((2614, 394), (1517, 494))),
    ("deepscaler", "aime22_24", ((111, 49),)),
    ("math_train", "olympiad", ((6844, 346), (4520, 522))),
    ("deepscaler", "math_test", ((659, 2624), (580, 2909), (332, 2331))),
)
"""(rows, benchmark, pairs found by reading)."""
COUNTED = (
    ("math8k", "math_test", 2936),
    ("aime", "aime22_24", 56),
    ("omni", "olympiad", 13),
    ("math8k", "olympiad", 8),
    ("gsm_hard", "gsm8k_test", 329),
)
"""(rows, benchmark, items that are known to leak)."""


def _build(kind: Any, name: str, data: Path) -> Any:
    preset, file = FILES[name]
    keys = load_preset(preset, "benchmark").source
    left_out = {"hub", "subset", "revision"} | (TRAINING_ONLY if kind is Benchmark else set())
    table = {key: value for key, value in keys.items() if key not in left_out}
    return build(kind, [Layer(name=name, base=data, table={**table, "name": name, "path": str(data / file)})])


def problems(name: str, data: Path) -> list[Problem]:
    """The cleaned rows of a set: instructions are cut, and no row is dropped."""
    rows = read_source(_build(Source, name, data))
    return [Clean().mend(row)[0] for row in rows if isinstance(row, Problem)]


def benchmark(name: str, data: Path) -> Benchmark:
    return _build(Benchmark, name, data)


def hits(rows: Sequence[Problem], against: Benchmark) -> list[tuple[Problem, Hit]]:
    """Rows with the item behind them; rows that share a template only are left out."""
    found = Decontaminate(benchmarks=(against,)).find(rows)
    return [(row, hit) for row, hit in zip(rows, found, strict=True) if hit is not None and hit.rule != "template"]


def hashed(against: Benchmark, folder: Path) -> Benchmark:
    """The same benchmark, known by its hashes only."""
    path = folder / f"{against.name}.jsonl.gz"
    write_hashes(against, path)
    return Benchmark(name=against.name, hashes=path)


def reformatted(against: Benchmark, rows: Sequence[Problem]) -> dict[str, float]:
    """Share of items found under each reformatting."""
    found: dict[str, float] = {}
    for name, perturb in PERTURBATIONS.items():
        copies = [replace(row, question=perturb(row.question, row.index)) for row in rows]
        found[name] = round(len(hits(copies, against)) / len(rows), 4)
    return found


def measure(data: Path) -> dict[str, Any]:
    """Everything this file prints, as JSON values."""
    math500, gsm8k = benchmark("math500", data), benchmark("gsm8k_test", data)
    items, reworded, clean = (problems(name, data) for name in ("math500", "gsm8k_test_rephrased", "gsm8k_train"))
    with tempfile.TemporaryDirectory() as folder:
        known = {"text": (math500, gsm8k), "hashes": (hashed(math500, Path(folder)), hashed(gsm8k, Path(folder)))}
        result: dict[str, Any] = {}
        for name, (math, school) in known.items():
            right = [1 for row, hit in hits(reworded, school) if row.index == hit.index]
            result[name] = {
                "math500_reformatted": reformatted(math, items),
                "gsm8k_test_rephrased": {"found": len(right), "of": 1319, "recall": round(len(right) / 1319, 4)},
                "gsm8k_train_flagged": {"rows": len(hits(clean, school)), "of": len(clean)},
            }
    flagged = hits(clean, gsm8k)
    result["flagged"] = [
        {"row": row.index, "item": hit.index, "rule": hit.rule, "score": round(hit.score, 4)} for row, hit in flagged
    ]
    result["read"] = [
        {"rows": rows, "benchmark": name, "pairs": len(pairs), "found": len(set(pairs) & _pairs(rows, name, data))}
        for rows, name, pairs in READ
    ]
    result["counted"] = [
        {
            "rows": rows,
            "benchmark": name,
            "known": known_items,
            "items": len({item for _, item in _pairs(rows, name, data)}),
        }
        for rows, name, known_items in COUNTED
    ]
    return result


def _pairs(rows: str, name: str, data: Path) -> set[tuple[int, int]]:
    return {(row.index, hit.index) for row, hit in hits(problems(rows, data), benchmark(name, data))}


def table(result: dict[str, Any]) -> str:
    lines = []
    for name in ("text", "hashes"):
        part = result[name]
        lines.append(f"benchmarks as {name}")
        lines += [f"  MATH-500, {kind}: {share:.2%} found" for kind, share in part["math500_reformatted"].items()]
        reworded, train = part["gsm8k_test_rephrased"], part["gsm8k_train_flagged"]
        lines.append(f"  GSM8K test reworded: {reworded['found']} of {reworded['of']} ({reworded['recall']:.2%})")
        lines.append(f"  GSM8K train flagged: {train['rows']} of {train['of']} ({train['rows'] / train['of']:.3%})")
    lines += [f"{one['rows']} in {one['benchmark']}: {one['found']} of {one['pairs']} pairs" for one in result["read"]]
    lines += [
        f"{one['rows']} in {one['benchmark']}: {one['items']} items ({one['known']} known)" for one in result["counted"]
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with sources and bench"
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.data / "bench").is_dir():
        sys.exit(f"{arguments.data}: has no folder bench; give --data")
    result = measure(arguments.data)
    print(json.dumps(result, indent=1) if arguments.json else table(result))


if __name__ == "__main__":
    main()
