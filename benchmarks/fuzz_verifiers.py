"""Hostile text in bulk: no exception, no verdict later than two seconds, no child left, bounded memory.

    python benchmarks/fuzz_verifiers.py [--count 200000] [--seed 0]

A verdict is late when it took more than two seconds, of which this process and its worker can have used more than half;
what the load of the machine alone delayed is counted apart.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil

from verifiers import verify_math
from verifiers.fuzzing import GOLDS, texts
from verifiers.workers import CPU_LIMIT_S, pool

LIMIT_S = 2.0
MEMORY_LIMIT_BYTES = 500_000_000
SHOWN = 5


@dataclass(slots=True)
class Found:
    slowest_s: float = 0.0
    slowest_cpu_s: float = 0.0
    late: list[str] = field(default_factory=list)
    delayed: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def judge(self, response: str, gold: str) -> None:
        begun, cpu = time.monotonic(), time.process_time()
        try:
            self.statuses[verify_math(response, gold).status.value] += 1
        except Exception as error:
            # what this program looks for; the others are tried all the same
            kind = f"{type(error).__name__} in {traceback.extract_tb(error.__traceback__)[-1].name}"
            self.errors[kind] += 1
            self.first.setdefault(kind, f"{gold!r} | {response!r}")
        spent, spent_cpu = time.monotonic() - begun, time.process_time() - cpu
        self.slowest_s, self.slowest_cpu_s = max(self.slowest_s, spent), max(self.slowest_cpu_s, spent_cpu)
        if spent <= LIMIT_S:
            return
        if spent_cpu + CPU_LIMIT_S > LIMIT_S / 2:
            self.late.append(response)
        else:
            self.delayed += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    verify_math(r"\boxed{\int_0^1 x\,dx \text{ cm}}", "7")
    started, found = time.monotonic(), Found()
    for index, response in enumerate(texts(arguments.seed, arguments.count)):
        found.judge(response, GOLDS[index % len(GOLDS)])
    process = psutil.Process()
    children = process.children(recursive=True)
    memory = process.memory_info().rss + sum(child.memory_info().rss for child in children)
    pool().close()
    left = len(psutil.wait_procs(children, timeout=10)[1])
    print(
        f"{arguments.count:,} texts in {time.monotonic() - started:.0f} s; slowest {found.slowest_s:.2f} s "
        f"({found.slowest_cpu_s:.2f} CPU s here); later than {LIMIT_S:g} s: {len(found.late)}, and {found.delayed} "
        f"that the busy machine delayed; exceptions: {found.errors.total()}; undecided: {found.statuses['undecided']}; "
        f"memory of parent and children {memory / 1e6:.0f} MB; children left: {left}"
    )
    for kind, count in found.errors.most_common():
        print(f"{count} x {kind}, first: {found.first[kind]}")
    for response in found.late[:SHOWN]:
        print(f"late: {response!r}")
    sys.exit(1 if found.late or found.errors or left or memory > MEMORY_LIMIT_BYTES else 0)


if __name__ == "__main__":
    main()
