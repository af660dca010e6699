"""Words of short answers: one canonical spelling for case, accents, numbers, ordinals, abbreviations and spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from verifiers.answer import wordlists
from verifiers.answer.lists import listed

MAX_NUMBER = 12
"""Words of one written number."""
MAX_DIGITS = 40
_WORD = re.compile(r"(?:(?<![^\s(])-)?\d+(?:\.\d+)*(?![^\W_])|[^\W_]+")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.\s?)+(?:[^\W\d_]\.)")
_FOOTNOTE = re.compile(r"(?<=[^\W\d_]{3})\d{1,2}(?![^\W_])|(?<=, (?:1[5-9]|20)\d\d)\d{1,2}(?![^\W_])")
"""The mark of a reference, glued to a word or to the year of a date."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POSSESSIVE = re.compile(r"['’`]s\b|['’`]")
_PERCENT = re.compile(r"(?<=\d)\s?%")
_N = re.compile(r"(?<=[a-z] )['’`]?[nN]['’`]?(?= [A-Za-z])")
"""Rock 'n' roll."""
_UNIT = re.compile(r"(?<=\d)(?=(?:km|cm|mm|m|kg|g|mph|ft|lbs?|am|pm|bc|bce|ce|ad)\b)", re.I)
_GLUED = re.compile(r"(?<=[a-z]{2})(?=[A-Z][a-z]{2})")
_GLUED_NAME = re.compile(r"\b(?:Mac|Fitz|De|Van|Le|La|Di|Du|Da|Del)(?=[A-Z])")
_LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "æ": "ae", "Æ": "Ae", "œ": "oe", "ß": "ss",
                          "ı": "i", "&": " and ", "–": "-", "—": "-", "−": "-"})  # fmt: skip
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_NUMBER_WORDS = frozenset((*_ONES, *_TENS, *_SCALES, "dozen"))
_NTH = (
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
)  # fmt: skip
_ORDINALS = {word: value for value, word in enumerate(_NTH)} | {
    ten[:-1] + "ieth": value for value, ten in zip(range(20, 100, 10), _TENS, strict=True)
}
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th)")
_SERIES = listed("season seasons episode episodes chapter series volume act amendment grade part book week stage round")
"""The second season is season two."""
_NUMERALS = (
    "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi", "xvii", "xviii",
    "xix", "xx",
)  # fmt: skip
_ROMAN = {numeral: str(value) for value, numeral in enumerate(_NUMERALS, start=2) if len(numeral) > 1}
_SHORT = {
    "saint": "st", "mount": "mt", "doctor": "dr", "mister": "mr", "versus": "vs", "junior": "jr", "senior": "sr",
    "television": "tv", "bce": "bc", "ce": "ad", "kilometers": "km", "kilometres": "km", "kilometer": "km",
    "kilometre": "km", "meters": "m", "metres": "m", "meter": "m", "metre": "m", "feet": "ft", "foot": "ft",
    "kilograms": "kg", "kilogram": "kg", "kilos": "kg", "lbs": "pounds", "lb": "pounds",
}  # fmt: skip
_PHRASES = {
    ("united", "states", "of", "america"): "usa", ("united", "states"): "usa", ("united", "kingdom"): "uk",
    ("per", "cent"): "percent", ("u", "s"): "usa",
}  # fmt: skip
_RIVALS = (("ate", "ite"), ("ide", "ite"), ("ate", "ide"), ("ane", "ene"), ("ene", "yne"), ("ane", "yne"))
"""Endings of chemical names, in which one letter makes another thing."""
_SOUNDS = (("ye", "e"), ("ae", "e"), ("oe", "e"), ("ph", "f"), ("ck", "k"), ("tch", "ch"), ("y", "i"), ("z", "s"))
_HARD_C = re.compile(r"c(?=[aoukl]|r|$)")
_DOUBLED = re.compile(r"([^\W\d_])\1+(?=[^\W\d_])")
_MUTE_H = re.compile(r"(?<=[aeiou])h(?![aeiou])")
_BRITISH = re.compile(r"our(?=s?$|ed$|ing$|ful$)")


@dataclass(frozen=True, slots=True)
class Word:
    """A canonical word with its place in `plain(text)`."""

    text: str
    start: int
    end: int
    capital: bool


