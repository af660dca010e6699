"""Short answers to open questions: accepted aliases, normalised; numbers and dates by value; token F1 as the score."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from verifiers import extract
from verifiers.answer import calendar, wordlists
from verifiers.answer.calendar import same_date
from verifiers.verdict import Verdict, correct, incorrect, undecided

MAX_RESPONSE = 4_000
_WORD = re.compile(r"[^\W_]+")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POSSESSIVE = re.compile(r"['’]s\b|['’]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FILLERS = wordlists.ARTICLES | frozenset("in on at of by to from was is were are it its he she they his her as".split())
_ANSWER_VERBS = re.compile(r"\b(?:is|was|are|were|called|named|became|by|in|as)\b")


@dataclass(frozen=True, slots=True)
class Alias:
    """An accepted answer: its words, its number and its dates."""

    words: tuple[str, ...]
    number: str | None
    dates: frozenset[str]


def normal(text: str) -> str:
    """NFKC, lower case, without accents, thousands commas, possessives and the dots of abbreviations."""
    text = unicodedata.normalize("NFKD", text)
    text = "".join(letter for letter in text if not unicodedata.combining(letter)).lower()
    text = _DOTTED.sub(lambda match: match.group().replace(".", ""), text)
    return _POSSESSIVE.sub("", _THOUSANDS.sub("", text))


def words_of(text: str) -> tuple[str, ...]:
    return tuple(word for word in _WORD.findall(normal(text)) if word not in wordlists.ARTICLES)


@lru_cache(maxsize=16_384)
def alias(text: str) -> Alias:
    words = words_of(text)
    return Alias(words, _number(text, words), calendar.dates(text))


def _number(text: str, words: tuple[str, ...]) -> str | None:
    match = _NUMBER.fullmatch(normal(text).strip(" .$%"))
    if match:
        value = match.group()
        return value.rstrip("0").rstrip(".") if "." in value else str(int(value)) if len(value) < 40 else value
    value = wordlists.cardinal(words)
    return None if value is None or value.denominator != 1 else str(value.numerator)


def verify_qa(response: str, ground_truth: str | Sequence[str], /) -> Verdict:
    """Whether the answer is one of the accepted ones. Accepted: equal words (no case, accents, articles, punctuation),
    the same number or date, an alias with an apposition ("Paris, France"), a short sentence that gives just it.

    The score of an incorrect answer is 0.0; `detail` holds its token F1. Never raises for bad text.
    """
    golds = [ground_truth] if isinstance(ground_truth, str) else list(ground_truth)
    aliases = [alias(gold) for gold in golds if gold.strip()]
    aliases = [item for item in aliases if item.words]
    if not aliases:
        return undecided("gold-empty" if not any(gold.strip() for gold in golds) else "gold-unparsable")
    answer = extract.final_answer(response)
    if answer.text is None:
        return incorrect(answer.reason, None)
    text = answer.text[:MAX_RESPONSE]
    found = alias(text)
    for item in aliases:
        reason = _matches(item, found, text)
        if reason:
            return correct(reason, text)
    f1 = max(token_f1(found.words, item.words) for item in aliases)
    return incorrect("different", text, detail=f"token F1 {f1:.2f}")


def token_f1(left: Sequence[str], right: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over words, as in SQuAD."""
    common = sum((Counter(left) & Counter(right)).values())
    return 2 * common / (len(left) + len(right)) if common else 0.0


def _matches(wanted: Alias, found: Alias, text: str) -> str | None:
    if found.words == wanted.words or "".join(found.words) == "".join(wanted.words):
        return "exact"
    if wanted.number is not None and wanted.number == found.number:
        return "number"
    if wanted.dates and any(same_date(first, second) for first in wanted.dates for second in found.dates):
        return "date"
    return "contained" if _contained(wanted, found, text) else None


def _contained(wanted: Alias, found: Alias, text: str) -> bool:
    """The alias stands in the answer whole, and nothing there offers, negates or lists something else."""
    place = _place(wanted.words, found.words)
    if place is None:
        return False
    return not _refused(found.words[:place], found.words[place + len(wanted.words) :], text)


def _place(short: tuple[str, ...], long: tuple[str, ...]) -> int | None:
    for start in range(len(long) - len(short) + 1):
        if long[start : start + len(short)] == short:
            return start
    return None


def _refused(before: tuple[str, ...], after: tuple[str, ...], text: str) -> bool:
    del text
    return any(word in wordlists.NEGATIONS or word in wordlists.HEDGES for word in before + after)
