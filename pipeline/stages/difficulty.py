"""Keeps what the target model solves sometimes: its pass rate is estimated from samples and written to the row.

Sampling is curtailed: it stops once the verdict that all n samples would give is certain, so the decisions are those of
a fixed n. Decisions go by sample index, never by which answer came first, or short answers would bias the stop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from scipy.stats import binomtest

from engines.build import EngineConfig
from pipeline.config import STRICT, RecipeError
from pipeline.problem import Difficulty as Entry
from pipeline.problem import Problem
from pipeline.rollouts import Asking, Draws, Rollout, open_sampler
from pipeline.stage import Context, Drop, DropKind, Outcome, drop

NAME = "difficulty"
KEEP = "keep"
KINDS: dict[str, DropKind] = {
    "too-easy": "dropped",
    "unsolved-at-n": "quarantined",  # unsolved is not unsolvable: a rate of 5 % gives 0 of 8 two times in three
    "truncated-at-n": "quarantined",
    "undecided-at-n": "quarantined",
}
ROUND = 4
"""Samples drawn for every open problem before the verdicts are looked at: enough to keep the engine full."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Verdicts of the first samples of one problem. Undecided ones are nobody's failure and leave the rate alone."""

    correct: int
    wrong: int
    undecided: int
    truncated: int
    truncated_wrong: int

    @classmethod
    def of(cls, rollouts: Sequence[Rollout]) -> Tally:
        return cls(
            correct=sum(one.correct for one in rollouts),
            wrong=sum(one.decided and not one.correct for one in rollouts),
            undecided=sum(not one.decided for one in rollouts),
            truncated=sum(one.truncated for one in rollouts),
            truncated_wrong=sum(one.truncated and one.decided and not one.correct for one in rollouts),
        )

    @property
    def decided(self) -> int:
        return self.correct + self.wrong


def verdict(tally: Tally, n: int, low: float, high: float) -> str | None:
    """`keep`, a reason to drop, or None while samples to come could change the verdict over all n.

    Kept when low < correct / decided < high. With r samples to come, the rate over n lies between
    correct / (decided + r) and (correct + r) / (decided + r), also when some of them stay undecided.
    """
    to_come = n - tally.decided - tally.undecided
    total = tally.decided + to_come
    if total == 0:
        return "undecided-at-n"
    least, most = tally.correct / total, (tally.correct + to_come) / total
    if least >= high:
        return "too-easy"
    if most <= low:
        return "truncated-at-n" if tally.truncated_wrong == tally.wrong else "unsolved-at-n"
    return KEEP if least > low and most < high else None


def bucket(rate: float) -> str:
    """Five coarse names, symmetric about one half; finer ones would need more samples than anybody draws."""
    if rate <= 0.125:
        return "very-hard"
    if rate <= 0.375:
        return "hard"
    if rate < 0.625:
        return "medium"
    return "easy" if rate < 0.875 else "very-easy"


def entry(model: str, sampler_digest: str, tally: Tally) -> Entry:
    """The tally with its Wilson 95 % interval. Needs at least one decided sample."""
    interval = binomtest(tally.correct, tally.decided).proportion_ci(0.95, method="wilson")
    return Entry(
        model=model,
        sampler_digest=sampler_digest,
        correct=tally.correct,
        attempts=tally.decided,
        truncated=tally.truncated,
        low=float(interval.low),
        high=float(interval.high),
        bucket=bucket(tally.correct / tally.decided),
    )


@dataclass(frozen=True, kw_only=True)
class Difficulty:
    """engine: the target model.  samples: n.  low, high: kept when low < pass rate < high.

    curtail: stop once the verdict over n is certain; the rate is then over the samples drawn.
    """

    __pydantic_config__ = STRICT
    samples_model: ClassVar[bool] = True

    engine: EngineConfig
    samples: int = 8
    low: float = 0.0
    high: float = 1.0
    curtail: bool = True
    temperature: float = 1.0
    max_tokens: int = 512
    instruction: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise RecipeError(f"stages.difficulty: need 0 <= low < high <= 1 (got low {self.low}, high {self.high})")

    def __call__(self, problems: Sequence[Problem], context: Context) -> Outcome:
        asking = Asking(
            model=self.engine.model.name,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=context.seed,
            instruction=self.instruction,
        )
        draws = Draws.start(NAME, open_sampler(self.engine), asking, context.rollouts, problems)
        settled = self._settle(problems, draws)
        kept: list[Problem] = []
        drops: list[Drop] = []
        for problem in problems:
            reason, rollouts = settled[problem.source_row]
            if reason == KEEP:
                kept.append(self._rated(problem, rollouts, draws.digest))
            else:
                drops.append(self._drop(problem, reason, rollouts, draws.digest))
        samples, tokens = draws.spent(problems)
        return Outcome(kept=kept, drops=drops, samples=samples, generated_tokens=tokens)

    def _settle(self, problems: Sequence[Problem], draws: Draws) -> dict[str, tuple[str, list[Rollout]]]:
        """Verdict and the samples it rests on, by source row; round by round over all problems that are still open."""
        settled: dict[str, tuple[str, list[Rollout]]] = {}
        open_ = list(problems)
        step = ROUND if self.curtail else self.samples
        for count in [*range(step, self.samples, step), self.samples]:
            draws.ensure(open_, count)
            for problem in open_:
                rollouts = draws.of(problem, count)
                reason = verdict(Tally.of(rollouts), self.samples, self.low, self.high)
                if reason is not None:
                    settled[problem.source_row] = (reason, rollouts)
            open_ = [problem for problem in open_ if problem.source_row not in settled]
        return settled

    def _rated(self, problem: Problem, rollouts: Sequence[Rollout], digest: str) -> Problem:
        rated = entry(self.engine.model.name, digest, Tally.of(rollouts))
        return replace(problem, pass_rate=rated.correct / rated.attempts, difficulty=(*problem.difficulty, rated))

    def _drop(self, problem: Problem, reason: str, rollouts: Sequence[Rollout], digest: str) -> Drop:
        tally = Tally.of(rollouts)
        answers = Counter(one.extracted for one in rollouts if one.extracted is not None)
        evidence: dict[str, Any] = {
            "correct": tally.correct,
            "attempts": tally.decided,
            "undecided": tally.undecided,
            "truncated": tally.truncated,
            "sampler_digest": digest,
        }
        if answers:
            answer, times = answers.most_common(1)[0]
            evidence |= {"most_common_answer": answer[:80], "most_common_times": times}
        return drop(problem, NAME, reason, kind=KINDS[reason], **evidence)
