"""Test sets to keep out of training data, indexed by plain text, rarer 3-grams, numbers with answer, and template."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pipeline.answers import plain_answer, stated_answer
from pipeline.canonical import Canonical, canonical
from pipeline.config import STRICT, RecipeError
from pipeline.fields import AnswerPattern
from pipeline.problem import Problem
from pipeline.sources import FieldValue, Format, Source, read_source

COMMON_POSTINGS = 64
"""3-grams that more items hold than this are phrasing, not evidence."""
MOST_NUMBERS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One test set; its fields are named as a source's are, or filled in by `preset`.

    split, revision: reported, for people ask which.
    hashes: a file written by `pipeline.benchmark_hashes.write_hashes`, instead of the texts.
    """

    __pydantic_config__ = STRICT
    name: str
    question: str | tuple[str, ...] = ()
    answer: str = ""
    split: str = "test"
    revision: str = "unknown"
    path: Path | None = None
    hub: str | None = None
    subset: str | None = None
    hashes: Path | None = None
    format: Format | None = None
    question_pattern: str | None = None
    answer_pattern: AnswerPattern = "whole"
    answer_separator: str | None = None
    choices: str | None = None
    where: dict[str, tuple[FieldValue, ...]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        given = [key for key in ("path", "hub", "hashes") if getattr(self, key) is not None]
        if len(given) != 1:
            raise RecipeError(f"benchmark '{self.name}': give path, hub or hashes, and only one of them")
        if self.hashes is None and not (self.question and self.answer):
            raise RecipeError(f"benchmark '{self.name}': question and answer: name the fields, or give a preset")

    def source(self) -> Source:
        return Source(
            name=self.name,
            question=self.question,
            answer=self.answer,
            path=self.path,
            hub=self.hub,
            subset=self.subset,
            split=self.split,
            format=self.format,
            question_pattern=self.question_pattern,
            answer_pattern=self.answer_pattern,
            answer_list="all",
            answer_separator=self.answer_separator,
            choices=self.choices,
            where=self.where,
        )


@dataclass(frozen=True, slots=True)
class Item:
    """One benchmark problem."""

    benchmark: str
    index: int
    question: str
    answer: str
    form: Canonical
    grams: frozenset[str]
    hard: Counter[str]


@dataclass(frozen=True, slots=True)
class Index:
    """Benchmark items by their plain text, their rarer 3-grams, their numbers with the answer, and their template."""

    items: tuple[Item, ...]
    verbatim: dict[str, int]
    postings: dict[str, tuple[int, ...]]
    numbers: dict[tuple[tuple[str, ...], str], tuple[int, ...]]
    templates: dict[str, int]


def plain_text(text: str) -> str:
    """NFC, white space as single spaces, case folded: what counts as word for word."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip().casefold()


def grams(form: Canonical) -> frozenset[str]:
    """The token 3-grams of a canonical form."""
    tokens = form.tokens
    if len(tokens) < 3:
        return frozenset([" ".join(tokens)])
    return frozenset(map(" ".join, zip(tokens, tokens[1:], tokens[2:], strict=False)))


def number_sets(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """The different numbers of a text in order, ones aside, and with each left out in turn."""
    numbers = sorted({token for token in tokens if token[0].isdigit() and token != "1"})[:MOST_NUMBERS]
    if not numbers:
        return []
    left_out = [(*numbers[:gap], *numbers[gap + 1 :]) for gap in range(len(numbers))] if len(numbers) > 1 else []
    return [tuple(numbers), *left_out]


@lru_cache(maxsize=4)
def build_index(benchmarks: tuple[Benchmark, ...]) -> Index:
    """Index of the benchmarks that are given as texts.

    Raises RecipeError when one cannot be read or holds no usable row.
    """
    items = [item for benchmark in benchmarks if benchmark.hashes is None for item in read_items(benchmark)]
    verbatim: dict[str, int] = {}
    postings: dict[str, list[int]] = defaultdict(list)
    numbers: dict[tuple[tuple[str, ...], str], list[int]] = defaultdict(list)
    templates: dict[str, int] = {}
    for place, item in enumerate(items):
        verbatim.setdefault(plain_text(item.question), place)
        templates.setdefault(item.form.template_id, place)
        for gram in item.grams:
            postings[gram].append(place)
        for key in number_sets(item.form.tokens):
            numbers[key, plain_answer(item.answer)].append(place)
    rare = {gram: tuple(places) for gram, places in postings.items() if len(places) <= COMMON_POSTINGS}
    return Index(
        items=tuple(items),
        verbatim=verbatim,
        postings=rare,
        numbers={key: tuple(places) for key, places in numbers.items()},
        templates=templates,
    )


def read_items(benchmark: Benchmark) -> list[Item]:
    """The items of one benchmark; equal texts once, for published files repeat their items up to 32 times.

    Raises RecipeError when it cannot be read or holds no usable row.
    """
    source = benchmark.source()
    if benchmark.path is not None and not benchmark.path.exists():
        raise RecipeError(f"stages.decontaminate: benchmark '{benchmark.name}': path: {benchmark.path} does not exist")
    items: dict[str, Item] = {}
    for index, question, answer in _rows(source):
        if question not in items:
            form = canonical(question)
            hard = Counter(token for token in form.hard if not token.startswith("fig"))
            said = stated_answer(question, answer)
            items[question] = Item(benchmark.name, index, question, said, form, grams(form), hard)
    if not items:
        raise RecipeError(f"{source.place}: benchmark '{benchmark.name}' holds no usable row")
    return list(items.values())


def _rows(source: Source) -> Iterator[tuple[int, str, str]]:
    """(index, question, answer) of every row with a question: an item without a gold is a test item all the same."""
    for row in read_source(source):
        if row.question and (isinstance(row, Problem) or row.reason != "filtered"):
            yield int(row.source_row.rpartition("#")[2]), row.question, row.ground_truth


def items_digest(items: Sequence[Item]) -> str:
    """sha256 of questions and answers: which content a report speaks of."""
    rows = [[item.question, item.answer] for item in items]
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
