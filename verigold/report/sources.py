"""How many rows each source lost, and whether that is unusual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from verigold.report.blocks import Block, Cell, Paragraph, Table, counted, left, plain, right, share
from verigold.report.folders import Json, items, table, whole
from verigold.report.ledger import Ledger
from verigold.report.words import Interval, count, percent, tick_percent

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
        worst = _worst(name, ledger)
        most = plain(f"{worst[2]} ({worst[1]})", detail=count(worst[0])) if worst else plain("none", "muted")
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
    found: list[Block] = [_alarm(name, table(by_source[name]), ledger) for name, alarm in alarms.items() if alarm]
    columns = [*left("source", "licence"), *right("rows in", "kept", "lost"), *left("most often for", "")]
    rule = (
        f"A loss is called unusual when its lower 95 % bound is above {tick_percent(UNUSUAL_LOSS)}, or more than "
        f"{UNUSUAL_EXCESS * 100:.0f} points above that of all other sources together."
    )
    note = rule if alarms_wanted else ""
    kept_and_lost = Table(caption="Rows kept and lost by source", columns=columns, rows=rows, note=note)
    return [*found, kept_and_lost, *_by_stage(manifest, ledger)]


def _worst(source: str, ledger: Ledger) -> tuple[int, str, str] | None:
    """(rows, stage, reason) of the largest loss of a source."""
    losses = [(rows, stage, reason) for (of, stage, reason), rows in ledger.by_source.items() if of == source]
    return max(losses, default=None)


def _alarm(source: str, entry: Json, ledger: Ledger) -> Paragraph:
    rows_in = whole(entry.get("rows_in"))
    lost, worst = rows_in - whole(entry.get("rows_kept")), _worst(source, ledger)
    why = f", {count(worst[0])} of them for {worst[2]} in {worst[1]}" if worst else ""
    text = (
        f"{source} loses an unusual share of its rows: {percent(lost / rows_in if rows_in else None)} "
        f"({count(lost)} of {count(rows_in)}){why}. Read some of them below before you train on the rest."
    )
    return Paragraph(text=text, kind="alarm")


def _by_stage(manifest: Json, ledger: Ledger) -> list[Block]:
    """Which stage took how much of which source; nothing to compare with one source."""
    by_source = {
        str(name): whole(table(entry).get("rows_in")) for name, entry in table(manifest.get("by_source")).items()
    }
    lost = Counter[tuple[str, str]]()
    for (source, stage, _), rows in ledger.by_source.items():
        lost[source, stage] += rows
    stages = [str(stage.get("name")) for stage in items(manifest.get("stages"))]
    stages = [stage for stage in stages if any(lost[source, stage] for source in by_source)]
    if len(by_source) < 2 or not stages:
        return []
    rows = [
        [plain(source), *(_share_of(lost[source, stage], rows_in) for stage in stages)]
        for source, rows_in in by_source.items()
    ]
    columns = [*left("source"), *right(*stages)]
    return [Table(caption="Share of each source's rows that each stage removed", columns=columns, rows=rows)]


def _share_of(rows: int, rows_in: int) -> Cell:
    return share(rows / rows_in) if rows and rows_in else plain("none", "muted")
