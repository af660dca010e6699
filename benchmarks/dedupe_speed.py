"""Time and memory of the dedupe stage: beside datasketch on 16,000 real rows, and over the size of the data.

  python benchmarks/dedupe_speed.py --json
  python benchmarks/dedupe_speed.py --rows 1000000 --json

Without `--rows`: one core, both sides turn by turn in one process, processor time. Both start from the same canonical
forms and end with the same verification and greedy keeping; what differs is signatures and candidates: ours (rensa on
hashed 2-grams, sorted columns, pairs by equal numbers too) against `datasketch.MinHash.update_batch` and `MinHashLSH`
with as many bands and permutations. The rows are the bundled samples in the order of a hash.

With `--rows N`: the whole stage as `verigold curate` runs it, parts on disk and two worker processes, on the variants
of `row_variants.py` at 10,000 rows, ten times that, and so on up to N. Peak memory is the sum of the resident memory of
the process and its descendants. Sizes are measured after each other, so compare wall times on a quiet machine;
`cpu_s` (of all processes) is steadier elsewhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from row_variants import real_rows, variants

from pipeline.canonical import Canonical, canonical
from pipeline.dedupe_candidates import possible
from pipeline.dedupe_keep import decide, keep_greedily
from pipeline.dedupe_rows import Positions, Rows
from pipeline.dedupe_sketch import BAND_ROWS, BANDS, Encoded, band_hashes
from pipeline.dedupe_verify import verify
from pipeline.executor import executor
from pipeline.parts import Parts
from pipeline.parts_work import run_stage
from pipeline.problem import Problem, problem_id
from pipeline.stage import Context, Outcome
from pipeline.stages.dedupe import Dedupe, key_table

ROWS = 16_000
SMALLEST = 10_000
PART_ROWS = 8192
WORKERS = 2
LIMIT_GIB = 4


def as_problem(index: int, question: str, answer: str) -> Problem:
    return Problem(
        id=problem_id(question, answer),
        data_source="variants",
        source_row=f"variants#{index}",
        index=index,
        question=question,
        ground_truth=answer,
        original_answer=answer,
        license="MIT",
    )


def real_problems(count: int) -> list[Problem]:
    rows = sorted(real_rows(), key=lambda row: hashlib.blake2b(row.question.encode()).digest())[:count]
    return [as_problem(index, row.question, row.answer) for index, row in enumerate(rows)]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """(processor seconds, result)."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def datasketch_codes(forms: Sequence[Canonical]) -> Positions:
    """Candidate pairs of `MinHashLSH`, as codes; forms in order of priority."""
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(num_perm=BANDS * BAND_ROWS, params=(BANDS, BAND_ROWS))
    codes: list[int] = []
    for place, form in enumerate(forms):
        sketch = MinHash(num_perm=BANDS * BAND_ROWS, seed=1)
        sketch.update_batch([f"{a} {b}".encode() for a, b in pairwise(form.tokens)] or [form.tokens[0].encode()])
        codes += [earlier * len(forms) + place for earlier in cast(list[int], lsh.query(sketch))]
        lsh.insert(place, sketch)
    return np.array(sorted(codes), np.int64)


def one_turn(problems: Sequence[Problem]) -> dict[str, float]:
    """Processor seconds of each piece of both sides."""
    seconds: dict[str, float] = {}
    seconds["canonicalisation"], forms = timed(lambda: [canonical(problem.question) for problem in problems])
    keys_s, keys = timed(lambda: key_table(problems, forms, ()))
    seconds["signatures"], _ = timed(lambda: band_hashes(Encoded(forms)))
    seconds["keys"] = max(0.0, keys_s - seconds["signatures"])
    rows = Rows(keys)
    decided_s, decision = timed(lambda: decide(rows, Dedupe().max_bucket))
    seconds["candidates_and_verification"] = decided_s
    in_order = [forms[place] for place in rows.order.tolist()]
    seconds["datasketch_signatures_and_candidates"], codes = timed(lambda: datasketch_codes(in_order))
    verified_s, theirs = timed(lambda: keep_greedily(verify(rows, _possible(rows, codes))))
    seconds["datasketch_verification"] = verified_s
    return seconds | {"dropped": len(decision.dropped), "datasketch_dropped": len(theirs.dropped)}


def _possible(rows: Rows, codes: Positions) -> Positions:
    """The first step of verification, which on our side is done bucket by bucket."""
    first, second = np.divmod(codes, len(rows))
    return codes[possible(rows, first, second)]


