"""Near-duplicate rules side by side on labelled pairs: ours, word-5-gram MinHash, and the same with numbers masked.

  python benchmarks/dedupe.py PAIRS.jsonl --json

A pair is merged when the stage, given just these two rows, drops one of them; quarantine is neither. `recall_core`
leaves out translations and pairs whose golds have other forms. The MinHash baselines use datasketch where it is
installed and rensa otherwise (the same bands, 14 of 8 rows, as datatrove's default).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import string
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rensa.rensa import RMinHash
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from pipeline.problem import Problem, problem_id
from pipeline.stage import Context
from pipeline.stages.dedupe import dedupe_problems

LEFT_OUT = ("translation", "answer-form-differs")
BANDS, ROWS, GRAM = 14, 8, 5
Judge = Callable[[Mapping[str, Any]], str]


def problem(question: str, answer: str | None, index: int) -> Problem:
    gold = answer or ""
    return Problem(
        id=problem_id(question, gold),
        data_source="pair",
        source_row=f"pair#{index}",
        index=index,
        question=question,
        ground_truth=gold,
        original_answer=gold,
        license="unknown",
    )


def ours(pair: Mapping[str, Any]) -> str:
    """merged, quarantined or apart."""
    rows = [problem(pair["a"], pair["answer_a"], 0), problem(pair["b"], pair["answer_b"], 1)]
    context = Context(seed=0, rollouts=Path("unused"), console=Console(quiet=True))
    kinds = {drop.kind for drop in dedupe_problems(rows, context)}
    return "merged" if "dropped" in kinds else "quarantined" if kinds else "apart"


def plain_words(text: str) -> list[str]:
    return text.split()


def masked_words(text: str) -> list[str]:
    """datatrove's default: lower case, numbers to 0, punctuation and repeated white space gone."""
    text = re.sub(r"\d+", "0", text.lower())
    return text.translate(str.maketrans("", "", string.punctuation)).split()


def word_minhash(words: Callable[[str], list[str]]) -> Judge:
    def judge(pair: Mapping[str, Any]) -> str:
        first, second = (signature(words(pair[side])) for side in ("a", "b"))
        bands = (slice(band * ROWS, (band + 1) * ROWS) for band in range(BANDS))
        return "merged" if any(first[band] == second[band] for band in bands) else "apart"

    return judge


def signature(words: list[str]) -> list[int]:
    grams = [" ".join(words[place : place + GRAM]) for place in range(max(1, len(words) - GRAM + 1))]
    if importlib.util.find_spec("datasketch") is None:
        sketch = RMinHash(num_perm=BANDS * ROWS, seed=1)
        sketch.update(grams)
        return list(sketch.digest())
    sketch = importlib.import_module("datasketch").MinHash(num_perm=BANDS * ROWS)
    sketch.update_batch([gram.encode() for gram in grams])
    return [int(value) for value in sketch.hashvalues]


def score(pairs: list[Mapping[str, Any]], judge: Judge) -> dict[str, Any]:
    kinds: dict[str, dict[str, int]] = defaultdict(lambda: {"n": 0, "merged": 0, "quarantined": 0, "duplicates": 0})
    for pair in pairs:
        kind = kinds[pair["kind"]]
        verdict = judge(pair)
        kind["n"] += 1
        kind["duplicates"] += bool(pair["duplicate"])
        if verdict != "apart":
            kind[verdict] += 1
    same = {name: kind for name, kind in kinds.items() if kind["duplicates"]}
    core = {name: kind for name, kind in same.items() if name not in LEFT_OUT}
    other = {name: kind for name, kind in kinds.items() if not kind["duplicates"]}
    return {
        "recall": share(same, "merged"),
        "recall_core": share(core, "merged"),
        "false_merges": share(other, "merged"),
        "quarantined_distinct": share(other, "quarantined"),
        "by_kind": {name: dict(kind) for name, kind in sorted(kinds.items())},
    }


def share(kinds: Mapping[str, Mapping[str, int]], what: str) -> float:
    total = sum(kind["n"] for kind in kinds.values())
    return round(sum(kind[what] for kind in kinds.values()) / max(1, total), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pairs = [json.loads(line) for line in options.pairs.read_text(encoding="utf-8").splitlines()]
    judges: dict[str, Judge] = {
        "verigold": ours,
        "word_5gram_minhash": word_minhash(plain_words),
        "word_5gram_minhash_numbers_masked": word_minhash(masked_words),
    }
    results = {name: score(pairs, judge) for name, judge in judges.items()}
    if options.json:
        print(json.dumps(results, indent=2))
        return
    columns = ("recall", "recall_core", "false_merges", "quarantined_distinct")
    print(f"{'':36}" + "".join(f"{name:>22}" for name in columns))
    for name, result in results.items():
        print(f"{name:36}" + "".join(f"{result[column]:22.3f}" for column in columns))


if __name__ == "__main__":
    main()
