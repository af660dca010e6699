"""Which problem comes next. The order of an epoch depends on seed, epoch and ids only; the state is two numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.problem import Problem


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


class PromptStream:
    """Endless epochs over the tasks, each in its own order.

    epoch and place are those of the trained frontier when a step has ended; a checkpoint saves them.
    """

    def __init__(self, tasks: Sequence[Task], *, seed: int) -> None:
        if not tasks:
            raise ValueError("no prompts")
        self.tasks = {task.problem.id: task for task in tasks}
        self.seed = seed
        self.epoch = 0
        self.place = 0
        self._order = self._order_of(0)

    def _order_of(self, epoch: int) -> list[str]:
        def rank(problem_id: str) -> bytes:
            return hashlib.blake2b(f"{self.seed}:{epoch}:{problem_id}".encode(), digest_size=16).digest()

        return sorted(self.tasks, key=rank)

    def draw(self, count: int) -> list[Draw]:
        """The next `count` visits."""
        draws = []
        for _ in range(count):
            if self.place == len(self._order):
                self.epoch, self.place = self.epoch + 1, 0
                self._order = self._order_of(self.epoch)
            draws.append(Draw(task=self.tasks[self._order[self.place]], epoch=self.epoch))
            self.place += 1
        return draws

    def restore(self, state: dict[str, int]) -> None:
        self.epoch, self.place = state["epoch"], state["place"]
        self._order = self._order_of(self.epoch)

    def state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "place": self.place}
