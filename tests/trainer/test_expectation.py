"""What the estimators estimate, exactly: expectations over all groups of a three-armed bandit by enumeration.

A policy softmax(theta) over three answers of one token, rewards (1, 0, 0) or others, groups of G independent samples:
the mean gradient over all 3^G groups, weighted by their probability, is compared with the gradient of the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor

from trainer.advantages import pkpo_rewards
from trainer.losses.kl import KL
from trainer.objective import Objective, StepRows, loss, prepare

THETA = torch.tensor([0.3, -0.4, 0.9], dtype=torch.float64)
REFERENCE = torch.tensor([-0.2, 0.1, 0.4], dtype=torch.float64)
REWARDS = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)


def expected_gradient(objective: Objective, size: int, rewards: Tensor) -> Tensor:
    """Mean over all groups of the gradient of the loss in theta."""
    total = torch.zeros_like(THETA)
    for arms in product(range(3), repeat=size):
        theta = THETA.clone().requires_grad_()
        new_BT = theta.log_softmax(0)[list(arms)][:, None]
        rows = StepRows(
            rewards_B=rewards[list(arms)],
            groups_B=torch.zeros(size, dtype=torch.long),
            mask_BT=torch.ones(size, 1, dtype=torch.bool),
            logp_old_BT=new_BT.detach(),
            logp_rollout_BT=new_BT.detach(),
        )
        step = prepare(objective, rows).step.rows(torch.arange(size), new_BT, None)
        value, _ = loss(objective, step)
        (gradient,) = torch.autograd.grad(value, theta)
        total += float(new_BT.detach().sum().exp()) * gradient
    return total


def gradient_of(function: Callable[[Tensor], Tensor]) -> Tensor:
    theta = THETA.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(theta.softmax(0)), theta)
    return gradient


def mean_reward(rewards: Tensor) -> Tensor:
    return gradient_of(lambda p: -(p * rewards).sum())


@pytest.mark.parametrize("rewards", [REWARDS, torch.tensor([0.7, -1.2, 0.4], dtype=torch.float64)])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_reinforce_and_leave_one_out_are_unbiased(size: int, rewards: Tensor) -> None:
    for advantage in ("reward", "leave_one_out"):
        objective = Objective(advantage=advantage, loss="reinforce", aggregation="seq_mean_token_sum")
        torch.testing.assert_close(expected_gradient(objective, size, rewards), mean_reward(rewards))


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("loss_name", ["reinforce", "clip", "cispo", "dppo"])
def test_centring_shrinks_by_a_constant(size: int, loss_name: str) -> None:
    """R - group mean is leave-one-out times (G - 1) / G; on policy the losses with ratio have the same gradient."""
    objective = Objective(advantage="centred", loss=loss_name, aggregation="seq_mean_token_mean")
    expected = (size - 1) / size * mean_reward(REWARDS)
    torch.testing.assert_close(expected_gradient(objective, size, REWARDS), expected)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_max_rl_follows_the_truncated_log_likelihood(size: int) -> None:
    """Minus the gradient of sum_{k <= N} -(1-p)^k / k, whose limit is log p; one order is lost to the control variate.

    With the group mean subtracted, N samples give the terms k = 1 .. N - 1.
    """
    objective = Objective(advantage="mean_normalised", loss="reinforce", aggregation="seq_mean_token_sum")

    def truncated(p: Tensor) -> Tensor:
        return sum(((1 - p[0]) ** k / k for k in range(1, size)), torch.zeros((), dtype=p.dtype))

    torch.testing.assert_close(expected_gradient(objective, size, REWARDS), gradient_of(truncated))


@pytest.mark.parametrize(("size", "k"), [(2, 2), (3, 2), (4, 2), (4, 3)])
def test_pkpo_rewards_are_unbiased_for_pass_at_k(size: int, k: int) -> None:
    """The sum over the group of mapped reward times score function has the gradient of pass@k as its mean."""
    total = torch.zeros_like(THETA)
    probabilities = THETA.softmax(0)
    for arms in product(range(3), repeat=size):
        right, wrong = pkpo_rewards(size, arms.count(0), k)
        theta = THETA.clone().requires_grad_()
        logp = theta.log_softmax(0)
        value = sum((logp[arm] * (right if arm == 0 else wrong) for arm in arms), torch.zeros((), dtype=logp.dtype))
        (gradient,) = torch.autograd.grad(value, theta)
        total += float(probabilities[list(arms)].prod()) * gradient
    torch.testing.assert_close(total, gradient_of(lambda p: 1 - (1 - p[0]) ** k))


def test_what_each_kl_estimator_pulls_towards() -> None:
    """As a loss term on policy: k1 nothing, k2 the reverse KL, k3 the forward KL."""

    def mean_gradient(name: str) -> Tensor:
        theta = THETA.clone().requires_grad_()
        logp = theta.log_softmax(0)
        values = KL[name](logp - REFERENCE.log_softmax(0))
        (gradient,) = torch.autograd.grad((logp.detach().exp() * values).sum(), theta)
        return gradient

    q = REFERENCE.softmax(0)
    torch.testing.assert_close(mean_gradient("k1"), torch.zeros_like(THETA), rtol=0, atol=1e-15)
    torch.testing.assert_close(mean_gradient("k2"), gradient_of(lambda p: (p * (p / q).log()).sum()))
    torch.testing.assert_close(mean_gradient("k3"), gradient_of(lambda p: (q * (q / p).log()).sum()))


def test_importance_weights_undo_another_sampler() -> None:
    """Samples of the engine, weighted by old/engine, give the policy's own gradient (cap not reached)."""
    engine = REFERENCE.log_softmax(0)
    objective = Objective(advantage="reward", correction="tis", correction_options={"high": 50.0})
    total = torch.zeros_like(THETA)
    for arm in range(3):
        theta = THETA.clone().requires_grad_()
        new_BT = theta.log_softmax(0)[arm].view(1, 1)
        rows = StepRows(
            rewards_B=REWARDS[[arm]],
            groups_B=torch.zeros(1, dtype=torch.long),
            mask_BT=torch.ones(1, 1, dtype=torch.bool),
            logp_old_BT=new_BT.detach(),
            logp_rollout_BT=engine[arm].view(1, 1),
        )
        value, _ = loss(objective, prepare(objective, rows).step.rows(torch.arange(1), new_BT, None))
        (gradient,) = torch.autograd.grad(value, theta)
        total += float(engine[arm].exp()) * gradient
    torch.testing.assert_close(total, mean_reward(REWARDS))
