"""Keeps what the target model solves sometimes: its pass rate is estimated from samples and written to the row.

By default sampling is curtailed: it stops once the verdict that all n samples would give is certain, so the decisions
are those of a fixed n. What one model never solved is set aside, not deleted: another may solve it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from scipy.special import betainc
from scipy.stats import binomtest

from pipeline.config import STRICT, RecipeError
from pipeline.problem import Difficulty as Entry
from pipeline.problem import Problem
from pipeline.rollouts import Rollout
from pipeline.sampling import Draws, Sampling, rounds
from pipeline.sequential import DROP, BayesTest
from pipeline.sequential import KEEP as SURE_KEEP
from pipeline.stage import Context, Drop, DropKind, Outcome, drop

NAME = "difficulty"
KEEP = "keep"
TOO_EASY, TOO_HARD, UNSOLVED = "too-easy", "too-hard", "unsolved-at-n"
TRUNCATED, UNDECIDED = "truncated-at-n", "undecided-at-n"
KINDS: dict[str, DropKind] = {
    TOO_EASY: "dropped",
    TOO_HARD: "quarantined",  # for this model
    UNSOLVED: "quarantined",  # unsolved is not unsolvable: a rate of 5 % gives 0 of 8 two times in three
    TRUNCATED: "quarantined",
    UNDECIDED: "quarantined",
}


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

    Kept when low < correct / decided < high; a `low` below 0 keeps what was never solved. With r samples to come, the
    rate over n lies between correct / (decided + r) and (correct + r) / (decided + r), also when some of them stay
    undecided.
    """
    to_come = n - tally.decided - tally.undecided
    total = tally.decided + to_come
    if total == 0:
        return UNDECIDED
    least, most = tally.correct / total, (tally.correct + to_come) / total
    if least >= high:
        return TOO_EASY
    if most <= low:
        return too_hard(tally, low)
    return KEEP if least > low and most < high else None


def too_hard(tally: Tally, low: float) -> str:
    """Which reason below the window. With low = 0 all n samples were wrong; they may all have been cut off."""
    if low > 0:
        return TOO_HARD
    return TRUNCATED if tally.truncated_wrong == tally.wrong else UNSOLVED


def bayes_verdict(tally: Tally, test: BayesTest) -> str | None:
    """As `verdict`, by the sequential test over the decided samples."""
    last = tally.decided + tally.undecided == test.samples
    if tally.decided == 0:
        return UNDECIDED if last else None
    found = test.verdict(tally.correct, tally.decided, last=last)
    if found == DROP:
        a, b = test.prior
        a, b = a + tally.correct, b + tally.wrong
        above, below = 1 - betainc(a, b, test.high), betainc(a, b, test.low)
        return TOO_EASY if above > below else too_hard(tally, test.low)
    return KEEP if found == SURE_KEEP else None


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
    """sampling: the target model.  samples: n.  low, high: kept when low < pass rate < high.

    keep_unsolved: there is no lower end; what was never solved stays, too.
    test: `fixed` draws all n.  `curtailed` stops once the verdict over n is certain: the same decisions at fewer
        samples; the rate is then over the samples drawn.  `bayes` stops once the true rate is inside or outside the
        window with probability 1 - error under the prior Beta(a, b): fewer still, at about the error of a fixed n.
    """

    __pydantic_config__ = STRICT
    samples_model: ClassVar[bool] = True

    sampling: Sampling
    samples: int = 8
    low: float = 0.0
    high: float = 1.0
    keep_unsolved: bool = False
    test: Literal["curtailed", "fixed", "bayes"] = "curtailed"
    error: float = 0.05
    prior: tuple[float, float] = (0.5, 0.5)

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise RecipeError("stages.difficulty: samples must be 1 or more")
        if not 0 <= self.low < self.high <= 1:
            raise RecipeError(f"stages.difficulty: need 0 <= low < high <= 1 (got low {self.low}, high {self.high})")
        if self.keep_unsolved and self.low > 0:
            raise RecipeError("stages.difficulty: keep_unsolved and low exclude each other; leave one out")
        if self.test == "bayes" and self.low == 0 and self.high == 1:
            raise RecipeError(
                'stages.difficulty: test = "bayes" needs a window inside 0 to 1, for every rate is inside that one; '
                "e.g. low = 0.0625, high = 0.9375"
            )
        if not 0 < self.error < 0.5 or min(self.prior) <= 0:
            raise RecipeError("stages.difficulty: need 0 < error < 0.5 and a prior of two positive numbers")

    def __call__(self, problems: Sequence[Problem], context: Context) -> Outcome:
        draws = Draws.start(NAME, self.sampling, context.seed, context.rollouts, problems)
        looks = [self.samples] if self.test == "fixed" else rounds(self.samples)
        settled = draws.settle(problems, looks, self._verdict)
        kept: list[Problem] = []
        drops: list[Drop] = []
        for problem in problems:
            reason, rollouts = settled[problem.source_row]
            if reason == KEEP:
                kept.append(self._rated(problem, rollouts, draws.digest))
            else:
                drops.append(_drop(problem, reason, rollouts, draws.digest))
        samples, tokens = draws.spent(problems)
        return Outcome(kept=kept, drops=drops, samples=samples, generated_tokens=tokens)

    def _verdict(self, rollouts: Sequence[Rollout]) -> str | None:
        tally = Tally.of(rollouts)
        low = -1.0 if self.keep_unsolved else self.low
        if self.test != "bayes":
            return verdict(tally, self.samples, low, self.high)
        test = BayesTest(samples=self.samples, low=max(low, 0.0), high=self.high, error=self.error, prior=self.prior)
        return bayes_verdict(tally, test)

    def _rated(self, problem: Problem, rollouts: Sequence[Rollout], digest: str) -> Problem:
        rated = entry(self.sampling.engine.name, digest, Tally.of(rollouts))
        return replace(problem, pass_rate=rated.correct / rated.attempts, difficulty=(*problem.difficulty, rated))


def _drop(problem: Problem, reason: str, rollouts: Sequence[Rollout], digest: str) -> Drop:
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
