"""What every figure needs: a drawing surface, scales, ticks and text that fits.

Lengths are pixels. `font` is the font size that everything else of a figure is measured by.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from verigold.report.words import visible

FONT = 13.0
STRONG = 1.14
"""How much wider bold text is."""
SERIES_COLOURS = 6
"""Classes `c0` to `c5` of styles/figure.css."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """SVG elements on a surface of width x height."""

    width: float
    height: float
    body: Markup


def svg(drawing: Drawing, title: str, description: str, *, class_name: str = "figure", style: str = "") -> Markup:
    """A complete svg element with its name and description for screen readers. style: CSS for a standalone file."""
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="{}" role="img" viewBox="0 0 {} {}" width="{}" height="{}">'
        "<title>{}</title><desc>{}</desc>{}{}</svg>"
    ).format(
        class_name,
        *(pixels(value) for value in (drawing.width, drawing.height, drawing.width, drawing.height)),
        visible(title),
        visible(description),
        Markup("<style>{}</style>").format(Markup(style)) if style else "",
        drawing.body,
    )


def group(parts: Iterable[Markup], *, font: float | None = None, x: float = 0, y: float = 0) -> Markup:
    """font: size of the texts inside that have none of their own."""
    sized = Markup(' font-size="{}"').format(pixels(font)) if font else ""
    moved = Markup(' transform="translate({} {})"').format(pixels(x), pixels(y)) if x or y else ""
    return Markup("<g{}{}>{}</g>").format(sized, moved, Markup("").join(parts))


def pixels(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(
    x: float,
    y: float,
    content: str,
    class_name: str = "ink",
    *,
    anchor: Literal["start", "middle", "end"] = "start",
    size: float | None = None,
) -> Markup:
    """One line of text with its baseline at y."""
    sized = Markup(' font-size="{}"').format(pixels(size)) if size else ""
    anchored = Markup(' text-anchor="{}"').format(anchor) if anchor != "start" else ""
    return Markup('<text x="{}" y="{}" class="{}"{}{}>{}</text>').format(
        pixels(x), pixels(y), class_name, anchored, sized, visible(content)
    )


def rectangle(x: float, y: float, width: float, height: float, class_name: str, hint: str = "") -> Markup:
    """hint: shown when the pointer rests on it."""
    inside = Markup("<title>{}</title>").format(visible(hint)) if hint else ""
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}">{}</rect>').format(
        *(pixels(value) for value in (x, y, max(width, 0), max(height, 0))), class_name, inside
    )


def line(x1: float, y1: float, x2: float, y2: float, class_name: str) -> Markup:
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
        *(pixels(value) for value in (x1, y1, x2, y2)), class_name
    )


def circle(x: float, y: float, radius: float, class_name: str, hint: str = "") -> Markup:
    inside = Markup("<title>{}</title>").format(visible(hint)) if hint else ""
    return Markup('<circle cx="{}" cy="{}" r="{}" class="{}">{}</circle>').format(
        pixels(x), pixels(y), pixels(radius), class_name, inside
    )


def path(points: Sequence[tuple[float, float]], class_name: str, *, closed: bool = False) -> Markup:
    steps = " L".join(f"{pixels(x)} {pixels(y)}" for x, y in points)
    return Markup('<path d="M{}{}" class="{}"/>').format(steps, "Z" if closed else "", class_name)


def scale(domain: tuple[float, float], extent: tuple[float, float]) -> Callable[[float], float]:
    """A linear map; a domain of one point goes to the start of the extent."""
    span = domain[1] - domain[0]
    factor = (extent[1] - extent[0]) / span if span else 0.0
    return lambda value: extent[0] + (value - domain[0]) * factor


def ticks(low: float, high: float, about: int) -> list[float]:
    """Round values from the first at or below low to the first at or above high, about `about` steps."""
    if not high > low:
        high = low + (abs(low) or 1.0)
    rough = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def text_width(content: str, font: float = FONT, *, strong: bool = False) -> float:
    """An upper estimate for proportional system fonts: SVG cannot measure without a browser."""
    return sum(_character_width(character) for character in content) * font * (STRONG if strong else 1.0)


def _character_width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in "iIl.,:;|'!()[]fjt ·":
        return 0.36
    return 0.86 if character in "mwMW%@" else 0.6


def fit(content: str, width: float, font: float = FONT) -> str:
    """The text, cut with an ellipsis where it would be wider than `width`."""
    if text_width(content, font) <= width:
        return content
    room = width - text_width("…", font)
    kept = ""
    for character in content:
        room -= _character_width(character) * font
        if room < 0:
            break
        kept += character
    return kept.rstrip() + "…"


def wrap(content: Sequence[str], width: float, font: float = FONT, separator: str = " · ") -> list[str]:
    """Phrases joined by a separator into lines no wider than `width`."""
    lines: list[str] = []
    for phrase in (fit(part, width, font) for part in content):
        longer = f"{lines[-1]}{separator}{phrase}" if lines else phrase
        if lines and text_width(longer, font) <= width:
            lines[-1] = longer
        else:
            lines.append(phrase)
    return lines


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near `wanted`, in the same order, at least `gap` apart and, where they fit, within [low, high]."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = [0.0] * len(wanted)
    previous = -math.inf
    for index in order:
        placed[index] = previous = max(wanted[index], previous + gap, low)
    ceiling = high
    for index in reversed(order):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - gap
    return placed
