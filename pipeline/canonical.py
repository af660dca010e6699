"""Text of a problem -> canonical tokens, hard sequence, template id.

The same problem in other LaTeX, Unicode, spacing or prompt wrapping gives the same tokens; another number, operator,
variable, figure or deciding word gives others. The hard sequence is what decides: numbers, operators, relations,
functions, Greek, labels, figures and the words of `lexicon.HARD`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pipeline.canonical_text import MASK_START, raw_tokens, split_options, strip_answer_format, strip_instructions
from pipeline.latex import PUNCTUATION, structure
from pipeline.lexicon import COMMANDS, FUNCTIONS, GREEK, HARD, NUMBER_WORDS, STOP, STYLE

MAX_CHARS = 100_000
"""Longer texts are cut: a canonical form is for comparing problems, and none is a book."""

_NUMBER_TOKEN = re.compile(r"(^| )\d\S*")


@dataclass(frozen=True, eq=True)
class Canonical:
    """tokens: the whole canonical form.  options: choices, sorted."""

    tokens: tuple[str, ...]
    options: tuple[str, ...] = ()

    @cached_property
    def hard(self) -> tuple[str, ...]:
        """The deciding tokens in order."""
        return tuple(filter(is_hard, self.tokens))

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
        masked = _NUMBER_TOKEN.sub(r"\g<1>0", self.text)
        return hashlib.blake2b(masked.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def canonical(question: str) -> Canonical:
    """The canonical form of one problem; multiple-choice options are set apart from the stem and sorted."""
    text = strip_answer_format(strip_instructions(question[:MAX_CHARS]))
    stem_text, options = split_options(text)
    tokens = tuple(_tokens(stem_text))
    choices = tuple(sorted(" ".join(_tokens(option)) for option in options))
    if not tokens:
        tokens = tuple(_tokens(text)) or ("empty",)
        choices = ()
    return Canonical(tokens=tokens, options=choices)


def _tokens(text: str) -> list[str]:
    return _words(structure(raw_tokens(text)))


def _words(tokens: Sequence[str]) -> list[str]:
    out: list[str] = []
    for place, token in enumerate(tokens):
        if token not in _BY_CONTEXT or not _is_dressing(tokens, place):
            out += _word(token)
    return out


_BY_CONTEXT = frozenset(["a", "A", "I", "dollar", "dollars"])
_AFTER_A_VARIABLE = frozenset(["and", "or", "be", "is", "are", "to", "of", "with", "on", "lies", "denote"])
"""Words that do not follow an article: `let a and b be`, `A is older than B`."""
_BEFORE_A_SENTENCE = frozenset(".?!:;,\"'()[]")


def _is_dressing(tokens: Sequence[str], place: int) -> bool:
    """Whether a lone `a` or `I` is a word and no variable, or `dollars` the unit of the number before."""
    if len(tokens[place]) > 1:
        return place > 0 and tokens[place - 1][0].isdigit()
    if tokens[place] == "A" and place > 0 and tokens[place - 1] not in _BEFORE_A_SENTENCE:
        return False
    following = tokens[place + 1] if place + 1 < len(tokens) else ""
    if following in _AFTER_A_VARIABLE:
        return False
    return (len(following) > 1 and following.isalpha()) or following[:1].isdigit()


@lru_cache(maxsize=1 << 16)
def _word(token: str) -> tuple[str, ...]:
    """The canonical tokens of one raw token; few words make most of all texts."""
    first = token[0]
    if first == MASK_START:
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


_UNITS = frozenset(["cm", "mm", "km", "kg", "ft", "lb", "lbs", "oz", "hr", "hrs"])
"""In capitals these are labels of points more often than units."""


def _spelled(word: str) -> Iterator[str]:
    if len(word) == 1:
        yield word
        return
    lower = word.lower()
    if word.isupper() and (lower not in HARD or lower in _UNITS) and lower not in STOP and lower not in NUMBER_WORDS:
        yield word
        return
    if len(word) == 2 * word.count("-") + 1 and "-" in word:
        yield from word  # a difference of variables, not a compound
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
