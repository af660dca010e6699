"""What one optimiser step is computed from.

Shape suffixes: B rows (responses), T response positions, P prompts (groups). All log-probabilities are natural
logarithms of the sampled token under the sampling distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

LOG_RATIO_LIMIT = 20.0
"""Log ratios are clamped to +-20 before exp: exp(20) is finite in float32 and far beyond every clip."""

WIDE_LOG_RATIO_LIMIT = 80.0
"""For the losses whose papers do not clamp (GMPO, KL-Cov, prime-rl): exp(80) is still finite in float32."""

Metrics = dict[str, Tensor]
"""Sums over loss tokens (no gradient); the caller divides by the tokens of the whole optimiser step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTensors:
    """Rows of one optimiser step, or a slice of them; everything but `logp_new_BT` and `entropy_BT` has no gradient.

    logp_new_BT: under the policy being trained.  logp_old_BT: under the weights at the start of this update.
    logp_rollout_BT: as the engine returned them.  logp_ref_BT: under the frozen reference.
    mask_BT: True where the token is in the loss (the policy's own, or a demonstration's) and every array that is read
        is finite.
    advantage_BT: 0 outside the mask.  weight_B: what one loss token of the row counts (see losses/reduce.py).
    correction_BT: importance weight between trainer and engine.  kept_BT: tokens whose policy loss counts at all.
    selected_BT: tokens a whole-step rule picked (Clip-Cov, KL-Cov).  demonstration_B: rows written by somebody else.
    """

    logp_new_BT: Tensor
    logp_old_BT: Tensor
    mask_BT: Tensor
    advantage_BT: Tensor
    weight_B: Tensor
    logp_rollout_BT: Tensor | None = None
    logp_ref_BT: Tensor | None = None
    entropy_BT: Tensor | None = None
    correction_BT: Tensor | None = None
    kept_BT: Tensor | None = None
    selected_BT: Tensor | None = None
    demonstration_B: Tensor | None = None

    @property
    def sampled(self) -> Tensor:
        """Loss tokens that the policy sampled. [B, T]"""
        return self.mask_BT if self.demonstration_B is None else self.mask_BT & ~self.demonstration_B[:, None]

    def rows(self, index_M: Tensor, logp_new_MT: Tensor, entropy_MT: Tensor | None) -> StepTensors:
        """The rows `index_M` with freshly computed log-probabilities, cut to the width of `logp_new_MT`."""
        width = logp_new_MT.shape[1]
        values = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                value = value[index_M] if value.ndim == 1 else value[index_M, :width]
            values[field.name] = value
        return StepTensors(**(values | {"logp_new_BT": logp_new_MT, "entropy_BT": entropy_MT}))


def log_ratio(step: StepTensors, anchor_BT: Tensor) -> Tensor:
    """new - anchor inside the mask, 0 outside (never inf or nan), not yet clamped."""
    return masked(step.logp_new_BT, step.mask_BT) - masked(anchor_BT, step.mask_BT)


def clamped_ratio(log_ratio_BT: Tensor, limit: float = LOG_RATIO_LIMIT) -> Tensor:
    return log_ratio_BT.clamp(-limit, limit).exp()


def masked(values: Tensor, mask: Tensor) -> Tensor:
    """Selects, never multiplies: 0 * inf is nan."""
    return torch.where(mask, values, torch.zeros((), dtype=values.dtype, device=values.device))


def row_mean(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Mean over the masked tokens of each row, 0 for an empty row. [B]"""
    return masked(values_BT, mask_BT).sum(1) / mask_BT.sum(1).clamp(min=1)


def need(values: Tensor | None, name: str) -> Tensor:
    if values is None:
        raise ValueError(f"this loss reads {name}, which the step does not hold")
    return values
