"""The picture on the README's first screen: the funnel of real rows and the learning curves, from one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from verigold.report.curation import funnel_stages
from verigold.report.drawing import Drawing, fit, group, svg, text
from verigold.report.figures import FunnelStage, funnel, is_funnel, losses
from verigold.report.findings import Quickstart, read
from verigold.report.folders import whole
from verigold.report.lines import curves
from verigold.report.page import style
from verigold.report.quickstart import base_levels, heldout_series
from verigold.report.words import count, percent, tick_percent

WIDTH, HEIGHT, FONT, MARGIN, GAP = 1200.0, 520.0, 21.0, 36.0, 48.0
"""Twice the size at which it must still be read."""


def render_picture(root: Path) -> str:
    """A standalone SVG of a quick start's root folder; it brings its own background for light and dark pages."""
    found = read(root)
    inner = WIDTH - 2 * MARGIN - GAP
    left, right = inner * 0.45, inner * 0.55
    parts = [
        Markup('<rect width="{}" height="{}" rx="10" class="paper"/>').format(WIDTH, HEIGHT),
        _left(found, left),
        group([_right(found, right)], x=MARGIN + left + GAP, y=MARGIN),
    ]
    drawing = Drawing(width=WIDTH, height=HEIGHT, body=Markup("").join(parts))
    css = style("palette", "figure") + "svg .paper { fill: var(--paper); stroke: var(--rule); }\n"
    return str(svg(drawing, "Verigold: from raw rows to a trained policy", describe(found), style=css)) + "\n"


def describe(found: Quickstart) -> str:
    """The picture in words."""
    parts = []
    if found.real:
        stages = "; ".join(f"{s.label} {count(s.rows_out)}" for s in funnel_stages(found.real))
        parts.append(f"Left: {count(whole(found.real.get('rows_in')))} real rows, left after each stage: {stages}.")
    for item in heldout_series(found, "pass_at_1"):
        first, last = item.points[0], item.points[-1]
        parts.append(f"Right: held-out pass@1 of {item.label} from {percent(first.y)} to {percent(last.y)}.")
    return " ".join(parts) or "Not run."


def _heading(title: str, note: str, width: float) -> list[Markup]:
    return [
        text(0, FONT, fit(title, width, FONT * 1.1), "ink strong", size=FONT * 1.1),
        text(0, FONT * 2.45, fit(note, width, FONT * 0.9), "muted", size=FONT * 0.9),
    ]


def _left(found: Quickstart, width: float) -> Markup:
    if not found.real:
        return group([text(0, FONT, "Real rows: not run", "muted")], font=FONT, x=MARGIN, y=MARGIN)
    rows_in, kept = whole(found.real.get("rows_in")), whole(found.real.get("rows_kept"))
    title = f"{count(rows_in)} real rows in, {count(kept)} kept"
    stages = [_largest_reason_only(stage) for stage in funnel_stages(found.real)]
    draw, note = funnel, "rows left after each stage"
    if not is_funnel(stages):
        draw, note = losses, "rows removed at each stage, and why"
        stages = [stage for stage in stages if stage.removed]
    drawing = draw(stages, width, font=_font_that_fits(draw, stages, width), reason_lines=1, labels_beside=True)
    body = [*_heading(title, note, width), group([drawing.body], y=FONT * 3.7)]
    return group(body, font=FONT, x=MARGIN, y=MARGIN)


def _largest_reason_only(stage: FunnelStage) -> FunnelStage:
    more = len(stage.reasons) - 1
    reasons = [f"{stage.reasons[0]}, {more} more" if more > 0 else stage.reasons[0]] if stage.reasons else []
    return replace(stage, reasons=reasons)


def _font_that_fits(draw: Callable[..., Drawing], stages: Sequence[FunnelStage], width: float) -> float:
    """Smaller where many stages would not fit the height."""
    room = HEIGHT - 2 * MARGIN - FONT * 3.7
    needed = draw(stages, width, font=FONT, reason_lines=1, labels_beside=True).height
    return FONT * min(1.0, room / needed) if needed else FONT


def _right(found: Quickstart, width: float) -> Markup:
    series = heldout_series(found, "pass_at_1")
    if not series:
        return group([text(0, FONT, "Training: not run", "muted")], font=FONT)
    top = FONT * 3.4
    drawing = curves(
        series,
        width,
        x_title="generated tokens",
        font=FONT,
        height=HEIGHT - 2 * MARGIN - top,
        show_y=tick_percent,
        y_range=(0.0, 1.0),
        levels=base_levels(found, "pass_at_1"),
    )
    first, last = series[0].points[0], series[0].points[-1]
    title = f"{series[0].label}: {percent(first.y)} to {percent(last.y)}"
    heading = _heading(title, "held-out additions solved in one sampled try", width)
    return group([*heading, group([drawing.body], font=FONT, y=top)], font=FONT)
