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

from rapidfuzz.distance import LCSseq

from pipeline.answers import plain_answer
from pipeline.canonical import Canonical, canonical
from pipeline.config import STRICT, RecipeError
from pipeline.dedupe_verify import relate
from pipeline.duplicates import Pair, Relation, judge, number_sets, plausible
from pipeline.fields import AnswerPattern
from pipeline.gold import with_meta
from pipeline.problem import Problem
from pipeline.sources import Format, Source, read_source
from pipeline.stage import Context, Drop, Outcome, drop

CONTAINMENT = 0.5
MIN_SIMILARITY = 0.45
SAME_TEXT = 0.9
"""Token similarity from which a row is the item although its gold differs."""
WHOLE = 0.95
IN_ORDER = 0.9
LONG_ITEM = 12
"""Tokens from which a benchmark item that is wholly contained is no accident, however long the row."""
COMMON_POSTINGS = 64
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
    numbers: dict[tuple[tuple[str, ...], str], tuple[int, ...]]
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


@dataclass(frozen=True, slots=True)
class Open:
    """A row and an item that may be one problem, once their answers are compared."""

    place: int
    problem: Problem
    item: Item
    pair: Pair
    contained: float


def find_hits(problems: Sequence[Problem], index: Index, containment: float) -> list[Hit | None]:
    """The benchmark item behind each problem, if any."""
    hits: list[Hit | None] = []
    waiting: list[Open] = []
    forms: list[Canonical] = []
    for place, problem in enumerate(problems):
        form = canonical(problem.question)
        exact = index.verbatim.get(plain_text(problem.question))
        hit = None if exact is None else Hit(index.items[exact], "verbatim", 1.0)
        if hit is None:
            found = _open_items(place, problem, form, index, containment)
            whole = [one for one in found if _holds_whole(one)]
            if whole:
                best = max(whole, key=lambda one: one.contained)
                hit = Hit(best.item, "contained", best.contained)
            else:
                waiting += found
        hits.append(hit)
        forms.append(form)
    for one, found in zip(waiting, _by_answers(waiting), strict=True):
        before = hits[one.place]
        if found is not None and (before is None or found.score > before.score):
            hits[one.place] = found
    return [hit or _template_hit(form, index) for hit, form in zip(hits, forms, strict=True)]


def _holds_whole(one: Open) -> bool:
    """The row holds the entire item, whatever its own answer; unless the item is short or its figure is another."""
    same_answer = plain_answer(one.item.answer) == plain_answer(one.problem.ground_truth)
    long = len(one.item.form.tokens) >= LONG_ITEM
    return one.contained >= WHOLE and long and (one.pair.figures_agree or same_answer)


def _open_items(place: int, problem: Problem, form: Canonical, index: Index, containment: float) -> list[Open]:
    own, hard = grams(form), Counter(form.hard)
    found: list[Open] = []
    for other in _candidates(problem, form, index):
        item = index.items[other]
        pair = Pair(item.form, form)
        score = len(item.grams & own) / len(item.grams)
        held = score >= containment and not item.hard - hard and _in_order(item.form, form)
        if held or plausible(pair):
            found.append(Open(place, problem, item, pair, score if held else 0.0))
    return found


def _by_answers(waiting: Sequence[Open]) -> list[Hit | None]:
    relations = relate([(one.item.answer, one.problem.ground_truth, one.problem.verifier) for one in waiting])
    return [_judged(one, relation) for one, relation in zip(waiting, relations, strict=True)]


def _judged(one: Open, relation: Relation) -> Hit | None:
    match = judge(one.pair, relation)
    if match is not None:
        return Hit(one.item, match.rule, match.score)
    alike = one.pair.similarity
    if relation == "differ":
        held = alike >= SAME_TEXT and one.pair.same_but_equals_signs and one.pair.figures_agree
    else:
        held = alike >= MIN_SIMILARITY
    return Hit(one.item, "contained", one.contained) if one.contained and held else None


def _template_hit(form: Canonical, index: Index) -> Hit | None:
    twin = index.templates.get(form.template_id)
    return Hit(index.items[twin], "template", 1.0) if twin is not None and len(form.tokens) >= LONG_ITEM else None


def _in_order(item: Canonical, form: Canonical) -> bool:
    """Whether the item's deciding tokens stand in the row in nearly their own order."""
    if not item.hard:
        return True
    shared = LCSseq.similarity(item.hard, form.hard)
    return shared >= IN_ORDER * len(item.hard)


def _candidates(problem: Problem, form: Canonical, index: Index) -> list[int]:
    """Items that share a fair part of their rarer 3-grams, or the answer and nearly all numbers."""
    shared: Counter[int] = Counter()
    for gram in grams(form):
        shared.update(index.postings.get(gram, ()))
    likely = [place for place, count in shared.items() if count >= max(1, 0.2 * len(index.items[place].grams))]
    answer = plain_answer(problem.ground_truth)
    counted = [place for key in number_sets(form.tokens) for place in index.numbers.get((key, answer), ())]
    return sorted({*likely, *counted})
