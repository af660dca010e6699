"""How much of what: source weights, caps per source and per template. Rows are chosen by a hash, never by order."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from pipeline.canonical import canonical
from pipeline.config import STRICT
from pipeline.problem import Problem
from pipeline.stage import Context, Drop, drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """weights: share of a source's rows that stays (0 to 1), by source name; sources not named stay whole.
    max_rows: rows of a source that stay at most, by source name.  max_per_template: rows that differ in numbers only.
    max_total: rows in all.
    """

    __pydantic_config__ = STRICT
    weights: dict[str, float] = field(default_factory=dict)
    max_rows: dict[str, int] = field(default_factory=dict)
    max_per_template: int | None = None
    max_total: int | None = None

    def keys(self, problems: Sequence[Problem]) -> pa.Table:
        templates = [self._template(problem) for problem in problems]
        return pa.table(
            {
                "source_row": pa.array([problem.source_row for problem in problems], pa.string()),
                "id": pa.array([problem.id for problem in problems], pa.string()),
                "data_source": pa.array([problem.data_source for problem in problems], pa.string()),
                "template": pa.array(templates, pa.string()),
            }
        )

    def _template(self, problem: Problem) -> str:
        if self.max_per_template is None:
            return ""
        return problem.template_id or canonical(problem.question).template_id

    def drops(
        self, keys: pa.Table, fetch: Callable[[Sequence[str]], Sequence[Problem]], context: Context
    ) -> Sequence[Drop]:
        rows = sorted(
            zip(
                *(keys.column(name).to_pylist() for name in ("id", "source_row", "data_source", "template")),
                strict=True,
            ),
            key=lambda row: (_chance(context.seed, row[0]), row[1]),
        )
        reasons = self._reasons(rows, context.seed)
        problems = fetch(list(reasons))
        return [drop(problem, "select", reasons[problem.source_row]) for problem in problems]

    def _reasons(self, rows: Sequence[tuple[str, str, str, str]], seed: int) -> dict[str, str]:
        """Row -> why it goes; rows come in the order of their hash."""
        found: dict[str, str] = {}
        by_source: dict[str, int] = defaultdict(int)
        by_template: dict[str, int] = defaultdict(int)
        total = 0
        for row_id, source_row, source, template in rows:
            if _chance(seed, row_id) >= self.weights.get(source, 1.0):
                found[source_row] = "source-weight"
            elif by_source[source] >= self.max_rows.get(source, len(rows)):
                found[source_row] = "source-cap"
            elif self.max_per_template is not None and by_template[template] >= self.max_per_template:
                found[source_row] = "template-cap"
            elif self.max_total is not None and total >= self.max_total:
                found[source_row] = "total-cap"
            else:
                by_source[source] += 1
                by_template[template] += 1
                total += 1
        return found


def _chance(seed: int, row_id: str) -> float:
    """A number in [0, 1) fixed by seed and id."""
    digest = hashlib.blake2b(f"{seed}\x1f{row_id}\x1fselect".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
