"""Does the engine sample from the weights that were sent? It draws a few tokens, the trainer computes them again.

An update that an engine drops, merges wrongly or restores from a copy changes nothing that anyone would see but the
log-probabilities (trl#5312, #5932, #2698). Two questions are asked after each update:

- are the engine's log-probabilities the trainer's, within what their arithmetic allows?
- is the answer, bit for bit, that of a version before, although the trainer's has moved since? The draws are keyed, so
  an engine that still has the old weights gives the old answer. A small step moves log-probabilities by less than the
  arithmetic of two implementations differs, and only this question then sees that it never arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engines.engine import Completion, PolicyEngine, SamplingParams
from trainer.batch import micro_batches, rows_of
from trainer.groups import RunStoppedError
from trainer.policy import Policy
from trainer.rollout_group import Group, Sample

PROMPTS, TOKENS = 4, 8
"""Enough to meet every weight several times; a step samples thousands of tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Of |engine - trainer| in nats, over the tokens of a probe.

    moved: of a log-probability between two versions, in the trainer; from there on an engine that has the new weights
    cannot give the old numbers to the last bit. None where its type is too coarse to tell.
    """

    mean: float
    most: float
    moved: float | None


TORCH_FLOAT32 = Tolerance(mean=1e-4, most=1e-3, moved=1e-5)
"""The same kernels on other batch shapes: 1e-6 on small models; 1e-5 leaves room for large ones and for GPUs."""

VLLM_FLOAT32 = Tolerance(mean=1e-3, most=5e-3, moved=1e-5)
"""Other kernels, another order of summation: 1.5e-3 at most was measured on the CPU."""

WIDE = Tolerance(mean=0.05, most=0.5, moved=None)
"""bfloat16 on either side has 8 bits: 0.16 at most was measured. An update may also change none of them."""


def torch_tolerance(engine: torch.dtype, policy: torch.dtype) -> Tolerance:
    exact = (torch.float32, torch.float64)
    return TORCH_FLOAT32 if engine in exact and policy in exact else WIDE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What was drawn for each prompt, and the trainer's log-probabilities of it."""

    drawn: tuple[Completion, ...]
    trainer: tuple[tuple[float, ...], ...]


class Probe:
    """Asks an engine the same few prompts after every update."""

    def __init__(
        self,
        engine: PolicyEngine,
        policy: Policy,
        prompts: Sequence[tuple[int, ...]],
        tolerance: Tolerance,
        *,
        seed: int,
        max_tokens: int = TOKENS,
    ) -> None:
        """prompts: token ids; the first few are asked."""
        self.engine = engine
        self.policy = policy
        self.prompts = list(prompts[:PROMPTS])
        self.tolerance = tolerance
        self.params = SamplingParams(
            temperature=policy.temperature,
            max_tokens=max_tokens,
            seed=seed,
            keys=tuple(f"probe:{place}" for place in range(len(self.prompts))),
        )
        self._before: _Answer | None = None

    def check(self, version: int) -> float:
        """The largest difference of the version that was just sent.

        Raises RunStoppedError when the engine samples from anything else.
        """
        drawn = self._drawn(version)
        now = _Answer(drawn=drawn, trainer=self._trainer(drawn, version))
        pairs = [
            (abs(mu - ours), place, at)
            for place, (one, own) in enumerate(zip(drawn, now.trainer, strict=True))
            for at, (mu, ours) in enumerate(zip(one.logprobs or (), own, strict=True))
        ]
        worst, place, at = max(pairs)
        mean = sum(gap for gap, _, _ in pairs) / len(pairs)
        if not (worst <= self.tolerance.most and mean <= self.tolerance.mean):  # also when one of them is nan
            raise RunStoppedError("engine", self._differs(version, now, worst, mean, place, at))
        self._check_news(version, now)
        if self._before is None or not _same(self._before.drawn, now.drawn):
            self._before = now  # else the older one stays: steps too small to tell add up until they do tell
        return worst

    def _drawn(self, version: int) -> tuple[Completion, ...]:
        found = {place: completion for place, _, completion in self.engine.generate(self.prompts, self.params)}
        drawn = tuple(found[place] for place in sorted(found))
        if len(drawn) < len(self.prompts) or not all(one.token_ids and one.logprobs for one in drawn):
            raise RunStoppedError("engine", "the engine returns no token ids or log-probabilities; training needs both")
        other = sorted({one.version for one in drawn} - {version})
        if other:
            raise RunStoppedError(
                "engine",
                f"version {version} of the weights was sent, and the engine answers with version {other[0]}: "
                "it did not take the update",
            )
        return drawn

    def _trainer(self, drawn: Sequence[Completion], version: int) -> tuple[tuple[float, ...], ...]:
        """The trainer's log-probabilities of the drawn tokens."""
        groups = [_group(*pair, version) for pair in zip(self.prompts, drawn, strict=True)]
        rows = rows_of(groups, version=version, dtype=self.policy.dtype)
        micros = micro_batches(rows, range(len(rows)), 1 << 20)
        logp_BT, _ = self.policy.all_logprobs(micros, rows.mask_BT.shape)
        return tuple(
            tuple(logp_T[: len(one.token_ids or ())].tolist()) for logp_T, one in zip(logp_BT, drawn, strict=True)
        )

    def _check_news(self, version: int, now: _Answer) -> None:
        before = self._before
        if before is None or self.tolerance.moved is None or not _same(before.drawn, now.drawn):
            return
        moved = max(
            abs(new - old)
            for one, other in zip(now.trainer, before.trainer, strict=True)
            for new, old in zip(one, other, strict=True)
        )
        if moved > self.tolerance.moved:
            raise RunStoppedError(
                "engine",
                f"after version {version} was sent the engine gives, to the last bit, the answers of a version "
                f"before, while the trainer's log-probabilities of them have moved by {moved:.2g}: "
                "it did not take the update",
            )

    def _differs(self, version: int, now: _Answer, worst: float, mean: float, place: int, at: int) -> str:
        one = now.drawn[place]
        token, mu = (one.token_ids or ())[at], (one.logprobs or ())[at]
        text = self.policy.tokenizer.decode([token])
        return (
            f"after version {version} was sent, engine and trainer differ by {worst:.3g} at most and {mean:.3g} in the "
            f"mean log-probability of a token (limits {self.tolerance.most:g} and {self.tolerance.mean:g}). Worst: "
            f"probe prompt {place + 1}, new token {at + 1}, {text!r} (id {token}): engine {mu:.4f}, trainer "
            f"{now.trainer[place][at]:.4f}. The engine samples from other weights (an update dropped or merged "
            "wrongly, a tied head left behind), at another temperature, or in a coarser type than its recipe says"
        )


def _group(prompt: tuple[int, ...], one: Completion, version: int) -> Group:
    sample = Sample(
        response=one.text,
        token_ids=one.token_ids or (),
        logprobs=one.logprobs or (),
        finish_reason=one.finish_reason,
        status="undecided",
        reason="probe",
        score=None,
        reward=None,
    )
    return Group(
        key="probe",
        problem_id="probe",
        question="",
        ground_truth="",
        prompt_ids=prompt,
        samples=(sample,),
        version=version,
    )


def _same(one: Sequence[Completion], other: Sequence[Completion]) -> bool:
    return all(a.token_ids == b.token_ids and a.logprobs == b.logprobs for a, b in zip(one, other, strict=True))
