"""Hostile text in bulk: no exception, no verdict later than two seconds, bounded memory.

python benchmarks/fuzz_verifiers.py [--count 200000] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil

from verifiers import verify_math
from verifiers.fuzzing import GOLDS, texts

LIMIT_S = 2.0
MEMORY_LIMIT_BYTES = 500_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    verify_math(r"\boxed{\int_0^1 x\,dx \text{ cm}}", "7")
    started = time.monotonic()
    slowest, late, undecided = 0.0, 0, 0
    for index, response in enumerate(texts(arguments.seed, arguments.count)):
        begun = time.monotonic()
        verdict = verify_math(response, GOLDS[index % len(GOLDS)])
        spent = time.monotonic() - begun
        slowest = max(slowest, spent)
        late += spent > LIMIT_S
        undecided += verdict.status == "undecided"
    process = psutil.Process()
    memory = process.memory_info().rss + sum(child.memory_info().rss for child in process.children(recursive=True))
    print(
        f"{arguments.count:,} texts in {time.monotonic() - started:.0f} s; slowest {slowest:.2f} s; later than "
        f"{LIMIT_S:g} s: {late}; undecided: {undecided}; memory of parent and children {memory / 1e6:.0f} MB"
    )
    sys.exit(1 if late or memory > MEMORY_LIMIT_BYTES else 0)


if __name__ == "__main__":
    main()
