"""Importance weights between trainer and engine: old (recomputed by the trainer) against mu (returned by the engine).

Each function maps log-probabilities and the loss mask to weights [B, T] without gradient, 0 outside the mask. A weight
of 0 removes a token's policy loss but not its share of the denominator (as AReaL does): dropping it there would
inflate the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from trainer.step_tensors import clamped_ratio, masked, row_mean


def _difference(old_BT: Tensor, rollout_BT: Tensor, mask_BT: Tensor) -> Tensor:
    return masked(old_BT, mask_BT) - masked(rollout_BT, mask_BT)


def tis(old_BT: Tensor, rollout_BT: Tensor, mask_BT: Tensor, *, high: float = 2.0) -> Tensor:
    """min(old/mu, high), token by token (truncated importance sampling; decoupled PPO, 2505.24298, with high 5)."""
    return masked(clamped_ratio(_difference(old_BT, rollout_BT, mask_BT)).clamp(max=high), mask_BT)


def tis_sequence(old_BT: Tensor, rollout_BT: Tensor, mask_BT: Tensor, *, high: float = 2.0) -> Tensor:
    """min(prod_t old/mu, high) for the whole row."""
    ratio_B = clamped_ratio(_difference(old_BT, rollout_BT, mask_BT).sum(1)).clamp(max=high)
    return masked(ratio_B[:, None].expand_as(old_BT), mask_BT)


def icepop(old_BT: Tensor, rollout_BT: Tensor, mask_BT: Tensor, *, low: float = 0.5, high: float = 5.0) -> Tensor:
    """The token ratio inside [low, high], else 0 (arXiv 2510.18855)."""
    ratio_BT = clamped_ratio(_difference(old_BT, rollout_BT, mask_BT))
    return masked(ratio_BT, mask_BT & (ratio_BT >= low) & (ratio_BT <= high))


def mis_sequence(old_BT: Tensor, rollout_BT: Tensor, mask_BT: Tensor, *, high: float = 3.0) -> Tensor:
    """The row's product ratio when at most high, else 0 for the whole row (TRL's `sequence_mask`)."""
    ratio_B = clamped_ratio(_difference(old_BT, rollout_BT, mask_BT).sum(1))
    return masked(ratio_B[:, None].expand_as(old_BT), mask_BT & (ratio_B <= high)[:, None])


def geo_mask_tis(old_BT: Tensor, rollout_BT: Tensor, mask_BT: Tensor, *, low: float = 0.5, high: float = 5.0) -> Tensor:
    """Token ratios of the rows whose geometric mean ratio is in [low, high], 0 elsewhere (OpenRLHF)."""
    difference_BT = _difference(old_BT, rollout_BT, mask_BT)
    mean_B = clamped_ratio(row_mean(difference_BT, mask_BT))
    kept_B = (mean_B >= low) & (mean_B <= high)
    return masked(clamped_ratio(difference_BT), mask_BT & kept_B[:, None])


CORRECTIONS: dict[str, Callable[..., Tensor]] = {
    "tis": tis,
    "tis_sequence": tis_sequence,
    "icepop": icepop,
    "mis_sequence": mis_sequence,
    "geo_mask_tis": geo_mask_tis,
}


def effective_sample_size(weight_BT: Tensor, mask_BT: Tensor) -> float:
    """(sum w)^2 / (N sum w^2) over the loss tokens: 1 when all weights agree, 0 when there are none."""
    weight_BT = masked(weight_BT, mask_BT)
    denominator = float(mask_BT.sum() * weight_BT.square().sum())
    return float(weight_BT.sum().square()) / denominator if denominator > 0 else 0.0


class Mismatch(NamedTuple):
    """Trainer against engine on the same tokens, d = old - mu.

    mean, most: of |d|.  k3: mean of exp(d) - d - 1, which estimates KL(engine || trainer) in nats a token.
    effective: effective sample size of the untruncated weights exp(d), as a share of the tokens.
    """

    mean: float
    most: float
    k3: float
    effective: float


def mismatch(old_BT: Tensor, rollout_BT: Tensor, mask_BT: Tensor) -> Mismatch:
    """Over the tokens of the mask where both are finite; all zero, and one effective sample each, without tokens."""
    mask_BT = mask_BT & torch.isfinite(old_BT) & torch.isfinite(rollout_BT)
    if not bool(mask_BT.any()):
        return Mismatch(0.0, 0.0, 0.0, 1.0)
    gaps = (old_BT - rollout_BT)[mask_BT]
    ratios = clamped_ratio(gaps)
    return Mismatch(
        mean=float(gaps.abs().mean()),
        most=float(gaps.abs().max()),
        k3=float((ratios - gaps - 1).mean()),
        effective=effective_sample_size(ratios, torch.ones_like(ratios, dtype=torch.bool)),
    )
