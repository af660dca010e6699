"""Benchmarks as hashes: decontamination against a test set whose text is not to be passed on.

A file holds a header line and one line an item: hashes of the plain text, the canonical form, the template, the answer,
the numbers with the answer, and every canonical 3-gram. Nothing of the text can be read from it, but who guesses a text
can check the guess. `write_hashes(benchmark, path)` makes one; a recipe names it with `hashes = "file"`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline.answers import plain_answer
from pipeline.atomic import atomic_file
from pipeline.benchmarks import (
    COMMON_POSTINGS,
    Benchmark,
    Item,
    grams,
    items_digest,
    number_sets,
    plain_text,
    read_items,
)
from pipeline.canonical import Canonical, canonical
from pipeline.config import RecipeError

FORMAT = "verigold-benchmark-hashes"
VERSION = 1
WHOLE = 0.95
HALF = 0.5
REWORDED, NEARLY = 0.1, 0.2
"""Containment from which an item with the row's answer and all, or all but one, of its numbers is the row in other
words. Fitted on GSM8K: its reworded test set, and train rows."""
LONG_ITEM = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedItem:
    """Hashes of one item: 16 hex digits each."""

    index: int
    text: str
    form: str
    template: str
    tokens: int
    answer: str
    numbers: tuple[str, ...]
    grams: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a file says of its benchmark."""

    name: str
    split: str
    revision: str
    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class HashedBenchmark:
    header: Header
    items: tuple[HashedItem, ...]
    texts: dict[str, int]
    forms: dict[str, int]
    templates: dict[str, int]
    numbers: dict[str, tuple[int, ...]]
    postings: dict[str, tuple[int, ...]]


def hashed(*parts: str) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _hash_item(item: Item) -> HashedItem:
    return HashedItem(index=item.index, **row_hashes(item.question, item.answer, item.form))


def row_hashes(question: str, answer: str, form: Canonical | None = None) -> dict[str, Any]:
    """The hashes of a text with its answer, as an item's fields."""
    form = form or canonical(question)
    plain = plain_answer(answer)
    return {
        "text": hashed("text", plain_text(question)),
        "form": hashed("form", form.text),
        "template": hashed("template", form.template_id),
        "tokens": len(form.tokens),
        "answer": hashed("answer", plain),
        "numbers": tuple(sorted(hashed("numbers", plain, *key) for key in number_sets(form.tokens))),
        "grams": tuple(sorted(hashed("gram", gram) for gram in grams(form))),
    }


def write_hashes(benchmark: Benchmark, path: Path) -> Header:
    """Writes the hashes of a benchmark given as texts to a `.jsonl.gz` file; the same content gives the same bytes.

    Raises RecipeError when the benchmark cannot be read.
    """
    items = read_items(benchmark)
    header = Header(
        name=benchmark.name,
        split=benchmark.split,
        revision=benchmark.revision,
        rows=len(items),
        digest=items_digest(items),
    )
    lines = [{"format": FORMAT, "version": VERSION, **asdict(header)}, *(asdict(_hash_item(item)) for item in items)]
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    with atomic_file(path) as temporary:
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))
    return header


@lru_cache(maxsize=16)
def read_hashes(path: Path) -> HashedBenchmark:
    """Raises RecipeError when the file is missing, damaged or of another format."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as handle:
            first, *rest = [json.loads(line) for line in handle]
        if first.pop("format") != FORMAT or first.pop("version") != VERSION:
            raise KeyError("format")
        header = Header(**first)
        items = [HashedItem(**{**row, "numbers": tuple(row["numbers"]), "grams": tuple(row["grams"])}) for row in rest]
    except OSError as error:
        raise RecipeError(f"{path}: cannot read the hashes ({error.strerror or error}); make them again") from None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError):
        raise RecipeError(f"{path}: not a file of benchmark hashes; make it with write_hashes") from None
    if not items:
        raise RecipeError(f"{path}: holds no benchmark item; make it again")
    return _indexed(header, tuple(items))


def _indexed(header: Header, items: tuple[HashedItem, ...]) -> HashedBenchmark:
    numbers: dict[str, list[int]] = defaultdict(list)
    postings: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        for key in item.numbers:
            numbers[key].append(place)
        for gram in item.grams:
            postings[gram].append(place)
    return HashedBenchmark(
        header,
        items,
        {item.text: place for place, item in reversed(list(enumerate(items)))},
        {item.form: place for place, item in reversed(list(enumerate(items)))},
        {item.template: place for place, item in reversed(list(enumerate(items)))},
        {key: tuple(places) for key, places in numbers.items()},
        {gram: tuple(places) for gram, places in postings.items() if len(places) <= COMMON_POSTINGS},
    )


@dataclass(frozen=True, slots=True)
class HashHit:
    index: int
    rule: str
    score: float


def find_hashed(benchmark: HashedBenchmark, row: dict[str, Any]) -> HashHit | None:
    """The item behind a row (its `row_hashes`), if any: word for word, the same form, contained, or reworded."""
    for rule, table, key in (("verbatim", benchmark.texts, "text"), ("same-form", benchmark.forms, "form")):
        place = table.get(row[key])
        if place is not None:
            return HashHit(benchmark.items[place].index, rule, 1.0)
    own = frozenset(row["grams"])
    keyed = {place for key in row["numbers"] for place in benchmark.numbers.get(key, ())}
    found = [
        _judge(benchmark.items[place], row, own, place in keyed) for place in sorted(_likely(benchmark, own) | keyed)
    ]
    hits = [hit for hit in found if hit is not None]
    if hits:
        return max(hits, key=lambda hit: hit.score)
    place = benchmark.templates.get(row["template"]) if row["tokens"] >= LONG_ITEM else None
    return None if place is None else HashHit(benchmark.items[place].index, "template", 1.0)


def _likely(benchmark: HashedBenchmark, own: Iterable[str]) -> set[int]:
    shared: Counter[int] = Counter()
    for gram in own:
        shared.update(benchmark.postings.get(gram, ()))
    return {place for place, count in shared.items() if count >= 0.2 * len(benchmark.items[place].grams)}


def _judge(item: HashedItem, row: dict[str, Any], own: frozenset[str], same_numbers: bool) -> HashHit | None:
    held = len(own.intersection(item.grams)) / len(item.grams)
    if held >= WHOLE and item.tokens >= LONG_ITEM:
        return HashHit(item.index, "contained", round(held, 4))
    if item.answer != row["answer"]:
        return None
    if held >= HALF and (same_numbers or not item.numbers):
        return HashHit(item.index, "contained", round(held, 4))
    least = REWORDED if item.numbers == row["numbers"] else NEARLY
    return HashHit(item.index, "reworded", round(held, 4)) if same_numbers and held >= least else None
