"""Equality of words and of prose."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.answer import calendar, exact_value, wordlists
from verifiers.answer.calendar import same_date, same_time
from verifiers.answer.kinds import Based, Scalar, Word
from verifiers.answer.lists import listed

_SECONDS = (("second", 1),)


def same_based(left: Based, right: Based) -> bool:
    """The same digits in the same base; a base that one side leaves out is not compared."""
    return left.digits == right.digits and (left.base == right.base or 0 in (left.base, right.base))


def same_duration(clock: Word, scalar: Scalar) -> bool:
    """1:30 against an hour and a half."""
    value, unit = exact_value.rational(scalar.node), scalar.unit
    if clock.kind != "time" or value is None or unit is None or unit.dimensions != _SECONDS:
        return False
    seconds = exact_value.tidy(value * unit.factor)
    return isinstance(seconds, int) and calendar.same_duration(clock.value, seconds)


def same_word(left: Word, right: Word) -> bool:
    if left.kind != right.kind:
        return False
    if left.kind == "time":
        return same_time(left.value, right.value)
    return same_date(left.value, right.value) if left.kind == "date" else left.value == right.value


_LEADS = listed(
    "is are was were be been becomes become form forms formed makes called named as by in on at to equals gives has "
    "have mr mrs ms dr miss answer option choice it namely locus get obtain yields remains color colour"
)
"""Words after which an answer stands."""


_KINDS = listed(
    "triangle triangles angle angles function functions number numbers integer integers line lines quadrilateral "
    "polygon quadrant color colour sequence"
)
"""isosceles, an isosceles triangle"""


def _parts(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(" ".join(words).split(" and "))


_FORMS = {"convergent": "converges", "divergent": "diverges"}
_VERBS = frozenset(("converges", "diverges", "exists", "increases", "decreases"))


def _form(word: str) -> str:
    return _FORMS.get(word, word)


def content_words(words: Sequence[str]) -> tuple[str, ...]:
    """Without articles; ordinals and Roman numerals as one form."""
    kept: list[str] = []
    for word in map(_form, words):
        if word in wordlists.ARTICLES:
            continue
        if word.isdecimal() and len(words) > 1:
            kept.append(f"#{int(word[:9])}")
            continue
        number = wordlists.ordinal((word,)) or (wordlists.roman(word) if len(word) > 1 or word == "i" else None)
        kept.append(f"#{number}" if number else word)
    return tuple(kept)


def same_text(left: Sequence[str], right: Sequence[str]) -> bool:
    """Equal words in the same order; or two words of any order; or one is the end of the other and nothing before it
    negates or hedges."""
    first, second = content_words(left), content_words(right)
    if first == second:
        return bool(first)
    if len(first) == len(second) == 2 and sorted(first) == sorted(second) and any(word[:1] == "#" for word in first):
        return True
    if "and" in first and "and" in second and "and" not in (first[0], first[-1]):
        return _parts(first) == _parts(second)
    short, long, raw = (first, second, right) if len(first) <= len(second) else (second, first, left)
    if (
        0 < len(short) < len(long)
        and long[: len(short)] == short
        and long[len(short)] in ("is", "are", "was", "because", "wins", "won")
    ):
        return not any(word in wordlists.NEGATIONS | wordlists.HEDGES for word in long)
    if len(short) == 1 and len(long) == 2 and long[0] == short[0] and long[1] in _KINDS:
        return long[0] not in wordlists.NEGATIONS | wordlists.HEDGES
    if not short or len(long) > 40 or long[len(long) - len(short) :] != short:
        return False
    before = long[: len(long) - len(short)]
    refused = wordlists.NEGATIONS | wordlists.HEDGES | {"and"}
    if len("".join(short)) < 3 or any(word in refused or word.endswith("n't") for word in before):
        return False
    if len(short) == 1 and short[0] in _VERBS and len(before) < 4 and raw[0] in ("the", "it", "this"):
        return True
    return _leads_in(raw[: len(raw) - len(_tail(raw, len(short)))])


def _tail(words: Sequence[str], count: int) -> Sequence[str]:
    """The end of `words` that holds so many content words, without an article before them."""
    place = len(words)
    while count and place:
        place -= 1
        count -= words[place] not in wordlists.ARTICLES
    return words[place:]


def _leads_in(before: Sequence[str]) -> bool:
    """The midpoints form a ..., it is ..., the colour is ...: a clause, an article or a title, but no adjective that
    would make another thing (half a circle is one, "half circle" is not)."""
    return bool(before) and (
        before[-1] in _LEADS or (before[-1] in wordlists.ARTICLES and (len(before) == 1 or before[-2] in _LEADS))
    )
