"""Our mathematics verifier and math-verify on the same cases in the same process limits.

    python benchmarks/verifiers.py --cases tests/verifiers/cases/answer_equivalence.jsonl \
        --perf tests/verifiers/cases/perf_pairs.jsonl [--json]

Each judge runs in a process of its own with one thread and the same memory limit. math-verify runs as its users call
it (`default`: parse and verify of the whole response) and at its best (`best practice`: text after the last thought,
last box re-boxed, string match first); both with its own limit of five seconds a call. A verdict later than two
seconds counts as a hang. Throughput is verifications per CPU second on the realistic pairs, parent and children.
"""

from __future__ import annotations

import argparse
import json
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
PASSES = {"verigold": 20, "math-verify default": 2, "math-verify best practice": 2}

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


def serve(name: str, cases: Path, perf: Path) -> None:
    """Prints one JSON object: the verdicts and times of the cases, and the throughput on the pairs."""
    sys.path.insert(0, str(ROOT))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    judge = judge_of(name)
    judge({"ground_truth": "7", "response": r"\boxed{5 \text{ cm}}"})
    verdicts = [timed(judge, row) for row in read(cases)]
    pairs = read(perf)
    print(json.dumps({"verdicts": verdicts, **throughput(judge, pairs, PASSES[name])}))


def timed(judge: Judge, row: Row) -> tuple[str, float]:
    started = time.monotonic()
    try:
        verdict = judge(row)
    except (Exception, SystemExit):
        # math-verify lets errors of sympy and its own time-outs through; its callers score them as wrong
        verdict = "error"
    return verdict, time.monotonic() - started


def throughput(judge: Judge, pairs: Sequence[Row], passes: int) -> dict[str, float]:
    from verifiers.workers import cpu_seconds

    agreed = sum((timed(judge, row)[0] == "correct") == row["correct"] for row in pairs)
    started = cpu_seconds()
    for _ in range(passes):
        for row in pairs:
            timed(judge, row)
    spent = cpu_seconds() - started
    return {"per_cpu_second": passes * len(pairs) / spent, "perf_agreement": agreed / len(pairs)}


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


# ---- summary -------------------------------------------------------------------------------------------------------


def run(name: str, cases: Path, perf: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--serve", name, "--cases", str(cases), "--perf", str(perf)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = json.loads(done.stdout.splitlines()[-1])
    rows = read(cases)
    statuses = [status for status, _ in found["verdicts"]]
    summary = rates(rows, statuses)
    categories = sorted({row["category"] for row in rows})
    by_category: dict[str, Any] = {}
    for category in categories:
        kept = [(row, status) for row, status in zip(rows, statuses, strict=True) if row["category"] == category]
        by_category[category] = rates([row for row, _ in kept], [status for _, status in kept])
    return summary | {
        "hangs": sum(spent > HANG_S for _, spent in found["verdicts"]),
        "by_category": by_category,
        "per_cpu_second": found["per_cpu_second"],
        "perf_agreement": found["perf_agreement"],
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
    lines = [
        f"{'judge':<28}{'accuracy':>10}{'FNR':>8}{'FPR':>8}{'undecided':>11}{'hangs':>7}{'per CPU s':>11}{'ratio':>8}"
    ]
    base = results[JUDGES[2]]["per_cpu_second"]
    for name, item in results.items():
        shares = f"{item['accuracy']:>10.1%}{item['fnr']:>8.1%}{item['fpr']:>8.1%}{item['undecided']:>11.1%}"
        speed = f"{item['hangs']:>7}{item['per_cpu_second']:>11,.0f}{item['per_cpu_second'] / base:>8.1f}"
        lines.append(f"{name:<28}{shares}{speed}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--perf", type=Path, required=True)
    parser.add_argument("--json", action="store_true", dest="as_json")
    parser.add_argument("--serve", choices=JUDGES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.cases, arguments.perf)
        return
    results = {name: run(name, arguments.cases, arguments.perf) for name in JUDGES}
    print(json.dumps(results) if arguments.as_json else table(results))


if __name__ == "__main__":
    main()
