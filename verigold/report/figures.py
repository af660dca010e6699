"""The figures of the reports, as pure functions from numbers to drawings.

Every figure takes the width it is drawn for and lays itself out for it, so that a narrow screen gets a drawing of its
own and not a shrunken one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from verigold.report.drawing import (
    FONT,
    STRONG,
    Drawing,
    fit,
    group,
    line,
    rectangle,
    scale,
    text,
    text_width,
    ticks,
    wrap,
)
from verigold.report.words import count, percent, tick_percent

NARROW = 36
"""Below this many font sizes of width, labels stand above their bars instead of beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar; low and high are drawn as an interval. note: printed after the value."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    class_name: str = "c0"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStage:
    """Rows that went into a stage and what became of those it did not pass on. reasons: e.g. `near-duplicate 120`."""

    label: str
    rows_in: int
    dropped: int
    quarantined: int
    reasons: Sequence[str] = ()

    @property
    def rows_out(self) -> int:
        return self.rows_in - self.removed

    @property
    def removed(self) -> int:
        return self.dropped + self.quarantined


def bars(
    rows: Sequence[Bar],
    width: float,
    *,
    font: float = FONT,
    high: float | None = None,
) -> Drawing:
    """Bars of shares from zero, with whiskers for intervals and the value at the right edge. high: end of the axis."""
    narrow = width < NARROW * font
    values = [f"{percent(row.value)} {row.note}".strip() for row in rows]
    value_room = max((text_width(value, font) for value in values), default=0) + font * 0.6
    label_room = 0 if narrow else min(max((text_width(r.label, font) for r in rows), default=0) + font, width * 0.36)
    longest = max([v for r in rows for v in (r.value, r.high) if v is not None], default=0.0)
    room = width - label_room - value_room
    marks = ticks(0.0, high if high is not None else max(longest, 1e-6), max(1, min(5, int(room / (font * 5)))))
    x = scale((marks[0], marks[-1]), (label_room, label_room + room))
    pitch = font * (3.1 if narrow else 2.1)
    bottom = pitch * len(rows) + font * 0.3
    parts = [line(x(mark), 0, x(mark), bottom, "grid") for mark in marks]
    for index, (row, value) in enumerate(zip(rows, values, strict=True)):
        y = index * pitch + font * (1.55 if narrow else 0.5)
        if narrow:
            parts.append(text(0, y - font * 0.4, fit(row.label, width, font)))
        else:
            label = fit(row.label, label_room - font * 0.7, font)
            parts.append(text(label_room - font * 0.7, y + font * 0.89, label, anchor="end"))
        parts.append(text(width, y + font * 0.89, value, "ink number", anchor="end"))
        parts.extend(_bar(row, value, x, y, font))
    parts.extend(_axis(marks, x, bottom, font))
    return Drawing(width=width, height=bottom + font * 1.7, body=group(parts, font=font))


def _bar(row: Bar, value: str, x: Callable[[float], float], y: float, font: float) -> list[Markup]:
    height, parts = font * 1.05, []
    if row.value is not None:
        soft = "soft " if row.low is not None else ""
        place = (x(0), y, x(row.value) - x(0), height)
        parts.append(rectangle(*place, f"fill {soft}{row.class_name}", f"{row.label}: {value}"))
    if row.low is not None and row.high is not None:
        middle, cap = y + height / 2, height * 0.28
        parts.append(line(x(row.low), middle, x(row.high), middle, "whisker"))
        parts.extend(line(x(end), middle - cap, x(end), middle + cap, "whisker") for end in (row.low, row.high))
    return parts


def _axis(marks: Sequence[float], x: Callable[[float], float], y: float, font: float) -> list[Markup]:
    size = font * 0.88
    return [
        text(
            x(mark),
            y + font * 1.25,
            tick_percent(mark),
            "muted number",
            anchor="start" if x(mark) < font else "middle",
            size=size,
        )
        for mark in marks
    ]


def funnel(
    stages: Sequence[FunnelStage],
    width: float,
    *,
    font: float = FONT,
    reason_lines: int = 2,
    labels_beside: bool | None = None,
) -> Drawing:
    """One bar a stage, as wide as the rows that reached it: kept, dropped and quarantined; below it the reasons.

    labels_beside: the stages' names stand left of the bars, or above them; by default as the width allows.
    """
    narrow = width < NARROW * font if labels_beside is None else not labels_beside
    label_room = 0.0 if narrow else _label_room(stages, width * 0.42, font)
    number_room = max((text_width(count(stage.rows_in), font, strong=True) for stage in stages), default=0) + font * 0.8
    x = scale((0, max((stage.rows_in for stage in stages), default=1) or 1), (0, width - label_room - number_room))
    parts, y = [], font * 0.2
    for stage in stages:
        if narrow:
            parts.append(text(0, y + font, fit(stage.label, width, font), "ink strong"))
            y += font * 1.45
        parts.extend(_parts(stage, x, label_room, y, font, kept=True))
        drawn, y = _row_texts(stage, y, width, font, label_room, reason_lines)
        parts.extend(drawn)
    return Drawing(width=width, height=y, body=group(parts, font=font))


