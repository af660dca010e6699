"""LUFFY: demonstrations in the group, shaped so that unlikely tokens learn most (arXiv 2504.14945)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from trainer.losses.clip import clip, clip_metrics
from trainer.step_tensors import Metrics, StepTensors, clamped_ratio, log_ratio, masked, need


def luffy(
    step: StepTensors, *, clip_low: float = 0.2, clip_high: float = 0.2, gamma: float = 0.1
) -> tuple[Tensor, Metrics]:
    """Own rows: the clipped surrogate. Demonstrations: -A p / (p + gamma), without ratio or clip. [B, T]"""
    demonstration_B = need(step.demonstration_B, "demonstration_B")
    own_BT, _ = clip(step, clip_low=clip_low, clip_high=clip_high)
    own = replace(step, mask_BT=step.sampled)
    metrics = clip_metrics(own, clamped_ratio(log_ratio(own, own.logp_old_BT)), clip_low=clip_low, clip_high=clip_high)
    prob_BT = masked(step.logp_new_BT, step.mask_BT).exp()
    shaped_BT = -step.advantage_BT * prob_BT / (prob_BT + gamma)
    return torch.where(demonstration_B[:, None], shaped_BT, own_BT), metrics
