"""Rules first, a judge for what is left: undecided verdicts, and a random share of the incorrect ones of the same type.

A judge turns a verdict only when both of its orders (or both judges) agree, and it is never asked where the rules saw
that a response gives no answer, several, code, a template, or too much (`NEVER_OVERRULED`, `emptiness`), nor where
arithmetic settles the matter. So the worst judge, which says yes to everything, pays nothing that stands there.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from verifiers import extract
from verifiers.answer import kinds, tree
from verifiers.answer.read import readings
from verifiers.exact import exact_number
from verifiers.judge import Ballots, Case, Judge
from verifiers.judge_fields import emptiness
from verifiers.math import typed_gold
from verifiers.qa import answer_text
from verifiers.registry import Request
from verifiers.rubric import NEEDS_JUDGE, Essay, read_criteria, score_rubrics
from verifiers.verdict import Status, Verdict, correct, incorrect

NEVER_OVERRULED = frozenset(
    (
        # no answer
        *("no-answer", "empty-box", "no-choice", "declined", "echoed"),
        # several, or one that is taken back
        *("hedged", "negated", "compared", "corrected", "other-name", "other-number"),
        # code, symbols, markup and talk: whatever cannot be read as an answer
        "unreadable",
        # cut off, or too much
        *("truncated", "response-too-complex"),
        # layout
        *("wrong-tags", "text-before-thought", "text-around-answer", "no-box"),
        # nothing to compare with
        *("gold-empty", "task-refused"),
    )
)
"""Reasons of the rules that no judge is asked about."""
MAY_BE_TURNED = frozenset(("different", "not-shown-equal", "type-mismatch"))
"""Reasons of incorrect verdicts of which a random share is judged, where answer and ground truth are of one type."""
MAY_BE_DECIDED = frozenset(
    ("gold-unparsable", "gold-unequal-to-itself", "worker-died", "worker-wall-limit", NEEDS_JUDGE)
)
"""Reasons of undecided verdicts, all of which are judged: a ground truth that our parser cannot read, a model can."""
JUDGED_VERIFIERS = ("math", "qa")
"""Letters of options and the scorers of reasoning-gym are exact; a layout is no answer."""

PROTECTED, CUT, SETTLED, OTHER_TYPE, SEVERAL = "protected", "cut", "settled", "other-type", "several"
"""Why a verdict is not judged, beside the reasons of `emptiness`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One response with what a judge wants to know beside the request. cut: it was ended by the token budget."""

    request: Request
    question: str = ""
    cut: bool = False


@dataclass(slots=True, kw_only=True)
class Counts:
    """Verdicts of the rules with one reason. seen: all.  withheld: not to be judged, by why.  eligible: the others.

    drawn: of these, asked.  turned: both orders agreed against the rules, or decided what was undecided.
    split: they contradicted one another.  failed: the judge gave no readable answer; the rules' verdict stays.
    """

    seen: int = 0
    eligible: int = 0
    drawn: int = 0
    turned: int = 0
    split: int = 0
    failed: int = 0
    withheld: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("seen", "eligible", "drawn", "turned", "split", "failed")}
        return {**numbers, "withheld": dict(sorted(self.withheld.items()))}

    def add(self, other: Counts) -> None:
        for name in ("seen", "eligible", "drawn", "turned", "split", "failed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.withheld.update(other.withheld)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """verdicts: in the order of the responses.  counts: by the reason of the rules, for verdicts that were not correct.

    ballots: of the responses that a judge was asked about, by place; without those held against a rubric.
    """

    verdicts: tuple[Verdict, ...]
    counts: dict[str, Counts]
    ballots: dict[int, Ballots]


def hybrid(
    asked: Sequence[Asked],
    rules: Sequence[Verdict],
    judge: Judge,
    *,
    share: float,
    seed: int,
    advance: Callable[[int], None] = lambda _: None,
) -> Hybrid:
    """The rules' verdicts with those that the judge turned, whose reason is `judged`.

    share: of the eligible incorrect verdicts, drawn by a key of question, ground truth and answer: equal answers to a
    question are treated alike in every epoch and process. Never raises for bad text or a judge that fails.
    """
    counts: dict[str, Counts] = {}
    cases: dict[int, Case] = {}
    essays: dict[int, Essay] = {}
    for place, (one, verdict) in enumerate(zip(asked, rules, strict=True)):
        if verdict.status is Status.CORRECT:
            continue
        count = counts.setdefault(verdict.reason, Counts())
        count.seen += 1
        answer = answer_of(one.request, verdict)
        why = withheld(one, verdict, answer)
        count.withheld.update([why] if why else [])
        count.eligible += not why
        if why or (verdict.status is Status.INCORRECT and not in_share(one, answer, share, seed)):
            continue
        count.drawn += 1
        if verdict.reason == NEEDS_JUDGE:
            criteria = read_criteria(one.request.options["criteria"])
            essays[place] = Essay(response=answer, question=one.question, criteria=criteria)
        else:
            settle = verdict.status is Status.UNDECIDED
            cases[place] = Case(question=one.question, golds=_golds(one.request), answer=answer, settle=settle)
    ballots = dict(zip(cases, judge.ballots(list(cases.values()), advance), strict=True))
    verdicts = list(rules)
    for place, found in ballots.items():
        verdicts[place] = _turned(rules[place], found, cases[place].answer)
    for place, found in zip(essays, score_rubrics(judge, list(essays.values())), strict=True):
        verdicts[place] = found
    for place in (*cases, *essays):
        _count(counts[rules[place].reason], rules[place], verdicts[place], ballots.get(place))
    return Hybrid(verdicts=tuple(verdicts), counts=counts, ballots=ballots)


def _turned(rule: Verdict, ballots: Ballots, answer: str) -> Verdict:
    said = None if ballots.failed else ballots.agreed
    detail = f"rules: {rule.reason}; judge: {ballots}"
    if said:
        return correct("judged", answer, detail=detail)
    if said is False and rule.status is Status.UNDECIDED:
        return incorrect("judged", answer, detail=detail)
    return rule


def _count(count: Counts, rule: Verdict, verdict: Verdict, ballots: Ballots | None) -> None:
    if ballots is None:  # a rubric
        count.failed += verdict.status is Status.UNDECIDED
        count.turned += verdict.status is not Status.UNDECIDED
        return
    count.failed += ballots.failed
    count.turned += verdict is not rule
    count.split += not ballots.failed and ballots.needed and ballots.agreed is None


# ---- who is asked --------------------------------------------------------------------------------------------------


def answer_of(request: Request, verdict: Verdict) -> str:
    """The extracted answer, which a verdict on a faulty ground truth does not hold; "" where there is none."""
    if verdict.extracted is not None:
        return verdict.extracted
    found = (
        answer_text(request.response)[0] if request.verifier == "qa" else extract.final_answer(request.response).text
    )
    return found or ""


def withheld(one: Asked, verdict: Verdict, answer: str) -> str:
    """Why the judge is not asked about a verdict that is not correct; "" when it may be."""
    if verdict.reason == NEEDS_JUDGE:
        return ""
    if one.cut:
        return CUT
    request = one.request
    allowed = MAY_BE_DECIDED if verdict.status is Status.UNDECIDED else MAY_BE_TURNED
    if verdict.reason not in allowed or request.verifier not in JUDGED_VERIFIERS or not answer.strip():
        return PROTECTED
    empty = emptiness(answer)
    if empty or request.verifier == "qa":
        return empty
    if verdict.status is Status.UNDECIDED:  # no rule compared, so none saw that the answer is hedged
        return SEVERAL if _several(answer) and not any(map(_asks_for_several, _golds(request))) else ""
    if any(_settled(gold, answer) for gold in _golds(request)):
        return SETTLED
    return "" if any(_same_type(gold, answer) for gold in _golds(request)) else OTHER_TYPE


def _golds(request: Request) -> tuple[str, ...]:
    return (request.ground_truth,) if isinstance(request.ground_truth, str) else tuple(request.ground_truth)


def in_share(one: Asked, answer: str, share: float, seed: int) -> bool:
    """Whether this answer is among the share that is judged."""
    text = "\x00".join((str(seed), one.question, *_golds(one.request), answer))
    key = int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return key < share * 2**64


_ALTERNATIVES = re.compile(r" ; |\b(?:or|either|maybe|perhaps|possibly)\b|[或]", re.I)
_PARTS = re.compile(r"[,;或和]|\b(?:or|and|either)\b|\\(?:pm|mp|cup|lor|vee|quad)\b", re.I)


def _several(answer: str) -> bool:
    """Whether it offers a choice: several boxes, which extraction joins by semicolons, or words for it."""
    return bool(_ALTERNATIVES.search(answer))


def _asks_for_several(gold: str) -> bool:
    return bool(_PARTS.search(gold))


def _settled(gold: str, answer: str) -> bool:
    """Two plain numbers that differ, or letters of options: there is nothing that a reader could see in them."""
    found = typed_gold(gold)
    if found.letters is not None:
        return True
    return exact_number(found.text.strip()) is not None and exact_number(answer) is not None


@lru_cache(maxsize=4_096)
def _types(text: str) -> frozenset[str]:
    try:
        return frozenset(map(_type, readings(text)))
    except tree.TooComplex:
        return frozenset()


def _same_type(gold: str, answer: str) -> bool:
    found = typed_gold(gold)
    wanted = frozenset(map(_type, found.readings))
    if wanted - {"text"}:
        wanted -= {"text"}  # a number is also a text; an answer in words to it is of another type
    return bool(wanted & _types(answer))


def _type(reading: kinds.Answer) -> str:
    match reading:
        case kinds.Scalar(node=node):
            return "expression" if tree.symbols(node) else "number"
        case kinds.Named(value=value):
            return _type(value)
        case kinds.Ordered() | kinds.Bag() | kinds.Dotted():
            return "collection"
        case kinds.Region() | kinds.Relation():
            return "relation"
        case kinds.Word(kind=kind):
            return kind
        case _:
            return type(reading).__name__.lower()
