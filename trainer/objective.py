"""One algorithm: advantage, loss, aggregation, and where it has them correction, KL and entropy terms.

`prepare` computes everything that needs the whole optimiser step, once and without gradient; after that the loss is
separable: `loss` of the slices of a step adds up to the loss of the step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from trainer.advantages import ADVANTAGES, Scores, varied
from trainer.corrections import CORRECTIONS
from trainer.losses import LOSSES
from trainer.losses.kl import KL
from trainer.losses.reduce import AGGREGATIONS, reduce
from trainer.step_tensors import Metrics, StepTensors, log_ratio, masked, need

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Names are keys of ADVANTAGES, LOSSES, AGGREGATIONS, CORRECTIONS and KL; options go to the function of that name.

    max_length: L_max of the `constant` aggregation.  drop_zero_variance: rows of groups without variance are absent.
    high_entropy_share: only this share of the loss tokens, of highest entropy, counts; denominators stay (2506.01939).
    """

    advantage: str = "group_z"
    advantage_options: Options = field(default_factory=dict)
    loss: str = "clip"
    loss_options: Options = field(default_factory=dict)
    aggregation: str = "token_mean"
    max_length: int | None = None
    correction: str | None = None
    correction_options: Options = field(default_factory=dict)
    kl: str = "k3"
    kl_coef: float = 0.0
    entropy_coef: float = 0.0
    high_entropy_share: float | None = None
    drop_zero_variance: bool = False

    @property
    def reads(self) -> frozenset[str]:
        """Log-probability arrays that must be finite on a loss token."""
        reads = LOSSES[self.loss].reads | ADVANTAGES[self.advantage].reads
        if self.correction is not None:
            reads |= {"old", "rollout"}
        if self.kl_coef != 0:
            reads |= {"ref"}
        if self.advantage_options.get("kl_coef") == 0:
            reads -= {"ref"}
        return reads

    @property
    def needs_reference(self) -> bool:
        return "ref" in self.reads

    @property
    def needs_new_before(self) -> bool:
        """A whole-step rule reads the new log-probabilities, so the step needs a pass without gradient first."""
        return LOSSES[self.loss].select is not None

    @property
    def needs_old_before(self) -> bool:
        """Something over the whole step reads the log-probabilities of before it, or its entropies; where nothing
        does, only the loss reads the old ones, each row its own."""
        whole_step = self.needs_new_before or self.correction is not None or self.high_entropy_share is not None
        return whole_step or self.needs_reference or "old" in ADVANTAGES[self.advantage].reads

    @property
    def skips_zero_rows(self) -> bool:
        """Rows whose advantages are all 0 have no loss and no gradient, so leaving them out is exact."""
        return LOSSES[self.loss].zero_at_zero and self.kl_coef == 0 and self.entropy_coef == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRows:
    """What is known of a whole optimiser step before its first micro-batch; no gradient anywhere.

    rewards_B: nan = absent.  mask_BT: tokens the policy generated, or a demonstration's, that are in the loss.
    logp_new_BT: only where a whole-step rule reads it; the old ones stand in otherwise.
    """

    rewards_B: Tensor
    groups_B: Tensor
    mask_BT: Tensor
    logp_old_BT: Tensor
    logp_rollout_BT: Tensor | None = None
    logp_ref_BT: Tensor | None = None
    logp_new_BT: Tensor | None = None
    entropy_BT: Tensor | None = None
    greedy_B: Tensor | None = None
    demonstration_B: Tensor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """advantages: [B] or [B, T] as the estimator gives them.  present_B: rows that take part at all."""

    step: StepTensors
    advantages: Tensor
    present_B: Tensor
    nonfinite_tokens: int


def prepare(objective: Objective, rows: StepRows, generator: torch.Generator | None = None) -> Prepared:
    """Advantages, masks, denominators, corrections and selections of one whole optimiser step."""
    rewards_B = rows.rewards_B
    if objective.drop_zero_variance:
        keep_B = varied(Scores(rewards_B=rewards_B, groups_B=rows.groups_B, mask_BT=rows.mask_BT))
        rewards_B = torch.where(keep_B, rewards_B, torch.nan)
    present_B = rewards_B.isfinite()
    wanted_BT = rows.mask_BT.bool() & present_B[:, None]
    mask_BT = wanted_BT & _finite(objective, rows)
    scores = Scores(
        rewards_B=rewards_B,
        groups_B=rows.groups_B,
        mask_BT=mask_BT,
        logp_old_BT=rows.logp_old_BT,
        logp_ref_BT=rows.logp_ref_BT,
        greedy_B=rows.greedy_B,
    )
    advantages = ADVANTAGES[objective.advantage].estimate(scores, **objective.advantage_options)
    weight_B = AGGREGATIONS[objective.aggregation](mask_BT, rows.groups_B, present_B, objective.max_length)
    spread_BT = advantages if advantages.ndim == 2 else advantages[:, None].expand_as(mask_BT)
    step = StepTensors(
        logp_new_BT=rows.logp_old_BT if rows.logp_new_BT is None else rows.logp_new_BT,
        logp_old_BT=rows.logp_old_BT,
        mask_BT=mask_BT,
        advantage_BT=masked(spread_BT, mask_BT).to(rows.logp_old_BT.dtype),
        weight_B=weight_B,
        logp_rollout_BT=rows.logp_rollout_BT,
        logp_ref_BT=rows.logp_ref_BT,
        entropy_BT=rows.entropy_BT,
        demonstration_B=rows.demonstration_B if LOSSES[objective.loss].demonstrations else None,
    )
    step = _whole_step_rules(objective, step, generator)
    dropped = int((wanted_BT & ~mask_BT).sum())
    return Prepared(step=step, advantages=advantages, present_B=present_B, nonfinite_tokens=dropped)


