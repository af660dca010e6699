"""Error rates with their intervals, as words and as bars."""

from __future__ import annotations

from collections.abc import Sequence

from verigold.report.blocks import Figure, Table, counted, left, plain, rate, right
from verigold.report.figures import Bar, bars
from verigold.report.words import Interval, bounds, percent


def with_bounds(value: Interval) -> str:
    return f"{percent(value.estimate)} {bounds(value)}".rstrip()


def rates_figure(
    title: str, rates: Sequence[tuple[str, Interval]], name: str, *, small: bool = False, base: str = "rows"
) -> Figure:
    """Bars with intervals; the longest bar fills the axis. base: what the intervals' n counts."""
    rows = [Bar(label=label, value=v.estimate, low=v.low, high=v.high, note=bounds(v)) for label, v in rates]
    told = "; ".join(f"{label} {with_bounds(value)}" for label, value in rates)
    return Figure(
        title=title,
        description="Bars are estimates, whiskers 95 % intervals.",
        words=f"{told}.",
        draw=lambda width: bars(rows, width),
        table=Table(
            caption=title,
            columns=[*left(name), *right("estimate, 95 % interval", base)],
            rows=[[plain(label), rate(value), counted(value.n)] for label, value in rates],
        ),
        small=small,
    )
