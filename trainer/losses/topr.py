"""TOPR: wrong sequences are weighted by their truncated importance ratio (arXiv 2503.14286)."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.step_tensors import Metrics, StepTensors, clamped_ratio, log_ratio, masked, need


def topr(step: StepTensors, *, weight_min: float = 0.0, weight_max: float = 1.0) -> tuple[Tensor, Metrics]:
    """-w A log pi; w = 1 for A >= 0, else sg(clip(prod_t pi/mu, weight_min, weight_max)). Rewards are +-1. [B, T]"""
    log_ratio_BT = log_ratio(step, need(step.logp_rollout_BT, "logp_rollout_BT"))
    product_B = clamped_ratio(log_ratio_BT.sum(1)).detach().clamp(weight_min, weight_max)
    weight_BT = torch.where(step.advantage_BT < 0, product_B[:, None], torch.ones_like(product_B)[:, None])
    return -weight_BT * step.advantage_BT * masked(step.logp_new_BT, step.mask_BT), {}
