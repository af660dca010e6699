"""The types of answers. All frozen data; `compare.same` says which are equal."""

from __future__ import annotations

from dataclasses import dataclass, field

from verifiers.answer.tree import Node
from verifiers.answer.units import Unit


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number or an expression, perhaps with a unit. `digits`: significant digits of a decimal literal, else 0."""

    node: Node
    unit: Unit | None = None
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Ordered:
    """A tuple, point, vector, list or interval: what the brackets mean depends on the other side."""

    items: tuple[Answer, ...]
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Bag:
    """A set, or an unbracketed list: order and repetition do not count. `braced`: it was written in braces."""

    items: tuple[Answer, ...]
    braced: bool = False


@dataclass(frozen=True, slots=True)
class Dotted:
    """A list that goes on: 1, 2, ..., n. Parts are the items before and after the dots."""

    before: tuple[Answer, ...]
    after: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """One interval. Infinite ends are the constant inf, perhaps negated, and open."""

    low: Node
    high: Node
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class Region:
    """A union of intervals of the real line."""

    pieces: tuple[Piece, ...]
    relation: Relation | None = field(default=None, compare=False)
    """The inequality that was solved for one of several symbols."""


@dataclass(frozen=True, slots=True)
class Relation:
    """left op right: an equation, inequality or inequation that is no region and no name with its value."""

    left: Node
    op: str
    right: Node


@dataclass(frozen=True, slots=True)
class Named:
    """name = value. `parameters` are the symbols that the name binds (f(x), a_n); `equation` the same as an equation,
    where both sides are expressions."""

    name: str
    value: Answer
    parameters: tuple[str, ...] = ()
    equation: Relation | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Based:
    """Digits in a base; base 0 when none was written."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Word:
    """A closed class of words: kind is one of truth, nothing, undefined, all, weekday, month, date, time, letter,
    letters; value is its canonical form."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Text:
    """Anything else, as lower-case words without articles and punctuation."""

    words: tuple[str, ...]


Answer = Scalar | Ordered | Bag | Dotted | Region | Relation | Named | Ratio | Matrix | Based | Word | Text
