"""CISPO: clipped importance weights, every token keeps its gradient (MiniMax-M1, arXiv 2506.13585)."""

from __future__ import annotations

from torch import Tensor

from trainer.step_tensors import Metrics, StepTensors, clamped_ratio, log_ratio, masked, need


def cispo(step: StepTensors, *, ratio_max: float = 1.2, ratio_min: float = 0.0) -> tuple[Tensor, Metrics]:
    """-sg(clip(r, ratio_min, ratio_max)) A log pi, r = new/old; ratio_max is the cap itself. [B, T]"""
    return _weighted(step, step.logp_old_BT, ratio_max, ratio_min)


def cispo_rollout(step: StepTensors, *, ratio_max: float = 5.0, ratio_min: float = 0.0) -> tuple[Tensor, Metrics]:
    """As `cispo` with r = new/engine (ScaleRL, arXiv 2510.13786). [B, T]"""
    return _weighted(step, need(step.logp_rollout_BT, "logp_rollout_BT"), ratio_max, ratio_min)


def _weighted(step: StepTensors, anchor_BT: Tensor, ratio_max: float, ratio_min: float) -> tuple[Tensor, Metrics]:
    ratio_BT = clamped_ratio(log_ratio(step, anchor_BT)).detach()
    metrics = {
        "clip/low_share": masked(ratio_BT < ratio_min, step.mask_BT).sum(),
        "clip/high_share": masked(ratio_BT > ratio_max, step.mask_BT).sum(),
    }
    weight_BT = ratio_BT.clamp(ratio_min, ratio_max)
    return -weight_BT * step.advantage_BT * masked(step.logp_new_BT, step.mask_BT), metrics
