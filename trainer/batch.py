"""Groups -> rows -> token-budget micro-batches. Masks come from lengths, never from token values; positions from masks.

Layout of a micro-batch: prompts padded on the left, responses on the right, so that all responses begin in the same
column and one slice of the logits holds them. Shape suffixes: M rows of a micro-batch, S = prompt + response columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.rollout_group import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """All rows of some groups, group by group.

    rewards_B: nan = undecided.  groups_B: index of the row's group.  mask_BT: tokens that are in the loss.
    sampled_BT: tokens the policy sampled, in the loss or not.  fresh_B: sampled by the current version.
    greedy_B: reward of the greedy response to the row's prompt, nan without one.
    demonstration_B: written by somebody else: in the loss, sampled by no policy, log-probability of the rollout 0.
    """

    prompts: tuple[tuple[int, ...], ...]
    responses: tuple[tuple[int, ...], ...]
    rewards_B: Tensor
    groups_B: Tensor
    mask_BT: Tensor
    sampled_BT: Tensor
    logp_rollout_BT: Tensor
    fresh_B: Tensor
    greedy_B: Tensor
    demonstration_B: Tensor

    def __len__(self) -> int:
        return len(self.responses)


def rows_of(
    groups: Sequence[Group], *, version: int, drop_truncated: bool = False, dtype: torch.dtype = torch.float32
) -> Rows:
    """drop_truncated: responses cut by the budget leave the loss and stay in the statistics (overlong filtering)."""
    pairs = [(index, group, row) for index, group in enumerate(groups) for row in group.rows]
    demonstration_B = torch.tensor(
        [place >= len(group.samples) for group in groups for place in range(len(group.rows))], dtype=torch.bool
    )
    width = max((len(sample.token_ids) for _, _, sample in pairs), default=0)
    written_BT = torch.zeros((len(pairs), width), dtype=torch.bool)
    logp_BT = torch.zeros((len(pairs), width), dtype=dtype)
    in_loss_B = torch.ones(len(pairs), dtype=torch.bool)
    for row, (_, _, sample) in enumerate(pairs):
        length = len(sample.token_ids)
        written_BT[row, :length] = True
        if not demonstration_B[row]:
            logp_BT[row, :length] = torch.tensor(sample.logprobs, dtype=dtype)
        in_loss_B[row] = not (drop_truncated and sample.finish_reason == "length")
    nan = float("nan")
    rewards = [nan if sample.reward is None else sample.reward for _, _, sample in pairs]
    return Rows(
        prompts=tuple(group.prompt_ids for _, group, _ in pairs),
        responses=tuple(sample.token_ids for _, _, sample in pairs),
        rewards_B=torch.tensor(rewards, dtype=torch.float64),
        groups_B=torch.tensor([index for index, _, _ in pairs]),
        mask_BT=written_BT & in_loss_B[:, None],
        sampled_BT=written_BT & ~demonstration_B[:, None],
        logp_rollout_BT=logp_BT,
        fresh_B=torch.tensor([group.version == version for _, group, _ in pairs]),
        greedy_B=torch.tensor([nan if group.greedy is None else group.greedy for _, group, _ in pairs]).double(),
        demonstration_B=demonstration_B,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """Model inputs of some rows. index_M: their places among the rows; width: response columns T."""

    index_M: Tensor
    input_ids_MS: Tensor
    attention_mask_MS: Tensor
    width: int

    @property
    def response_ids(self) -> Tensor:
        """[M, T]"""
        return self.input_ids_MS[:, -self.width :]

    @property
    def position_ids(self) -> Tensor:
        """[M, S]"""
        return (self.attention_mask_MS.cumsum(1) - 1).clamp(min=0)


def micro_batches(rows: Rows, index: Sequence[int], max_tokens: int) -> list[MicroBatch]:
    """Rows of similar length together; rows x columns stays within `max_tokens` (a longer row goes alone).

    A function of the lengths only, so that a resumed run forms the same micro-batches.
    """
    order = sorted(index, key=lambda row: (len(rows.responses[row]), len(rows.prompts[row]), row))
    parts: list[list[int]] = []
    prompt = response = 0
    for row in order:
        prompt_next = max(prompt, len(rows.prompts[row]))
        response_next = max(response, len(rows.responses[row]))
        if parts and (len(parts[-1]) + 1) * (prompt_next + response_next) <= max_tokens:
            parts[-1].append(row)
        else:
            parts.append([row])
            prompt_next, response_next = len(rows.prompts[row]), len(rows.responses[row])
        prompt, response = prompt_next, response_next
    return [_inputs(rows, part) for part in parts]


def _inputs(rows: Rows, part: Sequence[int]) -> MicroBatch:
    prompt = max(len(rows.prompts[row]) for row in part)
    width = max(len(rows.responses[row]) for row in part)
    ids_MS = torch.zeros((len(part), prompt + width), dtype=torch.long)
    mask_MS = torch.zeros((len(part), prompt + width), dtype=torch.long)
    for place, row in enumerate(part):
        start = prompt - len(rows.prompts[row])
        end = prompt + len(rows.responses[row])
        ids_MS[place, start:end] = torch.tensor(rows.prompts[row] + rows.responses[row])
        mask_MS[place, start:end] = 1
    return MicroBatch(index_M=torch.tensor(part), input_ids_MS=ids_MS, attention_mask_MS=mask_MS, width=width)


def split(groups: Sequence[Group], parts: int) -> list[list[Group]]:
    """Whole groups into at most `parts` minibatches of nearly equal size; none is empty."""
    parts = min(parts, len(groups))
    sizes = [len(groups) // parts + (place < len(groups) % parts) for place in range(parts)]
    found, start = [], 0
    for size in sizes:
        found.append(list(groups[start : start + size]))
        start += size
    return found
