"""The embedded task: column addition, with its worked and flawed solutions and a pool with planted defects.

    113+848=?        working, one line a column with the carry that comes in:   3+8+0=11
                                                                                1+4+1=6
                                                                                1+8+0=9
                     then the answer:                                           \\boxed{961}

Every pair of numbers belongs to exactly one of three splits, by a hash of the unordered pair, so that the base model's
training, the pool and the held-out problems cannot share a question, not even with the two numbers exchanged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Literal

from pipeline.atomic import write_text
from pipeline.problem import Problem, problem_id

Split = Literal["warm-start", "pool", "held-out"]
Kind = Literal["clean", "wrong-gold", "too-easy", "too-hard", "duplicate", "reformatted"]

SOURCE = "addition"
DIGITS = (2, 3, 3, 4)
"""Numbers of digits in the distribution that is trained and evaluated; three counts twice."""

WARM_START_DIGITS = (1, 2, 2, 2, 3, 3, 3, 4, 4)
"""A few sums of one digit on top: they are what the base model finds too easy."""

CARRY_DROPPED = 0.57
NO_WORKING = {1: 0.0, 2: 0.0, 3: 0.4, 4: 0.6}
NO_WORKING_WRONG = 0.8
SLIP = 0.02

POOL_SHARES: Mapping[Kind, float] = {
    "wrong-gold": 0.20,
    "too-easy": 0.15,
    "too-hard": 0.15,
    "duplicate": 0.05,
    "reformatted": 0.05,
}
"""What is planted in a pool; the rest is clean."""


def question_text(a: int, b: int) -> str:
    """What is asked. The prompt is this and a line break, which the model's chat template adds."""
    return f"{a}+{b}=?"


def split_of(a: int, b: int) -> Split:
    """Six tenths of all unordered pairs for the warm start, two for the pool, two held out."""
    low, high = sorted((a, b))
    bucket = hashlib.blake2b(f"{low}+{high}".encode(), digest_size=8).digest()[0] % 10
    return "warm-start" if bucket < 6 else "pool" if bucket < 8 else "held-out"


def pairs(seed: int, split: Split, *, digits: Sequence[int] = DIGITS) -> Iterator[tuple[int, int]]:
    """Endless pairs of one split; both numbers have the same number of digits, drawn from `digits`. May repeat."""
    rng = Random(f"pairs/{split}/{seed}")
    while True:
        count = rng.choice(digits)
        low, high = 10 ** (count - 1), 10**count - 1
        a, b = rng.randint(low, high), rng.randint(low, high)
        if split_of(a, b) == split:
            yield a, b


def distinct_pairs(
    n: int, seed: int, split: Split, *, digits: Sequence[int] = DIGITS, seen: set[tuple[int, int]] | None = None
) -> list[tuple[int, int]]:
    """The first n pairs that are not yet in `seen` in either order; they are added to it.

    Raises ValueError when the split holds too few.
    """
    seen = set() if seen is None else seen
    found: list[tuple[int, int]] = []
    for tries, (a, b) in enumerate(pairs(seed, split, digits=digits)):
        if len(found) == n:
            break
        if tries > 1000 + 100 * n:
            raise ValueError(f"split {split} has fewer than {n} pairs of {sorted(set(digits))} digits left")
        key = (min(a, b), max(a, b))
        if key not in seen:
            seen.add(key)
            found.append((a, b))
    return found


def problems(n: int, seed: int, *, split: Split = "held-out", digits: Sequence[int] = DIGITS) -> list[Problem]:
    """n distinct problems with right golds."""
    return [
        to_problem(a, b, index, split) for index, (a, b) in enumerate(distinct_pairs(n, seed, split, digits=digits))
    ]


def to_problem(a: int, b: int, index: int, split: str) -> Problem:
    question, gold = question_text(a, b), str(a + b)
    return Problem(
        id=problem_id(question, gold),
        data_source=SOURCE,
        source_row=f"{SOURCE}-{split}#{index}",
        index=index,
        question=question,
        ground_truth=gold,
        original_answer=gold,
        license="Apache-2.0",
        split=split,
        meta_json=json.dumps({"digits": len(str(a)), "kind": "clean"}, sort_keys=True),
    )


def is_easy(a: int, b: int) -> bool:
    """One or two digits and no carry."""
    return max(a, b) < 100 and a % 10 + b % 10 < 10 and a // 10 + b // 10 < 10