FUNNEL_FROM = 0.1
"""Where no stage loses this share of its rows, the losses are drawn on a scale of their own."""


def is_funnel(stages: Sequence[FunnelStage]) -> bool:
    """Whether any stage loses enough rows to be seen beside those it keeps."""
    return any(stage.removed >= FUNNEL_FROM * stage.rows_in for stage in stages if stage.rows_in)


def losses(
    stages: Sequence[FunnelStage],
    width: float,
    *,
    font: float = FONT,
    reason_lines: int = 2,
    labels_beside: bool | None = None,
) -> Drawing:
    """As `funnel`, for stages that lose little: the bars are the removed rows, the number at the right what is left."""
    narrow = width < NARROW * font if labels_beside is None else not labels_beside
    label_room = 0.0 if narrow else _label_room(stages, width * 0.42, font)
    left_room = max((text_width(count(stage.rows_in), font, strong=True) for stage in stages), default=0) + font
    most = max((stage.removed for stage in stages), default=0)
    x = scale((0, most or 1), (0, width - label_room - left_room - text_width(count(most), font) - font * 0.5))
    parts = [
        text(label_room, font, "rows removed", "muted", size=font * 0.88),
        text(width, font, "rows left", "muted", anchor="end", size=font * 0.88),
    ]
    y = font * 1.6
    for stage in stages:
        if narrow:
            parts.append(text(0, y + font, fit(stage.label, width, font), "ink strong"))
            y += font * 1.45
        at = label_room
        parts.extend(_parts(stage, x, at, y, font, kept=False))
        end = at + max(x(stage.removed), font * 0.16)
        said = count(stage.removed) if stage.removed else "none"
        parts.append(text(end + font * 0.4 if stage.removed else at, y + font * 1.1, said, "ink number"))
        drawn, y = _row_texts(stage, y, width, font, label_room, reason_lines)
        parts.extend(drawn)
    return Drawing(width=width, height=y, body=group(parts, font=font))


def _label_room(stages: Sequence[FunnelStage], most: float, font: float) -> float:
    widest = max((text_width(stage.label, font, strong=True) for stage in stages), default=0)
    return min(widest + font * 0.8, most)


def _parts(
    stage: FunnelStage, x: Callable[[float], float], at: float, y: float, font: float, *, kept: bool
) -> list[Markup]:
    """The segments of one bar: kept where asked for, dropped, quarantined; a single row is still seen."""
    parts = []
    for rows, class_name in (
        (stage.rows_out if kept else 0, "kept"),
        (stage.dropped, "dropped"),
        (stage.quarantined, "quarantined"),
    ):
        if rows > 0:
            wide = max(x(rows), font * 0.16)
            hint = f"{stage.label}: {count(rows)} {class_name}"
            parts.append(rectangle(at, y, wide, font * 1.5, f"fill {class_name}", hint))
            at += wide
    return parts


def _row_texts(
    stage: FunnelStage, y: float, width: float, font: float, label_room: float, reason_lines: int
) -> tuple[list[Markup], float]:
    """Label, rows left and reasons of one stage whose bar begins at y; where the next stage begins."""
    baseline, size, parts = y + font * 1.1, font * 0.88, []
    if label_room:
        parts.append(text(0, baseline, fit(stage.label, label_room / STRONG, font), "ink strong"))
    parts.append(text(width, baseline, count(stage.rows_out), "ink number strong", anchor="end"))
    y += font * 1.5
    for reason in wrap(stage.reasons, width - label_room, size)[:reason_lines]:
        parts.append(text(label_room, y + size * 1.3, reason, "muted", size=size))
        y += size * 1.35
    return parts, y + font * 0.75


def histogram(
    bins: Sequence[tuple[str, int]], width: float, *, font: float = FONT, height: float | None = None
) -> Drawing:
    """Vertical bars with their counts above and their names below, in the order given."""
    height, width = height or font * 14, min(width, font * 10 * max(len(bins), 1))
    top, bottom = font * 1.8, height - font * 1.8
    most = max((rows for _, rows in bins), default=0) or 1
    y = scale((0, most), (bottom, top))
    pitch = width / max(len(bins), 1)
    size = font if all(text_width(label, font) <= pitch for label, _ in bins) else font * 0.85
    parts = [line(0, bottom, width, bottom, "axis")]
    for index, (label, rows) in enumerate(bins):
        middle, wide = (index + 0.5) * pitch, min(pitch * 0.72, font * 6)
        parts.append(rectangle(middle - wide / 2, y(rows), wide, bottom - y(rows), "fill c0", f"{label}: {rows:,}"))
        parts.append(text(middle, y(rows) - font * 0.45, count(rows), "ink number", anchor="middle", size=size))
        parts.append(text(middle, bottom + font * 1.3, fit(label, pitch, size), "muted", anchor="middle", size=size))
    return Drawing(width=width, height=height, body=group(parts, font=font))
