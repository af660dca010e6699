"""Rows that are benchmark items: word for word, reformatted, embedded, or reworded with the same answer."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from rapidfuzz.distance import Indel

from pipeline.canonical import Canonical, canonical
from pipeline.config import STRICT, RecipeError
from pipeline.duplicates import Pair, judge, plausible
from pipeline.gold import with_meta
from pipeline.problem import Problem
from pipeline.sources import AnswerPattern, Format, Source, read_source
from pipeline.stage import Context, Drop, Outcome, drop
from pipeline.stages.dedupe import relate

CONTAINMENT = 0.5
MIN_SIMILARITY = 0.45
LONG_ITEM = 12
"""Tokens from which a benchmark item that is wholly contained is no accident, however long the row."""
COMMON_POSTINGS = 64
NUMBERS_FOR_KEY = 2
SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One test set; its fields are named as a source's are. split and revision are reported, for people ask which."""

    __pydantic_config__ = STRICT
    name: str
    question: str | tuple[str, ...]
    answer: str
    split: str = "test"
    revision: str = "unknown"
    path: Path | None = None
    hub: str | None = None
    subset: str | None = None
    format: Format | None = None
    question_pattern: str | None = None
    answer_pattern: AnswerPattern = "whole"

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
    """Benchmark items by their plain text, their rarer 3-grams, their numbers and their template."""

    items: tuple[Item, ...]
    verbatim: dict[str, int]
    postings: dict[str, tuple[int, ...]]
    numbers: dict[tuple[str, ...], tuple[int, ...]]
    templates: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decontaminate:
    """containment: share of a benchmark item's canonical 3-grams that a row must hold.
    template: what to do with a row that is a benchmark item with other numbers: keep (marked in `meta_json`) or drop.
    """

    __pydantic_config__ = STRICT
    benchmarks: tuple[Benchmark, ...]
    containment: float = CONTAINMENT
    template: Literal["keep", "drop"] = "keep"

    def __call__(self, problems: Sequence[Problem], _context: Context) -> Outcome:
        index = build_index(self.benchmarks)
        hits = find_hits(problems, index, self.containment)
        kept: list[Problem] = []
        drops: list[Drop] = []
        for problem, hit in zip(problems, hits, strict=True):
            if hit is None or (hit.rule == "template" and self.template == "keep"):
                marked = hit is not None
                kept.append(with_meta(problem, template_overlap=_where(hit)) if marked else problem)
            else:
                drops.append(self._drop(problem, hit))
        return Outcome(kept=kept, drops=drops)

    def _drop(self, problem: Problem, hit: Hit) -> Drop:
        revision = {item.name: (item.split, item.revision) for item in self.benchmarks}[hit.item.benchmark]
        shown = drop(
            problem,
            "decontaminate",
            {"template": "benchmark-template"}.get(hit.rule, "benchmark-item"),
            benchmark=hit.item.benchmark,
            benchmark_index=hit.item.index,
            split=revision[0],
            revision=revision[1],
            rule=hit.rule,
            score=round(hit.score, 4),
            item_digest=_digest(hit.item.question),
            item_begins=hit.item.question[:SHOWN],
        )
        return replace(shown, question=f"{problem.question[:SHOWN]} [{_digest(problem.question)}]")

    def describe_benchmarks(self) -> list[dict[str, Any]]:
        """Name, split, revision, rows and content digest of every benchmark."""
        index = build_index(self.benchmarks)
        found = []
        for benchmark in self.benchmarks:
            rows = [[item.question, item.answer] for item in index.items if item.benchmark == benchmark.name]
            digest = hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()
            found.append(
                {
                    "name": benchmark.name,
                    "split": benchmark.split,
                    "revision": benchmark.revision,
                    "rows": len(rows),
                    "digest": digest,
                }
            )
        return found


@dataclass(frozen=True, slots=True)
class Hit:
    item: Item
    rule: str
    score: float


