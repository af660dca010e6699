"""Peak memory of a curation without dedupe, by number of rows: the parent must not hold the rows.

    python benchmarks/curate_memory.py 50000 200000 --workers 2

Each size runs in a process of its own. Printed as JSON: wall seconds, peak resident MB of the parent, and how much
that is over a run of 100 rows (Python and libraries).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

THINGS = ("apples", "stamps", "marbles", "books", "shells", "coins", "cards", "pens", "eggs", "maps", "keys", "bells")
RECIPE = """
seed = 1
[[sources]]
name = "made"
path = "rows.jsonl"
license = "MIT"
question = "question"
answer = "answer"
[stages.select]
weights = {made = 0.8}
max_per_template = 100000
[stages.balance]
held_out = 0.05
mix = {made = 1}
"""


def write_rows(path: Path, count: int) -> None:
    """Word problems of about 250 characters, each different."""
    with path.open("w", encoding="utf-8") as handle:
        for number in range(count):
            thing, other = THINGS[number % 12], THINGS[number // 12 % 12]
            story = " ".join(
                f"On day {day} {number % (97 + day)} {other} are traded for {day} {thing}." for day in (1, 2, 3)
            )
            question = f"Ada has {number} {thing} and {number // 7} {other}. {story} How many {thing} has she got then?"
            handle.write(json.dumps({"question": question, "answer": str(number + 6)}) + "\n")


def measure(count: int, workers: int) -> dict[str, Any]:
    """One run, in this process."""
    from rich.console import Console

    from pipeline.config import load
    from pipeline.run import CurateConfig, curate

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "recipe.toml").write_text(RECIPE, encoding="utf-8")
        write_rows(place / "rows.jsonl", count)
        started = time.perf_counter()
        config = load(CurateConfig, [place / "recipe.toml"])
        manifest = curate(config, place / "out", console=Console(quiet=True), workers=workers)
        wall_s = time.perf_counter() - started
    peak_mb = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    return {"rows": count, "kept": manifest["rows_kept"], "wall_s": round(wall_s, 1), "parent_mb": peak_mb}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int, nargs="+", help="sizes to measure")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.rows[0], arguments.workers)))
        return
    found = []
    for count in (100, *arguments.rows):
        command = [sys.executable, __file__, str(count), "--one", "--workers", str(arguments.workers)]
        found.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
    for entry in found[1:]:
        entry["over_100_rows_mb"] = round(entry["parent_mb"] - found[0]["parent_mb"], 1)
    print(json.dumps(found[1:], indent=2))


if __name__ == "__main__":
    main()
