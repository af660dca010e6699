"""How often a wrong answer becomes right once the answer is posed as an integer.

`integers` asks for m + n where the answer is m/n: 3/8 and 5/6 both give 11, so a policy that finds 5/6 instead of 3/8
would be rewarded on the rewritten question. Measured with the wrong rollouts of the original questions: each answer
goes through the form of its row, and collides when its integer is that of the row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from pipeline.integer_forms import Form, Refusal, find_form
from pipeline.problem import Problem
from pipeline.rollouts import Rollout, RolloutStore, judge_digest
from pipeline.shards import read_shards


@dataclass(frozen=True, slots=True, kw_only=True)
class Collisions:
    """wrong: wrong answers to questions whose answer was rewritten.  unformed: those that the form does not fit.

    collided: those with the integer of the right answer; low and high are the Wilson 95 % bounds of collided / wrong.
    rows: ids of the problems they hit, which deserve another form.
    """

    wrong: int
    unformed: int
    collided: int
    low: float
    high: float
    rows: tuple[str, ...]

    @property
    def rate(self) -> float:
        return self.collided / self.wrong if self.wrong else 0.0


def collides(original: Problem, rewritten: Problem, answer: str) -> bool | None:
    """Whether a wrong answer to the original question has the rewritten one's integer; None when no form fits it."""
    form = find_form(original.question, answer)
    if isinstance(form, Refusal) or not _same_shape(form, rewritten):
        return None
    return str(form.integer) == rewritten.ground_truth


def _same_shape(form: Form, rewritten: Problem) -> bool:
    """Only answers of the row's own form: what m + n a policy makes of 7 or of the root of 2 cannot be known."""
    return form.name == rewritten.integer_form and form.name != "F0"


def measure(pairs: Iterable[tuple[Problem, Problem, Sequence[Rollout]]]) -> Collisions:
    """Of (original problem, rewritten one, rollouts of the original); rows whose value did not change are skipped."""
    wrong = unformed = collided = 0
    rows: list[str] = []
    for original, rewritten, rollouts in pairs:
        if not changes_value(rewritten):
            continue
        verdicts = [collides(original, rewritten, one.extracted) for one in rollouts if is_wrong(one) and one.extracted]
        wrong += len(verdicts)
        unformed += verdicts.count(None)
        collided += verdicts.count(True)
        if True in verdicts:
            rows.append(original.id)
    interval = binomtest(collided, wrong).proportion_ci(0.95, method="wilson") if wrong else None
    return Collisions(
        wrong=wrong,
        unformed=unformed,
        collided=collided,
        low=float(interval.low) if interval else 0.0,
        high=float(interval.high) if interval else 1.0,
        rows=tuple(rows),
    )


def folder_collisions(folder: Path) -> Collisions:
    """Of a curated folder whose recipe measured difficulty before `integers`, by its own rollouts.

    Verdicts are those that the rollouts were stored with, against the answers before the rewriting.
    """
    rows = [row for row in read_shards(folder) if changes_value(row)]
    stored = RolloutStore(folder / "rollouts").of_problems(row.id for row in rows)
    return measure((original_of(row), row, _asked_before(row, stored.get(row.id, ()))) for row in rows)


def _asked_before(row: Problem, rollouts: Sequence[Rollout]) -> list[Rollout]:
    """Those of the original question, with its gold; the rewritten one has another prompt and another gold."""
    judged = judge_digest(original_of(row))
    return [one for one in rollouts if one.judged_by == judged]


def original_of(row: Problem) -> Problem:
    """The problem before `integers` appended its sentence."""
    note = json.loads(row.meta_json)["integer"]
    question = row.question.removesuffix(note["appended"]).rstrip()
    return replace(row, question=question, ground_truth=note["original"], integer_form=None)


def is_wrong(rollout: Rollout) -> bool:
    return rollout.decided and not rollout.correct


def changes_value(rewritten: Problem) -> bool:
    """Whether `integers` put another number in place of the answer."""
    note: Any = json.loads(rewritten.meta_json).get("integer")
    return isinstance(note, Mapping) and note.get("form") != "F0" and note["proofs"]["refuses_original"] is not None