def side_by_side(turns: int) -> dict[str, Any]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    problems = real_problems(ROWS)
    one_turn(problems[:500])  # imports and caches
    measured = [one_turn(problems) for _ in range(turns)]
    middle = {name: statistics.median(turn[name] for turn in measured) for name in measured[0]}
    ours = middle["signatures"] + middle["keys"] + middle["candidates_and_verification"]
    theirs = middle["datasketch_signatures_and_candidates"] + middle["keys"] + middle["datasketch_verification"]
    form = middle["canonicalisation"]
    return {
        "rows": len(problems),
        "turns": turns,
        "seconds": {name: round(value, 3) for name, value in middle.items() if "dropped" not in name},
        "dropped": {"verigold": int(middle["dropped"]), "datasketch": int(middle["datasketch_dropped"])},
        "from_canonical_tokens": round(theirs / ours, 2),
        "whole_stage": round((form + theirs) / (form + ours), 2),
        "canonicalisation_share": round(form / (form + ours), 2),
    }


class Watch:
    """Resident memory and processor time of this process and its descendants, sampled from /proc."""

    def __init__(self, every_s: float = 0.1) -> None:
        self.peak_bytes = 0
        self._cpu: dict[int, float] = {}
        self._every_s, self._ended = every_s, threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Watch:
        self._before = self._sample()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.cpu_s = self._sample() - self._before

    def _follow(self) -> None:
        while not self._ended.wait(self._every_s):
            self._sample()

    def _sample(self) -> float:
        """Processor seconds so far, ended descendants included; notes the memory of the moment."""
        resident = 0
        for pid in self._family():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            resident += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            self._cpu[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        self.peak_bytes = max(self.peak_bytes, resident)
        return sum(self._cpu.values())

    def _family(self) -> Iterator[int]:
        waiting = [os.getpid()]
        while waiting:
            pid = waiting.pop()
            yield pid
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    waiting += map(int, children.read_text().split())
                except OSError:
                    continue


def measure(count: int, folder: Path) -> dict[str, Any]:
    """The stage on `count` variants, from parts on disk to parts on disk."""
    source, target = Parts(folder / "source", "source"), Parts(folder / "target", "target")
    source.folder.mkdir()
    rows = (as_problem(index, row.question, row.answer) for index, row in enumerate(variants(real_rows(), count, 0)))
    part = 0
    while problems := list(islice(rows, PART_ROWS)):
        source.commit(part, "variants", [problem.source_row for problem in problems], Outcome(kept=problems))
        part += 1
    source.finish(part)
    context = Context(seed=0, rollouts=folder / "rollouts", console=Console(quiet=True))
    with Watch() as watch, executor("local", WORKERS, ["pipeline.stages.dedupe"]) as chosen:
        started = time.perf_counter()
        run_stage("dedupe", Dedupe(), {}, source, target, context, chosen)
        wall_s = time.perf_counter() - started
    return {
        "rows": count,
        "kept": target.total().rows_out,
        "wall_s": round(wall_s, 1),
        "cpu_s": round(watch.cpu_s, 1),
        "rows_per_s": round(count / wall_s),
        "peak_gib": round(watch.peak_bytes / 2**30, 2),
    }


def scaling(largest: int) -> dict[str, Any]:
    sizes = [SMALLEST]
    while sizes[-1] * 10 <= largest:
        sizes.append(sizes[-1] * 10)
    if sizes[-1] < largest:
        sizes.append(largest)
    found = [_in_own_process(count) for count in sizes]
    first, last = found[0], found[-1]
    return {
        "workers": WORKERS,
        "sizes": found,
        "growth_of_wall_per_row": round(last["wall_s"] / last["rows"] / (first["wall_s"] / first["rows"]), 2),
        "growth_of_cpu_per_row": round(last["cpu_s"] / last["rows"] / (first["cpu_s"] / first["rows"]), 2),
        "peak_gib": max(entry["peak_gib"] for entry in found),
        "under_limit": max(entry["peak_gib"] for entry in found) < LIMIT_GIB,
    }


def _in_own_process(count: int) -> dict[str, Any]:
    """A fresh process, so that no size gains from the caches or pays for the memory of another."""
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", str(count)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="measure the stage at growing sizes up to this one")
    parser.add_argument("--measure", type=int, help="measure the stage at this size only")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.measure:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(options.measure, Path(folder))))
        return
    result = scaling(options.rows) if options.rows else side_by_side(options.turns)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, value in result.items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{name:24} {line}")


if __name__ == "__main__":
    main()
