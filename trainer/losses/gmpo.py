"""GMPO: geometric mean of token ratios that are clipped in log space (arXiv 2507.20673)."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.step_tensors import WIDE_LOG_RATIO_LIMIT, Metrics, StepTensors, log_ratio, masked, row_mean


def gmpo(step: StepTensors, *, log_clip_low: float = 0.4, log_clip_high: float = 0.4) -> tuple[Tensor, Metrics]:
    """-A exp(mean_t sign(A) min(sign(A) log r, sign(A) clip(log r, -log_clip_low, log_clip_high))). [B, T]

    One value a row, on each of its tokens; aggregate with seq_mean_token_mean.
    """
    log_ratio_BT = log_ratio(step, step.logp_old_BT).clamp(-WIDE_LOG_RATIO_LIMIT, WIDE_LOG_RATIO_LIMIT)
    sign_BT = torch.where(step.advantage_BT >= 0, 1.0, -1.0).to(log_ratio_BT.dtype)
    clipped_BT = log_ratio_BT.clamp(-log_clip_low, log_clip_high)
    worse_BT = sign_BT * torch.minimum(sign_BT * log_ratio_BT, sign_BT * clipped_BT)
    ratio_B = row_mean(worse_BT, step.mask_BT).exp()
    log_BT = log_ratio_BT.detach()
    metrics = {
        "clip/low_share": masked((step.advantage_BT < 0) & (log_BT < -log_clip_low), step.mask_BT).sum(),
        "clip/high_share": masked((step.advantage_BT > 0) & (log_BT > log_clip_high), step.mask_BT).sum(),
    }
    return -step.advantage_BT * ratio_B[:, None], metrics
