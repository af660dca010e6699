"""Drops what the model guesses: right within a few tries when it answers without any working.

A policy is rewarded on such problems for a guess (Kimi k1.5, arXiv 2501.12599, section 2.1: 8 tries). Run it after
`integers`: the integer of a rewritten answer may be easier to guess than the answer was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pipeline.config import STRICT
from pipeline.problem import Problem
from pipeline.rollouts import Rollout
from pipeline.sampling import Draws, Sampling, rounds
from pipeline.stage import Context, Drop, Outcome, drop

NAME = "guessable"
GUESSED, UNGUESSED = "guessable", "keep"


@dataclass(frozen=True, kw_only=True)
class Guessable:
    """sampling: the model that is to be trained.  tries: answers drawn.  max_right: more right ones than this drop it.

    max_tokens, instruction, answer_prefix: of the bare answer, in place of those in `sampling`. The instruction asks a
        chat model for it; the prefix begins it, so that a model that follows no instructions has no room for working.
    """

    __pydantic_config__ = STRICT
    samples_model: ClassVar[bool] = True

    sampling: Sampling
    tries: int = 8
    max_right: int = 0
    max_tokens: int = 32
    instruction: str = "Give only the final answer inside \\boxed{}, without any working."
    answer_prefix: str = "\\boxed{"

    def __call__(self, problems: Sequence[Problem], context: Context) -> Outcome:
        bare = replace(
            self.sampling,
            max_tokens=self.max_tokens,
            instruction=self.instruction,
            answer_prefix=self.answer_prefix,
        )
        draws = Draws.start(NAME, bare, context.seed, context.rollouts, problems)
        settled = draws.settle(problems, rounds(self.tries), self._verdict)
        kept: list[Problem] = []
        drops: list[Drop] = []
        for problem in problems:
            verdict, tries = settled[problem.source_row]
            if verdict == UNGUESSED:
                kept.append(problem)
                continue
            right = [one.sample for one in tries if one.correct]
            evidence: dict[str, Any] = {"right": len(right), "tries": len(tries), "first_right": right[0] + 1}
            drops.append(drop(problem, NAME, GUESSED, sampler_digest=draws.digest, **evidence))
        samples, tokens = draws.spent(problems)
        return Outcome(kept=kept, drops=drops, samples=samples, generated_tokens=tokens)

    def _verdict(self, tries: Sequence[Rollout]) -> str | None:
        """The verdict over all tries, once it is certain."""
        right = sum(one.correct for one in tries)
        if right > self.max_right:
            return GUESSED
        return UNGUESSED if right + self.tries - len(tries) <= self.max_right else None
