"""Kimi k1.5's mirror descent: the policy gradient and a quadratic pull to where the update began (arXiv 2501.12599)."""

from __future__ import annotations

from torch import Tensor

from trainer.step_tensors import Metrics, StepTensors, log_ratio, masked


def kimi(step: StepTensors, *, tau: float = 0.1) -> tuple[Tensor, Metrics]:
    """-A log pi + tau/2 (log pi/old)^2 of the whole sequence, spread over its tokens. [B, T]

    Aggregate with seq_mean_token_sum: the square is that of the summed log ratio.
    """
    distance_B = log_ratio(step, step.logp_old_BT).sum(1)
    penalty_B = tau / 2 * distance_B.square() / step.mask_BT.sum(1).clamp(min=1)
    loss_BT = -step.advantage_BT * masked(step.logp_new_BT, step.mask_BT) + penalty_B[:, None]
    return loss_BT, {"loss/pull": (masked(penalty_B[:, None].expand_as(loss_BT), step.mask_BT)).detach().sum()}
