"""Drops what the base model already answers: nothing is left to learn there, nor, if it had no tools, to search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pipeline.config import STRICT, RecipeError
from pipeline.problem import Problem
from pipeline.rollouts import Rollout
from pipeline.sampling import Draws, Sampling
from pipeline.stage import Context, Drop, Outcome, drop

NAME = "answerable"
ANSWERED, OPEN = "answered-already", "keep"


@dataclass(frozen=True, kw_only=True)
class Answerable:
    """sampling: the base model.  samples: answers drawn, one after the other, until the verdict is certain.

    min_pass_rate: dropped when at least this share of all `samples` is right; 1 means every one, 1 / samples any one.
    The samples are those that `difficulty` draws first, when the sampling is the same.
    """

    __pydantic_config__ = STRICT
    samples_model: ClassVar[bool] = True

    sampling: Sampling
    samples: int = 4
    min_pass_rate: float = 1.0

    def __post_init__(self) -> None:
        if self.samples < 1 or not 0 < self.min_pass_rate <= 1:
            raise RecipeError("stages.answerable: need samples >= 1 and 0 < min_pass_rate <= 1")

    def __call__(self, problems: Sequence[Problem], context: Context) -> Outcome:
        draws = Draws.start(NAME, self.sampling, context.seed, context.rollouts, problems)
        settled = draws.settle(problems, range(1, self.samples + 1), self._verdict)
        kept: list[Problem] = []
        drops: list[Drop] = []
        for problem in problems:
            verdict, answers = settled[problem.source_row]
            if verdict == OPEN:
                kept.append(problem)
                continue
            right = sum(one.correct for one in answers)
            evidence: dict[str, Any] = {"right": right, "samples": len(answers), "sampler_digest": draws.digest}
            drops.append(drop(problem, NAME, ANSWERED, **evidence))
        samples, tokens = draws.spent(problems)
        return Outcome(kept=kept, drops=drops, samples=samples, generated_tokens=tokens)

    def _verdict(self, answers: Sequence[Rollout]) -> str | None:
        """The verdict over all samples, once it is certain."""
        right, needed = sum(one.correct for one in answers), self.min_pass_rate * self.samples
        if right >= needed:
            return ANSWERED
        return OPEN if right + self.samples - len(answers) < needed else None
