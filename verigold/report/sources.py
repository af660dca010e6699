"""How many rows each source lost, and whether that is unusual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verigold.report.blocks import Block, Paragraph, Table, counted, left, plain, right, share
from verigold.report.folders import Json, items, table, whole
from verigold.report.ledger import Ledger
from verigold.report.words import Interval, count, tick_percent

UNUSUAL_LOSS, UNUSUAL_EXCESS = 0.5, 0.2
"""A source's loss is unusual when its lower 95 % bound is above the first, or above the loss of all other sources
together by more than the second."""


def loss_interval(rows_in: int, rows_lost: int) -> Interval:
    """Share of a source's rows that were lost, with its Wilson 95 % interval."""
    from scipy.stats import binomtest

    if not 0 <= rows_lost <= rows_in or rows_in == 0:
        return Interval(estimate=0.0, n=rows_in)
    bound = binomtest(rows_lost, rows_in).proportion_ci(method="wilson")
    return Interval(estimate=rows_lost / rows_in, low=float(bound.low), high=float(bound.high), n=rows_in)


def unusual_sources(by_source: Mapping[str, Any]) -> dict[str, bool]:
    """Whether each source loses an unusual share of its rows."""
    rows = {name: (whole(table(v).get("rows_in")), whole(table(v).get("rows_kept"))) for name, v in by_source.items()}
    total_in, total_kept = sum(n for n, _ in rows.values()), sum(kept for _, kept in rows.values())
    alarms = {}
    for name, (rows_in, kept) in rows.items():
        others = total_in - rows_in
        elsewhere = (others - (total_kept - kept)) / others if others else 1.0
        low = loss_interval(rows_in, rows_in - kept).low or 0.0
        alarms[name] = low > UNUSUAL_LOSS or low > elsewhere + UNUSUAL_EXCESS
    return alarms


def source_blocks(manifest: Json, ledger: Ledger, *, alarms_wanted: bool = True) -> list[Block]:
    """Alarms, then rows kept and lost by source."""
    by_source = table(manifest.get("by_source"))
    licences = {str(source.get("name")): str(source.get("license")) for source in items(manifest.get("sources"))}
    alarms = unusual_sources(by_source) if alarms_wanted else dict.fromkeys(by_source, False)
    rows = []
    for name, entry in by_source.items():
        rows_in, kept = whole(table(entry).get("rows_in")), whole(table(entry).get("rows_kept"))
        loss = loss_interval(rows_in, rows_in - kept)
        reasons = {key: n for key, n in ledger.by_source.items() if key[0] == name}
        worst = max(reasons, key=lambda key: reasons[key], default=None)
        most = plain(f"{worst[2]} ({worst[1]})", detail=count(reasons[worst])) if worst else plain("none", "muted")
        note = plain("unusual loss", "bad") if alarms[name] else plain("", "muted")
        rows.append(
            [
                plain(name),
                plain(licences.get(name, "")),
                counted(rows_in),
                counted(kept),
                share(loss.estimate),
                most,
                note,
            ]
        )
    found: list[Block] = [
        Paragraph(
            text=f"{name} loses an unusual share of its rows: read some of them below before you train on the rest.",
            kind="alarm",
        )
        for name, alarm in alarms.items()
        if alarm
    ]
    columns = [*left("source", "licence"), *right("rows in", "kept", "lost"), *left("most often for", "")]
    rule = (
        f"A loss is called unusual when its lower 95 % bound is above {tick_percent(UNUSUAL_LOSS)}, or more than "
        f"{UNUSUAL_EXCESS * 100:.0f} points above that of all other sources together."
    )
    note = rule if alarms_wanted else ""
    return [*found, Table(caption="Rows kept and lost by source", columns=columns, rows=rows, note=note)]
