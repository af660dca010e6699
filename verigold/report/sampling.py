"""What the samples of `difficulty` buy: the error of its decisions against the number of samples, on the folder's own
pool of pass rates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from pipeline.collisions import folder_collisions
from pipeline.sequential import CURVE_BAYES_SAMPLES, curve, fit_pool
from verigold.report.blocks import Block, Figure, Paragraph, Table, counted, left, plain, right
from verigold.report.folders import Json, items, table, whole
from verigold.report.ledger import KINDS, drop_file, evidence_of
from verigold.report.lines import Point, Series, curves
from verigold.report.words import count, percent

WINDOW = (1 / 16, 15 / 16)
"""Of the curve, where the recipe's own window is open at an end: every true rate lies between 0 and 1."""
MIN_PROBLEMS = 20
NAMES = {"fixed": "fixed n", "curtailed": "curtailed", "bayes": "Bayes"}


def curve_blocks(folder: Path, manifest: Json) -> list[Block]:
    """The curve; nothing when no model measured difficulty, or on too few problems to know the pool."""
    stage = next((item for item in items(manifest.get("stages")) if item.get("name") == "difficulty"), None)
    tallies = read_tallies(folder) if stage is not None else []
    if stage is None or len(tallies) < MIN_PROBLEMS:
        return []
    params = table(stage.get("params"))
    low, high = window(params)
    pool = fit_pool(tallies)
    found = curve(low, high, pool)
    rows = [
        [
            plain(NAMES[name]),
            plain(f"{point['at']:g}"),
            counted(round(point["samples"])),
            plain(percent(point["error"])),
        ]
        for name, points in found.items()
        for point in points
    ]
    drawn = sum(attempts for _, attempts in tallies)
    return [
        Figure(
            title="Error of keeping or dropping a problem against samples",
            description="Share of wrong decisions against the mean number of samples of a problem, on this pool.",
            words=(
                f"{count(len(tallies))} problems took {drawn / len(tallies):.1f} decided samples each (the recipe "
                f"draws at most {whole(params.get('samples'))}, test {params.get('test')}). Their pass rates are "
                f"fitted by Beta({pool[0]:.2f}, {pool[1]:.2f}). A decision is wrong when a problem is kept whose true "
                f"pass rate is outside {low:.3g} to {high:.3g}, or dropped although it is inside. Curtailed makes the "
                "decisions of the fixed n with fewer samples; Bayes stops when the posterior is certain, after at "
                f"most {CURVE_BAYES_SAMPLES} samples."
            ),
            draw=lambda width: curves(
                [
                    Series(
                        label=NAMES[name],
                        points=[Point(x=point["samples"], y=point["error"]) for point in by_samples(points)],
                        colour=place,
                    )
                    for place, (name, points) in enumerate(found.items())
                ],
                width,
                x_title="mean samples of a problem",
                y_title="wrong decisions",
                show_y=percent,
                y_range=(0.0, None),
            ),
            table=Table(
                caption="Error against samples (fixed and curtailed at n, Bayes at its tolerance)",
                columns=[*left("test", "n or tolerance"), *right("mean samples", "wrong decisions")],
                rows=rows,
            ),
        )
    ]


def collision_blocks(folder: Path, manifest: Json) -> list[Block]:
    """How often a wrong answer has the integer of the right one; nothing where no wrong answer was there to try."""
    if not manifest.get("sampling") or not manifest.get("integer_forms"):
        return []
    found = folder_collisions(folder)
    if not found.wrong:
        return []
    bounds = f"95 % interval {percent(found.low)} to {percent(found.high)}"
    told = (
        f"{count(found.wrong)} wrong answers to questions that were then posed as integers were put into the same "
        f"form: {count(found.collided)} ({percent(found.rate)}, {bounds}) give the integer of the right answer, on "
        f"{count(len(found.rows))} rows; {count(found.unformed)} are not of the form. A policy would be rewarded for "
        "those that collide."
    )
    return [Paragraph(text=told)]


def by_samples(points: list[dict[str, float]]) -> list[dict[str, float]]:
    return sorted(points, key=lambda point: point["samples"])


def window(params: Json) -> tuple[float, float]:
    """The recipe's window of pass rates, with open ends replaced."""
    low, high = params.get("low"), params.get("high")
    if not isinstance(low, int | float) or not isinstance(high, int | float) or (low <= 0 and high >= 1):
        return WINDOW
    return (float(low), float(high)) if low > 0 or params.get("keep_unsolved") else (WINDOW[0], min(high, WINDOW[1]))


def read_tallies(folder: Path) -> list[tuple[int, int]]:
    """(correct, attempts) of every problem that `difficulty` decided on, kept or not."""
    found: list[tuple[int, int]] = []
    for path in sorted((folder / "data").glob("*.parquet")):
        for entries in pq.read_table(path, columns=["difficulty"]).column("difficulty").to_pylist():
            found += [(entry["correct"], entry["attempts"]) for entry in (entries or [])[-1:]]
    for kind in KINDS:
        path = drop_file(folder, kind, "difficulty")
        for text in pq.read_table(path, columns=["evidence"]).column(0).to_pylist() if path.is_file() else ():
            found += _tally(evidence_of(text))
    return found


def _tally(evidence: Mapping[str, object]) -> list[tuple[int, int]]:
    correct, attempts = evidence.get("correct"), evidence.get("attempts")
    return [(correct, attempts)] if isinstance(correct, int) and isinstance(attempts, int) and attempts else []
