"""Rewards of groups -> advantages.

Every function takes the scored rows of one optimiser step and returns [B] (the same for all tokens of a row) or
[B, T]. A reward of nan means that the row is absent: it enters no statistic and its advantage is 0. A group without
variance, or with one row, has advantage exactly 0. Standard deviations have ddof 1, eps is added to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor

from trainer.step_tensors import masked, need


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """rewards_B: nan = absent.  groups_B: any integers, rows of a group need not be adjacent.

    mask_BT and the log-probabilities are read by the token-level estimators, greedy_B (reward of the greedy response
    to the same prompt) by ReMax, lengths_B by OPO.
    """

    rewards_B: Tensor
    groups_B: Tensor
    mask_BT: Tensor
    logp_old_BT: Tensor | None = None
    logp_ref_BT: Tensor | None = None
    greedy_B: Tensor | None = None

    @property
    def present(self) -> Tensor:
        """[B]"""
        return self.rewards_B.isfinite()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    """Statistics of each row's group, spread over its rows. present rows only."""

    present_B: Tensor
    rewards_B: Tensor
    index_B: Tensor
    count_B: Tensor
    mean_B: Tensor
    varied_B: Tensor

    def total(self, values_B: Tensor) -> Tensor:
        """Sum of the present rows' values over each row's group. [B]"""
        sums_P = torch.zeros(int(self.index_B.max()) + 1, dtype=values_B.dtype, device=values_B.device)
        return sums_P.index_add_(0, self.index_B, masked(values_B, self.present_B))[self.index_B]

    def std(self) -> Tensor:
        squares_B = self.total((self.rewards_B - self.mean_B).square())
        return (squares_B / (self.count_B - 1).clamp(min=1)).sqrt()


def _groups(scores: Scores) -> _Groups:
    present_B = scores.present
    rewards_B = masked(scores.rewards_B, present_B)
    _, index_B = torch.unique(scores.groups_B, return_inverse=True)
    size = int(index_B.max()) + 1
    zeros_P = torch.zeros(size, dtype=rewards_B.dtype, device=rewards_B.device)
    count_B = zeros_P.index_add(0, index_B, present_B.to(rewards_B.dtype))[index_B]
    mean_B = zeros_P.index_add(0, index_B, rewards_B)[index_B] / count_B.clamp(min=1)
    infinite_B = torch.where(present_B, rewards_B, torch.inf)
    low_P = torch.full_like(zeros_P, torch.inf).scatter_reduce(0, index_B, infinite_B, "amin")
    infinite_B = torch.where(present_B, rewards_B, -torch.inf)
    high_P = torch.full_like(zeros_P, -torch.inf).scatter_reduce(0, index_B, infinite_B, "amax")
    varied_B = (low_P < high_P)[index_B] & present_B
    return _Groups(
        present_B=present_B, rewards_B=rewards_B, index_B=index_B, count_B=count_B, mean_B=mean_B, varied_B=varied_B
    )


def varied(scores: Scores) -> Tensor:
    """Rows whose group's present rewards differ. [B]"""
    return _groups(scores).varied_B


def reward(scores: Scores) -> Tensor:
    """R: no baseline (REINFORCE, TOPR)."""
    return masked(scores.rewards_B, scores.present)


def batch_mean(scores: Scores) -> Tensor:
    """R - mean over the batch."""
    present_B = scores.present
    rewards_B = masked(scores.rewards_B, present_B)
    return masked(rewards_B - rewards_B.sum() / present_B.sum().clamp(min=1), present_B)


def greedy(scores: Scores) -> Tensor:
    """R - R of the greedy response to the same prompt (ReMax, arXiv 2310.10505)."""
    return masked(scores.rewards_B - need(scores.greedy_B, "greedy_B"), scores.present)


def leave_one_out(scores: Scores) -> Tensor:
    """R - mean of the group's other rows = G / (G - 1) (R - mean) (RLOO, arXiv 2402.14740)."""
    groups = _groups(scores)
    centred_B = groups.count_B / (groups.count_B - 1).clamp(min=1) * (groups.rewards_B - groups.mean_B)
    return masked(centred_B, groups.varied_B)


def centred(scores: Scores) -> Tensor:
    """R - group mean (Dr. GRPO, arXiv 2503.20783)."""
    groups = _groups(scores)
    return masked(groups.rewards_B - groups.mean_B, groups.varied_B)


