"""Short answers with accepted aliases: ours, alias containment and exact match against labels of people.

    python benchmarks/short_answers.py data/samples/graded_responses.jsonl.gz [--json]

Reads the rows of FILE whose verifier is `qa`. Alias containment: the words of an alias stand in the response, one after
the other; exact match: they are the whole response; both after the normalisation of SQuAD (lower case, no punctuation,
no articles; Rajpurkar et al., 2016). By source and by half of the questions: accuracy, false negative and false
positive rates with Wilson 95 % intervals, and the difference in accuracy and in false positive rate to alias
containment on the same rows, with intervals that treat the responses to one question as one cluster.

The halves are drawn by a hash of the question. The rules were repaired with rows of the development half in view only;
no such claim is made for their first version.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import string
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from verifiers.audit import Rate, rate, read_rows
from verifiers.cases import LabelledRow
from verifiers.qa import verify_qa
from verifiers.verdict import Status

HALVES = ("held half", "development half")
PEER = "alias containment"
Z = 1.959964
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
Judge = Callable[[LabelledRow], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One labelled row and who accepted it."""

    row: LabelledRow
    accepted: dict[str, bool]


def squad(text: str) -> tuple[str, ...]:
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def golds_of(row: LabelledRow) -> tuple[str, ...]:
    return (row.ground_truth,) if isinstance(row.ground_truth, str) else tuple(row.ground_truth)


def ours(row: LabelledRow) -> bool:
    return verify_qa(row.response, row.ground_truth).status is Status.CORRECT


def containment(row: LabelledRow) -> bool:
    return any(_stands_in(squad(gold), squad(row.response)) for gold in golds_of(row))


def _stands_in(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    size = len(short)
    return size > 0 and any(long[start : start + size] == short for start in range(len(long) - size + 1))


def exact(row: LabelledRow) -> bool:
    return squad(row.response) in {squad(gold) for gold in golds_of(row)}


JUDGES: dict[str, Judge] = {"verigold": ours, PEER: containment, "exact match": exact}


def judge(rows: Sequence[LabelledRow]) -> list[Judged]:
    return [Judged(row=row, accepted={name: judges(row) for name, judges in JUDGES.items()}) for row in rows]


def half_of(row: LabelledRow) -> str:
    return HALVES[int(hashlib.sha256(row.question.encode()).hexdigest(), 16) % 2]


def groups_of(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    sources = sorted({item.row.source for item in judged})
    groups = {"all": list(judged)}
    groups |= {source: [item for item in judged if item.row.source == source] for source in sources}
    return groups | {half: [item for item in judged if half_of(item.row) == half] for half in reversed(HALVES)}


def rates(judged: Sequence[Judged], name: str) -> dict[str, Rate]:
    right = [item.accepted[name] for item in judged if item.row.correct]
    wrong = [item.accepted[name] for item in judged if not item.row.correct]
    return {
        "accuracy": rate(sum(right) + len(wrong) - sum(wrong), len(judged)),
        "fnr": rate(len(right) - sum(right), len(right)),
        "fpr": rate(sum(wrong), len(wrong)),
    }


def difference(judged: Sequence[Judged], name: str) -> dict[str, float | int | None]:
    """Mean over rows of (our score - the peer's score), with a 95 % interval over clusters of one question.

    `name` is accuracy (over all rows) or fpr (over the wrong ones). The variance of a mean over clusters:
    sum over clusters of (their sum of deviations from the mean)^2 / n^2.
    """
    rows = [item for item in judged if name == "accuracy" or not item.row.correct]
    if not rows:
        return {"estimate": None, "low": None, "high": None, "n": 0}
    values = np.array([int(item.accepted["verigold"]) - int(item.accepted[PEER]) for item in rows])
    signs = np.array([1 if item.row.correct or name == "fpr" else -1 for item in rows])
    values = values * signs
    mean = values.mean()
    _, clusters = np.unique([item.row.question for item in rows], return_inverse=True)
    sums = np.bincount(clusters, weights=values - mean)
    margin = Z * float(np.sqrt((sums**2).sum())) / len(rows)
    return {"estimate": float(mean), "low": float(mean) - margin, "high": float(mean) + margin, "n": len(rows)}


def measure(rows: Sequence[LabelledRow]) -> dict[str, Any]:
    """{group: {judge: {accuracy, fnr, fpr}, "difference": {accuracy, fpr}}}, each an estimate with its interval."""
    result: dict[str, Any] = {}
    for group, judged in groups_of(judge(rows)).items():
        found: dict[str, Any] = {
            name: {key: value.to_json() for key, value in rates(judged, name).items()} for name in JUDGES
        }
        found["difference"] = {key: difference(judged, key) for key in ("accuracy", "fpr")}
        result[group] = found
    return result


def text_of(value: dict[str, Any], sign: str = "") -> str:
    if value["estimate"] is None:
        return "none"
    shares = [100 * value[key] for key in ("estimate", "low", "high")]
    return "{:{s}.1f} ({:{s}.1f} to {:{s}.1f})".format(*shares, s=sign)


def show(result: dict[str, Any]) -> None:
    print(f"{'group':<18}{'judge':<20}{'n':>6}  {'accuracy, %':<24}{'FNR, %':<24}{'FPR, %':<24}")
    for group, found in result.items():
        for name in JUDGES:
            cells = "".join(f"{text_of(found[name][key]):<24}" for key in ("accuracy", "fnr", "fpr"))
            print(f"{group:<18}{name:<20}{found[name]['accuracy']['n']:>6}  {cells}".rstrip())
        gain, wrong = found["difference"]["accuracy"], found["difference"]["fpr"]
        cells = f"{text_of(gain, '+'):<24}{'':<24}{text_of(wrong, '+')}"
        print(f"{group:<18}{'difference':<26}  {cells}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", dest="as_json")
    arguments = parser.parse_args()
    rows = [row for row in read_rows(arguments.file) if row.verifier == "qa" and row.correct is not None]
    if not rows:
        raise SystemExit(f"{arguments.file}: no labelled row has the verifier qa")
    result = measure(rows)
    if arguments.as_json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
