"""What a report is made of: a tree of blocks that `page` draws as HTML and `markdown` as Markdown.

Every string in a block is plain text. Rows and responses are untrusted, so no block takes markup; the two renderers
escape whatever they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from verigold.report.drawing import Drawing
from verigold.report.words import Interval, bounds, count, percent

Tone = Literal["plain", "good", "bad", "unsure", "muted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One table cell. tone: its colour, never the only carrier of meaning. detail: a quiet addition beside the text.
    code: text from the data, in a monospaced font."""

    text: str
    tone: Tone = "plain"
    detail: str = ""
    code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column's title; `right` for numbers."""

    title: str
    align: Literal["left", "right"] = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under titled columns; the first cell of each row is its header. note: how to read it."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """One paragraph. lead: the summary on top. note: an aside. missing: a part that was not run. alarm: look here."""

    text: str
    kind: Literal["plain", "lead", "note", "missing", "alarm"] = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One key figure: its value, what it is, and its interval or base."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Key figures side by side."""

    items: Sequence[Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing with its text alternative. draw: width in pixels -> drawing, called for wide and narrow screens.
    description: how to read it. words: what it shows, for readers who do not see it; table: the same as numbers."""

    title: str
    description: str
    draw: Callable[[int], Drawing]
    table: Table
    words: str = ""
    small: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """Small figures side by side."""

    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A labelled text of an example. code: text from the data, its line breaks kept."""

    label: str
    text: str
    tone: Tone = "plain"
    code: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One row or transcript to read."""

    title: str
    fields: Sequence[Field]
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Blocks that open on request."""

    summary: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and what stands under it; sections nest."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report. subtitle: what it reports on."""

    title: str
    subtitle: str
    blocks: Sequence[Block]


Block = Paragraph | Facts | Table | Figure | Gallery | Example | Details | Section


def left(*titles: str) -> list[Column]:
    return [Column(title=title) for title in titles]


def right(*titles: str) -> list[Column]:
    return [Column(title=title, align="right") for title in titles]


def plain(text: str, tone: Tone = "plain", detail: str = "") -> Cell:
    return Cell(text=text, tone=tone, detail=detail)


def code(text: str) -> Cell:
    return Cell(text=text, code=True)


def counted(value: float | None) -> Cell:
    return Cell(text=count(value))


def share(value: float | None) -> Cell:
    return Cell(text=percent(value))


def rate(value: Interval | None) -> Cell:
    """An estimate in per cent with its bounds beside it."""
    return Cell(text=percent(value.estimate if value else None), detail=bounds(value))


STATUS_TONES: dict[str, Tone] = {"correct": "good", "incorrect": "bad", "undecided": "unsure"}
STATUS_MARKS = {"correct": "✓ correct", "incorrect": "✗ incorrect", "undecided": "? undecided"}


def verdict_words(status: str) -> str:
    """The verdict with a mark, so that colour is not needed to tell."""
    return STATUS_MARKS.get(status, status or "no verdict")


def verdict_tone(status: str) -> Tone:
    return STATUS_TONES.get(status, "muted")
