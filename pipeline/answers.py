"""Answers as evidence: which spellings are certainly equal, which prose says the same, which answers say little."""

from __future__ import annotations

import re
import unicodedata

from rapidfuzz.distance import Indel

from pipeline.canonical_text import split_options

MIN_WORDS = 5
SAME_PROSE = 0.85
_NEGATIONS = frozenset(["not", "no", "never", "none", "without"])

_SIMPLE_FRACTION = re.compile(r"\\frac\{?\d\}?\{?\d\}?|\d/\d")
_TRUTH_VALUES = frozenset(["true", "false", "yes", "no"])
_LETTER = re.compile(r"\\?(?:text|textbf|mathrm|mathbf)?\s*\{?\s*\(?([A-J])\)?\s*\}?\.?")


def stated_answer(question: str, gold: str) -> str:
    """The text of the option where a gold is the letter of one, for equal letters say nothing; else the gold."""
    letter = _LETTER.fullmatch(gold)
    options = split_options(question)[1] if letter is not None else []
    place = ord(letter.group(1)) - ord("A") if letter is not None else 0
    return options[place].strip() or gold if place < len(options) else gold


def digits(answer: str) -> int:
    """How much an equal answer says: digits of a whole number; 1 for a letter and for a fraction of digits; else 2,
    like most numbers."""
    plain = plain_answer(answer).strip("()-")
    if _SIMPLE_FRACTION.fullmatch(plain):
        return 1
    return len(plain) if plain.isdigit() or len(plain) == 1 else 2


def truth_values(answer: str) -> tuple[str, ...]:
    """The values in order of an answer such as `True, False`; empty if it is another answer."""
    words = re.sub(r"\\(?:text|textbf|mathrm)|[{}$().]", " ", answer.casefold()).replace(",", " ").split()
    return tuple(words) if words and _TRUTH_VALUES.issuperset(words) else ()


def plain_answer(text: str) -> str:
    """A spelling of an answer in which equal strings are certainly equal answers."""
    if text.isascii() and text.isdigit():
        return text.lstrip("0") or "0"
    text = unicodedata.normalize("NFKC", text).strip().strip("$").strip()
    text = re.sub(r"\\[dt]frac", r"\\frac", text)
    text = re.sub(r"\\(?:left|right|,|!|;|:| )", "", text)
    text = re.sub(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", re.sub(r"\s+", "", text))
    text = re.sub(r"\\frac(\d)(\d)(?!\d)", r"\\frac{\1}{\2}", text)
    number = re.fullmatch(r"(-?)0*(\d+)(?:\.(\d*?)0*)?", text)
    if number:
        sign, whole, decimals = number.groups()
        return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"
    return text.rstrip(".").lower() if text.isalpha() else text.rstrip(".")


_FORMULA = re.compile(r"[\\^_=+*/<>{}|]")


def texts_agree(first: str, second: str) -> bool:
    """Two answers in prose that say the same: nearly the same words, the same numbers and negations."""
    if _FORMULA.search(first) or _FORMULA.search(second):
        return False
    one, other = (re.findall(r"\d+|[^\W\d_]+", text.casefold()) for text in (first, second))
    if min(len(one), len(other)) < MIN_WORDS:
        return one == other and bool(one)
    decisive = [{word for word in words if word.isdigit() or word in _NEGATIONS} for words in (one, other)]
    return decisive[0] == decisive[1] and Indel.normalized_similarity(one, other) >= SAME_PROSE
