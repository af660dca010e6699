"""Near-duplicates: candidates by MinHash and by equal numbers, each pair verified, greedy keeping, no closure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.answers import stated_answer
from pipeline.canonical import Canonical, canonical
from pipeline.config import STRICT
from pipeline.dedupe_keep import Decision, decide
from pipeline.dedupe_rows import Rows
from pipeline.dedupe_sketch import sketch_columns
from pipeline.problem import Problem
from pipeline.stage import Context, Removal


@dataclass(frozen=True, slots=True, kw_only=True)
class Dedupe:
    """priority: sources whose rows are kept first, best first; then rows with an answer, then by id.
    max_bucket: rows of a bucket of which every pair is compared; in a larger one each row meets as many neighbours.
    """

    __pydantic_config__ = STRICT
    priority: tuple[str, ...] = ()
    max_bucket: int = 25

    def keys(self, problems: Sequence[Problem]) -> pa.Table:
        return key_table(problems, [canonical(problem.question) for problem in problems], self.priority)

    def drops(
        self, keys: pa.Table, _fetch: Callable[[Sequence[str]], Sequence[Problem]], _context: Context
    ) -> Iterator[Removal]:
        rows = Rows(keys)
        decision = decide(rows, self.max_bucket)
        gone = np.array(sorted({*decision.dropped, *decision.conflicts}), np.int64)
        for start in range(0, len(gone), REMOVALS_A_BLOCK):
            yield from _removals(rows, gone[start : start + REMOVALS_A_BLOCK], decision)


def key_table(problems: Sequence[Problem], forms: Sequence[Canonical], priority: Sequence[str]) -> pa.Table:
    """What the stage must know of each row, in some hundred bytes and its canonical text."""
    answers = [stated_answer(problem.question, problem.ground_truth) for problem in problems]
    ranks = {name: rank for rank, name in enumerate(priority)}
    return pa.table(
        {
            "source_row": pa.array([problem.source_row for problem in problems], pa.string()),
            "id": pa.array([problem.id for problem in problems], pa.string()),
            "rank": pa.array([ranks.get(problem.data_source, len(ranks)) for problem in problems], pa.int32()),
            "template_id": pa.array([form.template_id for form in forms], pa.string()),
            "tokens": pa.array([form.text for form in forms], pa.string()),
            "options": pa.array(["\x1f".join(form.options) for form in forms], pa.string()),
            "answer": pa.array(answers, pa.string()),
            "verifier": pa.array([problem.verifier for problem in problems], pa.string()),
            **sketch_columns(forms, answers),
        }
    )


REMOVALS_A_BLOCK = 1 << 14


def _removals(rows: Rows, gone: np.ndarray, decision: Decision) -> Iterator[Removal]:
    because = [decision.dropped.get(place) or decision.conflicts[place] for place in gone.tolist()]
    others = np.array([other for other, _ in because], np.int64)
    columns = (
        rows.texts("source_row", gone),
        rows.texts("id", gone),
        rows.texts("source_row", others),
        rows.texts("id", others),
        rows.texts("answer", others),
    )
    for place, (_, match), row, own_id, other_row, other_id, other_gold in zip(
        gone.tolist(), because, *columns, strict=True
    ):
        evidence = {"rule": match.rule, "score": round(match.score, 4)}
        if place in decision.dropped:
            reason = "exact-duplicate" if own_id == other_id else "near-duplicate"
            evidence |= {"keeper": other_row, "keeper_id": other_id}
            yield Removal(source_row=row, reason=reason, evidence=evidence)
        else:
            evidence |= {"other": other_row, "other_id": other_id, "other_gold": other_gold}
            yield Removal(source_row=row, kind="quarantined", reason="conflicting-golds", evidence=evidence)


def dedupe_problems(problems: Iterable[Problem], context: Context, stage: Dedupe | None = None) -> list[Removal]:
    """The stage on problems in memory."""
    listed = list(problems)
    by_row = {problem.source_row: problem for problem in listed}
    chosen = stage or Dedupe()
    return list(chosen.drops(chosen.keys(listed), lambda names: [by_row[name] for name in names], context))
