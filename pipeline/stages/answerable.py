"""Drops what the base model already answers: nothing is left to learn there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engines.build import EngineConfig
from pipeline.config import STRICT
from pipeline.problem import Problem
from pipeline.rollouts import Asking, Draws, open_sampler
from pipeline.stage import Context, Drop, Outcome, drop

NAME = "answerable"


@dataclass(frozen=True, kw_only=True)
class Answerable:
    """engine: the base model.  samples: answers drawn, one after the other, until the verdict is certain.

    min_pass_rate: dropped when at least this share of all `samples` is right; 1 means every one.
    The samples are those that `difficulty` draws first, when temperature and max_tokens are the same.
    """

    __pydantic_config__ = STRICT
    samples_model: ClassVar[bool] = True

    engine: EngineConfig
    samples: int = 4
    min_pass_rate: float = 1.0
    temperature: float = 1.0
    max_tokens: int = 512
    instruction: str = ""

    def __call__(self, problems: Sequence[Problem], context: Context) -> Outcome:
        asking = Asking(
            model=self.engine.model.name,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=context.seed,
            instruction=self.instruction,
        )
        draws = Draws.start(NAME, open_sampler(self.engine), asking, context.rollouts, problems)
        open_ = list(problems)
        for count in range(1, self.samples + 1):
            draws.ensure(open_, count)
            open_ = [problem for problem in open_ if self._reachable(draws, problem, count)]
        answered = {problem.source_row for problem in open_}
        drops: list[Drop] = []
        for problem in problems:
            if problem.source_row in answered:
                right = sum(one.correct for one in draws.of(problem, self.samples))
                evidence: dict[str, Any] = {"right": right, "samples": self.samples, "sampler_digest": draws.digest}
                drops.append(drop(problem, NAME, "answered-already", **evidence))
        kept = [problem for problem in problems if problem.source_row not in answered]
        samples, tokens = draws.spent(problems)
        return Outcome(kept=kept, drops=drops, samples=samples, generated_tokens=tokens)

    def _reachable(self, draws: Draws, problem: Problem, count: int) -> bool:
        """Whether the threshold can still be reached when all samples to come are right."""
        wrong = sum(not one.correct for one in draws.of(problem, count))
        return self.samples - wrong >= self.min_pass_rate * self.samples
