r"""Notations of the world rewritten to those of the grammar: French brackets, _7C_3, \frac{\text{km}}{\text{h}}."""

from __future__ import annotations

import re
from collections.abc import Callable

from verifiers.answer import wordlists
from verifiers.normalise import unfence

_FRENCH = re.compile(r"([\[\]])([^\[\]()]{1,200}[,;][^\[\]()]{1,200})([\[\]])")
_ORDINAL = re.compile(
    r"(?<=\d)\s?\^\s?\{?(?:\\(?:text|mathrm|textrm|textsuperscript)\s?\{)?(st|nd|rd|th)(?![A-Za-z])\}{0,2}"
)
_TWICE = re.compile(r"\\\\([A-Za-z]{2,})")
_ROMAN = r"(?:\\(?:mathrm|text|rm|operatorname)\s?)?"
_CHOOSE = re.compile(
    rf"(?:\{{\s?\}}\s?)?[_^]\s?\{{?(\w{{1,6}})\}}?\s?{_ROMAN}\{{?([CPA])\}}?\s?_\s?\{{?(\w{{1,6}})\}}?"
)
_CHOOSE_CALL = re.compile(r"(?<![A-Za-z\\_])(?:C|nCr)\((\w{1,6}),\s?(\w{1,6})\)")
_ARRANGED = re.compile(
    rf"(?<![A-Za-z\\_])(?:{_ROMAN}\{{?[AP]\}}?_\s?\{{?(\d{{1,4}})\}}?\s?\^\s?\{{?(\d{{1,4}})\}}?"
    r"|(\d{1,4})P_?(\d{1,4})"
    r"|nPr\((\d{1,4}),\s?(\d{1,4})\))(?![\w])"
)
_UNIT_FRACTION = re.compile(
    r"\\frac\{\s?(\\(?:text|mathrm)\{[^{}]{1,20}\})\s?\}\{\s?(\\(?:text|mathrm)\{[^{}]{1,20}\}(?:\^\{?\d\}?)?)\s?\}"
)
_BRACED_FRACTION = re.compile(r"(?<=\d)\{(\\[dtc]?frac\s?\{\d{1,9}\}\s?\{\d{1,9}\})\}")
_SPACED_MARK = re.compile(r"\\math(?:bin|rel|ord|punct|op|close|open)\s?\{([^{}]{1,10})\}|(?<=\d)\{([.,])\}(?=\d)")
_NOT_EQUAL = re.compile(r"\\not\s?(?:=|\{=\})")
_SLANTED = re.compile(r"\^\s?\{?(\d+)\}?\s?/\s?_\s?\{?(\d+)\}?")
_SCRIPTS_TURNED = re.compile(r"(?<=[A-Za-z])\^(\d|\{[^{}]{1,20}\})_(\w|\{[^{}]{1,20}\})")
"""v^2_0 is v_0^2."""
_BARE_COMMAND = re.compile(r"(?<![\\A-Za-z])(d?frac|tfrac|sqrt|text|mathrm|binom|overline)(?=\{)")
"""A command that lost its backslash."""
_BORDER = re.compile(r"\\bbox\s?(?:\[[^\]]{0,80}\])?(?=\s?\{)")
_PLAIN_MATRIX = re.compile(r"\\([pb])matrix\s?\{([^{}]*)\}")
_CALLED_MATRIX = re.compile(r"(?:sympy\.|np\.)?(?:[Mm]atrix|array)\((\[\[[^()]*\]\])\)")
_MAPS = re.compile(r"(?<![\w\\])([A-Za-z])\s?(?::|\\colon)\s?([A-Za-z])\s?\\mapsto(?![A-Za-z])")


def _turned(match: re.Match[str]) -> str:
    """]0, 1[ is (0, 1), [0, 1[ is [0, 1)."""
    left, inner, right = match.groups()
    return (
        match.group()
        if (left, right) == ("[", "]")
        else f"{'[' if left == '[' else '('}{inner}{']' if right == ']' else ')'}"
    )


def _chosen(match: re.Match[str]) -> str:
    """_7C_3 is 7 choose 3, _7P_3 the number of arrangements."""
    n, kind, k = match.groups()
    return rf"\binom{{{n}}}{{{k}}}" if kind == "C" else rf"\frac{{({n})!}}{{({n}-{k})!}}"


def _arranged(match: re.Match[str]) -> str:
    n, k = (int(group) for group in match.groups() if group)
    return arrangements(n, k) if n >= k else match.group()


def arrangements(n: int, k: int) -> str:
    """The number of ordered choices of k out of n."""
    return rf"\frac{{{n}!}}{{{n - k}!}}"


def _han_percent(match: re.Match[str]) -> str:
    return rf"{wordlists.han(match.group(1))}\%"


_DECIMAL_COMMA = re.compile(
    r"((?:[€£$¥]|\\(?:euro|pounds|\$)|EUR|USD|GBP)?\s?[-+]?)(\d{1,3}(?:[.\s']\d{3})+|\d+)"
    r"(?:,|\{,\})(\d+)((?![\d,.]|\s*[\d,;]).*)?",
    re.S,
)
_PLAIN_TAIL = re.compile(r"(?:\\times|\\cdot|[*x])\s*10(?=\s?\^)|\^\s?\{?\s?-?\d+\}?")


