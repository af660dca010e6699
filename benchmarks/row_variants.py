"""Many rows from few real ones: number variants and reworded copies of the bundled rows, for measuring at scale.

  python benchmarks/row_variants.py --rows 1000 --seed 0 > rows.jsonl

Every real row begins a family of at most 50: itself, variants with other numbers and another answer (about three in
five), and reworded copies of earlier members with the same numbers and answer (the rest). A family is a function of its
row and the seed alone, so a longer file begins with the shorter one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "samples"
FILES = (
    ("gsm8k_train.jsonl.gz", ("question",), "answer"),
    ("math_train.jsonl.gz", ("problem",), "answer"),
    ("omni_math_rule.jsonl.gz", ("problem",), "answer"),
    ("svamp.jsonl.gz", ("Body", "Question"), "Answer"),
    ("benchmarks/gsm8k_test.jsonl.gz", ("question",), "answer"),
    ("benchmarks/math500.jsonl.gz", ("problem",), "answer"),
)
FAMILY = 50
REWORDED = 0.4

_NUMBER = re.compile(r"\d+")
_SWAPS = (
    ("How many", "What number of"),
    ("Find ", "Determine "),
    ("Compute ", "Calculate "),
    ("What is the value of", "Evaluate"),
    ("does he have", "has he got"),
    ("altogether", "in total"),
    ("each of", "every one of"),
    ("Let ", "Suppose that we let "),
    ("such that", "so that"),
    ("buys", "purchases"),
    ("then", "after that"),
    (", and", " and"),
    ("\\frac", "\\dfrac"),
    ("\\le ", "\\leq "),
    (" $", "  $ "),
    ("is ", "is, "),
)
_WRAPPERS = (
    "{}",
    "{} Let's think step by step and output the final answer within \\boxed{{}}.",
    "Problem 7. {}",
    "{} Please reason step by step, and put your final answer within \\boxed{{}}.",
    "  {}\n",
)


@dataclass(frozen=True, slots=True)
class Row:
    question: str
    answer: str


def real_rows() -> list[Row]:
    """The bundled rows, in order of their files."""
    found: list[Row] = []
    for name, questions, answer in FILES:
        with gzip.open(SAMPLES / name, "rt", encoding="utf-8") as handle:
            rows = [json.loads(line) for line in handle]
        for row in rows:
            text = " ".join(str(row[field]) for field in questions)
            found.append(Row(text, str(row[answer]).rpartition("####")[2].strip()))
    return found


def variants(rows: Sequence[Row], count: int, seed: int) -> Iterator[Row]:
    """The first `count` rows of all families. Raises ValueError when there are not enough real rows for so many."""
    if count > len(rows) * FAMILY:
        raise ValueError(f"{len(rows)} real rows make {len(rows) * FAMILY} variants at most, not {count}")
    order = list(range(len(rows)))
    random.Random(f"{seed}").shuffle(order)
    for start in range(0, count, FAMILY):
        place = order[start // FAMILY]
        yield from _family(rows[place], random.Random(f"{seed} {place}"), min(FAMILY, count - start))


def _family(row: Row, chance: random.Random, size: int) -> Iterator[Row]:
    members = [row]
    yield row
    for _ in range(size - 1):
        copied = chance.random() < REWORDED or not _NUMBER.search(row.question)
        member = _reworded(chance.choice(members), chance) if copied else _renumbered(row, chance)
        members.append(member)
        yield member


def _reworded(row: Row, chance: random.Random) -> Row:
    text = row.question
    usable = [swap for swap in _SWAPS if swap[0] in text]
    for old, new in chance.sample(usable, min(len(usable), chance.randint(1, 3))):
        text = text.replace(old, new, 1)
    return Row(chance.choice(_WRAPPERS).format(text), row.answer)


def _renumbered(row: Row, chance: random.Random) -> Row:
    """Other numbers of the same length; equal numbers stay equal. The answer is a function of the question: numbers of
    one digit make the same question more than once."""
    question = _NUMBER.sub(_other(chance), row.question)
    return Row(question, _NUMBER.sub(_other(random.Random(question)), row.answer))


def _other(chance: random.Random) -> Callable[[re.Match[str]], str]:
    chosen: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        old = match.group()
        low = 10 ** (len(old) - 1) if len(old) > 1 else 2
        return chosen.setdefault(old, str(chance.randrange(low, 10 ** len(old))))

    return replace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for row in variants(real_rows(), options.rows, options.seed):
        sys.stdout.write(json.dumps({"question": row.question, "answer": row.answer}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
