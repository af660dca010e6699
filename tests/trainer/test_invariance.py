"""Laws in float64: how a step is cut, ordered and padded changes no gradient, and absent rows change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from trainer.advantages import ADVANTAGES, Scores
from trainer.objective import Objective, Prepared, StepRows, loss, prepare

OBJECTIVES: dict[str, Objective] = {
    "grpo": Objective(aggregation="seq_mean_token_mean"),
    "dr_grpo": Objective(advantage="centred", aggregation="constant", max_length=16),
    "dapo": Objective(loss_options={"clip_high": 0.28}),
    "dapo_prompt_mean": Objective(aggregation="prompt_mean"),
    "rloo": Objective(advantage="leave_one_out", loss="reinforce", aggregation="seq_mean_token_sum"),
    "reinforce": Objective(advantage="batch_mean", loss="reinforce", aggregation="seq_mean_token_sum"),
    "max_rl": Objective(advantage="mean_normalised", loss="reinforce", aggregation="seq_mean_token_sum"),
    "reinforce_pp": Objective(advantage="return_to_go"),
    "reinforce_pp_baseline": Objective(advantage="centred_whitened"),
    "lite_ppo": Objective(advantage="batch_std"),
    "scale_rl": Objective(
        advantage="batch_centred", loss="cispo_rollout", aggregation="prompt_mean", drop_zero_variance=True
    ),
    "gspo": Objective(loss="gspo", loss_options={"clip_low": 0.2, "clip_high": 0.2}, aggregation="seq_mean_token_mean"),
    "gspo_token": Objective(loss="gspo_token", loss_options={"clip_low": 0.2, "clip_high": 0.2}),
    "sapo": Objective(loss="sapo", aggregation="seq_mean_token_mean"),
    "gmpo": Objective(loss="gmpo", aggregation="seq_mean_token_mean"),
    "cispo": Objective(loss="cispo"),
    "dppo_kl": Objective(advantage="centred", loss="dppo", loss_options={"divergence": "kl", "delta_low": 0.05}),
    "prime_rl": Objective(advantage="centred", loss="prime_rl"),
    "topr": Objective(advantage="reward", loss="topr", aggregation="seq_mean_token_sum"),
    "clip_cov": Objective(loss="clip_cov", loss_options={"ratio": 0.1, "band_low": 0.01}),
    "kl_cov": Objective(loss="kl_cov", loss_options={"ratio": 0.1}),
    "high_entropy": Objective(high_entropy_share=0.2),
    "pass_at_k": Objective(advantage="pass_at_k"),
    "opo": Objective(advantage="length_weighted", loss="reinforce", aggregation="seq_mean_token_sum"),
    "best_of_group": Objective(advantage="best_of_group"),
    "raft": Objective(advantage="positives", loss="reinforce", aggregation="seq_mean_token_mean"),
    "kimi": Objective(advantage="centred", loss="kimi", aggregation="seq_mean_token_sum"),
    "luffy": Objective(advantage="centred", loss="luffy", correction="mis_sequence", entropy_coef=0.01),
    "luffy_high_entropy": Objective(advantage="centred", loss="luffy", high_entropy_share=0.3),
    "tis": Objective(correction="tis"),
    "icepop": Objective(correction="icepop", correction_options={"low": 0.9, "high": 1.1}),
    "mis_sequence": Objective(correction="mis_sequence", correction_options={"high": 1.05}),
    "geo_mask_tis": Objective(correction="geo_mask_tis", correction_options={"low": 0.97, "high": 1.03}),
    "kl_k3": Objective(kl_coef=0.04),
    "entropy": Objective(entropy_coef=0.01),
}


def rows_of(seed: int, lengths: list[int], group_sizes: list[int]) -> StepRows:
    draw = torch.Generator().manual_seed(seed)
    B, T = len(lengths), max(lengths)

    def noise(scale: float) -> Tensor:
        return scale * torch.randn(B, T, generator=draw, dtype=torch.float64)

    mask_BT = torch.arange(T) < torch.tensor(lengths)[:, None]
    new_BT = -torch.rand(B, T, generator=draw, dtype=torch.float64) * 3
    old_BT = new_BT + noise(0.2)
    groups = [index for index, size in enumerate(group_sizes) for _ in range(size)]
    return StepRows(
        rewards_B=torch.randint(0, 2, (B,), generator=draw).double(),
        groups_B=torch.tensor(groups),
        mask_BT=mask_BT,
        logp_old_BT=old_BT,
        logp_rollout_BT=old_BT + noise(0.05),
        logp_ref_BT=old_BT + noise(0.3),
        logp_new_BT=new_BT,
        entropy_BT=torch.rand(B, T, generator=draw, dtype=torch.float64) * 3,
        greedy_B=torch.zeros(B, dtype=torch.float64),
        demonstration_B=torch.arange(B) % 3 == 2,
    )


ROWS = rows_of(3, [1, 64, 7, 12, 3, 30, 9, 2], [3, 5])


def step(objective: Objective, rows: StepRows, parts: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Loss and gradient by log-probability, accumulated over the parts."""
    prepared: Prepared = prepare(objective, rows)
    assert rows.logp_new_BT is not None
    leaf_BT = rows.logp_new_BT.clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for part in parts:
        index_M = torch.tensor(part)
        entropy_MT = None if rows.entropy_BT is None else rows.entropy_BT[index_M]
        value, _ = loss(objective, prepared.step.rows(index_M, leaf_BT[index_M], entropy_MT))
        value.backward()
        total = total + value.detach()
    assert leaf_BT.grad is not None
    return total, leaf_BT.grad