def with_point(text: str) -> str | None:
    """3,75 as 3.75, €1.250,50 as €1250.50; a comma before just three digits separates thousands (None)."""
    match = _DECIMAL_COMMA.fullmatch(unfence(text))
    if match is None or any(letter.isdecimal() for letter in _PLAIN_TAIL.sub("", match.group(4) or "")):
        return None
    prefix, whole, digits, rest = (
        match.group(1),
        re.sub(r"\D", "", match.group(2)),
        match.group(3),
        match.group(4) or "",
    )
    if len(digits) == 3 and len(whole) < 4 and whole != "0":
        return None
    return f"{prefix}{whole}.{digits}{rest}"


_Plainer = str | Callable[[re.Match[str]], str]
_PHRASES: tuple[tuple[re.Pattern[str], _Plainer], ...] = (
    (re.compile(r"(?<=\d)\s?[(（][\u3400-\u9fff]{1,8}[)）]$"), lambda match: match.group().strip(" ()（）")),
    (re.compile(r"(?<=\d) (?:more|extra|additional|remaining|different|distinct) (?=[a-z]+$)"), " "),
    (re.compile(r"(?<=\\circ)(\}?)\s?角"), r"\1"),
    (
        re.compile(
            r"(?<=\d)(\s?[A-Za-z]{1,12}) (?:long|wide|tall|high|deep|thick|apart|away|in (?:length|height|width))$"
        ),
        r"\1",
    ),
    (re.compile(r"\bper cent\b"), "percent"),
    (re.compile(r"\bpercentage points?\b"), "percent"),
    (re.compile(r"百分之\s?(\d+(?:\.\d+)?)"), r"\1\\%"),
    (re.compile(r"(\d+(?:\.\d+)?)\s?‰"), r"\\frac{\1}{10}\\%"),
    (re.compile(r"(?:\bplus or minus\b|\+ or -)", re.I), r"\\pm "),
    (re.compile(r"百分之\s?([零一二三四五六七八九十百]{1,6})"), _han_percent),
    (re.compile(r"第([一二三四])象限"), lambda match: f"quadrant {wordlists.han(match.group(1))}"),
    (re.compile(r",?\s?\\text\s?\{,?\s?(?:in )?base ?(\w*)\s?\}"), r" base \1"),
    (re.compile(r"\bin base (?=\w)"), "base "),
    (re.compile(r"\(\s?(?:in )?base (\w+)\s?\)"), r" base \1"),
    (re.compile(r"(?<=\w)\s?\(?(?:in )?\b(binary|octal|decimal|hexadecimal)\b\)?(?=\s*$)", re.I), r" base \1"),
    (re.compile(r"\b(sq|cu)\. ?(?=[a-z])"), r"\1 "),
    (re.compile(r"\^\s?(?:\{\s?\\prime\s?\}|\\prime(?![A-Za-z]))"), "'"),
    (re.compile(r"\\(?:hat|widehat|vec)\s?\{?\s?\\?([ijk])(?:math)?\s?\}?(?![A-Za-z])"), r" \1 "),
    (re.compile(r",\\! (?=\d{3})"), r",\\!"),
)
_PHRASE_MARKS = re.compile(
    r"per cent|(?:ng|de|ll|igh|ep|ick|rt|ay|ht|th)$|角|[)）]$|\d (?:more|extra|addi|rema|dist|diff)|percentage|百分之"
    r"|象限|‰|or minus|or -|base|"
    r"\b(?:sq|cu)\.|prime|\\(?:hat|widehat|vec)|,\\! |(?:bin|oct|decim)a"
)


def rewritten(text: str) -> str:
    """Linear in the length of the text."""
    if "\\\\" in text and "begin{" not in text:
        # a command that was escaped twice
        text = _TWICE.sub(r"\\\1", text)
    if _PHRASE_MARKS.search(text):
        for pattern, plainer in _PHRASES:
            text = pattern.sub(plainer, text)
    if "frac" in text:
        text = _BRACED_FRACTION.sub(r"\1", _UNIT_FRACTION.sub(r"\1/\2", text))
    if "{.}" in text or "\\math" in text:
        text = _SPACED_MARK.sub(r"\1\2", text)
    if r"\not" in text:
        text = _NOT_EQUAL.sub(r"\\ne ", text)
    if "matrix" in text or "bbox" in text or "array(" in text:
        text = _CALLED_MATRIX.sub(r"\1", _PLAIN_MATRIX.sub(r"\\begin{\1matrix}\2\\end{\1matrix}", text))
        text = _BORDER.sub("", text)
    if ":=" in text:
        text = text.replace(":=", "=")
    if "/" in text and "_" in text:
        text = _SLANTED.sub(r"\\frac{\1}{\2}", text)
    if "{" in text:
        text = _BARE_COMMAND.sub(r"\\\1", text)
    if "[" in text or "]" in text:
        text = _FRENCH.sub(_turned, text)
    if "^" in text and "_" in text:
        text = _SCRIPTS_TURNED.sub(r"_\2^\1", text)
    if "^" in text or "_" in text:
        text = _ARRANGED.sub(_arranged, _CHOOSE.sub(_chosen, _ORDINAL.sub(r"\1", text)))
    if "C(" in text or "P" in text or "nCr" in text:
        text = _ARRANGED.sub(_arranged, _CHOOSE_CALL.sub(r"\\binom{\1}{\2}", text))
    return _MAPS.sub(r"\1(\2)=", text).replace(r"x \mapsto", "f(x)=") if "mapsto" in text else text
