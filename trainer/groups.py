"""Dynamic sampling (DAPO, arXiv 2503.14476): draw, generate, score, keep what teaches something, refill in bounds.

A group is informative when its raw verdicts differ; shaping never reaches the filter. Groups beyond the batch are
kept for the next step with the version of the policy that sampled them; nothing that was accepted is lost silently.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from engines.engine import Completion, Sampler, SamplingParams
from pipeline.rollouts import request_for
from trainer.clock import Clock
from trainer.config import GroupFilter, Reward, Sampling
from trainer.prompts import Draw, PromptStream
from trainer.rewards import outcome, random_verdict, shaping
from verifiers import verify_many
from verifiers.verdict import Verdict


class RunStoppedError(Exception):
    """The run ends here; `reason` is its exit reason, the text says why and what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One scored response. score: the raw verdict's, None when undecided. reward: shaped, None when undecided."""

    response: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: str
    status: str
    reason: str
    score: float | None
    reward: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The samples of one prompt. key: of the visit. version: of the policy that sampled them."""

    key: str
    problem_id: str
    question: str
    ground_truth: str
    prompt_ids: tuple[int, ...]
    samples: tuple[Sample, ...]
    version: int

    @property
    def scores(self) -> list[float]:
        """Raw scores of the decided samples."""
        return [sample.score for sample in self.samples if sample.score is not None]

    @property
    def informative(self) -> bool:
        """Two decided samples differ: the advantage is not 0 everywhere."""
        return len(self.scores) > 1 and min(self.scores) != max(self.scores)

    @property
    def tokens(self) -> int:
        return sum(len(sample.token_ids) for sample in self.samples)


def group_from_json(value: dict[str, Any]) -> Group:
    """The inverse of `dataclasses.asdict` after JSON."""
    samples = tuple(
        Sample(**(sample | {"token_ids": tuple(sample["token_ids"]), "logprobs": tuple(sample["logprobs"])}))
        for sample in value["samples"]
    )
    return Group(**(value | {"samples": samples, "prompt_ids": tuple(value["prompt_ids"])}))


def group_to_json(group: Group) -> dict[str, Any]:
    return asdict(group)


class Scorer(Protocol):
    """Judges the samples of a generation round; one verdict a sample, in order."""

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]: ...


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Groups of one step.

    kept: to train on.  surplus: accepted, for the next step.  drawn: everything generated in this step.
    stale: surplus groups that had become too old.  exhausted: the rounds did not fill the batch.
    skipped: prompts left out unseen since the start of the run.
    """

    kept: list[Group]
    surplus: list[Group]
    drawn: list[Group]
    stale: int
    rounds: int
    exhausted: bool
    skipped: int
    generate_s: float
    score_s: float


