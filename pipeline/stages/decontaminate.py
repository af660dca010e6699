"""Rows that are benchmark items: word for word, reformatted, embedded, or reworded with the same answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rapidfuzz.distance import LCSseq

from pipeline.answers import plain_answer
from pipeline.benchmark_hashes import find_hashed, read_hashes, row_hashes
from pipeline.benchmarks import (
    Benchmark,
    Index,
    Item,
    build_index,
    digest,
    grams,
    items_digest,
    number_sets,
    plain_text,
)
from pipeline.canonical import Canonical, canonical
from pipeline.config import STRICT
from pipeline.dedupe_verify import relate
from pipeline.duplicates import Pair, Relation, judge, plausible
from pipeline.gold import with_meta
from pipeline.problem import Problem
from pipeline.stage import Context, Drop, Outcome, drop

CONTAINMENT = 0.5
MIN_SIMILARITY = 0.45
SAME_TEXT = 0.9
"""Token similarity from which a row is the item although its gold differs."""
WHOLE = 0.95
IN_ORDER = 0.9
LONG_ITEM = 12
"""Tokens from which a benchmark item that is wholly contained is no accident, however long the row."""
SHOWN = 40


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
        hits = self.find(problems)
        kept: list[Problem] = []
        drops: list[Drop] = []
        for problem, hit in zip(problems, hits, strict=True):
            if hit is None:
                kept.append(problem)
            elif hit.rule == "template" and self.template == "keep":
                kept.append(with_meta(problem, template_overlap=f"{hit.benchmark}#{hit.index}"))
            else:
                drops.append(self._drop(problem, hit))
        return Outcome(kept=kept, drops=drops)

    def find(self, problems: Sequence[Problem]) -> list[Hit | None]:
        """The benchmark item behind each problem, if any; an item given as text before one given as hashes."""
        index = build_index(self.benchmarks)
        hits = find_hits(problems, index, self.containment)
        hidden = [one for one in self.benchmarks if one.hashes is not None]
        return [_hashed_hit(row, hidden, hit) for row, hit in zip(problems, hits, strict=True)] if hidden else hits

    def _drop(self, problem: Problem, hit: Hit) -> Drop:
        split, revision = {item.name: (item.split, item.revision) for item in self.benchmarks}[hit.benchmark]
        shown = drop(
            problem,
            "decontaminate",
            {"template": "benchmark-template"}.get(hit.rule, "benchmark-item"),
            benchmark=hit.benchmark,
            benchmark_index=hit.index,
            split=split,
            revision=revision,
            rule=hit.rule,
            score=round(hit.score, 4),
            item_digest=digest(hit.question) if hit.question else "",
            item_begins=hit.question[:SHOWN],
        )
        return replace(shown, question=f"{problem.question[:SHOWN]} [{digest(problem.question)}]")

    def describe_benchmarks(self) -> list[dict[str, Any]]:
        """Name, split, revision, rows and content digest of every benchmark."""
        index = build_index(self.benchmarks)
        return [_described(benchmark, index) for benchmark in self.benchmarks]


def _described(benchmark: Benchmark, index: Index) -> dict[str, Any]:
    named = {"name": benchmark.name, "split": benchmark.split, "revision": benchmark.revision}
    if benchmark.hashes is not None:
        header = read_hashes(benchmark.hashes).header
        return {**named, "rows": header.rows, "digest": header.digest, "hashed": True}
    items = [item for item in index.items if item.benchmark == benchmark.name]
    return {**named, "rows": len(items), "digest": items_digest(items)}


@dataclass(frozen=True, slots=True)
class Hit:
    """The item behind a row; its question is empty where only hashes are known."""

    benchmark: str
    index: int
    question: str
    rule: str
    score: float


def _hit(item: Item, rule: str, score: float) -> Hit:
    return Hit(item.benchmark, item.index, item.question, rule, score)


def _hashed_hit(problem: Problem, benchmarks: Sequence[Benchmark], before: Hit | None) -> Hit | None:
    """A hit in the texts stands; a mere template gives way to an item."""
    if before is not None and before.rule != "template":
        return before
    row = row_hashes(problem.question, problem.ground_truth)
    found: list[Hit] = []
    for benchmark in benchmarks:
        assert benchmark.hashes is not None
        hit = find_hashed(read_hashes(benchmark.hashes), row)
        if hit is not None:
            found.append(Hit(benchmark.name, hit.index, "", hit.rule, hit.score))
    items = [hit for hit in found if hit.rule != "template"]
    return max(items, key=lambda hit: hit.score) if items else before or next(iter(found), None)


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
        hit = None if exact is None else _hit(index.items[exact], "verbatim", 1.0)
        if hit is None:
            found = _open_items(place, problem, form, index, containment)
            whole = [one for one in found if _holds_whole(one)]
            if whole:
                best = max(whole, key=lambda one: one.contained)
                hit = _hit(best.item, "contained", best.contained)
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
        return _hit(one.item, match.rule, match.score)
    alike = one.pair.similarity
    if relation == "differ":
        held = alike >= SAME_TEXT and one.pair.same_but_equals_signs and one.pair.figures_agree
    else:
        held = alike >= MIN_SIMILARITY
    return _hit(one.item, "contained", one.contained) if one.contained and held else None


def _template_hit(form: Canonical, index: Index) -> Hit | None:
    twin = index.templates.get(form.template_id)
    return _hit(index.items[twin], "template", 1.0) if twin is not None and len(form.tokens) >= LONG_ITEM else None


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
