"""The rule-based mathematics verifier: typed answers, decided in order of cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from verifiers import extract, workers
from verifiers.answer import regions, wordlists
from verifiers.answer.compare import same
from verifiers.answer.cost import towering
from verifiers.answer.equality import EQUAL, Outcome
from verifiers.answer.kinds import Answer, Bag, Dotted, Ordered, Region, Scalar, Text, Word
from verifiers.answer.read import listed_words, readings
from verifiers.answer.towards import as_digits, towards
from verifiers.answer.tree import Node, TooComplex, Unreadable, holds
from verifiers.answer.views import mentions, views
from verifiers.choice import choice_verdict, gold_letters
from verifiers.normalise import key, unfence
from verifiers.reasoning_gym import check_own
from verifiers.rubric import check_criteria
from verifiers.symbolic import encoded
from verifiers.verdict import Status, Verdict, correct, incorrect, undecided

_BINDERS = frozenset(("sum", "prod", "int", "lim"))
_INTEGER = re.compile(r"-?\d{1,30}")
_OPTION_VALUE = re.compile(r"(?:\\text(?:bf)?\{)?\s*\([A-J]\)\s*\}?[\s:.\\]*(\S.*)", re.S)
_OPTIONS = re.compile(r"[A-F]{2,5}")
_GOLD_FRAME = re.compile(
    r"\s*[*_#]*(?:\\text(?:bf)?\{)?\s*(?:(?:so|thus|hence|therefore),?\s+)?(?:the\s+)?(?:(?:final|correct)\s+)?"
    r"(?:answer\s*(?:is|:|=)|(?:solution|result)\s*:|ans\s?[.:=]|(?:最终|正确)?(?:答案|结果)(?:是|为|:|：)|答\s?[:：])"
    r"\s*\}?[\s*_]*(?=\S)",
    re.I,
)
"""A marker before a ground truth."""


def verify_math(
    response: str, ground_truth: str | Sequence[str], /, *, rel_tol: float | None = None, abs_tol: float | None = None
) -> Verdict:
    """Whether the response's final answer equals the ground truth, or one of several accepted ones.

    rel_tol, abs_tol: for measured quantities, a real number within either distance is right. Never raises for bad text.
    """
    golds = [ground_truth] if isinstance(ground_truth, str) else list(ground_truth)
    if not golds:
        return undecided("gold-empty")
    answer = extract.final_answer(response)
    best: Verdict | None = None
    for gold in golds:
        verdict = _verify(response, answer, gold, Tolerance(rel_tol, abs_tol))
        if verdict.status is Status.CORRECT:
            return verdict
        if best is None or verdict.status is Status.UNDECIDED:
            best = verdict
    assert best is not None
    return best


@dataclass(frozen=True, slots=True)
class Tolerance:
    relative: float | None = None
    absolute: float | None = None


@dataclass(frozen=True, slots=True)
class Gold:
    """A ground truth, read once. `fault` is the reason why it cannot be used, "" when it can."""

    text: str
    key: str
    readings: tuple[Answer, ...]
    letters: str | None
    fault: str = ""


@lru_cache(maxsize=16_384)
def typed_gold(ground_truth: str) -> Gold:
    """Never raises."""
    text = ground_truth.strip()
    boxed = extract.boxed(text)
    if boxed is not None and boxed.text:
        text = boxed.text
    while framed := _GOLD_FRAME.match(text):
        text = extract.first_sentence(text[framed.end() :]).rstrip(" *_")
    if not text.strip():
        return Gold(ground_truth, "", (), None, "gold-empty")
    try:
        found = readings(text)
    except TooComplex:
        return Gold(ground_truth, "", (), None, "gold-unparsable")
    if not found or (
        found == tuple(item for item in found if isinstance(item, Text)) and "\\" in text and not _balanced(text)
    ):
        return Gold(ground_truth, "", (), None, "gold-unparsable")
    letters = gold_letters(text)
    value = _OPTION_VALUE.fullmatch(text.strip()) if letters else None
    if value is not None:
        found += tuple(reading for reading in readings(value.group(1)) if not isinstance(reading, Text))
    found += _more_readings(text, found)
    gold = Gold(ground_truth, key(unfence(text)), found, letters)
    if not any(same(reading, again) in EQUAL for reading in found for again in readings(text)):
        return Gold(ground_truth, "", (), None, "gold-unequal-to-itself")
    return gold


def _more_readings(text: str, found: Sequence[Answer]) -> tuple[Answer, ...]:
    """AC as two options, "red, green, blue" as a set of words."""
    bare = text.strip()
    if _OPTIONS.fullmatch(bare) and bare == "".join(sorted(set(bare))):
        return (Word("letters", bare),)
    words = listed_words(text) if all(isinstance(item, Text) for item in found) else None
    return () if words is None else (words,)


def _balanced(text: str) -> bool:
    return text.count("{") == text.count("}")


def check_gold(
    ground_truth: str | Sequence[str], verifier: str = "math", options: Mapping[str, Any] | None = None
) -> Verdict:
    """Correct when the ground truth (one of several aliases) can be read and equals itself; otherwise undecided with
    reason gold-empty, gold-unparsable or gold-unequal-to-itself. `options` are those of the verifier."""
    golds = [ground_truth] if isinstance(ground_truth, str) else list(ground_truth)
    if not any(gold.strip() for gold in golds):
        return undecided("gold-empty")
    if verifier == "qa":
        return correct("exact", golds[0])
    if verifier == "reasoning_gym":
        return check_own(golds[0], options or {})
    if verifier == "rubric":
        return check_criteria(golds[0], options or {})
    if verifier == "choice":
        return correct("exact", golds[0]) if any(map(gold_letters, golds)) else undecided("gold-unparsable")
    faults = [typed_gold(gold).fault for gold in golds]
    return correct("exact", golds[0]) if "" in faults else undecided(faults[0])


# ---- one gold ------------------------------------------------------------------------------------------------------


def _verify(response: str, answer: extract.Answer, ground_truth: str, tolerance: Tolerance) -> Verdict:
    gold = typed_gold(ground_truth)
    if gold.fault:
        return undecided(gold.fault)
    if gold.letters is not None:
        verdict = choice_verdict(response, [gold.letters])
        if verdict.status is Status.CORRECT or verdict.reason in ("hedged", "different"):
            return verdict
    if answer.text is None:
        return incorrect(answer.reason, None)
    text = answer.text
    if answer.source != "boxes" and not text.startswith("~") and key(unfence(text)) == gold.key:
        return correct("exact", text)
    if _INTEGER.fullmatch(text) and _INTEGER.fullmatch(gold.text):
        return correct("exact", text) if int(text) == int(gold.text) else incorrect("different", text)
    if answer.source == "boxes" and any(isinstance(reading, Word) for reading in gold.readings) and not _several(gold):
        same_parts = [_match(gold, part, tolerance) for part in text.split(" ; ")]
        agreed = all(part is not None and part.status is Status.CORRECT for part in same_parts)
        return correct("exact", text) if agreed else incorrect("hedged", text)
    verdict = _by_views(gold, answer, text, tolerance)
    if verdict.status is Status.INCORRECT and answer.source in ("line", "whole"):
        verdict = _opening_truth(gold, response, text) or verdict
    if verdict.status is Status.INCORRECT and _answers_all_parts(gold, answer):
        return _match(gold, " ; ".join(answer.parts), tolerance) or verdict
    return verdict


_OPENING = re.compile(
    r"[\W_]*(yes|no|true|false|correct|incorrect|是的|不是|正确|错误|对|错)[\s*_]*[.,!;:。，！；：—–-]", re.I
)
_TURNS = re.compile(r"\b(?:actually|wait|however|but|correction|although|or)\b|但|然而|不过", re.I)
"""A truth value at the start that nothing takes back: Yes. The sum of the digits is 18."""


def _opening_truth(gold: Gold, response: str, text: str) -> Verdict | None:
    """The truth value with which a response opens, where its end has none."""
    wanted = [reading for reading in gold.readings if isinstance(reading, Word) and reading.kind == "truth"]
    opened = _OPENING.match(extract.after_thoughts(response) or "") if wanted else None
    if opened is None or _TURNS.search(response):
        return None
    said = wordlists.truth((opened.group(1).lower(),))
    if mentions("truth", text) - {said}:
        return None
    return correct("exact", opened.group(1)) if said == wanted[0].value else incorrect("different", opened.group(1))


def _several(gold: Gold) -> bool:
    return gold.letters is not None or any(isinstance(reading, Bag | Ordered | Region) for reading in gold.readings)


def _answers_all_parts(gold: Gold, answer: extract.Answer) -> bool:
    """As many boxes as the ground truth has items: (a) in one box, (b) in the next."""
    return any(
        isinstance(reading, Bag | Ordered) and len(reading.items) == len(answer.parts) > 1 for reading in gold.readings
    )


def _by_views(gold: Gold, answer: extract.Answer, text: str, tolerance: Tolerance) -> Verdict:
    sentence = answer.source in ("line", "whole", "marker", "tag")
    several = sentence and not _EITHER.search(text)
    failure: Verdict | None = None
    for view in dict.fromkeys(views(text, sentence=sentence)):
        verdict = _match(gold, view, tolerance)
        if verdict is None:
            continue
        if verdict.status is Status.CORRECT or not (verdict.reason == "type-mismatch" or (several and _two(verdict))):
            return verdict
        failure = failure or verdict
    if failure is not None and failure.reason == "type-mismatch":
        return incorrect("different", failure.extracted)
    return failure or incorrect("unreadable", text)


_EITHER = re.compile(r"\b(?:or|and|either|maybe|perhaps|possibly|but|not)\b|[或和]", re.I)


def _two(verdict: Verdict) -> bool:
    """Two moments in a sentence that may arrive at one: 75 minutes after 2:30 pm gives 3:45 pm."""
    return verdict.reason == "hedged" and verdict.detail == _MENTIONED


_MENTIONED = "several are mentioned"


def _match(gold: Gold, text: str, tolerance: Tolerance) -> Verdict | None:
    """None when the text cannot be read towards the gold, so that another part of the sentence may be tried."""
    try:
        found = readings(text)
    except TooComplex:
        return incorrect("response-too-complex", text[:200])
    outcomes: list[Outcome] = []
    open_pairs: list[tuple[Node, Node]] = []
    for wanted in (*gold.readings, *as_digits(gold.text, found)):
        for reading in towards(wanted, found, text):
            outcome = same(wanted, reading)
            if outcome in EQUAL or _close(wanted, reading, tolerance):
                return correct("tolerance" if outcome not in EQUAL else outcome.value, text)
            outcomes.append(outcome)
            if outcome is Outcome.UNKNOWN and isinstance(wanted, Scalar) and isinstance(reading, Scalar):
                open_pairs.append((wanted.node, reading.node))
    if open_pairs:
        return _by_worker(*open_pairs[0], text)
    sought = _sought(gold, text)
    if sought is not None:
        return sought
    if not any(not isinstance(reading, Text) for reading in found):
        return None if not _textual_gold(gold) else incorrect("type-mismatch", text)
    if Outcome.COMPLEX in outcomes:
        return incorrect("response-too-complex", text)
    return incorrect("hedged" if _hedged(gold, found) else "different", text)


def _by_worker(wanted: Node, reading: Node, text: str) -> Verdict:
    """Sums, integrals and limits: sympy, in a process that can be killed."""
    if regions.infinite_sign(wanted) or regions.infinite_sign(reading):
        return incorrect("different", text)
    if not holds(wanted, _BINDERS) and not holds(reading, _BINDERS):
        return incorrect("not-shown-equal", text)
    if towering(reading) and not towering(wanted):
        return incorrect("response-too-complex", text)
    try:
        reply = workers.ask({"task": "equal", "left": encoded(wanted), "right": encoded(reading)})
    except workers.WorkerFailure as failure:
        if failure.kind in ("cpu-limit", "died") or not holds(wanted, _BINDERS):
            return incorrect("response-too-complex", text)
        return undecided(f"worker-{failure.kind}", text)
    outcome = reply.get("outcome", "unknown")
    if outcome in ("symbolic", "numeric"):
        return correct(outcome, text)
    reasons = {"different": "different", "memory": "response-too-complex"}
    return incorrect(reasons.get(outcome, "not-shown-equal"), text, detail=reply.get("detail", ""))


def _textual_gold(gold: Gold) -> bool:
    return all(isinstance(reading, Text) for reading in gold.readings)


def _hedged(gold: Gold, found: Sequence[Answer]) -> bool:
    single = any(isinstance(reading, Scalar) for reading in gold.readings)
    return single and any(isinstance(reading, Bag | Dotted) for reading in found)


def _sought(gold: Gold, text: str) -> Verdict | None:
    """A closed class of words in a sentence: just one weekday, truth value, date ... must be mentioned."""
    for wanted in gold.readings:
        if isinstance(wanted, Word):
            found = mentions(wanted.kind, text)
            if len(found) > 1:
                return incorrect("hedged", text, detail=_MENTIONED)
            if found:
                equal = same(wanted, Word(wanted.kind, next(iter(found)))) in EQUAL
                return correct("exact", text) if equal else incorrect("different", text)
    return None


def _close(wanted: Answer, reading: Answer, tolerance: Tolerance) -> bool:
    if tolerance.relative is None and tolerance.absolute is None:
        return False
    if not isinstance(wanted, Scalar) or not isinstance(reading, Scalar):
        return _items_close(wanted, reading, tolerance)
    try:
        first, second = regions.place(wanted.node), regions.place(reading.node)
    except (Unreadable, TooComplex):
        return False
    if first[0] or second[0]:
        return False
    gap = abs(first[1] - second[1])
    return gap <= max((tolerance.relative or 0.0) * abs(first[1]), tolerance.absolute or 0.0)


def _items_close(wanted: Answer, reading: Answer, tolerance: Tolerance) -> bool:
    if not isinstance(wanted, Ordered | Bag) or not isinstance(reading, Ordered | Bag):
        return False
    if len(wanted.items) != len(reading.items):
        return False
    return all(_close(first, second, tolerance) for first, second in zip(wanted.items, reading.items, strict=True))