def group_z(scores: Scores, *, eps: float = 1e-6) -> Tensor:
    """(R - group mean) / (group std + eps) (GRPO, arXiv 2402.03300)."""
    groups = _groups(scores)
    return masked((groups.rewards_B - groups.mean_B) / (groups.std() + eps), groups.varied_B)


def _batch_std(values_B: Tensor, present_B: Tensor) -> Tensor:
    values = values_B[present_B]
    return values.std() if len(values) > 1 else torch.zeros((), dtype=values_B.dtype, device=values_B.device)


def batch_std(scores: Scores, *, eps: float = 1e-6) -> Tensor:
    """(R - group mean) / (std of raw R over the batch + eps) (LitePPO, arXiv 2508.08221)."""
    groups = _groups(scores)
    scale = _batch_std(groups.rewards_B, groups.present_B) + eps
    return masked((groups.rewards_B - groups.mean_B) / scale, groups.varied_B)


def batch_centred(scores: Scores, *, eps: float = 1e-6) -> Tensor:
    """(R - group mean) / (std of the centred rewards over the batch + eps) (ScaleRL, arXiv 2510.13786)."""
    groups = _groups(scores)
    centred_B = masked(groups.rewards_B - groups.mean_B, groups.varied_B)
    return centred_B / (_batch_std(centred_B, groups.present_B) + eps)


def mean_normalised(scores: Scores) -> Tensor:
    """(R - group mean) / group mean, 0 where the mean is not positive; binary R (MaxRL, arXiv 2602.02710)."""
    groups = _groups(scores)
    usable_B = groups.varied_B & (groups.mean_B > 0)
    return masked((groups.rewards_B - groups.mean_B) / torch.where(usable_B, groups.mean_B, 1.0), usable_B)


def length_weighted(scores: Scores) -> Tensor:
    """R - sum n_j R_j / sum n_j over the group, n = loss tokens (OPO, arXiv 2505.23585)."""
    groups = _groups(scores)
    lengths_B = scores.mask_BT.sum(1).to(groups.rewards_B.dtype)
    baseline_B = groups.total(lengths_B * groups.rewards_B) / groups.total(lengths_B).clamp(min=1)
    return masked(groups.rewards_B - baseline_B, groups.varied_B)


def best_of_group(scores: Scores) -> Tensor:
    """Only the best row has an advantage: R_max - R_second; the first of several best ones has 0 (2503.19595)."""
    groups = _groups(scores)
    advantage_B = torch.zeros_like(groups.rewards_B)
    for group in groups.index_B.unique():
        rows = ((groups.index_B == group) & groups.varied_B).nonzero().flatten()
        if len(rows) > 1:
            best, second = groups.rewards_B[rows].topk(2)[0]
            advantage_B[rows[groups.rewards_B[rows].argmax()]] = best - second
    return advantage_B


def positives(scores: Scores) -> Tensor:
    """1 for rewarded rows, 0 for the others: rejection sampling (RAFT, arXiv 2504.11343)."""
    return (masked(scores.rewards_B, scores.present) > 0).to(scores.rewards_B.dtype)


def pass_at_k(scores: Scores, *, k: int = 2, eps: float = 1e-6) -> Tensor:
    """Advantage of the group's analytic pass@k; a reward above 0.5 is right (arXiv 2508.10751). 0 when n < k."""
    groups = _groups(scores)
    correct_B = (groups.rewards_B > 0.5) & groups.present_B
    advantage_B = torch.zeros_like(groups.rewards_B)
    for group in groups.index_B.unique():
        rows = ((groups.index_B == group) & groups.present_B).nonzero().flatten()
        c, n = int(correct_B[rows].sum()), len(rows)
        if n > 1 and n >= k:
            right, wrong = pass_at_k_advantages(n, c, k, eps=eps)
            advantage_B[rows] = advantage_B.new_tensor([wrong, right])[correct_B[rows].long()]
    return advantage_B


