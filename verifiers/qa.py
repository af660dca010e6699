"""Short answers to open questions: accepted aliases, normalised; numbers and dates by value; token F1 as the score."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from verifiers import extract
from verifiers.answer import calendar, wordlists
from verifiers.answer.calendar import same_date
from verifiers.answer.lists import listed
from verifiers.verdict import Verdict, correct, incorrect, undecided

MAX_RESPONSE = 4_000
SHORT = 10
"""Words up to which a response is a bare answer, so that a list in it offers several answers."""
_WORD = re.compile(r"\d+(?:\.\d+)+|[^\W_]+")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.\s?)+(?:[^\W\d_]\.)")
_FOOTNOTE = re.compile(r"(?<=[^\W\d_]{3})\d{1,2}(?![^\W_])")
"""The mark of a reference, glued to a word."""
_YEAR = re.compile(r"(?<!\d)(1\d{3}|20\d{2})(?!\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POSSESSIVE = re.compile(r"['’`]s\b|['’`]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ALTERNATIVES = re.compile(r"\s*(?:/|;|\bor\b|\||, or)\s*", re.I)
_PARENTHESES = re.compile(r"\([^()]{1,80}\)")
_ACRONYM = re.compile(r"\(([A-Z][A-Z.]{1,8})\)")
_LIST = re.compile(r"[,;/]|\band\b|\bor\b|&", re.I)
_JOINED = re.compile(r"\b(?:and|or)\b|&|/", re.I)
_OFFERS = frozenset(("or", "either", "maybe", "perhaps", "possibly", "或", "或者", "unknown"))
_SMALL_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_SMALL: dict[str, str] = {word: str(value) for value, word in enumerate(_SMALL_NUMBERS.split())}
_ROMAN = {"ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9"}
_PARTICLES = listed("da de del di du la le van von der den bin al el")
MAX_GAP = 2


@dataclass(frozen=True, slots=True)
class Alias:
    """An accepted answer: its words, its number and its dates."""

    words: tuple[str, ...]
    number: str | None
    dates: frozenset[str]
    short_name: tuple[str, ...] = ()
    """First and last name of a person with middle names."""
    name: bool = False
    """Every word has a capital."""


def normal(text: str) -> str:
    """NFKD, lower case, without accents, thousands commas, possessives and the dots of abbreviations."""
    text = unicodedata.normalize("NFKD", text)
    text = "".join(letter for letter in text if not unicodedata.combining(letter)).lower()
    text = _FOOTNOTE.sub("", text)
    text = _DOTTED.sub(lambda match: match.group().replace(".", "").replace(" ", ""), text)
    return _POSSESSIVE.sub("", _THOUSANDS.sub("", text))


def words_of(text: str) -> tuple[str, ...]:
    """Words without articles; small numbers as digits."""
    words: list[str] = _WORD.findall(normal(text))
    numerals = _SMALL | _ROMAN if len(words) > 1 else _SMALL
    return tuple(numerals.get(word, word) for word in words if word not in wordlists.ARTICLES)


@lru_cache(maxsize=16_384)
def alias(text: str) -> Alias:
    words = words_of(text)
    parts = text.split()
    person = 3 <= len(parts) <= 5 and all(part[0].isupper() and part[-1].isalpha() for part in parts)
    return Alias(
        words,
        _number(text, words),
        calendar.dates(text),
        (words[0], words[-1]) if person and words else (),
        all(part[0].isupper() or part in _PARTICLES for part in parts),
    )


@lru_cache(maxsize=16_384)
def accepted(golds: tuple[str, ...]) -> tuple[Alias, ...]:
    """The aliases, with the alternatives that one string lists and without what stands in parentheses."""
    texts: list[str] = []
    for gold in golds:
        texts.append(gold)
        if "(" in gold:
            texts += [_PARENTHESES.sub(" ", gold), *_ACRONYM.findall(gold)]
        if len(golds) == 1 or " or " in gold.lower():
            texts += _ALTERNATIVES.split(gold)
    found = (alias(text) for text in dict.fromkeys(texts) if len(text.strip()) > 1 or text in golds)
    return tuple(item for item in found if item.words)


def _number(text: str, words: tuple[str, ...]) -> str | None:
    match = _NUMBER.fullmatch(normal(text).strip(" .$%"))
    if match:
        value = match.group()
        return value.rstrip("0").rstrip(".") if "." in value else str(int(value)) if len(value) < 40 else value
    value = wordlists.cardinal(tuple(normal(text).split())) or wordlists.cardinal(words)
    return None if value is None or value.denominator != 1 else str(value.numerator)


def verify_qa(response: str, ground_truth: str | Sequence[str], /) -> Verdict:
    """Whether the answer is one of the accepted ones. Accepted: equal words (no case, accents, articles, punctuation),
    the same number or date, an alias with an apposition ("Paris, France"), a short sentence that gives just it.

    The score of an incorrect answer is 0.0; `detail` holds its token F1. Never raises for bad text.
    """
    golds = (ground_truth,) if isinstance(ground_truth, str) else tuple(ground_truth)
    aliases = accepted(golds)
    if not aliases:
        return undecided("gold-empty" if not any(gold.strip() for gold in golds) else "gold-unparsable")
    text, reason = answer_text(response)
    if text is None:
        return incorrect(reason, None)
    found = alias(text)
    for item in aliases:
        how = _matches(item, found, text, aliases)
        if how:
            return correct(how, text[:400])
    f1 = max(token_f1(found.words, item.words) for item in aliases)
    return incorrect("different", text[:400], detail=f"token F1 {f1:.2f}")


def answer_text(response: str) -> tuple[str | None, str]:
    """The answer tag, box or marker where there is one, else all that follows the thoughts; None with the reason."""
    answer = extract.final_answer(response)
    if answer.text is None:
        return None, answer.reason
    if answer.source in ("tag", "box", "boxes") or (answer.source == "marker" and not answer.text.isascii()):
        return answer.text[:MAX_RESPONSE], ""
    return (extract.after_thoughts(response) or "")[:MAX_RESPONSE], ""


def token_f1(left: Sequence[str], right: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over words, as in SQuAD."""
    common = sum((Counter(left) & Counter(right)).values())
    return 2 * common / (len(left) + len(right)) if common else 0.0