def plain(text: str) -> str:
    """NFKD without accents, reference marks, thousands commas, possessives and the dots of abbreviations."""
    text = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    text = _N.sub("and", _FOOTNOTE.sub("", text))
    text = _DOTTED.sub(lambda match: match.group().replace(".", "").replace(" ", ""), text)
    text = _UNIT.sub(" ", text)
    return _PERCENT.sub(" percent", _POSSESSIVE.sub("", _THOUSANDS.sub("", text)))


def unglued(text: str) -> str:
    """Words that lost the space between them ("byJane Doe") apart; names like MacArthur stay whole."""
    held = _GLUED_NAME.sub(lambda match: match.group().upper(), text)
    places = [match.start() for match in _GLUED.finditer(held)]
    return " ".join(text[left:right] for left, right in zip([0, *places], [*places, len(text)], strict=True))


@lru_cache(maxsize=16_384)
def words_of(text: str) -> tuple[Word, ...]:
    """Words without articles; numbers as digits, ordinals as 1st, "second season" as "season 2"."""
    bare = plain(text)
    found = [
        Word(_spelled(match.group()), match.start(), match.end(), match.group()[0].isupper())
        for match in _WORD.finditer(bare)
    ]
    found = [word for word in found if not _is_article(word, bare)] or found
    if len(found) > 1:
        found = [replace(word, text=_ROMAN.get(word.text, word.text)) for word in found]
    return tuple(_series(_phrases(_regnal(_numbers(found, bare), bare))))


def _is_article(word: Word, text: str) -> bool:
    """An A that is the initial of a name is none."""
    return word.text in wordlists.ARTICLES and not text.startswith(". ", word.end)


def _spelled(word: str) -> str:
    if word == "US":
        return "usa"
    lowered = word.lower()
    if lowered.isdecimal() and lowered.isascii():
        return lowered.lstrip("0") or "0"
    return _SHORT.get(lowered, lowered)


# ---- numbers and fixed phrases -------------------------------------------------------------------------------------


def _numbers(words: Sequence[Word], text: str) -> list[Word]:
    """Runs of number words as digits; 2.45 million as 2450000; ordinals as 1st."""
    result: list[Word] = []
    place = 0
    while place < len(words):
        size, value = _number_at(words, place, text)
        if value is None:
            result.append(words[place])
            place += 1
            continue
        result.append(replace(words[place], text=value, end=words[place + size - 1].end))
        place += size
    return result


def _number_at(words: Sequence[Word], place: int, text: str) -> tuple[int, str | None]:
    """How many words one number takes here, and its digits; None where there is no written number."""
    first = words[place].text
    if first == "dozen":
        return 1, "12"
    if first in _ORDINALS:
        return 1, _nth(_ORDINALS[first])
    if first in _TENS:
        unit = _ORDINALS.get(words[place + 1].text, 0) if place + 1 < len(words) else 0
        if 1 <= unit <= 9:
            return 2, _nth(int(wordlists.cardinal((first,)) or 0) + unit)
    if _decimal(first) is not None:
        return _scaled(words, place, text)
    if first not in _NUMBER_WORDS:
        return 0, None
    run = _run(words, place, text)
    for size in range(len(run), 0, -1):
        value = _written(tuple(run[:size]))
        if value is not None and run[size - 1] != "and":
            return size, str(value)
    return 0, None


def _run(words: Sequence[Word], place: int, text: str) -> list[str]:
    run = [words[place].text]
    for left, right in zip(words[place:], words[place + 1 : place + MAX_NUMBER], strict=False):
        gap = text[left.end : right.start].strip()
        joins = right.text == "and" and left.text in _SCALES
        if gap not in ("", "-") and not (gap == "," and left.text in _SCALES):
            break
        if not joins and right.text not in _NUMBER_WORDS:
            break
        run.append(right.text)
    return run


def _written(words: tuple[str, ...]) -> int | None:
    """The value of number words; nineteen eighty-four is a year."""
    value = wordlists.cardinal(words)
    if value is not None:
        return value.numerator if value.denominator == 1 else None
    century, rest = wordlists.cardinal(words[:1]), wordlists.cardinal(words[1:])
    if century is None or rest is None or not 11 <= century <= 20 or not 10 <= rest <= 99:
        return None
    return int(century * 100 + rest)


