"""Drops what the model guesses: right within a few tries when it answers without any working.

A policy is rewarded on such problems for a guess (Kimi k1.5, arXiv 2501.12599, section 2.1: 8 tries).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engines.build import EngineConfig
from pipeline.config import STRICT
from pipeline.problem import Problem
from pipeline.rollouts import Asking, Draws, open_sampler
from pipeline.stage import Context, Drop, Outcome, drop

NAME = "guessable"


@dataclass(frozen=True, kw_only=True)
class Guessable:
    """engine: the model that is to be trained.  tries: answers drawn.  max_right: more right ones than this drop it.

    instruction: asks a chat model for the bare answer.  answer_prefix: begins the answer for the model, so that a
        model that follows no instructions has no room for working; both may be used together.
    """

    __pydantic_config__ = STRICT
    samples_model: ClassVar[bool] = True

    engine: EngineConfig
    tries: int = 8
    max_right: int = 0
    temperature: float = 1.0
    max_tokens: int = 32
    instruction: str = "Give only the final answer inside \\boxed{}, without any working."
    answer_prefix: str = "\\boxed{"

    def __call__(self, problems: Sequence[Problem], context: Context) -> Outcome:
        asking = Asking(
            model=self.engine.model.name,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=context.seed,
            instruction=self.instruction,
            prefix=self.answer_prefix,
        )
        draws = Draws.start(NAME, open_sampler(self.engine), asking, context.rollouts, problems)
        draws.ensure(problems, self.tries)
        kept: list[Problem] = []
        drops: list[Drop] = []
        for problem in problems:
            tries = draws.of(problem, self.tries)
            right = [one.sample for one in tries if one.correct]
            if len(right) > self.max_right:
                evidence: dict[str, Any] = {"right": len(right), "tries": self.tries, "first_right": right[0] + 1}
                evidence["sampler_digest"] = draws.digest
                drops.append(drop(problem, NAME, "guessable", kind="dropped", **evidence))
            else:
                kept.append(problem)
        samples, tokens = draws.spent(problems)
        return Outcome(kept=kept, drops=drops, samples=samples, generated_tokens=tokens)
