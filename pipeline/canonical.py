"""Text of a problem -> canonical tokens, hard sequence, template id.

The same problem in other LaTeX, Unicode, spacing or prompt wrapping gives the same tokens; another number, operator,
variable, figure or deciding word gives others. The hard sequence is what decides: numbers, operators, relations,
functions, Greek, labels, figures and the words of `lexicon.HARD`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pipeline.boilerplate import ANSWER_FORMAT, INSTRUCTIONS
from pipeline.latex import PUNCTUATION, structure
from pipeline.lexicon import (
    COMMANDS,
    FUNCTIONS,
    GREEK,
    HARD,
    NUMBER_WORDS,
    STOP,
    STYLE,
    SYMBOLS,
)

MAX_CHARS = 100_000
"""Longer texts are cut: a canonical form is for comparing problems, and none is a book."""

FIGURE = re.compile(
    r"\[asy\](.*?)(?:\[/asy\]|\Z)|\\begin\{(asy|tikzpicture)\}(.*?)(?:\\end\{\2\}|\Z)|<asy>(.*?)</asy>", re.DOTALL
)
OPTION = re.compile(
    r"(?:(?<=[\s~}$])|(?<=\\\[)|(?<=quad))(?:\\(?:text|textbf|textrm|mathrm|mathbf|rm|bf)\s*\{?\s*)?"
    r"(?:\(([A-J])\)|\b([A-J])[).:])(?:\s*\})?"
)
_FORMAT = re.compile("|".join(f"(?:{pattern})" for pattern in ANSWER_FORMAT), re.IGNORECASE)
_INSTRUCTION = re.compile("|".join(f"(?:{pattern})" for pattern in INSTRUCTIONS), re.IGNORECASE)
_PREFIX = re.compile(
    r"\A\s*(?:(?:problem|question|exercise|q)\s*\d*\s*[.:)]|\(?\d{1,3}[.)](?=\s+[A-Z\\$]))\s*", re.IGNORECASE
)
_FIGURE_STYLE = re.compile(
    r"\b(?:size|unitsize|defaultpen|import|dotfactor|usepackage|markscalefactor|filldrawpen)\b[^;\n]*;?"
)
_LINK = re.compile(r"https?://\S+|\\url\s*\{[^{}]*\}")
_FRACTION_WORDS = re.compile(
    r"\b(one|two|three|four|five|six|seven|eight|nine)[- ](half|halves|thirds?|fourths?|quarters?|fifths?|sixths?"
    r"|sevenths?|eighths?|ninths?|tenths?)\b",
    re.IGNORECASE,
)
_FOLD_WORDS = re.compile(r"\b(two|three|four|five|six|seven|eight|nine|ten)-?fold\b", re.IGNORECASE)
_LETTERS = re.compile(r"(?<![A-Za-z\\{_^])[A-Z](?: [A-Z]){1,4}(?![A-Za-z])")
_HYPHEN = re.compile(r"(?<=[A-Za-z0-9])-(?=[A-Za-z]{2})")
_MONEY = re.compile(r"\A\s*[\d.,]+[^\\$=^_<>]*?(?:\b[A-Za-z]{4,}\b|\b[A-Za-z]{2,}\b[^\\$=^_<>]*?\b[A-Za-z]{2,}\b)")
_SECOND_PART = re.compile(r"(?:\s|\()2[.)]\s")
_SCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙᵢ", "0123456789+-=()ni0123456789+-=()ni")
_SUPER = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ]+")
_SUB = re.compile(r"[₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙᵢ]+")
_GREEK_LETTER = re.compile("[\u0391-\u03c9]")
_SYMBOL = re.compile("|".join(map(re.escape, SYMBOLS)))
_THOUSANDS = re.compile(r"(?<![\d.,(\[{])(?<!\{ )\d{1,3}(?:,\d{3})+(?![\d,]|\.\d{4})")
_LATEX_THOUSANDS = re.compile(r"(?<=\d)(?:\{,\}|,?\\!,?|\\,|,\\,)(?=\d{3}(?!\d))")
_BBCODE = re.compile(
    r"\[/?(?:i|b|u|list|\*|quote|center|hide|color|url|img|size|code|tex|list=\w+|color=\w+)\]", re.IGNORECASE
)
_ARRAY_SPEC = re.compile(r"(\\begin\{(?:array|tabular|alignat\*?)\})\s*\{[^{}]*\}")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[a-zA-Z]+\*?\}(?:\[[a-z]+\])?")
_DEGREES = re.compile(r"\^\s*\{?\s*\\(?:circ|degree)\s*\}?")
_MATH_SPAN = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_PROSE = re.compile(r"(?:\b[a-z]{2,}[ ,]+){3}[a-z]{2,}")
_TOKEN = re.compile(
    r"\x02[^\x03]*\x03|\d+(?:\.\d+)?|\.\d+|\\[A-Za-z]+|\\.|[^\W\d_]+(?:[-'][^\W\d_]+)*|<=|>=|!=|:=|->|==|\.\.\.|\|\||[^\s]"
)
_SHORT_WORDS = frozenset(
    [
        "if",
        "for",
        "all",
        "and",
        "or",
        "of",
        "is",
        "to",
        "in",
        "on",
        "at",
        "by",
        "the",
        "are",
        "not",
        "any",
        "odd",
        "max",
        "min",
        "gcd",
        "lcm",
        "log",
        "exp",
        "mod",
    ]
)
_MASK_START, _MASK_END = "\x02", "\x03"


@dataclass(frozen=True, eq=True)
class Canonical:
    """tokens: the whole canonical form.  hard: its deciding tokens in order.  options: choices, sorted."""

    tokens: tuple[str, ...]
    hard: tuple[str, ...]
    options: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        return " ".join(self.tokens)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        return tuple(token for token in self.tokens if token[0].isdigit())

    @cached_property
    def distinct_numbers(self) -> frozenset[str]:
        """Its different numbers, ones aside (`one of`, `x^1`)."""
        return frozenset(self.numbers) - {"1"}

    @cached_property
    def cjk(self) -> bool:
        return any(map(is_cjk, self.tokens))

    @cached_property
    def content(self) -> frozenset[str]:
        return frozenset(stem(token) for token in self.tokens if is_content(token))

    @cached_property
    def template_id(self) -> str:
        """Hash of the canonical form with its numbers masked."""
        masked = " ".join("0" if token[0].isdigit() else token for token in self.tokens)
        return hashlib.blake2b(masked.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def canonical(question: str) -> Canonical:
    """The canonical form of one problem; multiple-choice options are set apart from the stem and sorted."""
    text = strip_instructions(question[:MAX_CHARS])
    text = _FORMAT.sub(" ", text).strip() or text
    stem_text, options = split_options(text)
    tokens = tuple(_tokens(stem_text))
    choices = tuple(sorted(" ".join(_tokens(option)) for option in options))
    if not tokens:
        tokens = tuple(_tokens(text)) or ("empty",)
        choices = ()
    return Canonical(tokens=tokens, hard=tuple(token for token in tokens if is_hard(token)), options=choices)


def strip_instructions(text: str) -> str:
    """Without prompt boilerplate and a leading problem number. Never empty unless the text was."""
    bare = _INSTRUCTION.sub(" ", text)
    stripped = (bare if _SECOND_PART.search(bare) else _PREFIX.sub("", bare)).strip()
    return stripped or text.strip()


def split_options(text: str) -> tuple[str, list[str]]:
    """(stem, options) when labels A, B, C ... stand in order and at least three of them do; else (text, [])."""
    marks = list(OPTION.finditer(text))
    labels = [match.group(1) or match.group(2) for match in marks]
    for first in range(len(marks) - 2):
        if labels[first] != "A":
            continue
        last = first
        while last + 1 < len(marks) and labels[last + 1] == chr(ord(labels[last]) + 1):
            last += 1
        if last - first >= 2:
            edges = [*(mark.start() for mark in marks[first : last + 1]), len(text)]
            pieces = [text[marks[first + place].end() : edges[place + 1]] for place in range(last - first + 1)]
            return text[: edges[0]], pieces
    return text, []


def _tokens(text: str) -> list[str]:
    prepared = _prepare(text)
    flat = [token for piece, in_math in _spans(prepared) for token in _split(piece, in_math)]
    return _words(structure(flat))


def _prepare(text: str) -> str:
    text = FIGURE.sub(_figure_mark, text.replace(_MASK_START, " ").replace(_MASK_END, " "))
    text = _FRACTION_WORDS.sub(_spelled_fraction, _FOLD_WORDS.sub(r"\1 times", _LINK.sub(" ", text)))
    text = _SUPER.sub(lambda match: "^{" + match.group().translate(_SCRIPTS) + "}", text)
    text = _SUB.sub(lambda match: "_{" + match.group().translate(_SCRIPTS) + "}", text)
    text = _SYMBOL.sub(lambda match: SYMBOLS[match.group()], text)
    text = _GREEK_LETTER.sub(_greek_name, unicodedata.normalize("NFKC", text))
    text = _SYMBOL.sub(lambda match: SYMBOLS[match.group()], text)
    text = _ENVIRONMENT.sub(" ", _ARRAY_SPEC.sub(r"\1", _BBCODE.sub(" ", text)))
    text = text.replace("\\$", " ").replace("\\%", "%").replace("\\\\", " ").replace("\\#", "#").replace("\\&", " and ")
    text = _LATEX_THOUSANDS.sub("", _DEGREES.sub(" degrees ", text))
    return _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)


_PART_NAMES = ("half", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _spelled_fraction(match: re.Match[str]) -> str:
    top, part = match.group(1).lower(), match.group(2).lower()
    part = {"halves": "half", "quarter": "fourth", "quarters": "fourth"}.get(part, part.removesuffix("s"))
    return f" \\frac{{{NUMBER_WORDS.get(top, '1')}}}{{{_PART_NAMES.index(part) + 2}}} "


def _greek_name(match: re.Match[str]) -> str:
    name = unicodedata.name(match.group(), "").split(" ")
    word = name[3] if len(name) == 4 else "unknown"
    word = word.lower().replace("lamda", "lambda")
    return f" \\{word.capitalize() if 'CAPITAL' in name else word} "


def _figure_mark(match: re.Match[str]) -> str:
    """A figure as the hash of its code without comments, sizes, pens and white space."""
    body = next(group for group in (match.group(1), match.group(3), match.group(4), "") if group is not None)
    body = _FIGURE_STYLE.sub("", re.sub(r"//[^\n]*", "", body))
    digest = hashlib.blake2b(re.sub(r"\s+", "", body).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f" {_MASK_START}fig{digest}{_MASK_END} "


def _spans(text: str) -> Iterator[tuple[str, bool]]:
    """Pieces of the text with whether they are mathematics; a dollar sign before prose is money."""
    place = 0
    while match := _MATH_SPAN.search(text, place):
        body = next(group for group in match.groups() if group is not None)
        if match.group(2) is not None and _is_prose(body):
            cut = match.start() + 1
            yield text[place : cut - 1], False
            place = cut
            continue
        yield text[place : match.start()], False
        yield body, True
        place = match.end()
    yield text[place:], False


def _is_prose(body: str) -> bool:
    """Whether what stands between two dollar signs is a sentence between two prices."""
    bare = re.sub(r"\\(?:text|mbox|textrm)\s*\{[^{}]*\}", "", body)
    return bool(_PROSE.search(bare) or _MONEY.match(bare))


def _split(piece: str, in_math: bool) -> Iterator[str]:
    joined = _LETTERS.sub(lambda match: match.group().replace(" ", ""), piece) if in_math else _HYPHEN.sub(" ", piece)
    for match in _TOKEN.finditer(joined):
        token = match.group()
        if (
            in_math
            and token.isalpha()
            and 1 < len(token) <= 3
            and token.islower()
            and token not in _SHORT_WORDS | FUNCTIONS
        ):
            yield from token
        elif token[0] == "\\" and token[1:] in STYLE:
            continue
        else:
            yield token


def _words(tokens: Sequence[str]) -> list[str]:
    out: list[str] = []
    for place, token in enumerate(tokens):
        if token in ("a", "A", "I") and _is_article(tokens[place + 1] if place + 1 < len(tokens) else ""):
            continue
        if token in ("dollar", "dollars") and place > 0 and tokens[place - 1][0].isdigit():
            continue
        out += _word(token)
    return out


def _is_article(following: str) -> bool:
    """Whether a lone `a` or `I` before this token is a word and no variable."""
    return (len(following) > 1 and following.isalpha()) or following[:1].isdigit()


@lru_cache(maxsize=1 << 16)
def _word(token: str) -> tuple[str, ...]:
    """The canonical tokens of one raw token; few words make most of all texts."""
    first = token[0]
    if first == _MASK_START:
        return (token[1:-1],)
    if first.isdigit() or (first == "." and len(token) > 1 and token[1].isdigit()):
        return (plain_number(token),)
    if first == "\\" and len(token) > 1:
        return _command(token[1:])
    if token in PUNCTUATION:
        return ()
    if token == "%":
        return ("percent",)
    return tuple(_spelled(token)) if first.isalpha() else (token,)


def _command(name: str) -> tuple[str, ...]:
    if not name[0].isalpha():
        return ("||" if name == "|" else name,) if name in "{}|" else ()
    token = COMMANDS.get(name, name)
    return () if token in STYLE else (token,)


def _spelled(word: str) -> Iterator[str]:
    if len(word) == 1:
        yield word
        return
    lower = word.lower()
    if word.isupper() and lower not in HARD and lower not in STOP and lower not in NUMBER_WORDS:
        yield word
        return
    for piece in lower.split("-") if lower not in HARD else (lower,):
        base = piece.removesuffix("'s").removesuffix("'")
        if base in NUMBER_WORDS:
            top, _, bottom = NUMBER_WORDS[base].partition("/")
            yield from filter(None, (top, "/" if bottom else "", bottom))
        elif base:
            yield HARD.get(base, base)


def plain_number(text: str) -> str:
    """No leading zeros, no trailing zeros after the point."""
    whole, point, decimals = text.partition(".")
    decimals = decimals.rstrip("0") if point else ""
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{decimals}" if decimals else whole


@lru_cache(maxsize=1 << 16)
def is_hard(token: str) -> bool:
    """Whether the token decides what is asked. Brackets do not: they are compared apart."""
    first = token[0]
    if first.isalpha():
        single = len(token) == 1 and first.isascii()
        label = token.isupper()
        return single or label or token in HARD_TOKENS or (token.startswith("fig") and len(token) == 15)
    return first not in "()[]{}"


HARD_TOKENS = (
    frozenset(HARD.values())
    | FUNCTIONS
    | GREEK
    | frozenset(token for token in COMMANDS.values() if token.isalpha() and token not in ("and", "or"))
)


def is_cjk(token: str) -> bool:
    return "\u3400" <= token[0] <= "\u9fff"


@lru_cache(maxsize=1 << 16)
def is_content(token: str) -> bool:
    return token[0].isalpha() and len(token) > 1 and token not in STOP and not token.startswith("fig")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word without its commonest endings; crude on purpose, for sharing content words only."""
    if word.isupper():
        return word
    for ending in ("ingly", "edly", "ing", "ies", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word
