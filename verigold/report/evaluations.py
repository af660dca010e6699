"""Evaluations of runs in one table: greedy, pass@1, pass@k, majorities, clean and overlapping problems."""

from __future__ import annotations

from collections.abc import Sequence

from verigold.report.blocks import Table, counted, left, plain, rate, right
from verigold.report.compute import STEP
from verigold.report.folders import Json, Run, table
from verigold.report.words import interval, number


def named_evaluations(run: Run) -> list[tuple[str, Json]]:
    """The evaluations of a run that stand in its table: those with a name, and the last one in training."""
    steps = [label for label in run.evaluations if label.startswith(STEP)]
    chosen = [label for label in run.evaluations if label not in steps] + steps[-1:]
    return [(f"{run.name}: {label}", run.evaluations[label]) for label in chosen]


def telling_ks(evaluations: Sequence[Json]) -> list[int]:
    """Of all k that pass@k was measured for: the largest, and the one nearest its square root."""
    ks = {int(k) for value in evaluations for k in table(value.get("pass_at_k")) if str(k).isdigit()} - {1}
    if not ks:
        return []
    return sorted({max(ks), min(ks, key=lambda k: abs(k - max(ks) ** 0.5))})


def comparison(evaluations: Sequence[tuple[str, Json]]) -> Table:
    """Evaluations side by side, with 95 % intervals: majorities of the largest k, parts where shards mark overlap."""
    ks = telling_ks([value for _, value in evaluations])
    votes = sorted({int(k) for _, value in evaluations for k in table(value.get("maj_at_k"))})[-1:]
    parts = sorted({part for _, value in evaluations for part in table(value.get("parts"))})
    rows = []
    for name, value in evaluations:
        cells = [rate(interval(value.get(key))) for key in ("greedy", "pass_at_1")]
        cells += [rate(interval(table(value.get("pass_at_k")).get(str(k)))) for k in ks]
        cells += [rate(interval(table(value.get("maj_at_k")).get(str(k)))) for k in votes]
        cells += [rate(interval(table(table(value.get("parts")).get(part)).get("pass_at_1"))) for part in parts]
        rows.append(
            [plain(name), counted(number(value.get("n"))), *cells, counted(number(value.get("generated_tokens")))]
        )
    measures = ["greedy", "pass@1", *(f"pass@{k}" for k in ks), *(f"maj@{k}" for k in votes)]
    measures += [f"pass@1, {part}" for part in parts]
    columns = [*left("model"), *right("problems", *measures, "tokens of the evaluation")]
    note = "Brackets are 95 % intervals by bootstrap over problems. pass@k is the unbiased estimate at temperature 1."
    return Table(caption="Evaluations on held-out problems", columns=columns, rows=rows, note=note)