def close(found: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor]) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


def reindexed(rows: StepRows, index: Tensor) -> StepRows:
    changed: dict[str, Any] = {name: getattr(rows, name) for name in StepRows.__slots__}
    return replace(rows, **{name: value[index] for name, value in changed.items() if value is not None})


@pytest.mark.parametrize("name", OBJECTIVES)
def test_micro_batches(name: str) -> None:
    """Accumulation 1, 2 and 8 and uneven shuffled splits; a rank's rows are a micro-batch too."""
    objective = OBJECTIVES[name]
    whole = step(objective, ROWS, [list(range(8))])
    for parts in ([[0, 1, 2, 3], [4, 5, 6, 7]], [[row] for row in range(8)], [[5, 1, 7], [2, 6, 0, 3], [4]]):
        close(step(objective, ROWS, parts), whole)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_permutation(name: str) -> None:
    if name == "clip_cov":
        pytest.skip("picks the first candidates in row order when no generator is given")
    order = torch.tensor([5, 2, 7, 0, 3, 6, 1, 4])
    value, gradient = step(OBJECTIVES[name], ROWS, [list(range(8))])
    permuted, gradient_permuted = step(OBJECTIVES[name], reindexed(ROWS, order), [list(range(8))])
    close((permuted, gradient_permuted), (value, gradient[order]))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_padding(name: str) -> None:
    """100 more columns change nothing, also for the constant denominator."""
    values: dict[str, Any] = {slot: getattr(ROWS, slot) for slot in StepRows.__slots__}
    wide: dict[str, Any] = {
        slot: torch.nn.functional.pad(value, (0, 100)) if value is not None and value.ndim == 2 else value
        for slot, value in values.items()
    }
    whole = step(OBJECTIVES[name], ROWS, [list(range(8))])
    value, gradient = step(OBJECTIVES[name], StepRows(**wide), [list(range(8))])
    close((value, gradient[:, :64]), whole)
    assert not gradient[:, 64:].any()


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("absent", [[2], [0, 5, 6], [0, 1, 2]])
def test_rows_of_nan_reward_are_absent(name: str, absent: list[int]) -> None:
    """Removing them changes no advantage, loss or gradient of the others (also a whole group of them)."""
    rewards_B = ROWS.rewards_B.clone()
    rewards_B[absent] = torch.nan
    kept = torch.tensor([row for row in range(8) if row not in absent])
    marked, gradient = step(OBJECTIVES[name], replace(ROWS, rewards_B=rewards_B), [list(range(8))])
    removed, gradient_removed = step(OBJECTIVES[name], reindexed(ROWS, kept), [list(range(len(kept)))])
    close((marked, gradient[kept]), (removed, gradient_removed))
    assert not gradient[absent].any()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_tokens_outside_the_mask_are_never_read(name: str) -> None:
    """Tool output between the policy's own tokens, and any rubbish in its log-probabilities, changes nothing."""
    mask_BT = ROWS.mask_BT.clone()
    mask_BT[:, 1] = False
    rows = replace(ROWS, mask_BT=mask_BT)
    rubbish = {
        slot: torch.where(mask_BT, getattr(rows, slot), torch.tensor(value, dtype=torch.float64))
        for slot, value in (
            ("logp_new_BT", float("-inf")),
            ("logp_old_BT", float("nan")),
            ("logp_rollout_BT", 1e4),
            ("logp_ref_BT", float("inf")),
            ("entropy_BT", 7.0),
        )
    }
    whole = step(OBJECTIVES[name], rows, [list(range(8))])
    value, gradient = step(OBJECTIVES[name], replace(rows, **rubbish), [list(range(8))])
    close((value, gradient), whole)
    assert bool(torch.isfinite(gradient).all())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_skipping_rows_of_zero_advantage_is_exact(name: str) -> None:
    """Where the objective says that such rows may be skipped, their loss and gradient are 0."""
    objective = OBJECTIVES[name]
    if not objective.skips_zero_rows:
        return
    rows = replace(ROWS, rewards_B=torch.tensor([1.0, 1, 1, 0, 1, 0, 1, 1]).double())
    prepared = prepare(objective, rows)
    some = (prepared.step.advantage_BT != 0).any(1).nonzero()[:, 0].tolist()
    whole = step(objective, rows, [list(range(8))])
    if some:
        close(step(objective, rows, [some]), whole)
    else:
        assert whole[0] == 0
        assert not whole[1].any()


