"""One batch of groups -> a few optimiser steps, each with denominators of its own counted before its first backward."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from transformers import PreTrainedModel

from trainer.advantages import ADVANTAGES
from trainer.batch import MicroBatch, Rows, micro_batches, rows_of, split
from trainer.corrections import effective_sample_size, mismatch
from trainer.groups import RunStoppedError
from trainer.objective import Objective, Prepared, StepRows, loss, prepare
from trainer.packing import PackedBatch, packed_batches
from trainer.policy import Entropy, Policy
from trainer.ranks import Ranks
from trainer.rollout_group import Group
from trainer.sections import EntropyTerm
from trainer.step_tensors import Metrics, StepTensors, masked, row_mean

MAX_NONFINITE_SHARE = 1e-3
"""Of the loss tokens of an optimiser step; above it the arithmetic is broken and the run stops."""

RATIO_TOLERANCE = 1e-3
"""Of |new - old| before the first update of a process: the same weights must give the same log-probabilities."""


@dataclass(slots=True, kw_only=True)
class Totals:
    """What an update adds up over its optimiser steps. fresh: some row was sampled by the very version it began with.
    demonstrations: mean log-probability of their tokens before it, by the row."""

    sums: dict[str, float] = field(default_factory=dict)
    tokens: int = 0
    nonfinite: int = 0
    steps: int = 0
    norm: float = 0.0
    mismatch_mean: float = 0.0
    mismatch_max: float = 0.0
    mismatch_k3: float = 0.0
    fresh: bool = False
    effective: float = 1.0
    entropy: float = 0.0
    advantages: list[float] = field(default_factory=list)
    demonstrations: list[float] = field(default_factory=list)

    def add(self, metrics: Metrics) -> None:
        for name, value in metrics.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value)

    def report(self) -> dict[str, float]:
        """Metrics by their fixed names; shares and means are per loss token, the loss per optimiser step."""
        tokens, steps = max(self.tokens, 1), max(self.steps, 1)
        found = {name: value / tokens for name, value in self.sums.items() if name != "loss/policy"}
        found |= {
            "loss/policy": self.sums.get("loss/policy", 0.0) / steps,
            "loss/nonfinite_tokens": self.nonfinite,
            "entropy/mean": self.entropy,
            "mismatch/mean_abs": self.mismatch_mean,
            "mismatch/max_abs": self.mismatch_max,
            "mismatch/k3": self.mismatch_k3,
            "mismatch/effective_samples": self.effective,
            "grad/norm": self.norm / steps,
        }
        if self.demonstrations:
            found["demonstrations/rows"] = len(self.demonstrations)
            found["demonstrations/logp"] = sum(self.demonstrations) / len(self.demonstrations)
        return found


class Updater:
    """Applies an objective to a policy."""

    def __init__(
        self,
        policy: Policy,
        objective: Objective,
        *,
        minibatches: int,
        microbatch_tokens: int,
        seed: int,
        packing: bool = False,
    ) -> None:
        self.packing = packing
        self.policy = policy
        self.objective = objective
        self.minibatches = minibatches
        self.microbatch_tokens = microbatch_tokens
        self.seed = seed
        copies = objective.needs_reference and policy.adapter is None
        self.reference: PreTrainedModel | None = policy.reference() if copies else None
        self._checked = False

    def learns_from(self, groups: Sequence[Group]) -> bool:
        """Whether an update on these groups could have a gradient at all."""
        estimator = ADVANTAGES[self.objective.advantage]
        if not self.objective.skips_zero_rows or not estimator.group:
            return any(group.scores for group in groups)
        return any(len({row.reward for row in group.rows} - {None}) > 1 for group in groups)

    def reset_reference(self) -> None:
        """The reference becomes a copy of the policy, and the optimiser forgets its moments (ProRL, 2505.24864)."""
        if self.reference is not None:
            self.reference = self.policy.reference()
            self.policy.optimiser.state.clear()

    def update(self, groups: Sequence[Group], *, version: int, drop_truncated: bool = False) -> Totals:
        """`minibatches` optimiser steps on the groups. `advantages` of the result: one a row, in order (mean of
        the tokens where they differ)."""
        totals = Totals()
        parts = [
            rows_of(part, version=version, drop_truncated=drop_truncated, dtype=self.policy.dtype)
            for part in split(groups, self.minibatches)
        ]
        # Before the first step moves the weights; the first step itself may need no pass of its own for it.
        later = [self._before(rows) for rows in parts[1:]]
        steps = [
            self._optimiser_step(rows, known, totals, key=f"{version}:{place}")
            for place, (rows, known) in enumerate(zip(parts, [None, *later], strict=True))
        ]
        self._measure(totals, parts, steps)
        return totals

    def _before(self, rows: Rows) -> StepRows:
        """Everything about a minibatch that the weights before the update determine."""
        micros = self._micros(rows, range(len(rows)))
        logp_BT, entropy_BT = self.policy.all_logprobs(micros, rows.mask_BT.shape)
        ref_BT = None
        if self.objective.needs_reference:
            ref_BT = self.policy.reference_logprobs(self.reference, micros, rows.mask_BT.shape)
        return _step_rows(rows, logp_old_BT=logp_BT, logp_ref_BT=ref_BT, entropy_BT=entropy_BT)

    def _measure(self, totals: Totals, parts: Sequence[Rows], steps: Sequence[StepRows]) -> None:
        """Engine against trainer on the rows of this very version (without any, on the older ones), and the policy's
        entropy."""
        totals.fresh = any(bool(rows.fresh_B.any()) for rows in parts)
        sampled = [(rows.sampled_BT & (rows.fresh_B | (not totals.fresh))[:, None]).flatten() for rows in parts]
        old = [known.logp_old_BT.flatten() for known in steps]
        rollout = [rows.logp_rollout_BT.flatten() for rows in parts]
        found = mismatch(torch.cat(old), torch.cat(rollout), torch.cat(sampled))
        totals.mismatch_mean, totals.mismatch_max = found.mean, found.most
        totals.mismatch_k3 = found.k3
        if self.objective.correction is None:  # else it is that of the correction's weights
            totals.effective = found.effective
        entropies = torch.cat(
            [
                known.entropy_BT[rows.sampled_BT]
                for rows, known in zip(parts, steps, strict=True)
                if known.entropy_BT is not None
            ]
        )
        totals.entropy = float(entropies.mean()) if len(entropies) else 0.0
        for rows, known in zip(parts, steps, strict=True):
            means_B = row_mean(known.logp_old_BT, rows.mask_BT)
            totals.demonstrations += means_B[rows.demonstration_B].tolist()

    def _micros(self, rows: Rows, index: Sequence[int]) -> list[MicroBatch] | list[PackedBatch]:
        if self.packing:
            return packed_batches(rows, index, self.microbatch_tokens)
        return micro_batches(rows, index, self.microbatch_tokens)

    def _optimiser_step(self, rows: Rows, known: StepRows | None, totals: Totals, *, key: str) -> StepRows:
        """known: of the weights before the update; None where the weights are still those. Returns what it was."""
        one = self._in_one_pass(rows, key) if known is None else None
        if one is not None:
            known, prepared, metrics = one
        else:
            known = self._before(rows) if known is None else known
            prepared, metrics = self._in_two_passes(rows, known, key)
        tokens = int(prepared.step.mask_BT.sum())
        wanted = tokens + prepared.nonfinite_tokens
        totals.nonfinite += prepared.nonfinite_tokens
        totals.advantages += _per_row(prepared)
        if metrics is None or prepared.nonfinite_tokens > MAX_NONFINITE_SHARE * wanted:
            raise RunStoppedError(
                "nonfinite",
                f"{prepared.nonfinite_tokens} of {wanted} log-probabilities are not finite; lower optimiser.lr "
                "or look at mismatch/max_abs",
            )
        totals.tokens += tokens
        totals.steps += 1
        totals.add(metrics)
        if prepared.step.correction_BT is not None:
            totals.effective = effective_sample_size(prepared.step.correction_BT, prepared.step.sampled)
        totals.norm += self.policy.apply()
        return known

    def _in_one_pass(self, rows: Rows, key: str) -> tuple[StepRows, Prepared, Metrics] | None:
        """Old log-probabilities are read off the forward pass that has the gradient: a pass without gradient over the
        same micro-batches gives the same bits. None where it would be other micro-batches (rows without loss are left
        out of them), where the whole step needs the old ones first, and in the first update of a process, in which
        `_check_ratio` compares the two passes."""
        if not self._checked or self.policy.ranks.world > 1 or self.objective.needs_old_before:
            return None
        known = _step_rows(
            rows,
            logp_old_BT=torch.zeros_like(rows.logp_rollout_BT),
            entropy_BT=torch.zeros_like(rows.logp_rollout_BT),
        )
        prepared = prepare(self.objective, known, self._generator(key))
        if len(_rows_that_count(self.objective, prepared)) < len(rows):
            return None
        metrics = self._backward(rows, prepared, fills=known)
        return None if metrics is None else (known, prepared, metrics)

    def _in_two_passes(self, rows: Rows, known: StepRows, key: str) -> tuple[Prepared, Metrics | None]:
        if self.objective.needs_new_before:
            known = self._with_new(rows, known)
        prepared = prepare(self.objective, known, self._generator(key))
        metrics = self._backward(rows, prepared)
        if metrics is None:  # a new log-probability was not finite: count it out of the denominators, and again
            known = self._with_new(rows, known)
            prepared = prepare(self.objective, known, self._generator(key))
            metrics = self._backward(rows, prepared)
        return prepared, metrics

    def _with_new(self, rows: Rows, known: StepRows) -> StepRows:
        micros = self._micros(rows, range(len(rows)))
        logp_BT, entropy_BT = self.policy.all_logprobs(micros, rows.mask_BT.shape)
        return replace(known, logp_new_BT=logp_BT, entropy_BT=entropy_BT)

    def _generator(self, key: str) -> torch.Generator:
        digest = hashlib.blake2b(f"{self.seed}:update:{key}".encode(), digest_size=8).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest, "little") >> 1)

    def _backward(self, rows: Rows, prepared: Prepared, *, fills: StepRows | None = None) -> Metrics | None:
        """Gradients of the whole optimiser step, or None when a new log-probability is not finite.

        fills: where the log-probabilities and entropies of this pass go; the old ones are then these.
        """
        self.policy.zero_grad()
        index = _rows_that_count(self.objective, prepared)
        entropy: Entropy = "graph" if self.objective.entropy_coef != 0 else "none" if fills is None else "value"
        sums: Metrics = {}
        finite, ranks = True, self.policy.ranks
        for micro, counts in ranks.share(self._micros(rows, index)):
            logp_MT, entropy_MT = self.policy.logprobs(micro, entropy=entropy)
            step = prepared.step.rows(micro.index_M, logp_MT.cpu(), None if entropy_MT is None else entropy_MT.cpu())
            if fills is not None:
                step = _filled(fills, micro, step)
            finite = finite and bool(torch.isfinite(logp_MT.detach().cpu()[step.mask_BT]).all())
            if not finite and ranks.world == 1:
                return None
            self._check_ratio(logp_MT, step.logp_old_BT, step.mask_BT)
            value, metrics = loss(self.objective, step)
            # FSDP takes the mean over the ranks; the denominators are those of all of them already.
            (value if ranks.world == 1 else value * (ranks.world * counts)).backward()
            if counts:
                sums = {name: sums.get(name, torch.zeros(())) + amount for name, amount in metrics.items()}
        if not ranks.all(finite):
            return None
        self._checked = True
        return _summed(sums, ranks)

    def _check_ratio(self, logp_MT: Tensor, old_MT: Tensor, mask_MT: Tensor) -> None:
        if self._checked:
            return
        gap = float(masked((logp_MT.detach().cpu() - old_MT).abs(), mask_MT).max())
        if gap > RATIO_TOLERANCE:
            raise RunStoppedError(
                "ratio",
                f"before the first update new and old log-probabilities differ by {gap:.2g}; the model's "
                "forward pass depends on something other than weights and tokens (dropout? an attention kernel?)",
            )


def _step_rows(
    rows: Rows, *, logp_old_BT: Tensor, entropy_BT: Tensor | None, logp_ref_BT: Tensor | None = None
) -> StepRows:
    return StepRows(
        rewards_B=rows.rewards_B,
        groups_B=rows.groups_B,
        mask_BT=rows.mask_BT,
        logp_old_BT=logp_old_BT,
        logp_rollout_BT=rows.logp_rollout_BT,
        logp_ref_BT=logp_ref_BT,
        entropy_BT=entropy_BT,
        greedy_B=rows.greedy_B,
        demonstration_B=rows.demonstration_B,
    )


def _filled(fills: StepRows, micro: MicroBatch | PackedBatch, step: StepTensors) -> StepTensors:
    """Writes a micro-batch's own log-probabilities down as the old ones; the slice with them."""
    old_MT = step.logp_new_BT.detach()
    fills.logp_old_BT[micro.index_M, : micro.width] = old_MT
    if fills.entropy_BT is not None and step.entropy_BT is not None:
        fills.entropy_BT[micro.index_M, : micro.width] = step.entropy_BT.detach()
    return replace(step, logp_old_BT=old_MT)


