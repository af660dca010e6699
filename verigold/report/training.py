"""The report on training runs: learning curves, what was kept, lengths, losses, and evaluations side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.config import RecipeError
from verigold.report.blocks import (
    Block,
    Cell,
    Details,
    Document,
    Fact,
    Facts,
    Figure,
    Gallery,
    Paragraph,
    Section,
    Table,
    code,
    counted,
    left,
    plain,
    right,
)
from verigold.report.compute import STEP, at_equal_compute, check_evaluations, scaling
from verigold.report.evaluations import comparison, named_evaluations
from verigold.report.folders import TOKENS, Json, Run, as_text, flatten, read_run, whole
from verigold.report.lines import Level, Point, Series, curves
from verigold.report.page import to_html
from verigold.report.words import (
    MISSING,
    Interval,
    bounds,
    count,
    interval,
    listing,
    number,
    percent,
    percent_with_bounds,
    plural,
    short_count,
    tick_percent,
)

X_TITLE = "generated tokens"
ROWS_OF_FIGURE = 60
"""A figure's table shows at most this many steps, evenly spaced, the last one included."""

PANELS: tuple[tuple[str, tuple[tuple[str, str], ...], bool], ...] = (
    ("Share of groups kept", (("groups/kept_share", ""),), True),
    ("Responses drawn for a kept group", (("groups/rollouts_per_kept", ""),), False),
    ("Length of responses, tokens", (("length/correct_mean", "right"), ("length/wrong_mean", "wrong")), False),
    ("Truncated responses", (("length/truncated_share", ""),), True),
    ("Tokens clipped", (("clip/low_share", "low"), ("clip/high_share", "high")), True),
    ("Entropy, nats per token", (("entropy/mean", ""),), False),
    ("Gradient norm before clipping", (("grad/norm", ""),), False),
    ("Sampler against trainer, mean |Δ log p|", (("mismatch/mean_abs", ""),), False),
    ("Undecided responses", (("reward/undecided_share", ""),), True),
    ("Responses with several answers to choose from", (("reward/hedged_share", ""),), True),
    ("Drawing hidden behind training", (("time/overlap_share", ""),), True),
    ("Generated tokens per second of the whole step", (("throughput", ""),), False),
)
"""Title, metric keys with the words that tell them apart, and whether they are shares."""


def render(run_dirs: list[Path]) -> str:
    """The HTML page of one run, or of several side by side."""
    return to_html(document(run_dirs))


def document(run_dirs: Sequence[Path]) -> Document:
    runs = read_runs(run_dirs)
    check_evaluations(runs)
    title = "Training report" if len(runs) == 1 else "Training runs compared"
    return Document(title=title, subtitle=listing([run.name for run in runs]), blocks=blocks(runs))


def read_runs(run_dirs: Sequence[Path]) -> list[Run]:
    """Runs under their folders' names; the parent's name goes before it where two are alike."""
    if not run_dirs:
        raise RecipeError("no run folder given")
    names = [path.resolve().name for path in run_dirs]
    return [
        read_run(path, name if names.count(name) == 1 else f"{path.resolve().parent.name}/{name}")
        for path, name in zip(run_dirs, names, strict=True)
    ]


def blocks(runs: Sequence[Run]) -> list[Block]:
    """Summary, key figures and sections of one or several runs."""
    found: list[Block] = [Paragraph(text=summary(runs), kind="lead"), *_facts(runs)]
    learning = [*(figure for figure in (reward_figure(runs),) if figure), *evaluation_figures(runs)]
    found.append(Section(title="Learning curves", blocks=learning or [Paragraph(text="Not run.", kind="missing")]))
    panels = [figure for figure in (panel(runs, *entry) for entry in PANELS) if figure]
    evaluations = [entry for run in runs for entry in named_evaluations(run)]
    if evaluations:
        found.append(
            Section(title="Evaluations", blocks=[comparison(evaluations), *at_equal_compute(runs), *scaling(runs)])
        )
    if panels:
        found.append(Section(title="How the steps went", blocks=[Gallery(figures=panels)]))
    found.append(Section(title="Runs and settings", blocks=[runs_table(runs), *_settings(runs)]))
    return found


