import itertools
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from verigold.report import audit, curation, quickstart, training
from verigold.report.blocks import (
    Cell,
    Column,
    Details,
    Document,
    Example,
    Fact,
    Facts,
    Field,
    Figure,
    Paragraph,
    Section,
    Table,
    plain,
)
from verigold.report.figures import Bar, bars
from verigold.report.folders import read_json
from verigold.report.markdown import fenced, inline, to_markdown
from verigold.report.page import to_html

VOID = {"meta", "link", "br", "img", "input", "hr"}
ALLOWED = {
    *("html", "head", "meta", "title", "link", "style", "body", "header", "main", "footer", "nav", "section"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "li", "a", "dl", "dt", "dd", "div", "span", "strong", "code"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "details", "summary"),
    *("svg", "desc", "g", "text", "rect", "line", "path", "circle"),
}


class Page(HTMLParser):
    """Elements, their attributes and text, with every element closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return "".join(self.texts)


def everything(hostile: str) -> Document:
    """A document with the text in every place that takes one."""
    table = Table(
        caption=hostile,
        columns=[Column(title=hostile), Column(title=hostile, align="right")],
        rows=[[plain(hostile), Cell(text=hostile, detail=hostile, code=True, tone="bad")]],
        note=hostile,
    )
    figure = Figure(
        title=hostile,
        description=hostile,
        draw=lambda w: bars([Bar(label=hostile, value=0.5, note=hostile)], w),
        table=table,
    )
    blocks = [
        Paragraph(text=hostile),
        Facts(items=[Fact(value=hostile, label=hostile, note=hostile)]),
        table,
        figure,
        Example(title=hostile, fields=[Field(label=hostile, text=hostile)]),
        Details(summary=hostile, blocks=[Paragraph(text=hostile)]),
    ]
    sections = [Section(title=hostile, blocks=blocks) for _ in range(3)]
    return Document(title=hostile, subtitle=hostile, blocks=[Paragraph(text=hostile, kind="lead"), *sections])


def check_inert(html: str) -> Page:
    page = Page(html)
    assert {tag for tag, _ in page.elements} <= ALLOWED
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))
    return page


ATTACKS = [
    '<script>alert("x")</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></svg></text><script>alert(1)</script>",
    "<!-- --> ]]> <![CDATA[ &amp; &lt;script&gt; {0} {title} %s",
    "\x00\x08\x1b[2J\x7f\x85\u202e\u2066\ufeff\ud800\ufffe",
    "javascript:alert(1) [x](javascript:alert(1)) `x` | y",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_injection_is_inert_everywhere(attack: str) -> None:
    page = check_inert(to_html(everything(attack)))
    assert not page.named("script")
    assert page.text.count("alert") >= 10 or "alert" not in attack
    to_html(everything(attack)).encode("utf-8")


@given(st.text(max_size=40))
@settings(max_examples=40)
def test_any_text_is_inert(text: str) -> None:
    check_inert(to_html(everything(text)))


def test_headings_are_in_order_and_anchors_resolve() -> None:
    page = Page(to_html(everything("Title")))
    levels = [int(tag[1]) for tag, _ in page.elements if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()]
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))


REPORTS = {
    "quickstart": lambda root: quickstart.render(root),
    "curation": lambda root: curation.render(root / "real"),
    "audit": lambda root: audit.render(read_json(root / "audit" / "audit.json")),
    "run": lambda root: training.render([root / "runs" / "dapo"]),
    "runs": lambda root: training.render([root / "runs" / "dapo", root / "runs" / "control"]),
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports_are_self_contained_inert_and_accessible(name: str, root: Path) -> None:
    html = REPORTS[name](root)
    page = check_inert(html)
    assert "http" not in html.replace("http-equiv", "").replace('xmlns="http://www.w3.org/2000/svg"', "").replace(
        "(http://x)", ""
    )
    assert page.named("html")[0]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in page.elements if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    svgs = page.named("svg")
    assert svgs
    assert all(svg["role"] == "img" for svg in svgs)
    assert html.count("<desc>") == len(svgs)
    assert len(page.named("caption")) == len(page.named("table"))
    assert all(th.get("scope") in ("row", "col") for th in page.named("th"))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for a in page.named("a")]
    assert {link for link in links if link} <= {f"#{anchor}" for anchor in ids}


def test_both_colour_schemes_and_print_are_styled(root: Path) -> None:
    html = curation.render(root / "real")
    assert "@media (prefers-color-scheme: dark)" in html
    assert "@media print" in html


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, WCAG 2."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_colours_have_contrast() -> None:
    import re

    from verigold.report.page import style

    light, dark = (dict(re.findall(r"--([\w-]+): (#\w{6})", part)) for part in style("palette").split("@media"))
    for colours in (light, dark):
        for name in ("ink", "muted", "accent", "good", "bad", "unsure", "c0", "c1", "c2", "c3", "c4", "c5"):
            assert contrast(colours[name], colours["paper"]) >= 4.5, name
        for name in ("kept", "dropped"):
            assert contrast(colours[name], colours["paper"]) >= 3, name


@pytest.mark.parametrize("attack", ATTACKS)
def test_markdown_is_inert(attack: str) -> None:
    text = to_markdown(everything(attack))
    blocks = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    tokens = [token for block in blocks for token in [block, *(block.children or [])]]
    assert not {token.type for token in tokens} & {"html_block", "html_inline", "link_open", "image"}
    rows = sum(token.type == "tr_open" for token in tokens)
    assert sum(token.type in ("td_open", "th_open") for token in tokens) == 2 * rows
    text.encode("utf-8")


@given(st.text(alphabet="`ab\n~", max_size=20))
def test_fence_is_longer_than_what_it_holds(text: str) -> None:
    opening, *inside, closing = fenced(text).split("\n")
    assert opening.removesuffix("text") == closing
    assert not any(closing in line for line in inside)


def test_inline_markdown_escapes() -> None:
    assert inline("a|b *c* [d](e) <f> $g$\nh") == r"a\|b \*c\* \[d\](e) &lt;f&gt; \$g\$ h"
