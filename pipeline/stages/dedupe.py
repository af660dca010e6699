"""Near-duplicates: candidates by MinHash and by equal numbers, each pair verified, greedy keeping, no closure."""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from rensa.rensa import RMinHash

from pipeline.answers import plain_answer, texts_agree, weakness
from pipeline.canonical import Canonical, canonical, is_hard
from pipeline.config import STRICT
from pipeline.duplicates import Match, Pair, Relation, judge, plausible
from pipeline.problem import Problem
from pipeline.stage import Context, Drop, drop
from verifiers import Request, verify_many

BANDS, ROWS = 32, 4
SIGNATURE_SEED = 42
SMALL_BUCKET = 24
"""Every pair of a bucket up to this size is a candidate; in larger ones each row meets its next neighbours."""
MOST_NUMBERS = 12
MARGIN = 0.1
"""A good row that is lost costs more here than one copy too many; a leaked benchmark item costs more than a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dedupe:
    """priority: sources whose rows are kept first, best first; then rows with an answer, then by id.
    max_bucket: rows of one bucket compared at most (each with its neighbours in priority order).
    """

    __pydantic_config__ = STRICT
    priority: tuple[str, ...] = ()
    max_bucket: int = 5000

    def keys(self, problems: Sequence[Problem]) -> pa.Table:
        forms = [canonical(problem.question) for problem in problems]
        ranks = {name: rank for rank, name in enumerate(self.priority)}
        return pa.table(
            {
                "source_row": pa.array([problem.source_row for problem in problems], pa.string()),
                "id": pa.array([problem.id for problem in problems], pa.string()),
                "rank": pa.array([ranks.get(problem.data_source, len(ranks)) for problem in problems], pa.int32()),
                "template_id": pa.array([form.template_id for form in forms], pa.string()),
                "tokens": pa.array([form.text for form in forms], pa.string()),
                "options": pa.array(["\x1f".join(form.options) for form in forms], pa.string()),
                "answer": pa.array([problem.ground_truth for problem in problems], pa.string()),
                "verifier": pa.array([problem.verifier for problem in problems], pa.string()),
                "bands": pa.array([band_hashes(form.tokens) for form in forms], pa.list_(pa.uint64())),
            }
        )

    def drops(
        self, keys: pa.Table, fetch: Callable[[Sequence[str]], Sequence[Problem]], _context: Context
    ) -> Sequence[Drop]:
        rows = Rows.of(keys)
        pairs = candidates(rows, self.max_bucket)
        matches = verify(rows, pairs)
        dropped, conflicts = keep_greedily(rows, matches)
        gone = sorted({*dropped, *conflicts})
        problems = dict(zip(gone, fetch([rows.source_row[place] for place in gone]), strict=True))
        return [_drop(rows, place, problems[place], dropped, conflicts) for place in gone]


def band_hashes(tokens: Sequence[str]) -> list[int]:
    """One 64-bit hash a band of the MinHash signature over token 2-grams."""
    grams = [f"{a} {b}" for a, b in itertools.pairwise(tokens)] or [tokens[0]]
    sketch = RMinHash(num_perm=BANDS * ROWS, seed=SIGNATURE_SEED)
    sketch.update(grams)
    signature = np.asarray(sketch.digest(), dtype=np.uint32).reshape(BANDS, ROWS)
    digests = (hashlib.blake2b(bytes([band]) + signature[band].tobytes(), digest_size=8) for band in range(BANDS))
    return [int.from_bytes(digest.digest(), "little") for digest in digests]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The key table in order of priority: an earlier row is kept before a later one."""

    source_row: list[str]
    ids: list[str]
    tokens: list[str]
    options: list[str]
    answer: list[str]
    verifier: list[str]
    bands: np.ndarray

    @classmethod
    def of(cls, keys: pa.Table) -> Rows:
        columns = {name: keys.column(name).to_pylist() for name in ("source_row", "id", "rank", "answer")}
        order = sorted(
            range(keys.num_rows),
            key=lambda row: (
                columns["rank"][row],
                not columns["answer"][row],
                columns["id"][row],
                columns["source_row"][row],
            ),
        )
        taken = keys.take(pa.array(order, pa.int64()))
        flat = taken.column("bands").combine_chunks()
        bands = np.asarray(flat.flatten() if keys.num_rows else [], dtype=np.uint64).reshape(-1, BANDS)
        texts = {name: taken.column(name).to_pylist() for name in ("tokens", "options", "answer", "verifier")}
        return cls(
            source_row=[columns["source_row"][row] for row in order],
            ids=[columns["id"][row] for row in order],
            bands=bands,
            **texts,
        )

    def form(self, place: int) -> Canonical:
        tokens = tuple(self.tokens[place].split(" "))
        options = tuple(self.options[place].split("\x1f")) if self.options[place] else ()
        return Canonical(tokens=tokens, hard=tuple(token for token in tokens if is_hard(token)), options=options)


