"""GSPO: the ratio of whole sequences (arXiv 2507.18071)."""

from __future__ import annotations

from torch import Tensor

from trainer.losses.clip import surrogate
from trainer.step_tensors import Metrics, StepTensors, clamped_ratio, log_ratio, masked, row_mean


def gspo(step: StepTensors, *, clip_low: float = 3e-4, clip_high: float = 4e-4) -> tuple[Tensor, Metrics]:
    """The clipped surrogate in s_i = exp(mean_t (new - old)); one value a row, on each of its tokens. [B, T]"""
    ratio_B = clamped_ratio(row_mean(log_ratio(step, step.logp_old_BT), step.mask_BT))
    return surrogate(step, ratio_B[:, None].expand_as(step.mask_BT), clip_low=clip_low, clip_high=clip_high)


def gspo_token(step: StepTensors, *, clip_low: float = 3e-4, clip_high: float = 4e-4) -> tuple[Tensor, Metrics]:
    """GSPO-token: sg(s_i) pi / sg(pi), for advantages that differ between the tokens of a row. [B, T]"""
    ratio_B = clamped_ratio(row_mean(log_ratio(step, step.logp_old_BT), step.mask_BT)).detach()
    new_BT = masked(step.logp_new_BT, step.mask_BT)
    ratio_BT = ratio_B[:, None] * (new_BT - new_BT.detach()).exp()
    return surrogate(step, ratio_BT, clip_low=clip_low, clip_high=clip_high)
