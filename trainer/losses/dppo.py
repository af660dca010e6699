"""DPPO: tokens are masked by the divergence between trainer and engine, not by the ratio (arXiv 2602.04879)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from trainer.step_tensors import WIDE_LOG_RATIO_LIMIT, Metrics, StepTensors, clamped_ratio, log_ratio, masked, need


def binary_tv(old_prob: Tensor, new_prob: Tensor) -> Tensor:
    """Total variation between the two-way distributions {token, any other token}."""
    return (new_prob - old_prob).abs()


def binary_kl(old_prob: Tensor, new_prob: Tensor) -> Tensor:
    """KL(old || new) between the two-way distributions {token, any other token}."""
    xlogy = torch.special.xlogy  # 0 log 0 = 0: a token of probability 1 leaves nothing for the others
    same = xlogy(old_prob, old_prob) - xlogy(old_prob, new_prob)
    return same + xlogy(1 - old_prob, 1 - old_prob) - xlogy(1 - old_prob, 1 - new_prob)


def bucketed(old_probs: Tensor, new_probs: Tensor) -> tuple[Tensor, Tensor]:
    """(total variation, KL(old || new)) over the given tokens, e.g. the engine's top K and the sampled one, and one
    bucket for all other tokens."""
    old = torch.cat([old_probs, 1 - old_probs.sum(-1, keepdim=True)], -1)
    new = torch.cat([new_probs, 1 - new_probs.sum(-1, keepdim=True)], -1)
    return (new - old).abs().sum(-1) / 2, torch.special.xlogy(old, old / new).sum(-1)


def _outside(step: StepTensors, divergence: str, delta_low: float, delta_high: float) -> tuple[Tensor, Tensor]:
    """Tokens that moved too far down (A < 0) and too far up (A > 0)."""
    rollout_BT = masked(need(step.logp_rollout_BT, "logp_rollout_BT"), step.mask_BT)
    new_BT = masked(step.logp_new_BT.detach(), step.mask_BT)
    measure = binary_tv if divergence == "tv" else binary_kl
    distance_BT = measure(rollout_BT.exp(), new_BT.exp())
    low_BT = (step.advantage_BT < 0) & (distance_BT > delta_low) & (new_BT < rollout_BT)
    high_BT = (step.advantage_BT > 0) & (distance_BT > delta_high) & (new_BT > rollout_BT)
    return masked(low_BT, step.mask_BT), masked(high_BT, step.mask_BT)


def dppo(
    step: StepTensors,
    *,
    divergence: Literal["tv", "kl"] = "tv",
    delta_low: float = 0.15,
    delta_high: float = 0.15,
    ratio_max: float = 20.0,
) -> tuple[Tensor, Metrics]:
    """-A sg(min(pi/mu, ratio_max)) log pi on the tokens inside the trust region, 0 outside. [B, T]"""
    low_BT, high_BT = _outside(step, divergence, delta_low, delta_high)
    ratio_BT = clamped_ratio(log_ratio(step, need(step.logp_rollout_BT, "logp_rollout_BT"))).detach()
    loss_BT = -step.advantage_BT * ratio_BT.clamp(max=ratio_max) * masked(step.logp_new_BT, step.mask_BT)
    metrics = {"clip/low_share": low_BT.sum(), "clip/high_share": high_BT.sum()}
    return masked(loss_BT, ~(low_BT | high_BT)), metrics


def prime_rl(
    step: StepTensors, *, delta_low: float = 0.2, delta_high: float = 0.2, kl_tau: float = 1e-3
) -> tuple[Tensor, Metrics]:
    """prime-rl's default: -A pi/mu inside the trust region, plus kl_tau (new - mu)^2 on every token. [B, T]"""
    low_BT, high_BT = _outside(step, "tv", delta_low, delta_high)
    log_ratio_BT = log_ratio(step, need(step.logp_rollout_BT, "logp_rollout_BT"))
    policy_BT = masked(-step.advantage_BT * clamped_ratio(log_ratio_BT, WIDE_LOG_RATIO_LIMIT), ~(low_BT | high_BT))
    metrics = {"clip/low_share": low_BT.sum(), "clip/high_share": high_BT.sum()}
    return policy_BT + kl_tau * log_ratio_BT.square(), metrics
