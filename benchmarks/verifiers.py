"""Our mathematics verifier and math-verify on the same cases in the same process limits.

    python benchmarks/verifiers.py --cases tests/verifiers/cases/answer_equivalence.jsonl \
        --perf tests/verifiers/cases/perf_pairs.jsonl [--graded data/samples/graded_responses.jsonl.gz] [--json]

Each judge runs in a process of its own with one thread and the same memory limit. math-verify runs as its users call
it (`default`: parse and verify of the whole response) and at its best (`best practice`: text after the last thought,
last box re-boxed, string match first); both with its own limit of five seconds a call. A verdict later than two
seconds counts as a hang. Throughput is verifications per CPU second, of this process and its living children, on the
realistic pairs (twenty passes) and on the mathematics rows of real graded responses (one pass). No verdict is cached.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
JUDGES = ("verigold", "math-verify default", "math-verify best practice")
HANG_S = 2.0
MEMORY_BYTES = 4 << 30
PASSES = 20

Row = dict[str, Any]
Judge = Callable[[Row], str]


# ---- judges --------------------------------------------------------------------------------------------------------


def ours(row: Row) -> str:
    from verifiers.registry import Request, verify

    gold = row["ground_truth"]
    request = Request(
        response=row["response"],
        ground_truth=gold if isinstance(gold, str) else tuple(gold),
        verifier=row.get("verifier", "math"),
        options=row.get("verifier_options") or {},
    )
    return verify(request).status.value


def accepts(gold: str, response: str) -> bool:
    from math_verify import parse, verify

    return bool(verify(parse(gold), parse(response)))


def golds_of(row: Row) -> list[str]:
    gold = row["ground_truth"]
    return [gold] if isinstance(gold, str) else list(gold)


def math_verify_default(row: Row) -> str:
    """The gold in a box, the response as it is; a short answer without a box is tried in a box too."""
    response = row["response"]
    forms = [response] if len(response) > 200 or "boxed" in response else [response, rf"\boxed{{{response}}}"]
    found = any(accepts(rf"\boxed{{{gold}}}", form) for gold in golds_of(row) for form in forms)
    return "correct" if found else "incorrect"


def math_verify_best(row: Row) -> str:
    from verifiers.extract import boxed

    response = row["response"].rsplit("</think>", 1)[-1]
    box = boxed(response)
    answer = box.text if box is not None else response.strip()
    if not answer:
        return "incorrect"
    for gold in golds_of(row):
        plain = gold.strip().strip("$").replace(" ", "")
        if answer.strip().replace(" ", "") == plain or accepts(rf"\boxed{{{gold}}}", rf"\boxed{{{answer}}}"):
            return "correct"
    return "incorrect"


def judge_of(name: str) -> Judge:
    judges: dict[str, Judge] = dict(zip(JUDGES, (ours, math_verify_default, math_verify_best), strict=True))
    return judges[name]


# ---- one judge in its own process ----------------------------------------------------------------------------------


def serve(name: str, cases: Path, perf: Path, graded: Path) -> None:
    """Prints one JSON object: the verdicts and times of the cases, throughput on the pairs and on the graded rows."""
    sys.path.insert(0, str(ROOT))
    # math-verify logs whole responses when its time runs out
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    judge = judge_of(name)
    # units and worker processes are loaded before any clock runs
    judge({"ground_truth": "7", "response": r"\boxed{5 \text{ cm}}"})
    judge({"ground_truth": "7", "response": r"\boxed{\int_0^1 x\,dx}"})
    verdicts = [timed(judge, row) for row in read(cases)]
    pairs = throughput(judge, read(perf), PASSES)
    mathematics = [row for row in read(graded) if row.get("verifier", "math") == "math"]
    print(json.dumps({"verdicts": verdicts, "pairs": pairs, "graded": throughput(judge, mathematics, 1)}))


def timed(judge: Judge, row: Row) -> tuple[str, float]:
    started = time.monotonic()
    try:
        verdict = judge(row)
    except (Exception, SystemExit):
        # math-verify lets errors of sympy and its own time-outs through; its callers score them as wrong
        verdict = "error"
    return verdict, time.monotonic() - started


def throughput(judge: Judge, rows: Sequence[Row], passes: int) -> dict[str, Any]:
    """Statuses of the last pass, and verifications per CPU second of this process and its children."""
    from verifiers.workers import cpu_seconds

    statuses: list[str] = []
    started = cpu_seconds()
    for _ in range(passes):
        statuses = [timed(judge, row)[0] for row in rows]
    return {"per_cpu_second": passes * len(rows) / (cpu_seconds() - started), "statuses": statuses}


def read(path: Path) -> list[Row]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


# ---- summary -------------------------------------------------------------------------------------------------------


def run(name: str, cases: Path, perf: Path, graded: Path) -> dict[str, Any]:
    files = ["--cases", str(cases), "--perf", str(perf), "--graded", str(graded)]
    command = [sys.executable, __file__, "--serve", name, *files]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    found = json.loads(done.stdout.splitlines()[-1])
    rows = read(cases)
    statuses = [status for status, _ in found["verdicts"]]
    by_category: dict[str, Any] = {}
    for category in sorted({row["category"] for row in rows}):
        kept = [(row, status) for row, status in zip(rows, statuses, strict=True) if row["category"] == category]
        by_category[category] = rates([row for row, _ in kept], [status for _, status in kept])
    mathematics = [row for row in read(graded) if row.get("verifier", "math") == "math"]
    real = rates(mathematics, found["graded"]["statuses"])
    return rates(rows, statuses) | {
        "hangs": sum(spent > HANG_S for _, spent in found["verdicts"]),
        "by_category": by_category,
        "per_cpu_second": found["pairs"]["per_cpu_second"],
        "perf_agreement": rates(read(perf), found["pairs"]["statuses"])["accuracy"],
        "graded": real | {"per_cpu_second": found["graded"]["per_cpu_second"]},
    }


def rates(rows: Sequence[Row], statuses: Sequence[str]) -> dict[str, Any]:
    """Undecided counts as not accepted, and as wrong in accuracy; errors count as incorrect."""
    right = [status for row, status in zip(rows, statuses, strict=True) if row["correct"]]
    wrong = [status for row, status in zip(rows, statuses, strict=True) if not row["correct"]]
    good = sum(status == "correct" for status in right) + sum(status in ("incorrect", "error") for status in wrong)
    return {
        "n": len(rows),
        "accuracy": good / len(rows),
        "fnr": sum(status != "correct" for status in right) / len(right) if right else None,
        "fpr": sum(status == "correct" for status in wrong) / len(wrong) if wrong else None,
        "undecided": sum(status == "undecided" for status in statuses) / len(rows),
    }


def table(results: dict[str, dict[str, Any]]) -> str:
    heads = ("accuracy", "FNR", "FPR", "undecided", "hangs", "per CPU s", "ratio")
    lines = [f"{'cases; speed on the realistic pairs':<38}" + "".join(f"{head:>11}" for head in heads)]
    lines += [line(name, item, results, f"{item['hangs']:>11}") for name, item in results.items()]
    n = next(iter(results.values()))["graded"]["n"]
    lines.append(f"mathematics among the graded responses ({n:,} rows)")
    speeds = {name: item["graded"] for name, item in results.items()}
    lines += [line(name, item, speeds, f"{'':>11}") for name, item in speeds.items()]
    return "\n".join(lines)


def line(name: str, item: dict[str, Any], all_: dict[str, dict[str, Any]], hangs: str) -> str:
    """ratio: to math-verify at its best."""
    shares = "".join(f"{item[key]:>11.1%}" for key in ("accuracy", "fnr", "fpr", "undecided"))
    ratio = item["per_cpu_second"] / all_[JUDGES[2]]["per_cpu_second"]
    return f"{name:<38}{shares}{hangs}{item['per_cpu_second']:>11,.0f}{ratio:>11.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--perf", type=Path, required=True)
    parser.add_argument("--graded", type=Path, default=ROOT / "data" / "samples" / "graded_responses.jsonl.gz")
    parser.add_argument("--json", action="store_true", dest="as_json")
    parser.add_argument("--serve", choices=JUDGES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    files = (arguments.cases, arguments.perf, arguments.graded)
    if arguments.serve:
        serve(arguments.serve, *files)
        return
    results = {name: run(name, *files) for name in JUDGES}
    print(json.dumps(results) if arguments.as_json else table(results))


if __name__ == "__main__":
    main()