def pass_at_k_advantages(n: int, c: int, k: int, *, eps: float = 1e-6) -> tuple[float, float]:
    """(advantage of a correct row, of a wrong row) with c correct of n."""
    rho = 1 - comb(n - c, k) / comb(n, k)
    if c == 0 or rho >= 1:
        return 0.0, 0.0
    scale = (rho * (1 - rho)) ** 0.5 + eps
    return (1 - rho) / scale, (1 - rho - comb(n - c - 1, k - 1) / comb(n - 1, k - 1)) / scale


def pkpo_rewards(n: int, c: int, k: int) -> tuple[float, float]:
    """(reward of a correct row, of a wrong row) whose sum over the group is pass@k up to n/k (PKPO, 2505.15201)."""
    wrong = k / n * (1 - comb(n - 1 - c, k - 1) / comb(n - 1, k - 1)) if c < n else 0.0
    return k / n, wrong


def _whiten(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """(A - mean) / sqrt(unbiased variance + 1e-8) over all loss tokens of the step."""
    count = mask_BT.sum()
    mean = masked(values_BT, mask_BT).sum() / count.clamp(min=1)
    variance = masked((values_BT - mean).square(), mask_BT).sum() / (count - 1).clamp(min=1)
    return masked((values_BT - mean) / (variance + 1e-8).sqrt(), mask_BT)


def return_to_go(scores: Scores, *, gamma: float = 1.0, kl_coef: float = 0.01) -> Tensor:
    """REINFORCE++ (arXiv 2501.03262): whitened return of R at the last loss token and -kl_coef (old - ref). [B, T]

    Tokens outside the loss are skipped: the return is carried across them.
    """
    mask_BT = scores.mask_BT & scores.present[:, None]
    rewards_BT = torch.zeros_like(mask_BT, dtype=scores.rewards_B.dtype)
    if kl_coef != 0:
        old_BT, ref_BT = need(scores.logp_old_BT, "logp_old_BT"), need(scores.logp_ref_BT, "logp_ref_BT")
        rewards_BT = -kl_coef * (masked(old_BT, mask_BT) - masked(ref_BT, mask_BT)).to(rewards_BT.dtype)
    places_T = torch.arange(mask_BT.shape[1], device=mask_BT.device)
    last_B = torch.where(mask_BT, places_T, -1).amax(1)
    at_last_BT = (places_T == last_B[:, None]) & mask_BT
    rewards_BT = rewards_BT + masked(scores.rewards_B[:, None].expand_as(mask_BT), at_last_BT)
    returns_BT = torch.zeros_like(rewards_BT)
    running_B = torch.zeros_like(scores.rewards_B)
    for t in reversed(range(mask_BT.shape[1])):
        running_B = torch.where(mask_BT[:, t], rewards_BT[:, t] + gamma * running_B, running_B)
        returns_BT[:, t] = running_B
    return _whiten(returns_BT, mask_BT)


def centred_whitened(scores: Scores) -> Tensor:
    """REINFORCE++-baseline (arXiv 2501.03262): R - group mean on every token, whitened over the step. [B, T]"""
    mask_BT = scores.mask_BT & scores.present[:, None]
    return _whiten(centred(scores)[:, None].expand_as(mask_BT), mask_BT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advantage:
    """An estimator and what it needs: `reads` as in losses.Loss; `group` = a group of one is refused in a recipe."""

    estimate: Callable[..., Tensor]
    reads: frozenset[str] = frozenset()
    group: bool = True


ADVANTAGES: dict[str, Advantage] = {
    "reward": Advantage(estimate=reward, group=False),
    "batch_mean": Advantage(estimate=batch_mean, group=False),
    "greedy": Advantage(estimate=greedy, group=False),
    "positives": Advantage(estimate=positives, group=False),
    "leave_one_out": Advantage(estimate=leave_one_out),
    "centred": Advantage(estimate=centred),
    "group_z": Advantage(estimate=group_z),
    "batch_std": Advantage(estimate=batch_std),
    "batch_centred": Advantage(estimate=batch_centred),
    "mean_normalised": Advantage(estimate=mean_normalised),
    "length_weighted": Advantage(estimate=length_weighted),
    "best_of_group": Advantage(estimate=best_of_group),
    "pass_at_k": Advantage(estimate=pass_at_k),
    "return_to_go": Advantage(estimate=return_to_go, reads=frozenset({"old", "ref"}), group=False),
    "centred_whitened": Advantage(estimate=centred_whitened, reads=frozenset({"old"})),
}
