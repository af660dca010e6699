"""Splits and mixes at the end: variants of one template stay in one split, sources in the wanted proportions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from pipeline.canonical import canonical
from pipeline.config import STRICT
from pipeline.problem import Problem
from pipeline.stage import Context, Drop, drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """mix: wanted proportions by source name; the scarcest source sets the size, the others are cut down to it.
    held_out: share of templates set aside, every row of a template together.
    """

    __pydantic_config__ = STRICT
    mix: dict[str, float] = field(default_factory=dict)
    held_out: float = 0.0

    def keys(self, problems: Sequence[Problem]) -> pa.Table:
        templates = [problem.template_id or canonical(problem.question).template_id for problem in problems]
        return pa.table(
            {
                "source_row": pa.array([problem.source_row for problem in problems], pa.string()),
                "id": pa.array([problem.id for problem in problems], pa.string()),
                "data_source": pa.array([problem.data_source for problem in problems], pa.string()),
                "template_id": pa.array(templates, pa.string()),
            }
        )

    def drops(
        self, keys: pa.Table, fetch: Callable[[Sequence[str]], Sequence[Problem]], context: Context
    ) -> Sequence[Drop]:
        columns = (keys.column(name).to_pylist() for name in ("id", "source_row", "data_source", "template_id"))
        rows = sorted(zip(*columns, strict=True), key=lambda row: (_chance(context.seed, row[0], "mix"), row[1]))
        reasons: dict[str, str] = {}
        for _, source_row, _, template in rows:
            if _chance(context.seed, template, "split") < self.held_out:
                reasons[source_row] = "held-out"
        left = [row for row in rows if row[1] not in reasons]
        limits = self._limits(Counter(row[2] for row in left))
        taken: Counter[str] = Counter()
        for _, source_row, source, _ in left:
            if taken[source] >= limits.get(source, len(rows)):
                reasons[source_row] = "mix"
            taken[source] += 1
        return [drop(problem, "balance", reasons[problem.source_row]) for problem in fetch(list(reasons))]

    def _limits(self, counts: Counter[str]) -> dict[str, int]:
        shares = {name: share for name, share in self.mix.items() if share > 0}
        if not shares:
            return {}
        size = min(counts[name] / share for name, share in shares.items())
        return {name: round(size * share) for name, share in self.mix.items()}


def _chance(seed: int, key: str, purpose: str) -> float:
    digest = hashlib.blake2b(f"{seed}\x1f{key}\x1f{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
