"""The Markdown twin of a report: the same blocks, figures as their tables, for terminals, pull requests and e-mail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from verigold.report.blocks import (
    Block,
    Cell,
    Details,
    Document,
    Example,
    Facts,
    Figure,
    Gallery,
    Paragraph,
    Section,
    Table,
)
from verigold.report.words import one_line, visible

TABLE_ROWS, EXAMPLES, CELL_CHARACTERS = 25, 4, 200
"""The twin is short: the longest table, the examples of one list, the longest cell; no drawers, no small tables."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-!|~$<>&]|(?<!\w)@)")


def to_markdown(document: Document) -> str:
    """The whole report. Untrusted text is escaped: it can neither format, link nor carry HTML."""
    parts = [f"# {inline(document.title)}", inline(document.subtitle), *_all(document.blocks, 2)]
    return "\n\n".join(part for part in parts if part) + "\n"


def inline(text: str) -> str:
    """Plain text as one line of Markdown."""
    flat = " ".join(visible(text).split())
    return _SPECIAL.sub(_escape, flat)


def _escape(match: re.Match[str]) -> str:
    character = match.group(1)
    entities = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
    if character in "-+()":
        return character
    return entities.get(character, f"\\{character}")


def fenced(text: str) -> str:
    """A code block whose fence is longer than any run of backticks in the text."""
    shown = visible(text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}"


def _all(blocks: Iterable[Block], level: int) -> list[str]:
    parts, examples = [], 0
    for block in blocks:
        examples += isinstance(block, Example)
        if not isinstance(block, Example) or examples <= EXAMPLES:
            parts.append(_block(block, level))
    return parts


def _block(block: Block, level: int) -> str:
    match block:
        case Paragraph():
            text = inline(block.text)
            return f"> {text}" if block.kind in ("note", "missing", "alarm") else text
        case Facts():
            return "\n".join(_fact(item.label, item.value, item.note) for item in block.items)
        case Table():
            return _table(block)
        case Figure(small=True):
            return f"- {inline(block.title)}: {inline(f'{block.description} {block.words}'.strip())}"
        case Figure():
            return _table(block.table)
        case Gallery():
            return "\n".join(_block(figure, level) for figure in block.figures)
        case Example():
            return _example(block)
        case Details():
            return f"- {inline(block.summary)} (opened in the HTML report)"
        case Section():
            return "\n\n".join((f"{'#' * min(level, 6)} {inline(block.title)}", *_all(block.blocks, level + 1)))


def _fact(label: str, value: str, note: str) -> str:
    return f"- {inline(label)}: **{inline(value)}**" + (f" ({inline(note)})" if note else "")


def _table(table: Table) -> str:
    if not table.rows:
        return f"**{inline(table.caption)}**: none"
    lines = [
        f"**{inline(table.caption)}**",
        "",
        _line(inline(column.title) for column in table.columns),
        _line("---:" if column.align == "right" else "---" for column in table.columns),
        *(_line(_cell(cell) for cell in row) for row in table.rows[:TABLE_ROWS]),
    ]
    if len(table.rows) > TABLE_ROWS:
        lines += ["", f"… and {len(table.rows) - TABLE_ROWS} more rows"]
    if table.note:
        lines += ["", inline(table.note)]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    text = inline(one_line(cell.text, CELL_CHARACTERS))
    return f"{text} {inline(cell.detail)}" if cell.detail else text


def _example(example: Example) -> str:
    parts: list[str] = [f"**{inline(example.title)}**"]
    for field in example.fields:
        long: Sequence[str] = (f"{inline(field.label)}:", fenced(field.text))
        parts.extend(
            long if "\n" in field.text or len(field.text) > 120 else [f"{inline(field.label)}: {inline(field.text)}"]
        )
    return "\n\n".join(parts)