class GroupSource:
    """Produces the groups of each step from prompts, a sampler and a scorer."""

    def __init__(
        self,
        *,
        stream: PromptStream,
        sampler: Sampler,
        scorer: Scorer,
        sampling: Sampling,
        rules: GroupFilter,
        reward: Reward,
        seed: int,
    ) -> None:
        self.stream = stream
        self.sampler = sampler
        self.scorer = scorer
        self.sampling = sampling
        self.rules = rules
        self.reward = reward
        self.seed = seed
        self.surplus: list[Group] = []

    def fill(self, version: int, clock: Clock) -> Filled:
        """Up to `sampling.prompts` groups: surplus first, then at most `max_gen_batches` rounds.

        Raises RunStoppedError when the rounds are exhausted under the policy `error`, or when too many samples are
        undecided.
        """
        fresh = [group for group in self.surplus if version - group.version <= self.rules.max_age]
        stale = len(self.surplus) - len(fresh)
        accepted, drawn, rounds = fresh, list[Group](), 0
        while len(accepted) < self.sampling.prompts and rounds < self.rules.max_gen_batches:
            groups = self._round(self._round_size(accepted, drawn), version, clock)
            rounds += 1
            drawn += groups
            self.stream.observe(groups)
            self._check_undecided(drawn)
            accepted = accepted + [group for group in groups if self.accepts(group)]
        self.stream.adapt(drawn)
        exhausted = len(accepted) < self.sampling.prompts
        if exhausted and self.rules.on_exhausted == "error":
            raise RunStoppedError("exhausted", self._exhausted_message(len(accepted), drawn))
        if exhausted and self.rules.on_exhausted == "skip":
            kept, self.surplus = [], accepted
        else:
            kept, self.surplus = accepted[: self.sampling.prompts], accepted[self.sampling.prompts :]
        return Filled(
            kept=kept,
            surplus=list(self.surplus),
            drawn=drawn,
            stale=stale,
            rounds=rounds,
            exhausted=exhausted,
            skipped=self.stream.skipped,
            generate_s=clock.take("generate"),
            score_s=clock.take("score"),
        )

    def accepts(self, group: Group) -> bool:
        return group.informative if self.rules.keep == "informative" else bool(group.scores)

    def _round_size(self, accepted: Sequence[Group], drawn: Sequence[Group]) -> int:
        """What is missing; after a first round a quarter more than the kept share so far asks for."""
        missing = self.sampling.prompts - len(accepted)
        if not drawn:
            return missing
        kept = sum(self.accepts(group) for group in drawn)
        share = max(kept, 1) / len(drawn)
        return min(self.sampling.prompts, math.ceil(1.25 * missing / share))

    def _round(self, count: int, version: int, clock: Clock) -> list[Group]:
        draws = self.stream.draw(count)
        params = SamplingParams(
            n=self.sampling.samples,
            temperature=self.sampling.temperature,
            max_tokens=self.sampling.max_tokens,
            seed=self.seed,
            keys=tuple(draw.key for draw in draws),
        )
        with clock("generate"):
            found = {
                (place, sample): completion
                for place, sample, completion in self.sampler.generate([d.task.prompt_ids for d in draws], params)
            }
        order = [(place, sample) for place in range(count) for sample in range(self.sampling.samples)]
        with clock("score"):
            verdicts = self.scorer([(draws[place], sample, found[place, sample]) for place, sample in order])
        scored = [self._sample(found[at], verdict) for at, verdict in zip(order, verdicts, strict=True)]
        size = self.sampling.samples
        return [
            _group(draw, tuple(scored[place * size : (place + 1) * size]), version) for place, draw in enumerate(draws)
        ]

    def _sample(self, completion: Completion, verdict: Verdict) -> Sample:
        if completion.token_ids is None or completion.logprobs is None:
            raise RunStoppedError("engine", "the engine returns no token ids or log-probabilities; training needs both")
        value = outcome(verdict, self.reward)
        added = shaping(len(completion.token_ids), self.sampling.max_tokens, self.reward)
        decided = not math.isnan(value)
        return Sample(
            response=completion.text,
            token_ids=completion.token_ids,
            logprobs=completion.logprobs,
            finish_reason=completion.finish_reason,
            status=str(verdict.status),
            reason=verdict.reason,
            score=verdict.score if decided else None,
            reward=value + added if decided else None,
        )

    def _check_undecided(self, drawn: Sequence[Group]) -> None:
        samples = [sample for group in drawn for sample in group.samples]
        undecided = [sample for sample in samples if sample.score is None]
        if len(undecided) > self.reward.max_undecided_share * len(samples):
            reasons = Counter(sample.reason for sample in undecided).most_common(3)
            listed = ", ".join(f"{reason} {count}" for reason, count in reasons)
            raise RunStoppedError(
                "undecided",
                f"{len(undecided)} of {len(samples)} samples are undecided ({listed}), above "
                f"reward.max_undecided_share = {self.reward.max_undecided_share}; mend the golds or the verifier",
            )

    def _exhausted_message(self, accepted: int, drawn: Sequence[Group]) -> str:
        return (
            f"{accepted} of {self.sampling.prompts} informative groups after {self.rules.max_gen_batches} rounds; "
            f"pass rates: {pass_rate_histogram(drawn)}; curate by difficulty or raise filter.max_gen_batches"
        )


def _group(draw: Draw, samples: tuple[Sample, ...], version: int) -> Group:
    problem = draw.task.problem
    return Group(
        key=draw.key,
        problem_id=problem.id,
        question=problem.question,
        ground_truth=problem.ground_truth,
        prompt_ids=draw.task.prompt_ids,
        samples=samples,
        version=version,
    )


def pass_rate_histogram(groups: Sequence[Group]) -> str:
    """`all wrong 12, mixed 3, all right 0, undecided 1`."""
    wrong = sum(bool(group.scores) and max(group.scores) == 0 for group in groups)
    right = sum(bool(group.scores) and min(group.scores) == 1 for group in groups)
    none = sum(not group.scores for group in groups)
    return f"all wrong {wrong}, mixed {len(groups) - wrong - right - none}, all right {right}, undecided {none}"