def worked(a: int, b: int) -> str:
    """The right solution: a line a column, then the boxed sum."""
    return _columns(a, b, keep_carry=lambda: True, slip=lambda: 0)


def flawed(a: int, b: int, rng: Random) -> str:
    """A solution with the base model's bad habits: carries dropped, answers without working, slips.

    Easy sums (`is_easy`) are spared, so that there is something which the base model always gets right.
    """
    if is_easy(a, b):
        return worked(a, b)
    if rng.random() < NO_WORKING.get(len(str(a)), NO_WORKING[4]):
        answer = a + b if rng.random() >= NO_WORKING_WRONG else _wrong(a + b, rng)
        return f"\\boxed{{{answer}}}"
    return _columns(
        a,
        b,
        keep_carry=lambda: rng.random() >= CARRY_DROPPED,
        slip=lambda: rng.choice((-1, 1)) if rng.random() < SLIP else 0,
    )


def _columns(a: int, b: int, *, keep_carry: Any, slip: Any) -> str:
    """Digits from the right; `keep_carry()` says whether a carry is remembered, `slip()` is added to a column."""
    lines: list[str] = []
    digits, carry = "", 0
    top, bottom = str(a)[::-1], str(b)[::-1]
    for x, y in zip(top, bottom, strict=True):
        total = max(0, int(x) + int(y) + carry + slip())
        lines.append(f"{x}+{y}+{carry}={total}\n")
        digits = str(total % 10) + digits
        carry = total // 10
        if carry and len(lines) < len(top) and not keep_carry():
            carry = 0
    return "".join(lines) + f"\\boxed{{{str(carry) if carry else ''}{digits}}}"


def _wrong(answer: int, rng: Random) -> int:
    """Another number of the same length: one or two digits replaced."""
    text = list(str(answer))
    for place in rng.sample(range(len(text)), min(len(text), rng.choice((1, 1, 2)))):
        choices = [d for d in "0123456789" if d != text[place] and (place > 0 or d != "0" or len(text) == 1)]
        text[place] = rng.choice(choices)
    return int("".join(text))


def solutions(seed: int, *, flaws: bool, digits: Sequence[int] = WARM_START_DIGITS) -> Iterator[tuple[str, str]]:
    """Endless (question, solution) pairs of the warm-start split."""
    rng = Random(f"solutions/{flaws}/{seed}")
    for a, b in pairs(seed, "warm-start", digits=digits):
        yield question_text(a, b), flawed(a, b, rng) if flaws else worked(a, b)


def tokenizer_corpus() -> list[str]:
    """Text for the tokenizer: the task, and the words that surround mathematics elsewhere."""
    rng = Random("tokenizer")
    lines = [f"{question}\n{solution}" for question, solution in islice(solutions(0, flaws=False), 64)]
    subjects = (
        "The answer",
        "The sum",
        "The result",
        "The total",
        "The number",
        "The value",
        "The carry",
        "The column",
    )
    verbs = ("is", "equals", "must be", "will be", "was", "can be written as", "is not", "is the same as")
    objects = ("the sum of the digits", "a number", "an integer", "one more than before", "the final answer", "correct")
    lines += [f"{rng.choice(subjects)} {rng.choice(verbs)} {rng.choice(objects)}." for _ in range(200)]
    lines += ["Question: What is the sum? Answer: Let us add the numbers column by column, from right to left."] * 8
    lines += ["Solve the problem. Think step by step, then write the final answer inside the box."] * 8
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One raw row of a pool. cluster: rows that ask the same question share it."""

    question: str
    answer: str
    kind: Kind
    cluster: int
    true_answer: str


def plant(n: int, seed: int, shares: Mapping[Kind, float] = POOL_SHARES) -> list[Planted]:
    """A pool of n rows in random order. Wrong golds are planted on problems of the trained distribution.

    too-easy: one or two digits and no carry.  too-hard: five or six digits.  duplicate: an exact copy of a
    clean row.  reformatted: a copy of a clean row written in another way.
    """
    rng = Random(f"pool/{seed}")
    counts = {kind: round(n * share) for kind, share in shares.items()}
    copies = counts.get("duplicate", 0) + counts.get("reformatted", 0)
    clean = n - sum(counts.values())
    if clean < copies:
        raise ValueError("a pool needs at least as many clean rows as duplicates")
    seen: set[tuple[int, int]] = set()
    chosen: list[tuple[int, int, Kind]] = [
        *((a, b, "clean") for a, b in distinct_pairs(clean, seed, "pool", seen=seen)),
        *((a, b, "wrong-gold") for a, b in distinct_pairs(counts["wrong-gold"], seed + 1, "pool", seen=seen)),
        *((a, b, "too-easy") for a, b in _easy_pairs(counts["too-easy"], seed + 2, seen)),
        *(
            (a, b, "too-hard")
            for a, b in distinct_pairs(counts["too-hard"], seed + 3, "pool", digits=(5, 6), seen=seen)
        ),
    ]
    rows = [_planted(a, b, kind, cluster, rng) for cluster, (a, b, kind) in enumerate(chosen)]
    for place in range(copies):
        kind: Kind = "duplicate" if place < counts.get("duplicate", 0) else "reformatted"
        rows.append(_planted(*chosen[place][:2], kind, place, rng))
    rng.shuffle(rows)
    return rows


def _easy_pairs(n: int, seed: int, seen: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of one or two digits without a carry, not yet in `seen`, to which they are added."""
    candidates = [
        (a, b)
        for a in range(1, 100)
        for b in range(1, 100)
        if len(str(a)) == len(str(b)) and is_easy(a, b)
        if split_of(a, b) == "pool" and (min(a, b), max(a, b)) not in seen
    ]
    Random(f"easy/{seed}").shuffle(candidates)
    found: list[tuple[int, int]] = []
    for a, b in candidates:
        if len(found) < n and (min(a, b), max(a, b)) not in seen:
            seen.add((min(a, b), max(a, b)))
            found.append((a, b))
    if len(found) < n:
        raise ValueError(f"there are only {len(found)} easy problems for this pool; ask for fewer rows")
    return found