def points(run: Run, key: str) -> list[Point]:
    """One metric over the tokens generated so far; steps without it are left out. Evaluations carry their interval."""
    found = []
    for row in run.metrics:
        x, y = number(row.get(TOKENS)), _metric(row, key)
        if x is not None and y is not None:
            told = _evaluated(run, row, key) if key.startswith("eval/") else None
            found.append(Point(x=x, y=y, low=told.low if told else None, high=told.high if told else None))
    return found


def _evaluated(run: Run, row: Json, key: str) -> Interval | None:
    """The interval of an evaluation in training, from eval/step-*.json."""
    return interval(run.evaluations.get(f"{STEP}{whole(row.get('step')):05d}", {}).get(key.removeprefix("eval/")))


def _metric(row: Json, key: str) -> float | None:
    if key != "throughput":
        return number(row.get(key))
    ahead = "time/wait_s" in row  # drawn behind the step before: only what the step waited for it counts
    parts = ("wait", "weights", "update") if ahead else ("generate", "score", "weights", "update")
    seconds = sum(number(row.get(f"time/{part}_s")) or 0.0 for part in parts)
    tokens = number(row.get("generated_tokens"))
    return tokens / seconds if tokens is not None and seconds > 0 else None


def curve_figure(
    title: str,
    description: str,
    series: Sequence[Series],
    *,
    shares: bool = False,
    small: bool = False,
    levels: Sequence[Level] = (),
    top: float | None = None,
) -> Figure:
    """Lines over generated tokens, with their numbers as a table."""
    show: Callable[[float], str] = tick_percent if shares else short_count
    return Figure(
        title=title,
        description=description,
        draw=lambda width: curves(
            series,
            width,
            x_title=X_TITLE,
            show_y=show,
            y_range=(0.0, top),
            levels=levels,
            height=220 if small else None,
        ),
        table=series_table(title, series, percent if shares else _significant),
        small=small,
    )


def _significant(value: float | None) -> str:
    if value is None:
        return MISSING
    return count(value) if abs(value) >= 100 else f"{value:.3g}"


def series_table(caption: str, series: Sequence[Series], show: Callable[[float | None], str]) -> Table:
    """One row a measured place, one column a line."""
    places = sorted({point.x for item in series for point in item.points})
    if len(places) > ROWS_OF_FIGURE:
        stride = (len(places) - 1) / (ROWS_OF_FIGURE - 1)
        places = [places[round(index * stride)] for index in range(ROWS_OF_FIGURE)]
    by_place = [{point.x: point for point in item.points} for item in series]
    rows: list[list[Cell]] = []
    for place in places:
        found = [values.get(place) for values in by_place]
        cells = [
            Cell(text=show(p.y), detail=bounds(Interval(estimate=p.y, low=p.low, high=p.high))) if p else plain(MISSING)
            for p in found
        ]
        rows.append([counted(place), *cells])
    names = [item.label or "value" for item in series]
    return Table(caption=caption, columns=right(X_TITLE, *names), rows=rows)


def _ends(series: Sequence[Series], show: Callable[[float | None], str]) -> str:
    parts = [
        f"{item.label or 'from'} {show(item.points[0].y)} to {show(item.points[-1].y)}"
        for item in series
        if item.points
    ]
    return "; ".join(parts) + "." if parts else ""


def reward_figure(runs: Sequence[Run], *, small: bool = False) -> Figure | None:
    series = [Series(label=run.name, points=points(run, "reward/mean"), colour=place) for place, run in enumerate(runs)]
    series = [item for item in series if item.points]
    if not series:
        return None
    text = "Mean reward of all drawn samples, step by step; from 40 steps on the thick line is a running mean. "
    return curve_figure(
        "Reward while training", text + "First step to last: " + _ends(series, _significant), series, small=small
    )


def evaluation_series(runs: Sequence[Run], key: str) -> list[Series]:
    """Evaluations during training, and the final one where its interval is known and its place is not yet taken."""
    found = []
    for place, run in enumerate(runs):
        measured = points(run, key)
        if measured:
            found.append(Series(label=run.name, points=measured, colour=place, marks=True))
    return found


