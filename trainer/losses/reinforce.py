"""REINFORCE: no ratio, no clip. Williams 1992; with other advantages RLOO, ReMax and MaxRL."""

from __future__ import annotations

from torch import Tensor

from trainer.step_tensors import Metrics, StepTensors, masked


def reinforce(step: StepTensors) -> tuple[Tensor, Metrics]:
    """-A log pi. [B, T]"""
    return -step.advantage_BT * masked(step.logp_new_BT, step.mask_BT), {}
