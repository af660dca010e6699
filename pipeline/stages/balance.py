"""Splits and mixes at the end: variants of one template stay in one split, groups come in the wanted proportions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from pipeline.canonical import canonical
from pipeline.chance import chance, chances, codes, hash_order
from pipeline.config import STRICT, RecipeError
from pipeline.problem import Problem
from pipeline.stage import Context, Removal, check_source_names

TRAIN, VALIDATION = "train", "validation"
NONE = "(none)"
"""Group of the rows that have no bucket or level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """mix: wanted proportions by group; they are scaled to a sum of one, the scarcest group sets the size and the
    others are cut down to it. Groups that are not named stay whole, those of proportion 0 go.
    by: what groups are: the source, the bucket of the last difficulty, or the level, a field in `meta_json`.
    held_out: share of the templates that become the split `validation`, every row of a template together. The mix is
    made of the training rows.
    """

    __pydantic_config__ = STRICT
    mix: dict[str, Annotated[float, Field(ge=0)]] = field(default_factory=dict)
    by: Literal["source", "bucket", "level"] = "source"
    level_field: str = "level"
    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.0

    def check(self, where: str, sources: Sequence[str]) -> None:
        """Raises RecipeError for a name in a mix by source that is no source."""
        if self.by == "source":
            check_source_names(f"{where}.mix", self.mix, sources)

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that the folder gets, where this stage makes them."""
        return (TRAIN, VALIDATION) if self.held_out else ()

    def keys(self, problems: Sequence[Problem]) -> pa.Table:
        columns = {
            "source_row": [problem.source_row for problem in problems],
            "id": [problem.id for problem in problems],
            "group": [self._group(problem) for problem in problems],
            "template_id": [problem.template_id or canonical(problem.question).template_id for problem in problems],
        }
        return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})

    def _group(self, problem: Problem) -> str:
        if self.by == "source":
            return problem.data_source
        if self.by == "bucket":
            return problem.difficulty[-1].bucket if problem.difficulty else NONE
        level = json.loads(problem.meta_json).get(self.level_field)
        return NONE if level is None else str(level)

    def drops(
        self, keys: pa.Table, _fetch: Callable[[Sequence[str]], Sequence[Problem]], context: Context
    ) -> Iterator[Removal]:
        keys = keys.combine_chunks()
        groups, names = codes(keys.column("group"))
        templates, marks = codes(keys.column("template_id"))
        is_held = np.array([self._is_held(mark, context.seed) for mark in marks], bool)
        in_training = ~is_held[templates]
        counts = {name: int(np.sum((groups == code) & in_training)) for code, name in enumerate(names)}
        limits = mix_limits(self.mix, counts, f"stages.balance.mix (by {self.by})")
        taken = Counter[str]()
        order = hash_order(chances(context.seed, keys.column("id"), "mix"), keys.column("source_row"))
        for place in order[in_training[order]].tolist():
            name = names[groups[place]]
            if taken[name] < limits.get(name, len(order)):
                taken[name] += 1
            else:
                row = keys.column("source_row")[place].as_py()
                yield Removal(source_row=row, reason="mix", evidence={"group": name, "wanted": limits[name]})

    def mark(self, problems: Sequence[Problem], context: Context) -> Sequence[Problem]:
        """Writes the split to the rows; their template_id is set."""
        if not self.held_out:
            return problems
        splits = {True: VALIDATION, False: TRAIN}
        return [replace(row, split=splits[self._is_held(row.template_id or "", context.seed)]) for row in problems]

    def _is_held(self, template: str, seed: int) -> bool:
        return chance(seed, template, "split") < self.held_out


def mix_limits(mix: Mapping[str, float], counts: Mapping[str, int], where: str) -> dict[str, int]:
    """Rows of each named group, by largest remainder, so that the shares are within one row of what is wanted.

    Raises RecipeError when a wanted group has no rows, for then there is no such mix.
    """
    wanted = {name: share for name, share in mix.items() if share > 0}
    for name in wanted:
        if not counts.get(name):
            there = ", ".join(sorted(group for group, rows in counts.items() if rows)) or "no rows at all"
            raise RecipeError(f"{where}: no row of '{name}' is left to mix; left are: {there}")
    if not wanted:
        return dict.fromkeys(mix, 0)
    whole = sum(wanted.values())
    size = int(min(counts[name] * whole / share for name, share in wanted.items()) + 1e-9)
    exact = {name: size * share / whole for name, share in wanted.items()}
    limits = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(wanted, key=lambda name: (limits[name] - exact[name], name))
    room = [name for name in by_remainder if limits[name] < counts[name]]
    for name in room[: size - sum(limits.values())]:
        limits[name] += 1
    return {**dict.fromkeys(mix, 0), **limits}
