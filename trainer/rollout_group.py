"""What was sampled of a prompt and how it was judged: a plain record that survives JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One scored response. score: the raw verdict's, None when undecided. reward: shaped, None when undecided.

    logprobs: of the policy that sampled it; none of a demonstration.  version: of that policy, one for all tokens:
    no engine changes its weights while it draws.
    """

    response: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: str
    status: str
    reason: str
    score: float | None
    reward: float | None
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The samples of one prompt. key: of the visit. version: of the policy that sampled the oldest.

    greedy: the reward of the greedy response, where the algorithm asks for one (ReMax).  greedy_tokens: its length.
    reused: its samples were stored by curation, nobody had to generate them.
    demonstrations: right responses by somebody else; `scores` and `tokens` are of the policy's own samples.
    """

    key: str
    problem_id: str
    question: str
    ground_truth: str
    prompt_ids: tuple[int, ...]
    samples: tuple[Sample, ...]
    version: int
    greedy: float | None = None
    greedy_tokens: int = 0
    reused: bool = False
    demonstrations: tuple[Sample, ...] = ()

    @property
    def rows(self) -> tuple[Sample, ...]:
        """What an update sees: the policy's samples, then the demonstrations."""
        return self.samples + self.demonstrations

    @property
    def scores(self) -> list[float]:
        """Raw scores of the policy's decided samples."""
        return [sample.score for sample in self.samples if sample.score is not None]

    @property
    def informative(self) -> bool:
        """Two decided rows differ: the advantage is not 0 everywhere.

        Demonstrations count: beside a right one a group that is all wrong teaches something, one that is all right
        nothing. Without a decided sample of the policy there is nothing to compare them with.
        """
        scores = self.scores + [row.score for row in self.demonstrations if row.score is not None]
        return bool(self.scores) and min(scores) != max(scores)

    @property
    def tokens(self) -> int:
        return sum(len(sample.token_ids) for sample in self.samples) + self.greedy_tokens

    @property
    def saved_tokens(self) -> int:
        return self.tokens - self.greedy_tokens if self.reused else 0


def group_from_json(value: dict[str, Any]) -> Group:
    """The inverse of `dataclasses.asdict` after JSON."""
    found: dict[str, Any] = value | {"prompt_ids": tuple(value["prompt_ids"])}
    for name in ("samples", "demonstrations"):
        found[name] = tuple(map(_sample_from_json, value.get(name, ())))
    return Group(**found)


def _sample_from_json(value: dict[str, Any]) -> Sample:
    found: dict[str, Any] = {name: tuple(value[name]) for name in ("token_ids", "logprobs")}
    return Sample(**(value | found))


def group_to_json(group: Group) -> dict[str, Any]:
    return asdict(group)


def pass_rate_histogram(groups: Sequence[Group]) -> str:
    """`all wrong 12, mixed 3, all right 0, undecided 1`."""
    wrong = sum(bool(group.scores) and max(group.scores) == 0 for group in groups)
    right = sum(bool(group.scores) and min(group.scores) == 1 for group in groups)
    none = sum(not group.scores for group in groups)
    return f"all wrong {wrong}, mixed {len(groups) - wrong - right - none}, all right {right}, undecided {none}"
