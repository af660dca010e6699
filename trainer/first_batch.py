"""The first batches from what curation has drawn already: stored samples stand in for those of first visits.

They were drawn by the weights that training begins with, so for policy version 0 they are what the engine would have
drawn, and for a few versions more they are as old as surplus groups may be (`filter.max_age`). Each is used once: only
a prompt's first visit takes them. Verdicts and rewards are computed anew like those of any other sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engines.engine import Completion
from pipeline.config import RecipeError
from pipeline.rollouts import Asking, Rollout, sampler_settings, stored_groups, stored_lengths
from pipeline.version import digest_of
from trainer.config import TrainConfig
from trainer.prompts import Draw, Task
from trainer.template import messages

ROLLOUTS = "rollouts"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBatch:
    """folder: the rollouts of a curated folder.  samples: of a group.  max_age: last policy version that takes them.

    digest: of which problems have how long samples; a resumed run must find it again.
    """

    folder: Path
    asking: Asking
    samples: int
    max_age: int
    digest: str

    def of(self, draws: Sequence[Draw], version: int, max_tokens: int) -> dict[int, tuple[Completion, ...]]:
        """The stored samples of those draws that are first visits, by place; empty when the policy has moved on."""
        if version > self.max_age or max_tokens != self.asking.max_tokens:
            return {}
        places = {draw.task.problem.id: place for place, draw in enumerate(draws) if draw.epoch == 0}
        problems = [draws[place].task.problem for place in places.values()]
        groups = stored_groups(self.folder, problems, self.asking, samples=self.samples)
        return {places[id_]: tuple(_completion(one) for one in rollouts) for id_, rollouts in groups.items()}


def _completion(rollout: Rollout) -> Completion:
    return Completion(
        text=rollout.text,
        token_ids=rollout.token_ids,
        logprobs=rollout.logprobs,
        finish_reason=rollout.finish_reason,
    )


def open_first_batch(config: TrainConfig, tasks: Sequence[Task], engine_digest: str) -> FirstBatch | None:
    """What `sampling.reuse` names, checked; None without it.

    engine_digest: of the engine with the weights that training begins with.
    Raises RecipeError when the samples are none that this policy would have drawn, or would be a biased choice.
    """
    sampling = config.sampling
    if sampling.reuse is None:
        return None
    folder = sampling.reuse / ROLLOUTS
    asking = Asking(
        engine_digest=engine_digest,
        temperature=sampling.temperature,
        max_tokens=sampling.budget(0),
        messages=partial(messages, template=config.template),
    )
    _check_sampler(folder, asking, config)
    lengths = stored_lengths(folder, [task.problem for task in tasks], asking)
    _check_numbers(lengths, config)
    return FirstBatch(
        folder=folder,
        asking=asking,
        samples=sampling.samples,
        max_age=config.filter.max_age,
        digest=digest_of(dict(sorted(lengths.items()))),
    )


def _check_sampler(folder: Path, asking: Asking, config: TrainConfig) -> None:
    where, found = f"sampling.reuse: {folder.parent}", list(sampler_settings(folder).values())
    if not found:
        raise RecipeError(
            f"{where}: no samples of a model in there ({ROLLOUTS}/samplers is missing or empty); give a folder that "
            "stages.difficulty or stages.answerable curated, or leave sampling.reuse out"
        )
    own = [one for one in found if one["engine"] == asking.engine_digest]
    if not own:
        raise RecipeError(
            f"{where}: drawn by {', '.join(sorted({str(one['model']) for one in found}))} with other weights, "
            f"tokenizer, template or type than {config.model}; curate with sampling.engine.model = "
            f'"{config.model}", or leave sampling.reuse out'
        )
    if not any(asking.fits(one) for one in own):
        pairs = sorted({(one["temperature"], one["max_tokens"]) for one in own})
        listed = ", ".join(f"temperature {temperature}, max_tokens {tokens}" for temperature, tokens in pairs)
        raise RecipeError(
            f"{where}: drawn at {listed}, but the first step samples at temperature {asking.temperature}, max_tokens "
            f"{asking.max_tokens}; make sampling.temperature and sampling.max_tokens equal in both recipes, or leave "
            "sampling.reuse out"
        )


def _check_numbers(lengths: dict[str, list[int]], config: TrainConfig) -> None:
    """Every problem that was sampled at all must have a whole group, or which ones have is their outcomes' choice."""
    where, samples = f"sampling.reuse: {config.sampling.reuse}", config.sampling.samples
    if not lengths:
        raise RecipeError(
            f"{where}: none of the prompts in {config.shards} was asked there as the template asks it; give the shards "
            "of this folder, and in template.suffix a line break and then the instruction of the curation recipe's "
            "[sampling]; or leave sampling.reuse out"
        )
    short = sum(len(run) < samples for run in lengths.values())
    least = min(len(run) for run in lengths.values())
    if short:
        fewer = f" or train with sampling.samples = {least}," if least > 1 else ""
        raise RecipeError(
            f"{where}: {short} of {len(lengths)} sampled problems have fewer than sampling.samples = {samples} stored "
            "samples, since their stage stopped by what it had seen, so those that have enough are a biased choice; "
            f'curate with stages.difficulty.test = "fixed" and samples = {samples} or more,{fewer} or leave '
            "sampling.reuse out"
        )