@pytest.mark.parametrize("name", [name for name in ADVANTAGES if ADVANTAGES[name].group])
@given(rewards=st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=4), copies=st.integers(1, 5), data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_group_without_variance_has_advantage_zero(
    name: str, rewards: list[float], copies: int, data: st.DataObject
) -> None:
    """Exactly 0, not rounding noise over an epsilon; beside groups that vary."""
    constant = data.draw(st.floats(-10, 10, width=32))
    varying = [0.0, 1.0, 1.0]
    rewards_B = torch.tensor([constant] * copies + varying, dtype=torch.float64)
    groups_B = torch.tensor([0] * copies + [1] * 3)
    scores = Scores(rewards_B=rewards_B, groups_B=groups_B, mask_BT=torch.ones(len(groups_B), 2, dtype=torch.bool))
    advantages = ADVANTAGES[name].estimate(scores)
    if name == "centred_whitened":
        return  # whitening over the step moves zeros by the mean, by definition
    assert (advantages[:copies] == 0).all()
    del rewards


@pytest.mark.parametrize("name", ["luffy", "luffy_high_entropy"])
def test_nothing_of_a_demonstration_but_its_new_logprobs_is_read(name: str) -> None:
    """No ratio, no correction, no entropy; and the policy's own rows are those of the group without it but for the
    statistics."""
    assert ROWS.demonstration_B is not None
    others_BT = ROWS.demonstration_B[:, None].expand_as(ROWS.mask_BT)
    rubbish: dict[str, Any] = {
        slot: torch.where(others_BT, value, getattr(ROWS, slot))
        for slot, value in (
            ("logp_rollout_BT", torch.tensor(-50.0).double()),
            ("logp_old_BT", torch.tensor(-9.0).double()),
            ("entropy_BT", torch.tensor(9.0).double()),
        )
    }
    close(
        step(OBJECTIVES[name], replace(ROWS, **rubbish), [list(range(8))]),
        step(OBJECTIVES[name], ROWS, [list(range(8))]),
    )


def test_gradient_clipping_sees_the_whole_step() -> None:
    """The accumulated gradient is that of one backward: nothing is divided by the number of micro-batches."""
    _, once = step(OBJECTIVES["dapo"], ROWS, [list(range(8))])
    _, four = step(OBJECTIVES["dapo"], ROWS, [[0, 1], [2, 3], [4, 5], [6, 7]])
    assert float(four.norm() / once.norm()) == pytest.approx(1.0, abs=1e-12)
