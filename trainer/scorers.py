"""Who judges the samples of a generation round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from engines.engine import Completion
from pipeline.rollouts import request_for
from trainer.prompts import Draw
from trainer.rewards import random_verdict
from verifiers import verify_many
from verifiers.verdict import Verdict


class Scorer(Protocol):
    """Judges the samples of a generation round; one verdict a sample, in order."""

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]: ...


@runtime_checkable
class Telling(Protocol):
    """A scorer with numbers of its own for the metrics of a step."""

    def take(self) -> dict[str, float]:
        """Those since the last call, by their names."""
        ...


class VerifierScorer:
    """Each problem's own verifier, in worker processes."""

    def __init__(self, workers: int | None) -> None:
        self.workers = workers

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        requests = [request_for(draw.task.problem, completion.text) for draw, _, completion in samples]
        return verify_many(requests, workers=self.workers)


class RandomScorer:
    """The control: coin flips keyed by (seed, visit, sample)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        return [random_verdict(self.seed, draw.key, index) for draw, index, _ in samples]