def evaluation_figures(runs: Sequence[Run]) -> list[Block]:
    found = []
    for key, name in (("eval/pass_at_1", "pass@1 at temperature 1"), ("eval/greedy", "greedy accuracy")):
        series = evaluation_series(runs, key)
        if series:
            text = f"Measured on held-out problems during training. First to last: {_ends(series, percent)}"
            found.append(curve_figure(f"Held-out {name}", text, series, shares=True, top=1.0, small=True))
    return [Gallery(figures=found)] if found else []


def panel(runs: Sequence[Run], title: str, keys: Sequence[tuple[str, str]], shares: bool) -> Figure | None:
    """A small figure of one or two metrics, every run in its colour; None when no run has them."""
    series = []
    for place, run in enumerate(runs):
        for order, (key, word) in enumerate(keys):
            name = run.name if len(runs) > 1 else ""
            colour = place if len(runs) > 1 or len(keys) == 1 else order
            label = " ".join(part for part in (name, word) if part)
            series.append(Series(label=label, points=points(run, key), colour=colour, dashed=order > 0))
    series = [item for item in series if item.points]
    if not series:
        return None
    text = "First step to last: " + _ends(series, percent if shares else _significant)
    return curve_figure(title, text, series, shares=shares, small=True)


def summary(runs: Sequence[Run]) -> str:
    """One paragraph computed from the runs."""
    return " ".join(_told(run) for run in runs)


def _told(run: Run) -> str:
    reward, measured = points(run, "reward/mean"), points(run, "eval/pass_at_1")
    text = f"{run.name} ran {plural(len(run.metrics), 'step')} and generated {count(run.tokens())} tokens"
    if reward:
        text += f"; its mean reward went from {_significant(reward[0].y)} to {_significant(reward[-1].y)}"
    if len(measured) > 1:
        text += f", held-out pass@1 from {percent(measured[0].y)} to {percent(measured[-1].y)}"
    elif run.evaluations:
        label, value = list(run.evaluations.items())[-1]
        told = percent_with_bounds(interval(value.get("pass_at_1")))
        text += f"; held-out pass@1 ({label}) is {told}"
    return text + "."


def _facts(runs: Sequence[Run]) -> list[Block]:
    if len(runs) != 1 or not runs[0].metrics:
        return []
    run = runs[0]
    found = [
        Fact(value=count(len(run.metrics)), label="steps", note=ended(run)),
        Fact(value=short_count(run.tokens()), label="generated tokens"),
    ]
    for key, label, shares in (
        ("reward/mean", "mean reward, last step", False),
        ("groups/kept_share", "groups kept, last step", True),
        ("eval/pass_at_1", "held-out pass@1, last measured", True),
    ):
        values = points(run, key)
        if values:
            shown = percent(values[-1].y) if shares else _significant(values[-1].y)
            found.append(Fact(value=shown, label=label))
    return [Facts(items=found)]


def ended(run: Run) -> str:
    """Why the run ended, in words where it went as planned."""
    reason = str(run.summary.get("exit_reason", "not finished"))
    return {"steps": "all steps done", "tokens": "token budget used"}.get(reason, reason)


def runs_table(runs: Sequence[Run]) -> Table:
    rows = []
    for run in runs:
        wall = number(run.summary.get("wall_s"))
        rows.append(
            [
                plain(run.name),
                counted(len(run.metrics)),
                counted(run.tokens()),
                plain(MISSING if wall is None else f"{wall:,.0f} s"),
                plain(ended(run)),
            ]
        )
    columns = [*left("run"), *right("steps", "generated tokens", "wall time"), *left("end")]
    return Table(caption="Runs", columns=columns, rows=rows)


def _settings(runs: Sequence[Run]) -> list[Block]:
    flat = [flatten(run.recipe) for run in runs]
    keys = sorted({key for recipe in flat for key in recipe})
    if not keys:
        return []
    rows = {key: [code(as_text(recipe[key]) if key in recipe else MISSING) for recipe in flat] for key in keys}
    names = [run.name for run in runs]
    whole_table = Table(
        caption="Resolved recipe",
        columns=left("setting", *names),
        rows=[[plain(key), *cells] for key, cells in rows.items()],
    )
    found: list[Block] = []
    if len(runs) > 1:
        different = [[plain(key), *cells] for key, cells in rows.items() if len({cell.text for cell in cells}) > 1]
        found.append(Table(caption="Settings that differ", columns=left("setting", *names), rows=different))
    return [*found, Details(summary="All settings", blocks=[whole_table])]