def _matches(wanted: Alias, found: Alias, text: str, aliases: Sequence[Alias]) -> str | None:
    if found.words == wanted.words or "".join(found.words) == "".join(wanted.words):
        return "exact"
    if wanted.number is not None and wanted.number == found.number:
        return "number"
    if wanted.dates and any(same_date(first, second) for first in wanted.dates for second in found.dates):
        return "date"
    if _contained(wanted, found, text, aliases):
        return "contained"
    dated = sum(bool(item.dates) for item in aliases)
    return "year" if dated == 1 and _year(wanted, found, text) else None


def _year(wanted: Alias, found: Alias, text: str) -> bool:
    """A full date was asked for and the answer gives its year, and no other year or date."""
    if len(wanted.dates) != 1 or found.dates or calendar.months(text):
        return False
    return set(_YEAR.findall(text)) == {next(iter(wanted.dates))[:4]}


def _contained(wanted: Alias, found: Alias, text: str, aliases: Sequence[Alias]) -> bool:
    """The alias stands in the answer, whole or with short insertions (a middle name), and nothing there negates it or
    offers something else beside it."""
    span = _span(wanted.words, found.words)
    if span is None and wanted.short_name:
        span = _span(wanted.short_name, found.words)
    if span is None:
        return False
    before, after = found.words[: span[0]], found.words[span[1] :]
    if any(word in wordlists.NEGATIONS for word in before[-3:]) or _another_person(
        wanted, before, after, text, aliases
    ):
        return False
    if len(found.words) <= SHORT and any(word in _OFFERS for word in (*before[-2:], *after[:1])):
        return False
    return not _listed(wanted, text, {item.words for item in aliases})


_TITLES = listed(
    "president king queen sir dame lord lady mr mrs ms dr professor prof general captain saint st pope emperor "
    "senator madame prince princess colonel major"
)


def _another_person(
    wanted: Alias, before: Sequence[str], after: Sequence[str], text: str, aliases: Sequence[Alias]
) -> bool:
    """Pierre Curie for Curie, where another alias says Marie Curie: a name that no alias has."""
    parts = text.split()
    if len(wanted.words) != 1 or not 2 <= len(parts) <= 3:
        return False
    if not all(part[0].isupper() and part.isalpha() for part in parts):
        return False
    longer = [item.words for item in aliases if item.name and len(item.words) > 1 and wanted.words[0] in item.words]
    beside = [*before[-1:], *after[:1]]
    if not longer or not beside or any(word in _TITLES for word in beside):
        return False
    known = {word for words in longer for word in words}
    return not any(word.startswith(other) or other.startswith(word) for word in known for other in beside)


def _listed(wanted: Alias, text: str, aliases: set[tuple[str, ...]]) -> bool:
    """A bare list that names other things beside the alias; a pair with a comma ("Paris, France") is none."""
    items = [words_of(part) for part in _LIST.split(text)]
    items = [item for item in items if item]
    joined = bool(_JOINED.search(text))
    if len(items) < (2 if joined else 3) or any(len(item) > 3 for item in items) or wanted.dates:
        return False
    return len(wanted.words) <= 3 and not all(item in aliases for item in items) and "and" not in wanted.words


def _span(short: tuple[str, ...], long: tuple[str, ...]) -> tuple[int, int] | None:
    """Start and end of `short` in `long`: contiguous, or for two words and more with up to MAX_GAP words between."""
    for start, word in enumerate(long):
        if (short and word == short[0]) or (len(short) > 1 and _same_word(short[0], word)):
            end = _follow(short, long, start)
            if end is not None:
                return start, end
    return None


def _follow(short: tuple[str, ...], long: tuple[str, ...], start: int) -> int | None:
    place, fuzzy = start, 0
    for word in short:
        limit = min(len(long), place + 1 + (MAX_GAP if place > start and len(short) > 1 else 0))
        step = next(
            (at for at in range(place, limit) if long[at] == word or (len(short) > 1 and _same_word(word, long[at]))),
            None,
        )
        if step is None:
            return None
        fuzzy += long[step] != word
        place = step + 1
    return place if fuzzy <= len(short) // 2 else None


def _same_word(left: str, right: str) -> bool:
    """Equal up to an initial, a plural or one letter of a long word."""
    if left == right or left + "s" == right or right + "s" == left:
        return True
    if 1 in (len(left), len(right)):
        return left[0] == right[0] and left[0].isalpha() and len(left + right) > 3
    if min(len(left), len(right)) < 6 or left[0] != right[0] or not (left + right).isalpha():
        return False
    return Levenshtein.distance(left, right, score_cutoff=1) <= 1
