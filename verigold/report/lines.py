"""Learning curves: lines over a shared axis, labelled at their ends, with bands or marks for intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from verigold.report.drawing import (
    FONT,
    SERIES_COLOURS,
    Drawing,
    circle,
    fit,
    group,
    line,
    path,
    scale,
    spread,
    text,
    text_width,
    ticks,
)
from verigold.report.words import short_count

DENSE = 40
"""From this many points on, the line is drawn thin and its running mean over it."""
MOST_POINTS = 500
"""Of a line; a long run is drawn by the means of neighbouring steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measurement, with its 95 % bounds where they are known."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line. colour: index into the palette. marks: single measurements, drawn as dots with whiskers on the line."""

    label: str
    points: Sequence[Point]
    colour: int = 0
    marks: bool = False
    band: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A horizontal line to compare with, and its bounds."""

    label: str
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Where the plot lies on the drawing, and its scales. right: the x of the plot's right edge."""

    left: float
    right: float
    top: float
    bottom: float
    x: Callable[[float], float]
    y: Callable[[float], float]
    x_marks: Sequence[float]
    y_marks: Sequence[float]


def thinned(item: Series, most: int = MOST_POINTS) -> Series:
    """The series with at most `most` points: means of neighbours. Single measurements stay as they are."""
    if item.marks or len(item.points) <= most:
        return item
    size = -(-len(item.points) // most)
    chunks = [item.points[start : start + size] for start in range(0, len(item.points), size)]
    means = [Point(x=sum(p.x for p in chunk) / len(chunk), y=sum(p.y for p in chunk) / len(chunk)) for chunk in chunks]
    return replace(item, points=means, band=False)


def running_mean(points: Sequence[Point], window: int) -> list[Point]:
    """The mean of each point and up to `window` - 1 before it."""
    means = []
    for index, point in enumerate(points):
        recent = points[max(0, index - window + 1) : index + 1]
        means.append(Point(x=point.x, y=sum(item.y for item in recent) / len(recent)))
    return means


def curves(
    series: Sequence[Series],
    width: float,
    *,
    x_title: str,
    y_title: str = "",
    font: float = FONT,
    height: float | None = None,
    show_y: Callable[[float], str] = short_count,
    y_range: tuple[float | None, float | None] = (None, None),
    levels: Sequence[Level] = (),
) -> Drawing:
    """Lines with direct labels at the right; `levels` are dashed lines across the plot."""
    height = height or max(font * 19, width * 0.4)
    series = [thinned(item) for item in series]
    labels = _labels(series, levels)
    frame = _frame(series, levels, labels, (width, height), font, show_y, y_range, font * (2.1 if y_title else 0.8))
    parts = _grid(frame, font, show_y)
    if y_title:
        parts.append(text(0, font * 0.95, fit(y_title, width, font), "muted", size=font * 0.92))
    parts.append(text(frame.right, height - font * 0.35, x_title, "muted", anchor="end", size=font * 0.92))
    for level in levels:
        parts.extend(_level(level, frame))
    for item in series:
        parts.extend(_series(item, frame, font))
    parts.extend(_end_labels(labels, frame, width, font))
    return Drawing(width=width, height=height, body=group(parts, font=font))


def _labels(series: Sequence[Series], levels: Sequence[Level]) -> list[tuple[str, float, str]]:
    """(text, value it belongs to, class) of every direct label."""
    ends = [
        (item.label, _drawn(item)[-1].y, f"label {colour_class(item.colour)}")
        for item in series
        if item.points and item.label
    ]
    return ends + [(level.label, level.y, "muted") for level in levels]


def colour_class(colour: int) -> str:
    return f"c{colour % SERIES_COLOURS}"


def _drawn(item: Series) -> Sequence[Point]:
    """The points of the main line: the running mean where there are many."""
    if item.marks or len(item.points) < DENSE:
        return item.points
    return running_mean(item.points, max(5, len(item.points) // 20))


def _frame(
    series: Sequence[Series],
    levels: Sequence[Level],
    labels: Sequence[tuple[str, float, str]],
    size: tuple[float, float],
    font: float,
    show_y: Callable[[float], str],
    y_range: tuple[float | None, float | None],
    top: float,
) -> Frame:
    width, height = size
    points = [point for item in series for point in item.points]
    values = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
    values += [v for level in levels for v in (level.y, level.low, level.high) if v is not None]
    low = y_range[0] if y_range[0] is not None else min(values, default=0.0)
    high = y_range[1] if y_range[1] is not None else max(values, default=1.0)
    y_marks = ticks(low, high, 4)
    x_marks = ticks(min((p.x for p in points), default=0.0), max((p.x for p in points), default=1.0), 4)
    left = max(text_width(show_y(mark), font * 0.92) for mark in y_marks) + font * 0.5
    label_room = min(
        max((text_width(label, font, strong=True) for label, _, _ in labels), default=0) + font * 0.9, width * 0.34
    )
    right = width - max(label_room, font)
    last = max((p.x for p in points), default=1.0)
    return Frame(
        left=left,
        right=right,
        top=top,
        bottom=height - font * 2.9,
        x=scale((x_marks[0], max(last, x_marks[0] + 1e-9)), (left, right)),
        y=scale((y_marks[0], y_marks[-1]), (height - font * 2.9, top)),
        x_marks=[mark for mark in x_marks if mark <= last * (1 + 1e-9)],
        y_marks=y_marks,
    )


def _grid(frame: Frame, font: float, show_y: Callable[[float], str]) -> list[Markup]:
    size = font * 0.92
    parts = []
    for mark in frame.y_marks:
        y = frame.y(mark)
        parts.append(line(frame.left, y, frame.right, y, "axis" if mark == frame.y_marks[0] else "grid"))
        parts.append(
            text(frame.left - font * 0.45, y + size * 0.35, show_y(mark), "muted number", anchor="end", size=size)
        )
    for mark in frame.x_marks:
        x = frame.x(mark)
        parts.append(line(x, frame.bottom, x, frame.bottom + font * 0.35, "axis"))
        parts.append(text(x, frame.bottom + font * 1.35, short_count(mark), "muted number", anchor="middle", size=size))
    return parts


def _level(level: Level, frame: Frame) -> list[Markup]:
    parts = []
    if level.low is not None and level.high is not None:
        corners = [
            (frame.left, level.low),
            (frame.right, level.low),
            (frame.right, level.high),
            (frame.left, level.high),
        ]
        parts.append(path([(x, frame.y(y)) for x, y in corners], "band cm", closed=True))
    parts.append(line(frame.left, frame.y(level.y), frame.right, frame.y(level.y), "level"))
    return parts


def _series(item: Series, frame: Frame, font: float) -> list[Markup]:
    colour = colour_class(item.colour)
    place = [(frame.x(point.x), frame.y(point.y)) for point in item.points]
    parts: list[Markup] = []
    if item.band and all(p.low is not None and p.high is not None for p in item.points):
        upper = [(frame.x(p.x), frame.y(p.high or 0.0)) for p in item.points]
        lower = [(frame.x(p.x), frame.y(p.low or 0.0)) for p in item.points]
        parts.append(path([*upper, *reversed(lower)], f"band {colour}", closed=True))
    drawn = _drawn(item)
    if len(drawn) > 1:
        if drawn is not item.points:
            parts.append(path(place, f"line thin {colour}"))
        parts.append(
            path([(frame.x(p.x), frame.y(p.y)) for p in drawn], f"line {'dashed ' if item.dashed else ''}{colour}")
        )
    if item.marks or len(item.points) == 1:
        parts.extend(_marks(item, frame, font, colour))
    return parts


def _marks(item: Series, frame: Frame, font: float, colour: str) -> list[Markup]:
    parts = []
    for point in item.points:
        x, cap = frame.x(point.x), font * 0.22
        if point.low is not None and point.high is not None:
            low, high = frame.y(point.low), frame.y(point.high)
            parts.append(line(x, low, x, high, f"line fine {colour}"))
            parts.extend(line(x - cap, end, x + cap, end, f"line fine {colour}") for end in (low, high))
        hint = f"{item.label}: {point.y:.4g} at {point.x:,.0f}"
        parts.append(circle(x, frame.y(point.y), font * 0.28, f"dot {colour}", hint))
    return parts


def _end_labels(labels: Sequence[tuple[str, float, str]], frame: Frame, width: float, font: float) -> list[Markup]:
    if not labels:
        return []
    places = spread([frame.y(value) for _, value, _ in labels], font * 1.15, frame.top, frame.bottom)
    x = frame.right + font * 0.5
    return [
        text(x, y + font * 0.35, fit(label, width - x, font), class_name)
        for (label, _, class_name), y in zip(labels, places, strict=True)
    ]
