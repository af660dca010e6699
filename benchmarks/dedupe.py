"""Near-duplicate rules side by side on labelled pairs: ours, word-5-gram MinHash, and datatrove's defaults.

  python benchmarks/dedupe.py PAIRS.jsonl --json

A pair is merged when the stage, given just these two rows, drops one of them; quarantine is neither. `recall_core`
leaves out translations and pairs whose golds have other forms. `word_5gram_minhash` is datasketch on the words as they
stand, 14 bands of 8; `datatrove` is the same on the words of datatrove's own text normaliser, with n-grams, buckets and
hashes of its default `MinhashConfig`. (Its tokenizer would need spaCy; without punctuation, words are words.) Both need
the extra `benchmarks`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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


def word_minhash(normalise: Callable[[str], str], gram: int, bands: int, rows: int) -> Judge:
    """MinHash of word n-grams by datasketch; a pair is merged when one band of its signatures is equal."""
    from datasketch import MinHash

    def signature(text: str) -> list[int]:
        words = normalise(text).split()
        grams = [" ".join(words[place : place + gram]) for place in range(max(1, len(words) - gram + 1))]
        sketch = MinHash(num_perm=bands * rows)
        sketch.update_batch([gram.encode() for gram in grams])
        return [int(value) for value in sketch.hashvalues]

    def judge(pair: Mapping[str, Any]) -> str:
        first, second = (signature(pair[side]) for side in ("a", "b"))
        pieces = (slice(band * rows, (band + 1) * rows) for band in range(bands))
        return "merged" if any(first[piece] == second[piece] for piece in pieces) else "apart"

    return judge


def datatrove_minhash() -> Judge:
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.utils.text import simplify_text

    config = MinhashConfig()
    return word_minhash(
        lambda text: simplify_text(text, config.norm_config),
        config.n_grams,
        config.num_buckets,
        config.hashes_per_bucket,
    )


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
        "word_5gram_minhash": word_minhash(str, GRAM, BANDS, ROWS),
        "datatrove": datatrove_minhash(),
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
