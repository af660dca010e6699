"""Which problem comes next. Everything is a function of seed, epoch, ids and what was seen; the state is plain JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pipeline.config import RecipeError
from pipeline.problem import Problem
from trainer.curriculum import (
    E2H,
    GRESO_EASY_TARGET,
    greso_explore,
    greso_skip,
    informative_chance,
    keep_by_level,
    levels_by_rate,
)
from trainer.sections import PromptRules

PRIOR_FLOOR = 0.05
"""Least chance of being drawn that a measured pass rate leaves: the model changes."""

MEMORY = 0.5
"""What an older visit weighs against the next one, for the same reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A problem with its prompt ids."""

    problem: Problem
    prompt_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One visit of a problem: (epoch, id) is unique in a run, so it keys the visit's random numbers."""

    task: Task
    epoch: int

    @property
    def key(self) -> str:
        return f"{self.epoch}:{self.task.problem.id}"


class Visited(Protocol):
    """What a visit showed: a group, or anything with its problem's id and the raw scores."""

    @property
    def problem_id(self) -> str: ...

    @property
    def scores(self) -> list[float]: ...


class PromptStream:
    """Endless epochs over the tasks, each in its own order, some prompts left out by the rules.

    `state()` after a step is that of the trained frontier; a checkpoint saves it.
    """

    def __init__(self, tasks: Sequence[Task], *, seed: int, rules: PromptRules | None = None, samples: int = 8) -> None:
        if not tasks:
            raise ValueError("no prompts")
        self.tasks = {task.problem.id: task for task in tasks}
        self.seed = seed
        self.rules = rules or PromptRules()
        self.samples = samples
        self.epoch = 0
        self.place = 0
        self.streaks: dict[str, int] = {}  # consecutive visits all right (positive) or all wrong (negative)
        self.seen: dict[str, tuple[float, float]] = {}  # (right, attempts), older visits count less; where a rule asks
        self.dropped: set[str] = set()
        self.demonstrated: frozenset[str] = frozenset()  # prompts whose group varies also when all samples are wrong
        self.explore_easy = 0.5
        self.explore_hard = 0.5
        self.skipped = 0
        self._levels = _levels(tasks, self.rules)
        self._order = self._order_of(0)

    def _uniform(self, purpose: str, epoch: int, problem_id: str) -> int:
        key = f"{purpose}:{self.seed}:{epoch}:{problem_id}".encode()
        return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")

    def _order_of(self, epoch: int) -> list[str]:
        return sorted(self.tasks, key=lambda problem_id: (self._uniform("order", epoch, problem_id), problem_id))

    def draw(self, count: int, progress: float = 0.0) -> list[Draw]:
        """The next `count` visits; progress: share of the run that is over, for a curriculum.

        After as many prompts left out in a row as there are, the next one is drawn in any case: a pool that is solved
        altogether must show that it is, not stop the run from drawing.
        """
        draws: list[Draw] = []
        left_out, keep_by_level = 0, self._keep_by_level(progress)
        while len(draws) < count:
            if self.place == len(self._order):
                self.epoch, self.place = self.epoch + 1, 0
                self._order = self._order_of(self.epoch)
            problem_id = self._order[self.place]
            self.place += 1
            if left_out < len(self._order) and self._leaves_out(problem_id, keep_by_level):
                left_out += 1
                self.skipped += 1
            else:
                left_out = 0
                draws.append(Draw(task=self.tasks[problem_id], epoch=self.epoch))
        return draws

    def _keep_by_level(self, progress: float) -> list[float]:
        curriculum = self.rules.curriculum
        if curriculum is None:
            return []
        return keep_by_level(E2H[curriculum.name](min(progress, 1.0), 1.0, **curriculum.options), self._levels)

    def _leaves_out(self, problem_id: str, keep_by_level: Sequence[float]) -> bool:
        if problem_id in self.dropped:
            return True
        keep = self._keep_probability(problem_id)
        if keep_by_level:
            keep *= keep_by_level[self._levels[problem_id]]
        return self._uniform("skip", self.epoch, problem_id) / 2**64 < 1.0 - keep

    def _keep_probability(self, problem_id: str) -> float:
        keep = 1.0
        if self.rules.prior:
            keep *= max(PRIOR_FLOOR, self._chance(problem_id))
        if self.rules.skip == "success":
            right, attempts = self.seen.get(problem_id, (0.0, 1.0))  # a new prompt counts as unsolved
            keep *= max(PRIOR_FLOOR, 1.0 - right / attempts)
        streak = self.streaks.get(problem_id, 0)
        if self.rules.skip == "greso" and self.epoch > 0:
            keep *= 1.0 - greso_skip(abs(streak), self.explore_easy if streak > 0 else self.explore_hard)
        return keep

    def _chance(self, problem_id: str) -> float:
        """That a group varies: by the pass rate that curation measured last and the visits since; 1 without any."""
        right, attempts = self.seen.get(problem_id) or self._measured(problem_id)
        shown = problem_id in self.demonstrated
        return informative_chance(right, attempts, self.samples, shown=shown) if attempts > 0 else 1.0

    def _measured(self, problem_id: str) -> tuple[float, float]:
        difficulty = self.tasks[problem_id].problem.difficulty
        return (difficulty[-1].correct, difficulty[-1].attempts) if difficulty else (0.0, 0.0)

    def observe(self, groups: Sequence[Visited]) -> None:
        """What a generation round showed of its prompts."""
        for group in groups:
            if not group.scores:
                continue
            kind = self._kind(group)
            before = self.streaks.get(group.problem_id, 0)
            self.streaks[group.problem_id] = before + kind if before * kind >= 0 and kind else kind
            if self.rules.prior or self.rules.skip == "success":
                measured = self._measured(group.problem_id) if self.rules.prior else (0.0, 0.0)
                right, attempts = self.seen.get(group.problem_id) or measured
                now = (sum(group.scores), len(group.scores))
                self.seen[group.problem_id] = (MEMORY * right + now[0], MEMORY * attempts + now[1])
            mean = sum(group.scores) / len(group.scores)
            if self.rules.drop_above is not None and mean >= self.rules.drop_above:
                self.dropped.add(group.problem_id)

    def adapt(self, drawn: Sequence[Visited]) -> None:
        """Moves the exploration probabilities by the shares of all-right and all-wrong groups of a step."""
        kinds = [self._kind(group) for group in drawn if group.scores]
        if self.rules.skip == "greso" and kinds:
            easy, hard = kinds.count(1) / len(kinds), kinds.count(-1) / len(kinds)
            self.explore_easy = greso_explore(self.explore_easy, easy, GRESO_EASY_TARGET)
            self.explore_hard = greso_explore(self.explore_hard, hard, 2 * GRESO_EASY_TARGET)

    def _kind(self, group: Visited) -> int:
        """1: all right, -1: all wrong and no demonstration beside them, 0: anything else."""
        wrong = max(group.scores) == 0 and group.problem_id not in self.demonstrated
        return int(min(group.scores) == 1) - int(wrong)

    def state(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "place": self.place,
            "streaks": dict(sorted(self.streaks.items())),
            "seen": {key: list(value) for key, value in sorted(self.seen.items())},
            "dropped": sorted(self.dropped),
            "explore_easy": self.explore_easy,
            "explore_hard": self.explore_hard,
            "skipped": self.skipped,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.epoch, self.place, self.skipped = state["epoch"], state["place"], state["skipped"]
        self.streaks, self.dropped = dict(state["streaks"]), set(state["dropped"])
        self.seen = {key: (right, attempts) for key, (right, attempts) in state["seen"].items()}
        self.explore_easy, self.explore_hard = state["explore_easy"], state["explore_hard"]
        self._order = self._order_of(self.epoch)


def _levels(tasks: Sequence[Task], rules: PromptRules) -> dict[str, int]:
    """Each problem's difficulty level where a curriculum asks for one. Raises RecipeError without pass rates."""
    if rules.curriculum is None:
        return {}
    rates: dict[str, float] = {}
    for problem in (task.problem for task in tasks):
        if problem.difficulty and problem.difficulty[-1].attempts:
            rates[problem.id] = problem.difficulty[-1].correct / problem.difficulty[-1].attempts
        elif problem.pass_rate is not None:
            rates[problem.id] = problem.pass_rate
        else:
            raise RecipeError(
                f"prompts.curriculum: row {problem.id} of the shards has no pass rate; curate with stages.difficulty"
            )
    return levels_by_rate(rates, int(str(rules.curriculum.options["levels"])))
