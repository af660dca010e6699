"""A report as one self-contained HTML file: no scripts, no requests, nothing that a row could inject.

Markup is only ever built by `Markup(...).format(...)`, which escapes every argument that is not itself `Markup`; texts
go through `visible` first, so that control characters are shown instead of obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

from markupsafe import Markup

from verigold.report.blocks import (
    Block,
    Cell,
    Column,
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
from verigold.report.drawing import svg
from verigold.report.words import visible

WIDE, NARROW, SMALL = 920, 350, 400
"""Widths in pixels that figures are drawn for: the page, a narrow screen, and side by side."""

_PAGE = Markup("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="subtitle">{subtitle}</p>
</header>
<main>
{body}
</main>
<footer><p>Written by verigold. Every number on this page is computed from the files it reports on.</p></footer>
</body>
</html>
""")


def style(*names: str) -> str:
    """The style sheets of these names, joined."""
    folder = files("verigold.report") / "styles"
    return "".join((folder / f"{name}.css").read_text(encoding="utf-8") for name in names)


def to_html(document: Document) -> str:
    """The whole page."""
    sections = [block for block in document.blocks if isinstance(block, Section)]
    first = document.blocks.index(sections[0]) if sections else len(document.blocks)
    parts = [*_all(document.blocks[:first], 2), _contents(sections), *_all(document.blocks[first:], 2)]
    page = _PAGE.format(
        title=visible(document.title),
        subtitle=visible(document.subtitle),
        style=Markup(style("palette", "figure", "page")),
        body=Markup("\n").join(parts),
    )
    return str(page)


def _contents(sections: Sequence[Section]) -> Markup:
    if len(sections) < 3:
        return Markup("")
    items = [
        Markup('<li><a href="#{}">{}</a></li>').format(_anchor(section.title), visible(section.title))
        for section in sections
    ]
    return Markup('<nav aria-label="Contents"><ul>{}</ul></nav>').format(Markup("").join(items))


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def _all(blocks: Iterable[Block], level: int) -> list[Markup]:
    return [_block(block, level) for block in blocks]


def _block(block: Block, level: int) -> Markup:
    """One block as HTML; `level` is that of the next heading."""
    match block:
        case Paragraph():
            return Markup('<p class="{}">{}</p>').format(block.kind, visible(block.text))
        case Facts():
            return _facts(block)
        case Table():
            return _table(block)
        case Figure():
            return _figure(block)
        case Gallery():
            figures = Markup("\n").join(_figure(figure) for figure in block.figures)
            return Markup('<div class="gallery">{}</div>').format(figures)
        case Example():
            return _example(block)
        case Details():
            return Markup("<details><summary>{}</summary>\n{}</details>").format(
                visible(block.summary), Markup("\n").join(_all(block.blocks, level))
            )
        case Section():
            return _section(block, level)


def _section(section: Section, level: int) -> Markup:
    heading = Markup("<h{0}{1}>{2}</h{0}>").format(
        min(level, 6),
        Markup(' id="{}"').format(_anchor(section.title)) if level == 2 else "",
        visible(section.title),
    )
    return Markup("<section>\n{}\n{}\n</section>").format(heading, Markup("\n").join(_all(section.blocks, level + 1)))


def _facts(facts: Facts) -> Markup:
    items = []
    for fact in facts.items:
        note = Markup('<dd class="fact-note">{}</dd>').format(visible(fact.note)) if fact.note else ""
        items.append(
            Markup("<div><dt>{}</dt><dd>{}</dd>{}</div>").format(visible(fact.label), visible(fact.value), note)
        )
    return Markup('<dl class="facts">{}</dl>').format(Markup("").join(items))


def _table(table: Table) -> Markup:
    head = Markup("").join(
        Markup('<th scope="col" class="{}">{}</th>').format(column.align, visible(column.title))
        for column in table.columns
    )
    body = Markup("\n").join(_row(row, table.columns) for row in table.rows)
    note = Markup('<p class="caption-note">{}</p>').format(visible(table.note)) if table.note else ""
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}"><table><caption>{}</caption>'
        "<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody></table></div>{}"
    ).format(visible(table.caption), visible(table.caption), head, body, note)


def _row(row: Sequence[Cell], columns: Sequence[Column]) -> Markup:
    cells = []
    for index, (cell, column) in enumerate(zip(row, columns, strict=True)):
        tag, scope = ("th", Markup(' scope="row"')) if index == 0 else ("td", "")
        classes = f"{column.align} {cell.tone}".removesuffix(" plain")
        cells.append(Markup('<{0}{1} class="{2}">{3}</{0}>').format(tag, scope, classes, _cell(cell)))
    return Markup("<tr>{}</tr>").format(Markup("").join(cells))


def _cell(cell: Cell) -> Markup:
    shown = Markup("{}").format(visible(cell.text))
    if cell.code:
        shown = Markup('<span class="code">{}</span>').format(shown)
    if cell.detail:
        shown += Markup(' <span class="detail">{}</span>').format(visible(cell.detail))
    return shown


def _figure(figure: Figure) -> Markup:
    sizes = ((SMALL, "figure"),) if figure.small else ((WIDE, "wide"), (NARROW, "narrow"))
    told = f"{figure.description} {figure.words}".strip()
    drawings = Markup("").join(svg(figure.draw(width), figure.title, told, class_name=name) for width, name in sizes)
    return Markup(
        "<figure><figcaption><strong>{}</strong> <span>{}</span></figcaption>\n{}\n"
        "<details><summary>The numbers</summary>\n{}</details></figure>"
    ).format(visible(figure.title), visible(figure.description), drawings, _table(figure.table))


def _example(example: Example) -> Markup:
    fields = []
    for field in example.fields:
        classes = f"{'code ' if field.code else ''}{field.tone}".removesuffix(" plain")
        fields.append(
            Markup('<dt>{}</dt><dd class="{}">{}</dd>').format(visible(field.label), classes, visible(field.text))
        )
    return Markup('<div class="example tone-{}"><p class="example-title {}">{}</p><dl>{}</dl></div>').format(
        example.tone, example.tone, visible(example.title), Markup("").join(fields)
    )
