"""Mathematics said in words rewritten in signs: minus five, 3 times the square root of 2, x is at least 4."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from verifiers.answer import wordlists
from verifiers.answer.lists import listed

MAX_SPOKEN = 200
_WORD_OR_REST = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|[^A-Za-z]+")
_TEXT = re.compile(r"\\(?:text|textrm|mathrm|mbox|textbf)\s?\{([^{}]*)\}")
_TRIGGERS = listed(
    "minus negative plus times divided multiplied root squared cubed power factorial followed than least most is "
    "greater less smaller larger "
    "nonnegative nonpositive nonzero and out to choose increase decrease discount chance probability half x origin"
)
_NUMERALS = frozenset(
    word for word in wordlists.NUMBER_WORDS if word not in ("second", "seconds", "dozen", "half", "quarter", "quarters")
)
_MORE = r"(?:greater|more|larger|bigger)"
_LESS = r"(?:less|smaller|lower|fewer)"
_IS = r"^(?:all |any |every )?([A-Za-z]) (?:(?:is|are|must be|has to be|such that) )?(?:strictly )?"
_SIGNS = {"positive": "> 0", "negative": "< 0", "nonnegative": r"\ge 0", "nonpositive": r"\le 0", "nonzero": r"\ne 0"}


def _signed(match: re.Match[str]) -> str:
    return f"{match.group(1)} {_SIGNS[match.group(2).replace('-', '')]}"


def _power_of_ten(match: re.Match[str]) -> str:
    return f"{match.group(1)} * 10^{{{match.group(2)}}}"


_Plainer = str | Callable[[re.Match[str]], str]
_SAID: tuple[tuple[re.Pattern[str], _Plainer], ...] = tuple(
    (re.compile(pattern), plainer)
    for pattern, plainer in (
        (r"^(?:an?|the) (?=[-+$\d])", ""),
        (r"(?<=%) (?:increase|decrease|discount|chance|probability|off|more|less)$", ""),
        (rf"{_IS}{_MORE} than or equal to ", r"\1 \\ge "),
        (rf"{_IS}{_LESS} than or equal to ", r"\1 \\le "),
        (rf"{_IS}{_MORE} than ", r"\1 > "),
        (rf"{_IS}{_LESS} than ", r"\1 < "),
        (rf"{_IS}at least ", r"\1 \\ge "),
        (rf"{_IS}at most ", r"\1 \\le "),
        (rf"{_IS}not equal to ", r"\1 \\ne "),
        (r"^([A-Za-z]) (?:is|must be) (non-?negative|non-?positive|non-?zero|positive|negative)$", _signed),
        (r"(?:^|(?<=[(,=:]))\s*(?:minus|negative) (?=[\d\\$])", "-"),
        (r"\b(?:the )?(?:square )?root of (?=[\d\\(x])", r"\\sqrt "),
        (r"\b(?:the )?cube root of (?=[\d\\(x])", r"\\sqrt[3] "),
        (r"(?<=[\d)}]) root (?=\d)", r"\\sqrt "),
        (r"(?<=[\w)}]) (?:times|multiplied by) (?=[\d\\(a-z])", r" \\cdot "),
        (r"(?<=[\w)}]) divided by (?=[\d\\(a-z])", " / "),
        (r"(?<=\d) out of (?=\d)", "/"),
        (r"(?<=[\w)}]) plus (?=[\d\\(a-z])", " + "),
        (r"(?<=[\w)}]) minus (?=[\d\\(a-z])", " - "),
        (r"(?<=[\w)}]) (?:raised )?to the (?:power (?:of )?)?(\d+)(?:th|st|nd|rd)?(?: power)?$", r"^{\1}"),
        (r"(?<=\d) is to (?=\d)", ":"),
        (r"(\d+) followed by (\d+) zero(?:e?s)?", _power_of_ten),
        (r"(?<=\d) factorial$", "!"),
        (r"^(-?\d+) and (?=\d+/\d+$|\\frac\{\d+\}\{\d+\}$)", r"\1 "),
        (r"^(?:an?|1) ([a-z]+) and a half$", r"1.5 \1s"),
        (r"^an? ([a-z]+),? and (?=\d)", r"1 \1 and "),
        (r"^([A-Za-z]) squared$", r"\1^2"),
        (r"^([A-Za-z]) cubed$", r"\1^3"),
    )
)


def in_signs(text: str) -> str | None:
    """The text with what is said in words written in signs; None when nothing is, or above MAX_SPOKEN letters."""
    if len(text) > MAX_SPOKEN:
        return None
    words = frozenset(re.findall(r"[a-z]+", text.lower()))
    if not (words & _TRIGGERS or words & _NUMERALS) or " of the " in text:
        return None
    said = " ".join(_TEXT.sub(r" \1 ", text).replace("$", " ").split()).rstrip(".")
    said = with_digits(said)
    for pattern, plainer in _SAID:
        said = pattern.sub(plainer, said)
    return None if said == text else said


def with_digits(text: str) -> str:
    """Runs of number words as digits: five feet six inches -> 5 feet 6 inches."""
    pieces = _WORD_OR_REST.findall(text)
    found: list[str] = []
    place = 0
    while place < len(pieces):
        end, value = _longest_number(pieces, place)
        if value is None:
            found.append(pieces[place])
            place += 1
        else:
            found.append(_digits(value))
            place = end
    return "".join(found)


def _longest_number(pieces: list[str], start: int) -> tuple[int, Fraction | None]:
    """(end, value) of the longest run of pieces from `start` that is one number in words."""
    if not any(word in _NUMERALS for word in pieces[start].lower().split("-")):
        return start, None
    best: tuple[int, Fraction | None] = (start, None)
    words: list[str] = []
    for place in range(start, min(len(pieces), start + 24), 2):
        words += pieces[place].lower().split("-")
        if not all(word in wordlists.NUMBER_WORDS or word in ("and", "a") for word in words):
            break
        value = wordlists.cardinal(tuple(words)) if words[-1] not in ("and", "a") else None
        if value is not None:
            best = (place + 1, value)
        if place + 1 < len(pieces) and pieces[place + 1] != " ":
            break
    return best


def _digits(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
