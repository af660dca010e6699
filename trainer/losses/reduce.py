"""Aggregation of a [B, T] loss matrix, with one global denominator per optimiser step.

All five aggregations weigh every loss token of a row alike, so each is one weight a row, computed once over the whole
optimiser step. A micro-batch adds `reduce` of its own rows; nothing is divided again by accumulation steps or ranks.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trainer.step_tensors import masked


def _tokens(mask_BT: Tensor) -> Tensor:
    return mask_BT.sum(1).to(torch.float64)


def token_mean(mask_BT: Tensor, _groups_B: Tensor, _present_B: Tensor, _max_length: int | None) -> Tensor:
    """1 / N, N = loss tokens of the step. DAPO as implemented, REINFORCE++, LitePPO, CISPO."""
    tokens_B = _tokens(mask_BT)
    return torch.ones_like(tokens_B) / tokens_B.sum().clamp(min=1)


def seq_mean_token_mean(mask_BT: Tensor, _groups_B: Tensor, _present_B: Tensor, _max_length: int | None) -> Tensor:
    """1 / (S n_i), S = rows with a loss token. GRPO, GSPO."""
    tokens_B = _tokens(mask_BT)
    return 1 / ((tokens_B > 0).sum().clamp(min=1) * tokens_B.clamp(min=1))


def seq_mean_token_sum(mask_BT: Tensor, _groups_B: Tensor, _present_B: Tensor, _max_length: int | None) -> Tensor:
    """1 / S: the sequence log-likelihood. REINFORCE, RLOO, ReMax, MaxRL, TOPR."""
    tokens_B = _tokens(mask_BT)
    return torch.ones_like(tokens_B) / (tokens_B > 0).sum().clamp(min=1)


def constant(mask_BT: Tensor, _groups_B: Tensor, present_B: Tensor, max_length: int | None) -> Tensor:
    """1 / (B L_max); B leaves out absent rows, L_max is a number of the recipe, never a tensor's width. Dr. GRPO."""
    if max_length is None:
        raise ValueError("aggregation 'constant' needs max_length")
    tokens_B = _tokens(mask_BT)
    return torch.ones_like(tokens_B) / (present_B.sum().clamp(min=1) * max_length)


def prompt_mean(mask_BT: Tensor, groups_B: Tensor, _present_B: Tensor, _max_length: int | None) -> Tensor:
    """1 / (P n_g), n_g = loss tokens of the group, P = groups with a loss token. ScaleRL, DAPO's formula."""
    tokens_B = _tokens(mask_BT)
    _, group_B = torch.unique(groups_B, return_inverse=True)
    tokens_P = torch.zeros(int(group_B.max()) + 1 if len(group_B) else 0, dtype=tokens_B.dtype)
    tokens_P = tokens_P.to(tokens_B.device).index_add_(0, group_B, tokens_B)
    return 1 / ((tokens_P > 0).sum().clamp(min=1) * tokens_P.clamp(min=1)[group_B])


AGGREGATIONS: dict[str, Callable[[Tensor, Tensor, Tensor, int | None], Tensor]] = {
    "token_mean": token_mean,
    "seq_mean_token_mean": seq_mean_token_mean,
    "seq_mean_token_sum": seq_mean_token_sum,
    "constant": constant,
    "prompt_mean": prompt_mean,
}


def reduce(loss_BT: Tensor, mask_BT: Tensor, weight_B: Tensor) -> Tensor:
    """Sum over the masked tokens of loss times row weight: the rows' share of the whole step's loss. Scalar."""
    return (masked(loss_BT, mask_BT) * weight_B.to(loss_BT.dtype)[:, None]).sum()
