"""The report of `verigold doctor`: advice first, then the pass rates that it rests on, then samples to read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from verigold.doctor_advice import Advice, should_stop
from verigold.report.blocks import (
    Block,
    Cell,
    Document,
    Example,
    Fact,
    Facts,
    Field,
    Figure,
    Paragraph,
    Section,
    Table,
    Tone,
    code,
    counted,
    left,
    plain,
    right,
    share,
    verdict_tone,
    verdict_words,
)
from verigold.report.figures import histogram
from verigold.report.folders import Json, items, table, whole
from verigold.report.page import to_html
from verigold.report.words import bounds, count, interval, number, percent, plural

TONES: dict[str, Tone] = {"stop": "bad", "change": "unsure", "good": "good"}
MARKS = {"stop": "✗ stop", "change": "? change first", "good": "✓ train"}


def render(measured: Json, advice: Sequence[Advice]) -> str:
    """The HTML page."""
    return to_html(document(measured, advice))


def document(measured: Json, advice: Sequence[Advice]) -> Document:
    model, shards = Path(str(measured.get("model", "model"))).name, Path(str(measured.get("shards", "shards"))).name
    sections: list[Block] = [
        Section(title="Advice", blocks=[advice_table(advice)]),
        Section(title="Pass rates", blocks=[histogram_figure(measured), *_sources(measured)]),
        Section(title="Samples", blocks=[reasons_table(measured), *_examples(measured)]),
        Section(title="Settings", blocks=[settings_table(measured)]),
    ]
    return Document(
        title="Doctor's report",
        subtitle=f"{model} on {shards}: {plural(whole(measured.get('problems')), 'problem')}, "
        f"{count(whole(measured.get('samples')))} samples",
        blocks=[_lead(advice), facts(measured), *sections],
    )


def _lead(advice: Sequence[Advice]) -> Paragraph:
    words = "Do not train as it is." if should_stop(list(advice)) else "This can be trained on."
    first = advice[0]
    return Paragraph(text=f"{words} {first.found} {first.remedy}", kind="alarm" if first.kind == "stop" else "lead")


def facts(measured: Json) -> Facts:
    size = whole(table(measured.get("settings")).get("group_size"))
    rate, mixed = interval(measured.get("pass_at_1")), interval(measured.get("mixed"))
    rollouts, tokens = number(measured.get("rollouts_per_kept")), number(measured.get("tokens_per_kept"))
    return Facts(
        items=[
            Fact(value=percent(rate.estimate if rate else None), label="pass@1", note=bounds(rate)),
            Fact(
                value=percent(mixed.estimate if mixed else None),
                label=f"mixed groups of {size}",
                note=bounds(mixed) or "kept by dynamic sampling",
            ),
            Fact(
                value=f"{rollouts:,.0f}" if rollouts is not None else "none kept",
                label="rollouts a kept group",
                note=f"{tokens:,.0f} tokens" if tokens is not None else "",
            ),
            Fact(
                value=percent(number(measured.get("truncated"))),
                label="cut off",
                note=f"{percent(number(measured.get('undecided')))} undecided",
            ),
        ]
    )


def advice_table(advice: Sequence[Advice]) -> Table:
    rows = [[Cell(text=MARKS[one.kind], tone=TONES[one.kind]), plain(one.found), plain(one.remedy)] for one in advice]
    return Table(caption="What to do", columns=left("advice", "found", "remedy"), rows=rows)


def bins(measured: Json) -> list[tuple[str, int]]:
    """Pass rates in per cent with their problems."""
    return [
        (f"{100 * (number(item.get('rate')) or 0):.0f}%", whole(item.get("problems")))
        for item in items(measured.get("histogram"))
    ]


def histogram_figure(measured: Json) -> Figure:
    found = bins(measured)
    told = "; ".join(f"{label} {count(rows)}" for label, rows in found)
    return Figure(
        title="Problems by pass rate",
        description="How often the model solves a problem. Only problems between the ends give mixed groups.",
        words=f"{told}.",
        draw=lambda width: histogram(found, width),
        table=Table(
            caption="Problems by pass rate",
            columns=[*left("pass rate"), *right("problems")],
            rows=[[plain(label), counted(rows)] for label, rows in found],
        ),
    )


def _sources(measured: Json) -> list[Block]:
    sources = table(measured.get("by_source"))
    if len(sources) < 2:
        return []
    rows = [
        [
            plain(str(name)),
            counted(whole(table(entry).get("problems"))),
            share(number(table(entry).get("pass_at_1"))),
            share(number(table(entry).get("mixed"))),
        ]
        for name, entry in sources.items()
    ]
    columns = [*left("source"), *right("problems", "pass@1", "mixed groups")]
    return [Table(caption="By source", columns=columns, rows=rows)]


def reasons_table(measured: Json) -> Table:
    total = whole(measured.get("samples")) or 1
    rows = [
        [code(str(reason)), counted(whole(n)), share(whole(n) / total)]
        for reason, n in table(measured.get("reasons")).items()
    ]
    return Table(
        caption="Verdicts and their reasons", columns=[*left("verdict"), *right("samples", "share")], rows=rows
    )


def _examples(measured: Json) -> list[Example]:
    return [
        Example(
            title=f"{verdict_words(str(item.get('status')))}: {item.get('reason')}"
            + (" (cut off)" if item.get("truncated") else ""),
            tone=verdict_tone(str(item.get("status"))),
            fields=[
                Field(label="question", text=str(item.get("question"))),
                Field(label="gold", text=str(item.get("ground_truth"))),
                Field(label="response", text=str(item.get("response"))),
            ],
        )
        for item in items(measured.get("examples"))
    ]


def settings_table(measured: Json) -> Table:
    named = {"model": measured.get("model"), "shards": measured.get("shards"), **table(measured.get("settings"))}
    rows = [[plain(str(name)), code("" if value is None else str(value))] for name, value in named.items()]
    return Table(caption="Settings", columns=left("setting", "value"), rows=rows)