def _finite(objective: Objective, rows: StepRows) -> Tensor:
    finite_BT = torch.ones_like(rows.mask_BT, dtype=torch.bool)
    arrays = {"old": rows.logp_old_BT, "rollout": rows.logp_rollout_BT, "ref": rows.logp_ref_BT}
    for name in objective.reads:
        finite_BT &= need(arrays[name], f"logp_{name}_BT").isfinite()
    return finite_BT if rows.logp_new_BT is None else finite_BT & rows.logp_new_BT.isfinite()


def _whole_step_rules(objective: Objective, step: StepTensors, generator: torch.Generator | None) -> StepTensors:
    changes: dict[str, Tensor] = {}
    others_BT = step.mask_BT & ~step.sampled
    if objective.correction is not None:
        rollout_BT = need(step.logp_rollout_BT, "logp_rollout_BT")
        correct = CORRECTIONS[objective.correction]
        weight_BT = correct(step.logp_old_BT, rollout_BT, step.sampled, **objective.correction_options)
        changes["correction_BT"] = weight_BT.masked_fill(others_BT, 1.0)  # no engine sampled a demonstration
    if objective.high_entropy_share is not None:
        entropy_BT = need(step.entropy_BT, "entropy_BT")
        changes["kept_BT"] = high_entropy(entropy_BT, step.sampled, objective.high_entropy_share) | others_BT
    select = LOSSES[objective.loss].select
    if select is not None:
        changes["selected_BT"] = select(step, generator, **objective.loss_options)
    return StepTensors(**({name: getattr(step, name) for name in StepTensors.__slots__} | changes))


def high_entropy(entropy_BT: Tensor, mask_BT: Tensor, share: float) -> Tensor:
    """Loss tokens whose entropy is at or above the step's (1 - share) quantile."""
    values = entropy_BT[mask_BT]
    if len(values) == 0:
        return mask_BT
    return mask_BT & (entropy_BT >= torch.quantile(values, 1 - share))


def loss(objective: Objective, step: StepTensors) -> tuple[Tensor, Metrics]:
    """This slice's share of the whole step's loss, and sums over its loss tokens."""
    matrix_BT, metrics = LOSSES[objective.loss].matrix(step, **objective.loss_options)
    if step.correction_BT is not None:
        matrix_BT = matrix_BT * step.correction_BT
    if step.kept_BT is not None:
        matrix_BT = masked(matrix_BT, step.kept_BT)
    metrics["loss/policy"] = reduce(matrix_BT.detach(), step.mask_BT, step.weight_B)
    metrics["kl/old_new"] = -log_ratio(step, step.logp_old_BT).detach().sum()
    if objective.kl_coef != 0:
        kl_BT = KL[objective.kl](log_ratio(step, need(step.logp_ref_BT, "logp_ref_BT")))
        metrics["kl/reference"] = kl_BT.detach().sum()
        matrix_BT = matrix_BT + objective.kl_coef * kl_BT
    if objective.entropy_coef != 0:
        matrix_BT = matrix_BT - objective.entropy_coef * masked(need(step.entropy_BT, "entropy_BT"), step.sampled)
    return reduce(matrix_BT, step.mask_BT, step.weight_B), metrics


def check_options(function: Callable[..., Any], options: Options, positional: int) -> str | None:
    """What is wrong with the options of a function, or None; its first parameters are not options."""
    known = list(inspect.signature(function).parameters)[positional:]
    unknown = sorted(set(options) - set(known))
    if not unknown:
        return _missing(function, options, positional)
    return f"unknown option '{unknown[0]}'; known options: {', '.join(known) or 'none'}"


def _missing(function: Callable[..., Any], options: Options, positional: int) -> str | None:
    parameters = list(inspect.signature(function).parameters.values())[positional:]
    missing = [item.name for item in parameters if item.default is item.empty and item.name not in options]
    return f"needs the option '{missing[0]}'" if missing else None
