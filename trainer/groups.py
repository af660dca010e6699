"""Dynamic sampling (DAPO, arXiv 2503.14476): draw, generate, score, keep what teaches something, refill in bounds.

A group is informative when its raw verdicts differ; shaping never reaches the filter. Groups beyond the batch are
kept for the next step with the version of the policy that sampled them; nothing that was accepted is lost silently.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice

from engines.engine import Completion, Sampler, SamplingParams
from trainer.clock import Clock
from trainer.demonstrations import DemonstrationPool
from trainer.first_batch import FirstBatch
from trainer.prompts import Draw, PromptStream
from trainer.rewards import outcome, shaped
from trainer.rollout_group import Group, Sample, pass_rate_histogram
from trainer.scorers import Scorer, Telling
from trainer.sections import GroupFilter, Reward, Sampling
from verifiers.verdict import Status, Verdict


class RunStoppedError(Exception):
    """The run ends here; `reason` is its exit reason, the text says why and what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Groups of one step.

    kept: to train on.  surplus: accepted, for the next step.  drawn: everything generated in this step.
    copies: groups of `kept` that stand there again in place of missing ones.
    stale: groups that would be too old when they are trained on.  filtered: drawn ones that teach nothing.
    exhausted: the rounds did not fill the batch.
    skipped: prompts left out unseen since the start of the run.
    told: numbers of the scorer's own, by their names in the metrics.
    """

    kept: list[Group]
    surplus: list[Group]
    drawn: list[Group]
    copies: int
    stale: int
    filtered: int
    rounds: int
    exhausted: bool
    skipped: int
    generate_s: float
    score_s: float
    told: dict[str, float] = field(default_factory=dict)

    @property
    def generated_tokens(self) -> int:
        """What the step paid for: tokens of stored samples were paid by curation."""
        return sum(group.tokens - group.saved_tokens for group in self.drawn)


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
        greedy: bool = False,
        ahead: int = 0,
    ) -> None:
        """greedy: one more response a prompt, at temperature 0, whose reward is the baseline (ReMax).

        ahead: versions that the policy may have gone on by the time a batch is trained on (asynchronous sampling).
        """
        self.greedy = greedy
        self.ahead = ahead
        self.first_batch: FirstBatch | None = None
        self.demonstrations: DemonstrationPool | None = None
        self.stream = stream
        self.sampler = sampler
        self.scorer = scorer
        self.sampling = sampling
        self.rules = rules
        self.reward = reward
        self.seed = seed
        self.surplus: list[Group] = []

    def stand_by(self, first_batch: FirstBatch | None, demonstrations: DemonstrationPool | None) -> None:
        """What stands in for the samples of first visits, and what stands beside samples; before the first step."""
        self.first_batch = first_batch
        if demonstrations is not None:
            self.demonstrations = demonstrations
            self.stream.demonstrated = demonstrations.problems

    def fill(self, version: int, clock: Clock, *, step: int = 0, progress: float = 0.0) -> Filled:
        """Up to `sampling.prompts` groups: surplus first, then at most `max_gen_batches` rounds.

        step: finished steps, for the response budget of a stage.  progress: share of the run that is over.
        Raises RunStoppedError when the rounds are exhausted under the policy `error`, or when too many samples are
        undecided.
        """
        taken, drawn, rounds = list(self.surplus), list[Group](), 0
        accepted, budget = self._young(taken, version), self.sampling.budget(step)
        while len(accepted) < self.sampling.prompts and rounds < self.rules.max_gen_batches:
            draws = self.stream.draw(self._round_size(accepted, drawn), progress)
            groups = self._round(draws, version, budget, clock)
            rounds += 1
            drawn += groups
            self.stream.observe(groups)
            self._check_undecided(drawn)
            taken += [group for group in groups if self.accepts(group)]
            accepted = self._young(taken, version)
        self.stream.adapt(drawn)
        exhausted = len(accepted) < self.sampling.prompts
        if exhausted and self.rules.on_exhausted == "error":
            raise RunStoppedError("exhausted", self._exhausted_message(len(accepted), drawn))
        if exhausted and self.rules.on_exhausted == "skip":
            kept, self.surplus = [], accepted
        else:
            kept, self.surplus = accepted[: self.sampling.prompts], accepted[self.sampling.prompts :]
        copies = self.sampling.prompts - len(kept) if kept and self.rules.on_exhausted == "replace" else 0
        return Filled(
            kept=kept + list(islice(cycle(kept), copies)),
            copies=copies,
            surplus=list(self.surplus),
            drawn=drawn,
            stale=len(taken) - len(accepted),
            filtered=sum(bool(group.scores) and not self.accepts(group) for group in drawn),
            rounds=rounds,
            exhausted=exhausted,
            skipped=self.stream.skipped,
            generate_s=clock.take("generate"),
            score_s=clock.take("score"),
            told=self.scorer.take() if isinstance(self.scorer, Telling) else {},
        )

    def _young(self, groups: Sequence[Group], version: int) -> list[Group]:
        """Those that will not be older than `max_age` when the batch is trained on."""
        return [group for group in groups if version + self.ahead - group.version <= self.rules.max_age]

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

    def _round(self, draws: Sequence[Draw], version: int, budget: int, clock: Clock) -> list[Group]:
        params = SamplingParams(
            n=self.sampling.samples,
            temperature=self.sampling.temperature,
            max_tokens=budget,
            seed=self.seed,
            keys=tuple(draw.key for draw in draws),
        )
        stored = {} if self.first_batch is None else self.first_batch.of(draws, version + self.ahead, budget)
        scored = self._scored(draws, params, clock, stored)
        groups = [self._group(draw, found, version, budget) for draw, found in zip(draws, scored, strict=True)]
        for place in stored:
            groups[place] = replace(groups[place], version=0, reused=True)
        if not self.greedy:
            return groups
        # Its sample index is one no response of the group has: a control's coin is its own.
        alone = replace(params, n=1, temperature=0.0, first_sample=self.sampling.samples)
        baselines = self._scored(draws, alone, clock, {})
        return [self._with_greedy(group, found, budget) for group, (found,) in zip(groups, baselines, strict=True)]

    def _scored(
        self, draws: Sequence[Draw], params: SamplingParams, clock: Clock, stored: Mapping[int, Sequence[Completion]]
    ) -> list[list[tuple[Completion, Verdict]]]:
        """Completions and verdicts, draw by draw; what is stored, by place, is not generated."""
        found = {(place, at): one for place, completions in stored.items() for at, one in enumerate(completions)}
        places = [place for place in range(len(draws)) if place not in stored]
        if places:
            missing = [draws[place] for place in places]
            asked = replace(params, keys=tuple(draw.key for draw in missing))
            with clock("generate"):
                drawn = list(self.sampler.generate([draw.task.prompt_ids for draw in missing], asked))
            found |= {(places[at], sample): completion for at, sample, completion in drawn}
        samples = range(params.first_sample, params.first_sample + params.n)
        order = [(place, sample) for place in range(len(draws)) for sample in samples]
        with clock("score"):
            verdicts = self.scorer([(draws[place], sample, found[place, sample]) for place, sample in order])
        pairs = [(found[at], verdict) for at, verdict in zip(order, verdicts, strict=True)]
        return [pairs[place * params.n : (place + 1) * params.n] for place in range(len(draws))]

    def _rewards(
        self, found: Sequence[tuple[Completion, Verdict]], reward: Reward, version: int, budget: int
    ) -> list[float | None]:
        return shaped(
            [outcome(verdict, reward) for _, verdict in found],
            [verdict.status is Status.CORRECT for _, verdict in found],
            [len(completion.token_ids or ()) for completion, _ in found],
            max_tokens=budget,
            reward=reward,
            updates=version,
        )

    def _group(self, draw: Draw, found: Sequence[tuple[Completion, Verdict]], version: int, budget: int) -> Group:
        rewards = self._rewards(found, self.reward, version, budget)
        problem = draw.task.problem
        return Group(
            key=draw.key,
            problem_id=problem.id,
            question=problem.question,
            ground_truth=problem.ground_truth,
            prompt_ids=draw.task.prompt_ids,
            samples=tuple(_sample(*pair, reward) for pair, reward in zip(found, rewards, strict=True)),
            version=min(completion.version for completion, _ in found),
            demonstrations=() if self.demonstrations is None else self.demonstrations.of(draw, budget),
        )

    def _with_greedy(self, group: Group, found: tuple[Completion, Verdict], budget: int) -> Group:
        """An undecided greedy response counts as wrong: any baseline that no sample enters leaves the mean gradient.

        Terms that compare the lengths of a group say nothing of one response, so they leave the baseline alone.
        """
        (value,) = self._rewards([found], replace(self.reward, length=None), group.version, budget)
        greedy = self.reward.wrong if value is None else value
        return replace(group, greedy=greedy, greedy_tokens=len(found[0].token_ids or ()))

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


def _sample(completion: Completion, verdict: Verdict, reward: float | None) -> Sample:
    if completion.token_ids is None or completion.logprobs is None:
        raise RunStoppedError("engine", "the engine returns no token ids or log-probabilities; training needs both")
    return Sample(
        response=completion.text,
        token_ids=completion.token_ids,
        logprobs=completion.logprobs,
        finish_reason=completion.finish_reason,
        status=str(verdict.status),
        reason=verdict.reason,
        score=verdict.score if reward is not None else None,
        reward=reward,
        version=completion.version,
    )
