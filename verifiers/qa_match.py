"""Where an accepted answer stands in a response."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from verifiers.answer import calendar
from verifiers.answer.lists import listed
from verifiers.qa_alias import Alias
from verifiers.qa_names import GIVEN, PARTICLES, TITLES, initials, same_in_name
from verifiers.qa_words import Word, number_of, plain, same_spelling, same_word, words_of

MAX_GAP = 2
"""Middle names that may stand inside a name."""
MAX_PHRASE = 12
MAX_SENTENCE = 400
"""Characters of the first sentence in which answer phrases are looked for."""
_BREAK = re.compile(r"[,;:/\n]|[.!?](?=\s|$)|\b(?:and|or|not|is|was|are|were|has|had|by)\b", re.I)
_SENTENCE_END = re.compile(r"(?<=[^\s.][a-z0-9)\"”])[.!?](?=\s|$)|\n")
_LINK = re.compile(
    r"\b(?:is|was|are|were|be|been)\s+(?:called|named|known as|termed|titled)\s+|\b(?:is|was|are|were)\s+|"
    r"\b(?:called|named|known as|by)\s+|:\s+",
    re.I,
)
_CLAUSE_END = re.compile(
    r"[,;.!?](?=\s|$)|\s(?:which|who|that|where|when|and|but|from|in|at|since|because|on|for|with)\s|[(\n]"
)
_OPENING = TITLES | listed("in on at by from during around about approximately roughly called named known as of")
_JOINS = listed("of for in and")
Same = Callable[[str, str], bool]


@dataclass(frozen=True)
class Reading:
    """An answer text and what is read from it."""

    text: str

    @cached_property
    def plain(self) -> str:
        return plain(self.text)

    @cached_property
    def tokens(self) -> tuple[Word, ...]:
        return words_of(self.text)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.tokens)

    @cached_property
    def dates(self) -> frozenset[str]:
        return calendar.dates(self.plain)

    @cached_property
    def phrases(self) -> frozenset[tuple[str, ...]]:
        """What a response says as its answer: all of a short one, and what follows a copula, "by" or a colon in its
        first sentence; without prepositions and titles before it."""
        sentence = _SENTENCE_END.split(self.plain, maxsplit=1)[0][:MAX_SENTENCE]
        found = {self.words} | {_phrase(sentence[match.end() :]) for match in _LINK.finditer(sentence)}
        return frozenset(_opened(phrase) for phrase in found if 0 < len(phrase) <= MAX_PHRASE)

    @cached_property
    def content(self) -> tuple[tuple[str, int], ...]:
        """Words with their places, without those that join others."""
        return tuple((word, place) for place, word in enumerate(self.words) if word not in _JOINS)


def _phrase(text: str) -> tuple[str, ...]:
    end = _CLAUSE_END.search(text)
    return tuple(word.text for word in words_of(text[: end.start()] if end else text))


def _opened(words: tuple[str, ...]) -> tuple[str, ...]:
    while len(words) > 1 and words[0] in _OPENING:
        words = words[1:]
    return words


def said(wanted: Alias, found: Reading) -> bool:
    """An answer phrase says the alias and nothing else, or spells its initials out."""
    return any(
        (len(phrase) == len(wanted.words) and all(map(_same_single, phrase, wanted.words)))
        or (wanted.acronym and "".join(word[0] for word in phrase if word not in _JOINS) == wanted.words[0])
        for phrase in found.phrases
    )


def spans(wanted: Alias, found: Reading) -> Iterator[tuple[int, int]]:
    """Start and end of every mention of the alias: in order, a name with up to MAX_GAP middle names, or in another
    order."""
    for short in (wanted.words, wanted.short):
        same = same_in_name if wanted.name else same_word
        for start in range(len(found.words)) if short else ():
            end = _follow(short, found, start, same, name=wanted.name)
            if end is not None:
                yield start, end
    yield from _permuted(wanted.words, found)


def _same_single(left: str, right: str) -> bool:
    """Equal where no other word supports it: spelling, or the plural of a longer word that is no name."""
    if same_spelling(left, right):
        return True
    if min(len(left), len(right)) < 4 or not left.isalpha() or left in GIVEN or right in GIVEN:
        return False
    return any(one + ending == other for one, other in ((left, right), (right, left)) for ending in ("s", "es"))


def _follow(short: tuple[str, ...], found: Reading, start: int, same: Same, *, name: bool) -> int | None:
    """The end of the alias that starts at a place; at most half of its words differ in spelling. A surname is strict:
    Johnston is another person than Johnson."""
    words, place, at, fuzzy = found.words, start, 0, 0
    last = _same_single if name or len(short) == 1 else same_word
    while at < len(short):
        how = same if at + 1 < len(short) else last
        step = _step(short[at:], found, place, how, name=name, first=at == 0)
        if step is None:
            return None
        taken, end = step
        fuzzy += taken == 1 and words[end - 1] != short[at]
        at, place = at + taken, end
    return place if fuzzy <= max(1, len(short) // 2) else None


def _step(
    short: tuple[str, ...], found: Reading, place: int, same: Same, *, name: bool, first: bool
) -> tuple[int, int] | None:
    """(words of the alias, end in the response) of the next word, or of several behind their initials."""
    words = found.words
    for at in range(place, min(len(words), place + 1 + (MAX_GAP if name and not first else 0))):
        if at > place and not _insertion(found, place, at):
            return None
        if same(short[0], words[at]):
            return 1, at + 1
        if len(short) > 1 and (taken := initials(words[at], short[:-1])):
            return taken, at + 1
        if len(short) > 1 and (taken := initials(short[0], words[at:])):
            return 1, at + taken
    return None


def _insertion(found: Reading, place: int, at: int) -> bool:
    """Whether the words from `place` to `at` may be middle names: names, no list, no new sentence, no number."""
    between = found.tokens[place:at]
    if any(number_of(word.text) is not None for word in found.tokens[place - 1 : at + 1]):
        return False
    if _BREAK.search(found.plain, found.tokens[place - 1].end, found.tokens[at].start):
        return False
    return not found.tokens[place - 1].capital or all(word.capital or word.text in PARTICLES for word in between)


def _permuted(words: tuple[str, ...], found: Reading) -> Iterator[tuple[int, int]]:
    """The same words in another order: speed of a vehicle, vehicle speed. Two numbers keep their order."""
    wanted = sorted(word for word in words if word not in _JOINS)
    size = len(wanted)
    if not 2 <= size <= 6 or sum(number_of(word) is not None for word in wanted) > 1:
        return
    content = found.content
    for start in range(len(content) - size + 1):
        window = content[start : start + size]
        if window[0][0] in wanted and sorted(word for word, _ in window) == wanted:
            yield window[0][1], window[-1][1] + 1
