"""PPO's clipped surrogate (arXiv 1707.06347), with separate bounds (DAPO, 2503.14476) and dual clip (1912.09729)."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.step_tensors import Metrics, StepTensors, clamped_ratio, log_ratio, masked


def clip(
    step: StepTensors, *, clip_low: float = 0.2, clip_high: float = 0.2, dual_clip: float | None = None
) -> tuple[Tensor, Metrics]:
    """max(-A r, -A clip(r, 1 - clip_low, 1 + clip_high)); for A < 0 at most -A dual_clip. [B, T]"""
    ratio_BT = clamped_ratio(log_ratio(step, step.logp_old_BT))
    return surrogate(step, ratio_BT, clip_low=clip_low, clip_high=clip_high, dual_clip=dual_clip)


def surrogate(
    step: StepTensors, ratio_BT: Tensor, *, clip_low: float, clip_high: float, dual_clip: float | None = None
) -> tuple[Tensor, Metrics]:
    """The clipped surrogate for any ratio (token or sequence)."""
    plain_BT = -step.advantage_BT * ratio_BT
    clipped_BT = -step.advantage_BT * ratio_BT.clamp(1 - clip_low, 1 + clip_high)
    loss_BT = torch.maximum(plain_BT, clipped_BT)
    metrics = clip_metrics(step, ratio_BT, clip_low=clip_low, clip_high=clip_high)
    if dual_clip is not None:
        bound_BT = -step.advantage_BT * dual_clip
        loss_BT = torch.where(step.advantage_BT < 0, torch.minimum(loss_BT, bound_BT), loss_BT)
    return loss_BT, metrics


def clip_metrics(step: StepTensors, ratio_BT: Tensor, *, clip_low: float, clip_high: float) -> Metrics:
    """Tokens whose gradient the clip stops: below for A < 0, above for A > 0."""
    low_BT = (step.advantage_BT < 0) & (ratio_BT.detach() < 1 - clip_low)
    high_BT = (step.advantage_BT > 0) & (ratio_BT.detach() > 1 + clip_high)
    return {
        "clip/low_share": masked(low_BT, step.mask_BT).sum(),
        "clip/high_share": masked(high_BT, step.mask_BT).sum(),
    }