def _planted(a: int, b: int, kind: Kind, cluster: int, rng: Random) -> Planted:
    question, answer = question_text(a, b), str(a + b)
    if kind == "reformatted":
        question = rng.choice((f"{a} + {b} = ?", f"${a}+{b}=?$", f"  {a}  +{b}=?\n", f"\\({a} + {b} = ?\\)"))
    gold = str(_wrong(a + b, rng)) if kind == "wrong-gold" else answer
    return Planted(question=question, answer=gold, kind=kind, cluster=cluster, true_answer=answer)


def write_pool(path: Path, n: int, seed: int, shares: Mapping[Kind, float] = POOL_SHARES) -> list[Planted]:
    """Writes the pool as JSON Lines with the fields question, answer, kind, cluster, true_answer."""
    rows = plant(n, seed, shares)
    lines = [json.dumps({name: getattr(row, name) for name in Planted.__slots__}, sort_keys=True) for row in rows]
    write_text(path, "\n".join(lines) + "\n")
    return rows


def read_pool(path: Path) -> list[Planted]:
    """The inverse of `write_pool`."""
    return [Planted(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def planted_removal(pool: Sequence[Planted], kept: Iterable[Problem]) -> dict[str, dict[str, int]]:
    """Of each planted kind how many rows there were (n) and how many the pipeline removed.

    Kept problems are matched by their place in the pool (`Problem.index`). A copy counts as removed when at most one
    row of its cluster is left, whichever that is.
    """
    places = {problem.index for problem in kept}
    left: dict[int, int] = {}
    for place in places:
        left[pool[place].cluster] = left.get(pool[place].cluster, 0) + 1
    counts: dict[str, dict[str, int]] = {}
    for place, row in enumerate(pool):
        copy = row.kind in ("duplicate", "reformatted")
        removed = left.get(row.cluster, 0) <= 1 if copy else place not in places
        entry = counts.setdefault(row.kind, {"n": 0, "removed": 0})
        entry["n"] += 1
        entry["removed"] += removed
    return dict(sorted(counts.items()))


def assert_disjoint(**sets: Iterable[str]) -> None:
    """Raises AssertionError when two named sets of questions share one, white space and the order of the sum aside."""
    owner: dict[str, str] = {}
    for name, questions in sets.items():
        for question in questions:
            plain = "".join(character for character in question if character.isdigit() or character == "+")
            key = "+".join(sorted(plain.split("+")))
            if owner.setdefault(key, name) != name:
                raise AssertionError(f"the question {question!r} of {name} is also in {owner[key]}")
