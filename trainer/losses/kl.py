"""Divergence from the reference, estimated on sampled tokens (Schulman 2020)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from trainer.step_tensors import LOG_RATIO_LIMIT


def k1(log_ratio_BT: Tensor) -> Tensor:
    """d = new - ref. Unbiased; as a loss its gradient has zero mean, so it belongs in the reward."""
    return log_ratio_BT


def k2(log_ratio_BT: Tensor) -> Tensor:
    """d^2 / 2. As a loss, on policy, its gradient is that of the reverse KL."""
    return log_ratio_BT.square() / 2


def k3(log_ratio_BT: Tensor) -> Tensor:
    """exp(-d) + d - 1, never negative; d is clamped before exp, so that value and gradient stay finite."""
    d_BT = log_ratio_BT.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return (-d_BT).exp() + d_BT - 1


KL: dict[str, Callable[[Tensor], Tensor]] = {"k1": k1, "k2": k2, "k3": k3}
