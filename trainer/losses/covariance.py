"""Clip-Cov and KL-Cov: entropy is kept by holding back the tokens of high covariance (arXiv 2505.22617)."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.losses.clip import clip
from trainer.step_tensors import WIDE_LOG_RATIO_LIMIT, Metrics, StepTensors, clamped_ratio, log_ratio, masked, need


def covariance(step: StepTensors) -> Tensor:
    """(A - mean A)(log pi - mean log pi) over the loss tokens of the whole step, 0 elsewhere. [B, T]"""
    count = step.mask_BT.sum().clamp(min=1)
    advantage_BT = masked(step.advantage_BT, step.mask_BT)
    new_BT = masked(step.logp_new_BT.detach(), step.mask_BT)
    product_BT = (advantage_BT - advantage_BT.sum() / count) * (new_BT - new_BT.sum() / count)
    return masked(product_BT, step.mask_BT)


def select_clip_cov(
    step: StepTensors,
    generator: torch.Generator | None,
    *,
    ratio: float = 2e-4,
    band_low: float = 1.0,
    band_high: float = 5.0,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
) -> Tensor:
    """max(1, ratio N) random tokens of the band that the clip does not stop; without a generator the first ones."""
    covariance_BT = covariance(step)
    ratio_BT = clamped_ratio(log_ratio(step, step.logp_old_BT)).detach()
    free_BT = ~(
        ((step.advantage_BT < 0) & (ratio_BT < 1 - clip_low)) | ((step.advantage_BT > 0) & (ratio_BT > 1 + clip_high))
    )
    candidates = (step.mask_BT & free_BT & (covariance_BT > band_low) & (covariance_BT < band_high)).flatten().nonzero()
    if generator is not None:
        candidates = candidates[torch.randperm(len(candidates), generator=generator)]
    chosen = candidates[: max(1, int(ratio * int(step.mask_BT.sum())))]
    selected = torch.zeros_like(step.mask_BT).flatten()
    selected[chosen] = True
    return selected.view_as(step.mask_BT)


def clip_cov(
    step: StepTensors,
    *,
    ratio: float = 2e-4,
    band_low: float = 1.0,
    band_high: float = 5.0,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
) -> tuple[Tensor, Metrics]:
    """The clipped surrogate, 0 on the selected tokens. [B, T]"""
    del ratio, band_low, band_high  # read by select_clip_cov
    loss_BT, metrics = clip(step, clip_low=clip_low, clip_high=clip_high)
    selected_BT = need(step.selected_BT, "selected_BT")
    return masked(loss_BT, ~selected_BT), metrics | {"loss/selected_share": selected_BT.sum()}


def select_kl_cov(
    step: StepTensors, _generator: torch.Generator | None, *, ratio: float = 2e-4, kl_coef: float = 1.0
) -> Tensor:
    """The max(1, ratio N) loss tokens of highest covariance."""
    del kl_coef
    tokens = step.mask_BT.flatten().nonzero().flatten()
    count = min(max(1, int(ratio * len(tokens))), len(tokens))
    selected = torch.zeros_like(step.mask_BT).flatten()
    selected[tokens[covariance(step).flatten()[tokens].topk(count).indices]] = True
    return selected.view_as(step.mask_BT)


def kl_cov(step: StepTensors, *, ratio: float = 2e-4, kl_coef: float = 1.0) -> tuple[Tensor, Metrics]:
    """-A r on every token, plus kl_coef |new - old| on the selected ones; no clip. [B, T]"""
    del ratio
    log_ratio_BT = log_ratio(step, step.logp_old_BT)
    selected_BT = need(step.selected_BT, "selected_BT")
    penalty_BT = masked(kl_coef * log_ratio_BT.abs(), selected_BT)
    surrogate_BT = -step.advantage_BT * clamped_ratio(log_ratio_BT, WIDE_LOG_RATIO_LIMIT)
    return surrogate_BT + penalty_BT, {"loss/selected_share": selected_BT.sum()}
