"""Sets aside rows whose label is probably wrong: a good sampler answers firmly, and something else.

Magistral (arXiv 2506.10910) removes what most samples of its trained policy agree on against the label. Whether the
sampler is good enough is measured here, on the rows themselves: of all firm majorities, how many give the label? Wrong
labels can only lower that share, so it bounds from below how often a firm majority is right. Where its lower 95 % bound
is under `min_agreement`, the stage says that it cannot tell and keeps everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from scipy.stats import binomtest

from pipeline.config import STRICT, RecipeError
from pipeline.decisions import LABEL_RIGHT, read_decisions
from pipeline.problem import Problem
from pipeline.rollouts import Rollout
from pipeline.sampling import Draws, Sampling, rounds
from pipeline.stage import Context, Drop, Outcome, drop

NAME = "suspects"
REASON, LABEL_WRONG_REASON = "label-suspect", "label-wrong"
NONE, AGREES, DIFFERS = "no-majority", "agrees", "differs"


@dataclass(frozen=True, kw_only=True)
class Suspects:
    """sampling: a model that solves most of these problems.

    samples, majority: an answer that so many of so many samples give is a firm majority.
    min_agreement: see the module.  min_majorities: with fewer firm majorities in a batch the agreement is unknown.
    batch_problems: rows that are measured together.
    decisions: file that `verigold audit --label` wrote for an earlier quarantine of this stage; rows whose label was
        found right stay, those whose label was found wrong are dropped, whatever the sampler says.
    """

    __pydantic_config__ = STRICT
    samples_model: ClassVar[bool] = True

    sampling: Sampling
    samples: int = 16
    majority: int = 12
    min_agreement: float = 0.7
    min_majorities: int = 20
    batch_problems: int = 1024
    decisions: Path | None = None

    def __post_init__(self) -> None:
        if not self.samples / 2 < self.majority <= self.samples:
            raise RecipeError("stages.suspects: majority must be more than half of samples and at most all")
        if not 0 < self.min_agreement <= 1 or self.batch_problems < 1:
            raise RecipeError("stages.suspects: need 0 < min_agreement <= 1 and batch_problems >= 1")

    def __call__(self, problems: Sequence[Problem], context: Context) -> Outcome:
        decided = read_decisions(self.decisions)
        draws = Draws.start(NAME, self.sampling, context.seed, context.rollouts, problems)
        settled = draws.settle(problems, rounds(self.samples), self._verdict)
        firm = Counter(verdict for verdict, _ in settled.values())
        measured = agreement(firm[AGREES], firm[DIFFERS])
        trusted = measured["majorities"] >= self.min_majorities and measured["low"] >= self.min_agreement
        if firm[DIFFERS] and not trusted:
            context.console.print(self._cannot(measured, firm[DIFFERS]))
        kept: list[Problem] = []
        drops: list[Drop] = []
        for problem in problems:
            verdict, rollouts = settled[problem.source_row]
            decision = decided.get((problem.id, problem.ground_truth))
            if decision is not None and decision != LABEL_RIGHT:
                drops.append(drop(problem, NAME, LABEL_WRONG_REASON, decision=decision))
            elif decision is None and verdict == DIFFERS and trusted:
                evidence = _evidence(rollouts) | {"agreement": measured, "sampler_digest": draws.digest}
                drops.append(drop(problem, NAME, REASON, kind="quarantined", **evidence))
            else:
                kept.append(problem)
        samples, tokens = draws.spent(problems)
        return Outcome(kept=kept, drops=drops, samples=samples, generated_tokens=tokens)

    def _verdict(self, rollouts: Sequence[Rollout]) -> str | None:
        """Whether a firm majority agrees with the label, once that is certain; right answers count as one answer."""
        right = sum(one.correct for one in rollouts)
        _, times = majority_answer(rollouts)
        to_come = self.samples - len(rollouts)
        if right >= self.majority:
            return AGREES
        if times >= self.majority:
            return DIFFERS
        return NONE if max(right, times) + to_come < self.majority else None

    def _cannot(self, measured: dict[str, Any], differing: int) -> str:
        return (
            f"{NAME}: cannot tell whether {differing} labels are wrong, all are kept: of {measured['majorities']} firm "
            f"majorities {measured['share']:.0%} [{measured['low']:.0%}, {measured['high']:.0%}] give the label, and "
            f"{self.min_majorities} with a lower bound of {self.min_agreement:.0%} are needed; use a stronger sampler"
        )


def majority_answer(rollouts: Sequence[Rollout]) -> tuple[str | None, int]:
    """The most common answer among the wrong samples, by its text without white space, and how often it was given."""
    answers = Counter("".join(one.extracted.split()) for one in rollouts if _is_wrong(one) and one.extracted)
    return answers.most_common(1)[0] if answers else (None, 0)


def _is_wrong(rollout: Rollout) -> bool:
    return rollout.decided and not rollout.correct and not rollout.truncated


def agreement(agreeing: int, differing: int) -> dict[str, Any]:
    """Share of the firm majorities that give the label, with its Wilson 95 % interval."""
    total = agreeing + differing
    if total == 0:
        return {"majorities": 0, "share": 0.0, "low": 0.0, "high": 1.0}
    interval = binomtest(agreeing, total).proportion_ci(0.95, method="wilson")
    return {
        "majorities": total,
        "share": agreeing / total,
        "low": float(interval.low),
        "high": float(interval.high),
    }


def _evidence(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    answer, times = majority_answer(rollouts)
    shown = next(one.extracted for one in rollouts if one.extracted and "".join(one.extracted.split()) == answer)
    right = sum(one.correct for one in rollouts)
    return {"majority_answer": shown, "majority_times": times, "right": right, "samples": len(rollouts)}
