"""Accepted answers of a question: the aliases, and the shorter forms that name the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from verifiers.answer import calendar
from verifiers.answer.lists import listed
from verifiers.qa_names import GIVEN, PARTICLES, SUFFIXES, TITLES
from verifiers.qa_words import number_of, plain, words_of

_ALTERNATIVES = re.compile(r"\s*(?:/|;|\bor\b|\||, or)\s*", re.I)
_PARENTHESES = re.compile(r"\([^()]{1,80}\)")
_ACRONYM = re.compile(r"\(([A-Z][A-Z.]{1,8})\)")
_LEADING = re.compile(
    r"^(?:(?:(?:the )?(?:city|town|village|state|island|isle|county|province|country) of|in|on|at|by|from|during|around"
    r"|about|approximately|approx|circa|roughly|nearly|almost|to|of|for|since|following|typically|usually|generally"
    r"|mostly|between|near|inside|within|as|is|was|it is)\b[.,]?\s+(?:the\s+)?"
    r"|(?:In|On|At|By|From|During|Around|About|Since|Between)\s+(?:the\s+)?(?=\d|[A-Z][a-z]+\s\d)"
    r"|(?:About|Approximately|Around|Roughly|Nearly|Typically|Usually|Generally|Mostly|c\.|ca\.|~),?\s+)"
)
_CAPITALS = re.compile(r"[A-Z]{3,6}")
_PLACE = re.compile(r"^([A-Z].{3,60}?)(?:\s(?:in|at|near)\s|,\s)([A-Z][^,]{1,40})$")
_INVERTED = re.compile(r"^([A-Z][^,\d]{1,30}),\s([A-Z][^,\d]{1,40})$")
_HEADS = listed(
    "station city market company corporation island islands river state county province desert mountains award awards "
    "ocean sea movement theory method process system family team band group show series festival language people tribe "
    "law act season year years speed level valve muscle bone gland disease syndrome"
)
"""Nouns that say what kind of thing the rest names."""
MAX_HEADED = 5
"""Words of a name with such a noun."""
MAX_COUNTED = 3
"""Words of a number with its unit."""
_KINDS = listed("lake mt mountain river cape port fort planet mr mrs")
"""Nouns that stand before a name and say what it names."""
_PRONOUNS = listed("it he she you we they who that this her him them us me i what if up go")
"""Titles that are also words of any sentence: such an alias must be the whole answer."""
_WHEN = listed("ad bc bce ce am pm")


@dataclass(frozen=True, slots=True)
class Alias:
    """An accepted answer.

    words: canonical words. number: its digits when it is a number. dates: as `calendar.dates`.
    short: first and last name of a person with middle names. name: every word has a capital.
    bare: a shorter form, which must be all that the answer phrase says. acronym: NATO and the like.
    """

    words: tuple[str, ...]
    number: str | None = None
    dates: frozenset[str] = frozenset()
    short: tuple[str, ...] = ()
    name: bool = False
    bare: bool = False
    acronym: bool = False


@lru_cache(maxsize=16_384)
def accepted(golds: tuple[str, ...]) -> tuple[Alias, ...]:
    """The aliases with the alternatives that one string lists, without what stands in parentheses, and shorter."""
    texts: list[str] = []
    for gold in golds:
        texts.append(gold)
        if "(" in gold:
            texts += [_PARENTHESES.sub(" ", gold), *_ACRONYM.findall(gold)]
        if len(golds) == 1 or " or " in gold.lower():
            texts += _ALTERNATIVES.split(gold)
    kept = [text for text in dict.fromkeys(texts) if len(text.strip()) > 1 or text in golds]
    found = dict.fromkeys(alias(text) for text in kept)
    shorter = dict.fromkeys(item for text in kept for item in _shorter(text))
    known = {item.words for item in found}
    return tuple(item for item in (*found, *(item for item in shorter if item.words not in known)) if item.words)


@lru_cache(maxsize=16_384)
def alias(text: str, bare: bool = False) -> Alias:
    found = words_of(text)
    words = tuple(word.text for word in found)
    parts = text.split()
    person = 3 <= len(parts) <= 5 and all(part[0].isupper() and part[-1].isalpha() for part in parts)
    person = person and len(words) > 2 and not TITLES & set(words) and not any(len(word) < 3 for word in words[-1:])
    return Alias(
        words=words,
        number=number_of(words[0]) if len(words) == 1 else None,
        dates=calendar.dates(plain(text)),
        short=(*words[:1], *words[-1:]) if person else (),
        name=all(part[0].isupper() or part in PARTICLES for part in parts),
        bare=bare or (len(words) == 1 and words[0] in _PRONOUNS),
        acronym=_CAPITALS.fullmatch(text.replace(".", "").strip()) is not None,
    )


def _shorter(text: str) -> Iterator[Alias]:
    """Other names of the same thing: without a preposition, a title, what it is, where it is."""
    stripped = _LEADING.sub("", text.strip(), count=1)
    if stripped and stripped != text:
        yield alias(stripped)
        yield from _shorter(stripped)
        return
    yield from _person(text)
    yield from _placed(text)
    yield from _headless(text)
    yield from _acronym(text)


def _person(text: str) -> Iterator[Alias]:
    """Actor Jane Roe, Sir John Doe and Roe, Jane: Jane Roe. Bare: a surname after a
    given name, a name after a title."""
    inverted = _INVERTED.match(text)
    if inverted:
        yield alias(f"{inverted[2]} {inverted[1]}")
    parts = text.split()
    rest = _named_tail(parts) or parts
    while len(rest) > 2 and _low(rest[0]) in TITLES:
        rest = rest[1:]
    while len(rest) > 1 and _low(rest[-1]) in SUFFIXES:
        rest = rest[:-1]
    rest = [*rest[:-1], *(part.rstrip(",") for part in rest[-1:])]
    if 0 < len(rest) < len(parts):
        yield alias(" ".join(rest), bare=len(rest) == 1)
    if 2 <= len(rest) <= 4 and _low(rest[0]) in GIVEN and all(part[0].isupper() or part in PARTICLES for part in rest):
        start = next((place for place in range(1, len(rest)) if rest[place].lower() in PARTICLES), len(rest) - 1)
        yield alias(" ".join(rest[start:]), bare=True)
    if len(parts) == 2 and _low(parts[0]) in TITLES and parts[1][0].isupper():
        yield alias(parts[1], bare=True)


def _low(part: str) -> str:
    return plain(part).strip(" .,").lower().replace("saint", "st")


def _named_tail(parts: Sequence[str]) -> list[str]:
    """The name after a lower-case noun: German botanist Hugo von Mohl."""
    start = len(parts)
    while start > 0 and (parts[start - 1][0].isupper() or (parts[start - 1] in PARTICLES and start < len(parts))):
        start -= 1
    while start < len(parts) and not parts[start][0].isupper():
        start += 1
    before = parts[start - 1] if 0 < start < len(parts) else ""
    apposed = before.isalpha() and before.islower() and len(before) > 3 and before not in PARTICLES
    return list(parts[start:]) if apposed and len(parts) - start >= 2 and before not in _LINKS else []


_LINKS = listed("with from into over under near between during about against through after before that this when where")


def _acronym(text: str) -> Iterator[Alias]:
    """Bare: the initials of a name of three words and more."""
    capitals = [part for part in text.replace("-", " ").split() if part[0].isupper()]
    others = [part for part in text.split() if not part[0].isupper()]
    if 3 <= len(capitals) <= 6 and all(part in _MINOR for part in others):
        yield Alias(words=("".join(part[0] for part in capitals).lower(),), bare=True)


_MINOR = listed("of the and for in on to de a an &")


def _placed(text: str) -> Iterator[Alias]:
    """Bare: a place without the larger place around it."""
    match = _PLACE.match(text)
    if match and not any(letter.isdigit() for letter in match[1]):
        yield alias(match[1], bare=True)


def _headless(text: str) -> Iterator[Alias]:
    """Without a noun that only says what it is; bare where one word is left, and a number without its unit."""
    found = alias(text)
    words = found.words
    if found.dates or "of" in words or not 2 <= len(words) <= MAX_HEADED:
        return
    first, last = words[0], words[-1]
    if first in _KINDS and found.name and not any(number_of(word) for word in words):
        yield Alias(words=words[1:], name=True, bare=True)
    if last in _HEADS and number_of(words[-2]) is None:
        yield Alias(words=words[:-1], name=found.name, bare=len(words) == 2)
    counted = number_of(first) is not None and number_of(last) is None and len(words) <= MAX_COUNTED
    if counted and not _WHEN & set(words) and not calendar.months(text):
        yield Alias(words=(first,), number=number_of(first), bare=True)