def candidates(rows: Rows, max_bucket: int) -> list[tuple[int, int]]:
    """Pairs (earlier, later) that share a MinHash band, or their numbers."""
    codes: set[int] = set()
    size = len(rows.source_row)
    for band in range(BANDS if size else 0):
        codes.update(_bucket_pairs(rows.bands[:, band], size, max_bucket))
    places, keys = _number_keys(rows)
    codes.update(_bucket_pairs(keys, size, max_bucket, places))
    return [divmod(code, size) for code in sorted(codes)]


def _bucket_pairs(keys: np.ndarray, size: int, max_bucket: int, places: np.ndarray | None = None) -> Iterator[int]:
    """Pairs of rows with equal keys, as codes; `places` are the rows of the keys where they are not one a row."""
    order = np.argsort(keys, kind="stable")
    taken = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], taken[1:] != taken[:-1])))
    lengths = np.diff(np.append(starts, len(taken)))
    rows = order if places is None else places[order]
    for start, length in zip(starts[lengths > 1].tolist(), lengths[lengths > 1].tolist(), strict=True):
        members = sorted(set(rows[start : start + min(length, max_bucket)].tolist()))
        reach = len(members) if len(members) <= SMALL_BUCKET else SMALL_BUCKET
        for index, first in enumerate(members):
            for second in members[index + 1 : index + 1 + reach]:
                yield first * size + second