def _summed(sums: Metrics, ranks: Ranks) -> Metrics:
    """Over the ranks; one that only filled places has none of its own."""
    names = sorted({name for part in ranks.gathered(list(sums)) for name in part})
    return {name: ranks.total(sums.get(name, torch.zeros(())).double()) for name in names} if ranks.world > 1 else sums


def _rows_that_count(objective: Objective, prepared: Prepared) -> list[int]:
    """Rows whose loss or gradient may differ from 0. The denominators are those of all rows."""
    counted_B = prepared.step.mask_BT.any(1)
    if objective.skips_zero_rows:
        counted_B = counted_B & (prepared.step.advantage_BT != 0).any(1)
    return counted_B.nonzero()[:, 0].tolist()


def _per_row(prepared: Prepared) -> list[float]:
    advantages = prepared.advantages
    if advantages.ndim == 1:
        return advantages.tolist()
    mask_BT = prepared.step.mask_BT
    return (masked(advantages, mask_BT).sum(1) / mask_BT.sum(1).clamp(min=1)).tolist()


def adapt_entropy(term: EntropyTerm, coef: float, entropy: float) -> tuple[float, bool]:
    """The next bonus coefficient and whether it applies: it moves by delta towards the target entropy and is applied
    only below it (Skywork-OR1, arXiv 2505.22312). Without a target it stays as it is."""
    if term.target is None:
        return coef, True
    below = entropy < term.target
    moved = coef + term.delta if below else coef - term.delta
    return min(max(moved, 0.0), term.max_coef), below