def _decimal(text: str) -> Fraction | None:
    if len(text) > MAX_DIGITS or text.count(".") > 1 or not text.replace(".", "").removeprefix("-").isdecimal():
        return None
    return Fraction(text) if text.isascii() and not text.endswith(".") else None


def _scaled(words: Sequence[Word], place: int, text: str) -> tuple[int, str | None]:
    value = _decimal(words[place].text)
    if value is None:
        return 0, None
    size = 1
    while place + size < len(words) and size < 3 and words[place + size].text in _SCALES:
        if text[words[place + size - 1].end : words[place + size].start].strip() not in ("", "-"):
            break
        value *= _SCALES[words[place + size].text]
        size += 1
    return (size, digits(value)) if size > 1 or "." in words[place].text else (0, None)


def digits(value: Fraction) -> str:
    """One way to write a decimal number: no trailing zeros."""
    if value.denominator == 1:
        return str(value.numerator)
    whole = value * 10**MAX_DIGITS
    sign, number = ("-" if whole < 0 else ""), str(abs(whole.numerator)).rjust(MAX_DIGITS + 1, "0")
    return f"{sign}{number[:-MAX_DIGITS]}.{number[-MAX_DIGITS:].rstrip('0')}"


def number_of(word: str) -> str | None:
    """The digits of a word that is a number."""
    value = _decimal(word)
    return None if value is None else digits(value)


def _nth(value: int) -> str:
    ending = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def _phrases(words: list[Word]) -> list[Word]:
    result: list[Word] = []
    place = 0
    while place < len(words):
        size, text = next(
            (
                (len(phrase), short)
                for phrase, short in _PHRASES.items()
                if tuple(word.text for word in words[place : place + len(phrase)]) == phrase
            ),
            (1, words[place].text),
        )
        result.append(replace(words[place], text=text, end=words[place + size - 1].end))
        place += size
    return result


def _regnal(words: list[Word], text: str) -> list[Word]:
    """Henry the Eighth is Henry VIII; in "After the Second World War" a name goes on."""
    for place in range(1, len(words)):
        match = _ORDINAL.fullmatch(words[place].text)
        before = words[place - 1]
        if match and before.capital and text[before.end : words[place].start].lower() == " the ":
            after = words[place + 1] if place + 1 < len(words) else None
            if after is None or not after.capital:
                words[place] = replace(words[place], text=match.group(1))
    return words


def _series(words: list[Word]) -> list[Word]:
    for place in range(len(words) - 1):
        match = _ORDINAL.fullmatch(words[place].text)
        if match and words[place + 1].text in _SERIES:
            left, right = words[place], words[place + 1]
            words[place] = replace(left, text=right.text.removesuffix("s") if right.text != "series" else right.text)
            words[place + 1] = replace(right, text=match.group(1))
    return words


# ---- equal words ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16_384)
def sound(word: str) -> str:
    """A spelling key: doubled letters once, y as i, ph as f, hard c as k, z as s, -our as -or, no mute h."""
    if len(word) < 4 or not word.isalpha():
        return word
    word = _BRITISH.sub("or", word)
    for before, after in _SOUNDS:
        word = word.replace(before, after)
    return _DOUBLED.sub(r"\1", _MUTE_H.sub("", _HARD_C.sub("k", word)))


def same_spelling(left: str, right: str) -> bool:
    """Equal, or two spellings of one word: Philip and Phillip, Katherine and Catherine, colour and color."""
    return left == right or (len(left) > 3 and sound(left) == sound(right))


def same_word(left: str, right: str) -> bool:
    """Equal in a phrase of several words: spelling, plural, or one letter of a long word."""
    if same_spelling(left, right):
        return True
    if not (left + right).isalpha():
        return False
    if left + "s" == right or right + "s" == left:
        return True
    if min(len(left), len(right)) < 6 or left[0] != right[0]:
        return False
    return Levenshtein.distance(left, right, score_cutoff=1) <= 1 and not _rivals(left, right)


def _rivals(left: str, right: str) -> bool:
    return any({left[-3:], right[-3:]} == set(pair) for pair in _RIVALS)
