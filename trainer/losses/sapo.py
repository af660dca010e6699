"""SAPO: a sigmoid gate in place of the clip, so that no token's gradient ends abruptly (arXiv 2511.20347)."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.step_tensors import Metrics, StepTensors, clamped_ratio, log_ratio, masked


def sapo(step: StepTensors, *, tau_pos: float = 1.0, tau_neg: float = 1.05) -> tuple[Tensor, Metrics]:
    """-A 4/tau sigmoid(tau (r - 1)), r = new/old, tau = tau_pos where A > 0, else tau_neg. [B, T]

    Its gradient is that of -A r times 4 s (1 - s), s the sigmoid: 1 on policy, less the further r is from 1. It falls
    faster where A < 0 (tau_neg > tau_pos), for pushing a token down lifts all others.
    """
    ratio_BT = clamped_ratio(log_ratio(step, step.logp_old_BT))
    tau_BT = torch.where(step.advantage_BT > 0, tau_pos, tau_neg).to(ratio_BT.dtype)
    sigmoid_BT = torch.sigmoid(tau_BT * (ratio_BT - 1))
    held_BT = 1 - 4 * sigmoid_BT.detach() * (1 - sigmoid_BT.detach())
    return -step.advantage_BT * 4 / tau_BT * sigmoid_BT, {"clip/held_back": masked(held_BT, step.mask_BT).sum()}