def _where(hit: Hit | None) -> str | None:
    return None if hit is None else f"{hit.item.benchmark}#{hit.item.index}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def plain_text(text: str) -> str:
    """NFC, white space as single spaces, case folded: what counts as word for word."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip().casefold()


def grams(form: Canonical) -> frozenset[str]:
    tokens = form.tokens
    if len(tokens) < 3:
        return frozenset([" ".join(tokens)])
    return frozenset(" ".join(tokens[place : place + 3]) for place in range(len(tokens) - 2))


@lru_cache(maxsize=4)
def build_index(benchmarks: tuple[Benchmark, ...]) -> Index:
    """Raises RecipeError when a benchmark cannot be read or holds no usable row."""
    items = [item for benchmark in benchmarks for item in _items(benchmark)]
    verbatim: dict[str, int] = {}
    postings: dict[str, list[int]] = defaultdict(list)
    numbers: dict[tuple[str, ...], list[int]] = defaultdict(list)
    templates: dict[str, int] = {}
    for place, item in enumerate(items):
        verbatim.setdefault(plain_text(item.question), place)
        templates.setdefault(item.form.template_id, place)
        for gram in item.grams:
            postings[gram].append(place)
        numbers[number_key(item.form)].append(place)
    rare = {gram: tuple(places) for gram, places in postings.items() if len(places) <= COMMON_POSTINGS}
    return Index(
        items=tuple(items),
        verbatim=verbatim,
        postings=rare,
        numbers={key: tuple(places) for key, places in numbers.items() if len(key) >= NUMBERS_FOR_KEY},
        templates=templates,
    )


def _items(benchmark: Benchmark) -> list[Item]:
    source = benchmark.source()
    if benchmark.path is not None and not benchmark.path.exists():
        raise RecipeError(f"stages.decontaminate: benchmark '{benchmark.name}': path: {benchmark.path} does not exist")
    items = []
    for row in read_source(source):
        if isinstance(row, Problem) or row.question:
            form = canonical(row.question)
            index = int(row.source_row.rpartition("#")[2])
            hard = Counter(token for token in form.hard if not token.startswith("fig"))
            items.append(Item(benchmark.name, index, row.question, row.ground_truth, form, grams(form), hard))
    if not items:
        raise RecipeError(f"{source.place}: benchmark '{benchmark.name}' holds no usable row")
    return items


def number_key(form: Canonical) -> tuple[str, ...]:
    return tuple(sorted(number for number in form.numbers if number != "1"))


def find_hits(problems: Sequence[Problem], index: Index, containment: float) -> list[Hit | None]:
    """The benchmark item behind each problem, if any."""
    hits: list[Hit | None] = []
    undecided: list[tuple[int, Problem, Canonical, list[int]]] = []
    for place, problem in enumerate(problems):
        form = canonical(problem.question)
        found = _textual_hit(problem, form, index, containment)
        hits.append(found)
        if found is None:
            undecided.append((place, problem, form, _candidates(form, index)))
    for place, hit in _reworded_hits(undecided, index):
        hits[place] = hit
    return hits


def _textual_hit(problem: Problem, form: Canonical, index: Index, containment: float) -> Hit | None:
    exact = index.verbatim.get(plain_text(problem.question))
    if exact is not None:
        return Hit(index.items[exact], "verbatim", 1.0)
    own, hard = grams(form), Counter(form.hard)
    best: Hit | None = None
    for place in _candidates(form, index):
        item = index.items[place]
        score = len(item.grams & own) / len(item.grams)
        if score < containment or item.hard - hard:
            continue
        alike = Indel.normalized_similarity(item.form.tokens, form.tokens)
        whole = score >= 0.95 and len(item.form.tokens) >= LONG_ITEM
        if (alike >= MIN_SIMILARITY or whole) and (best is None or score > best.score):
            best = Hit(item, "contained", score)
    return best


def _candidates(form: Canonical, index: Index) -> list[int]:
    """Items that share a fair part of their rarer 3-grams, and items with the same numbers."""
    shared: Counter[int] = Counter()
    for gram in grams(form):
        shared.update(index.postings.get(gram, ()))
    likely = [place for place, count in shared.items() if count >= max(1, 0.2 * len(index.items[place].grams))]
    return sorted({*likely, *index.numbers.get(number_key(form), ())})


def _reworded_hits(
    undecided: Sequence[tuple[int, Problem, Canonical, list[int]]], index: Index
) -> list[tuple[int, Hit]]:
    """Rewordings: the numbers agree, the answers agree, and enough of the words; then templates."""
    pairs = [
        (place, problem, Pair(index.items[other].form, form), other)
        for place, problem, form, others in undecided
        for other in others
    ]
    pairs = [entry for entry in pairs if plausible(entry[2])]
    relations = relate([(index.items[other].answer, p.ground_truth, p.verifier) for _, p, _, other in pairs])
    found: dict[int, Hit] = {}
    for (place, _, pair, other), relation in zip(pairs, relations, strict=True):
        match = judge(pair, relation)
        if match is not None and (place not in found or found[place].score < match.score):
            found[place] = Hit(index.items[other], match.rule, match.score)
    for place, _, form, _ in undecided:
        twin = index.templates.get(form.template_id)
        if place not in found and twin is not None and len(form.tokens) >= LONG_ITEM:
            found[place] = Hit(index.items[twin], "template", 1.0)
    return sorted(found.items(), key=lambda entry: entry[0])
