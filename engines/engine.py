"""Protocols of everything that turns prompts into completions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypedDict, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor


class EngineError(ValueError):
    """A model, prompt or weight that cannot be used; the text says which and what to do."""


class Message(TypedDict):
    """One chat message."""

    role: str
    content: str


Prompt = Sequence[int] | Sequence[Message]
"""Token ids as they go into the model, or chat messages that the engine renders by the model's own template.

A last message of the role `assistant` is the beginning of the answer, which the model goes on with; the completion's
text does not repeat it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How completions are drawn.

    n: completions per prompt.  temperature: 0 means greedy.  max_tokens: new tokens, the end token included.
    seed: with the prompt's key and the sample's index it fixes the random numbers of every completion.
    keys: one key a prompt (e.g. its id), so that draws follow the prompt and not its place; default: the index.
    """

    n: int = 1
    temperature: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    keys: tuple[str, ...] | None = None
    first_sample: int = 0
    """Index of the first sample, so that later samples of one prompt continue its random stream."""

    @property
    def samples(self) -> range:
        """Indices of the samples of each prompt."""
        return range(self.first_sample, self.first_sample + self.n)

    def keys_of(self, prompts: int) -> tuple[str, ...]:
        """One key a prompt. Raises EngineError for numbers that cannot be sampled by."""
        keys = self.keys if self.keys is not None else tuple(str(index) for index in range(prompts))
        if len(keys) != prompts:
            raise EngineError(f"{prompts} prompts need as many keys, not {len(keys)}")
        if self.n < 1 or self.max_tokens < 1 or self.temperature < 0:
            raise EngineError("n and max_tokens must be 1 or more and temperature 0 or more")
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One sampled continuation.

    text: decoded without the end token.
    token_ids: sampled ids, the end token included when it was sampled; None where the engine does not tell.
    logprobs: natural-log probability of each sampled token under the sampling distribution (temperature applied).
    finish_reason: `stop` (an end token) or `length`.  version: of the weights that sampled it.
    counted_tokens: new tokens as a server counts them, where it does not tell their ids.
    """

    text: str
    token_ids: tuple[int, ...] | None
    logprobs: tuple[float, ...] | None
    finish_reason: str
    version: int = 0
    counted_tokens: int = 0

    @property
    def tokens(self) -> int:
        """New tokens."""
        return self.counted_tokens if self.token_ids is None else len(self.token_ids)


@runtime_checkable
class Sampler(Protocol):
    """Draws completions; yields (prompt index, sample index, completion) as they finish."""

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]: ...

    @property
    def digest(self) -> str:
        """Names the model's weights and everything else that shapes its samples; part of every cache key."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Log-probabilities of fixed continuations."""

    def choice_logprobs(self, prompts: Sequence[Prompt], choices: Sequence[str]) -> list[list[float]]: ...


@runtime_checkable
class PolicyEngine(Sampler, Protocol):
    """A sampler whose weights the trainer replaces."""

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None: ...
