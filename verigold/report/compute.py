"""Runs beside each other: on one evaluation set, at equal compute, and the curve that each of them follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.config import RecipeError
from trainer.scaling import Fitted, NoFitError, fit_sigmoid
from verigold.report.blocks import Block, Cell, Paragraph, Table, counted, left, plain, rate, right
from verigold.report.folders import TOKENS, Json, Run, whole
from verigold.report.words import Interval, count, interval, number, short_count

STEP = "step-"
"""Labels of evaluations in training begin with it."""
SETTINGS = ("temperature", "max_tokens", "samples")


def check_evaluations(runs: Sequence[Run]) -> None:
    """Refuses to compare runs that were evaluated on other problems or in another way.

    Evaluations in training are compared with one another, named ones by their name. Raises RecipeError.
    """
    asked: dict[str, tuple[str, dict[str, Any]]] = {}
    for run in runs:
        for label, value in run.evaluations.items():
            kind = "in training" if label.startswith(STEP) else f"'{label}'"
            name, before = asked.setdefault(kind, (run.name, value))
            unequal = _unequal(before, value)
            if unequal is not None:
                raise RecipeError(
                    f"{run.path}: its evaluation {kind} is not the one of {name}: {unequal}; evaluate both on the same "
                    "shards in the same way, or draw a report on each"
                )


def _unequal(one: Json, other: Json) -> str | None:
    if one.get("shards_digest") != other.get("shards_digest") or one.get("n") != other.get("n"):
        return f"other problems ({one.get('n')} and {other.get('n')})"
    first, second = one.get("settings", {}), other.get("settings", {})
    for key in SETTINGS:
        if first.get(key) != second.get(key):
            return f"{key} {first.get(key)} and {second.get(key)}"
    return None


def at_equal_compute(runs: Sequence[Run]) -> list[Block]:
    """Each run's last evaluation within the tokens that the shortest run generated; nothing for one run."""
    measured = [(run, _evaluated(run)) for run in runs]
    measured = [(run, found) for run, found in measured if found]
    if len(measured) < 2:
        return []
    budget = min(found[-1][0] for _, found in measured)
    rows: list[list[Cell]] = []
    for run, found in measured:
        within = [item for item in found if item[0] <= budget]
        tokens, label = within[-1] if within else (None, None)
        value = run.evaluations[label] if label is not None else {}
        rows.append(
            [
                plain(run.name),
                counted(tokens),
                rate(interval(value.get("pass_at_1"))),
                rate(interval(value.get("greedy"))),
            ]
        )
    note = "Compute is generated tokens, those of dropped groups included. Brackets are 95 % intervals over problems."
    columns = [*left("run"), *right("tokens at the evaluation", "pass@1", "greedy")]
    caption = f"At equal compute: the last evaluation within {count(budget)} generated tokens"
    return [Table(caption=caption, columns=columns, rows=rows, note=note)]


def scaling(runs: Sequence[Run]) -> list[Block]:
    """The sigmoid of each run's pass@1, or the reason why there is none; nothing without evaluations in training."""
    found: list[Block] = []
    rows: list[list[Cell]] = []
    for run in runs:
        curve = [(tokens, interval(run.evaluations[label].get("pass_at_1"))) for tokens, label in _evaluated(run)]
        points = [(tokens, value.estimate) for tokens, value in curve if value is not None]
        if not points:
            continue
        try:
            fit = fit_sigmoid([tokens for tokens, _ in points], [value for _, value in points])
        except NoFitError as error:
            found.append(Paragraph(text=f"{run.name}: no scaling fit of pass@1: {error}."))
            continue
        tokens = fit.midpoint
        rows.append(
            [
                plain(run.name),
                counted(fit.points),
                rate(_bounds(fit.asymptote)),
                Cell(
                    text=f"{fit.steepness.estimate:.2f}", detail=f"{fit.steepness.low:.2f} to {fit.steepness.high:.2f}"
                ),
                Cell(
                    text=short_count(tokens.estimate), detail=f"{short_count(tokens.low)} to {short_count(tokens.high)}"
                ),
            ]
        )
    if rows:
        note = (
            "R(C) = R0 + (A - R0) / (1 + (Cmid / C)^B) over generated tokens, R0 the first evaluation (ScaleRL). "
            "Brackets: 95 % by resampled residuals of this run; another run's noise is not in them."
        )
        columns = [*left("run"), *right("evaluations", "A, level reached", "B, steepness", "Cmid, tokens")]
        found.insert(0, Table(caption="Scaling of pass@1", columns=columns, rows=rows, note=note))
    return found


def _bounds(value: Fitted) -> Interval:
    return Interval(estimate=value.estimate, low=value.low, high=value.high)


def _evaluated(run: Run) -> list[tuple[int, str]]:
    """(generated tokens, label) of the evaluations in training, in order."""
    found = []
    for row in run.metrics:
        label, tokens = f"{STEP}{whole(row.get('step')):05d}", number(row.get(TOKENS))
        if label in run.evaluations and tokens is not None:
            found.append((int(tokens), label))
    return found