def _number_keys(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """(rows, keys): the numbers and the answer of each row, and the same with any one number left out."""
    places: list[int] = []
    keys: list[int] = []
    for place, text in enumerate(rows.tokens):
        answer = plain_answer(rows.answer[place])
        for numbers in number_sets(text.split(" ")):
            raw = " ".join((*numbers, "|", answer)).encode("utf-8", "replace")
            places.append(place)
            keys.append(int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little"))
    return np.asarray(places, dtype=np.int64), np.asarray(keys, dtype=np.uint64)


def number_sets(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """The different numbers of a text in order, ones aside, and with each left out in turn."""
    numbers = sorted({token for token in tokens if token[0].isdigit() and token != "1"})[:MOST_NUMBERS]
    if not numbers:
        return []
    left_out = [(*numbers[:gap], *numbers[gap + 1 :]) for gap in range(len(numbers))] if len(numbers) > 1 else []
    return [tuple(numbers), *left_out]


def verify(rows: Rows, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Match]:
    """Verdicts on the candidate pairs; answers are compared by the verifier where their spelling differs."""
    forms: dict[int, Canonical] = {}
    open_pairs: list[tuple[int, int]] = []
    for first, second in pairs:
        for place in (first, second):
            if place not in forms:
                forms[place] = rows.form(place)
        if plausible(Pair(forms[first], forms[second])):
            open_pairs.append((first, second))
    relations = relate(
        [(rows.answer[first], rows.answer[second], rows.verifier[first]) for first, second in open_pairs]
    )
    found: dict[tuple[int, int], Match] = {}
    for (first, second), relation in zip(open_pairs, relations, strict=True):
        match = judge(Pair(forms[first], forms[second]), relation, MARGIN + weakness(rows.answer[first]))
        if match is not None:
            found[first, second] = match
    return found


def relate(answers: Sequence[tuple[str, str, str]]) -> list[Relation]:
    """How two answers relate (answer, answer, verifier), by their spelling and else by the verifier, both ways."""
    relations: dict[tuple[str, str, str], Relation] = {}
    unclear: list[tuple[str, str, str]] = []
    for key in dict.fromkeys(answers):
        first, second, _ = key
        if not first or not second:
            relations[key] = "unknown"
        elif plain_answer(first) == plain_answer(second):
            relations[key] = "equal"
        elif _plain_integer(first) and _plain_integer(second):
            relations[key] = "differ"
        elif texts_agree(first, second):
            relations[key] = "equal"
        else:
            unclear.append(key)
    requests = [
        Request(response=f"\\boxed{{{response}}}", ground_truth=gold, verifier=verifier)
        for one, other, verifier in unclear
        for gold, response in ((one, other), (other, one))
    ]
    judged = iter(verify_many(requests, workers=1))
    for key in unclear:
        statuses = {next(judged).status.value, next(judged).status.value}
        if "correct" in statuses:
            relations[key] = "equal"
        else:
            relations[key] = "unknown" if statuses == {"undecided"} else "differ"
    return [relations[key] for key in answers]


def _plain_integer(text: str) -> bool:
    return plain_answer(text).lstrip("-").isdigit()


Dropped = dict[int, tuple[int, Match]]
Conflicts = dict[int, tuple[int, Match]]


def keep_greedily(rows: Rows, matches: dict[tuple[int, int], Match]) -> tuple[Dropped, Conflicts]:
    """In order of priority a row goes only if it is verified against a row that is kept; so nothing depends on the
    order of the input and chains do not merge. Golds that contradict each other set both rows aside."""
    duplicates: dict[int, list[int]] = defaultdict(list)
    for (first, second), match in matches.items():
        if match.kind == "duplicate":
            duplicates[second].append(first)
    dropped: Dropped = {}
    for place in range(len(rows.source_row)):
        keeper = next((first for first in sorted(duplicates.get(place, ())) if first not in dropped), None)
        if keeper is not None:
            dropped[place] = (keeper, matches[keeper, place])
    conflicts: Conflicts = {}
    for (first, second), match in sorted(matches.items()):
        if match.kind != "conflict":
            continue
        one, other = (dropped[place][0] if place in dropped else place for place in (first, second))
        if one != other:
            conflicts.setdefault(one, (other, match))
            conflicts.setdefault(other, (one, match))
    return dropped, conflicts


def _drop(rows: Rows, place: int, problem: Problem, dropped: Dropped, conflicts: Conflicts) -> Drop:
    other, match = dropped[place] if place in dropped else conflicts[place]
    evidence = {"rule": match.rule, "score": round(match.score, 4)}
    if place in dropped:
        exact = problem.id == rows.ids[other]
        reason = "exact-duplicate" if exact else "near-duplicate"
        return drop(problem, "dedupe", reason, keeper=rows.source_row[other], keeper_id=rows.ids[other], **evidence)
    return drop(
        problem,
        "dedupe",
        "conflicting-golds",
        kind="quarantined",
        other=rows.source_row[other],
        other_id=rows.ids[other],
        other_gold=rows.answer[other],
        **evidence,
    )


def dedupe_problems(problems: Iterable[Problem], context: Context, stage: Dedupe | None = None) -> Sequence[Drop]:
    """The stage on problems in memory."""
    listed = list(problems)
    by_row = {problem.source_row: problem for problem in listed}
    chosen = stage or Dedupe()
    return chosen.drops(chosen.keys(listed), lambda names: [by_row[name] for name in names], context)
