"""One update on a real model: gradients equal however it is cut, faults noticed before they spoil the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import Tensor, nn

from engines.torch_engine import TorchEngine
from trainer.advantages import ADVANTAGES, Scores
from trainer.batch import MicroBatch
from trainer.checkpoint import RunFolder
from trainer.clock import Clock
from trainer.config import TrainConfig
from trainer.corrections import tis, tis_sequence
from trainer.groups import RunStoppedError
from trainer.loop import _step
from trainer.objective import Objective
from trainer.packing import PackedBatch
from trainer.policy import Entropy, Policy, load_model
from trainer.rollout_group import Group, Sample
from trainer.scorers import Scorer
from trainer.sections import Optimiser
from trainer.start import Run, start
from trainer.update import Updater

Recipe = Callable[..., TrainConfig]
StartRun = Callable[..., Run]


@pytest.fixture
def start_run(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> StartRun:
    def make(**changes: object) -> Run:
        config = recipe(**changes)
        return start(config, RunFolder.open(tmp_path / "run", config, fresh=False), quiet, scorer)

    return make


def gradients(model_folder: Path, groups: list[Group], objective: Objective, *, tokens: int) -> list[Tensor]:
    """Of one optimiser step in float64, before clipping moves anything."""
    model, tokenizer = load_model(model_folder, dtype=torch.float64)
    policy = Policy(model, tokenizer, Optimiser(max_grad_norm=1e9), 1.0)
    updater = Updater(policy, objective, minibatches=1, microbatch_tokens=tokens, seed=0)
    found: list[Tensor] = []

    def keep() -> float:
        found.extend(parameter.grad.clone() for parameter in policy.parameters if parameter.grad is not None)
        return 0.0

    policy.apply = keep
    updater.update(groups, version=0)
    return found


@pytest.mark.parametrize(
    "objective",
    [
        Objective(),
        Objective(aggregation="seq_mean_token_mean"),
        Objective(aggregation="constant", max_length=6, advantage="centred"),
        Objective(aggregation="prompt_mean", entropy_coef=0.01),
        Objective(aggregation="seq_mean_token_sum", loss="reinforce"),
        Objective(advantage="centred_whitened"),
        Objective(loss="kl_cov", loss_options={"ratio": 0.1}),
        Objective(high_entropy_share=0.3),
        Objective(kl_coef=0.04),
    ],
)
def test_model_gradients_do_not_depend_on_micro_batches_or_padding(
    objective: Objective, start_run: StartRun, model_folder: Path
) -> None:
    groups = start_run().source.fill(0, Clock()).kept
    shorter = [
        replace(group, samples=tuple(cut(sample, i) for i, sample in enumerate(group.samples))) for group in groups
    ]
    whole = gradients(model_folder, shorter, objective, tokens=10_000)
    for tokens in (1, 40):
        split = gradients(model_folder, shorter, objective, tokens=tokens)
        torch.testing.assert_close(split, whole, rtol=0, atol=1e-10)
    assert any(bool(gradient.any()) for gradient in whole)


def cut(sample: Sample, length: int) -> Sample:
    keep = 1 + length
    return replace(sample, token_ids=sample.token_ids[:keep], logprobs=sample.logprobs[:keep])


def test_undecided_samples_change_no_gradient(start_run: StartRun, model_folder: Path) -> None:
    groups = start_run().source.fill(0, Clock()).kept
    marked = [
        replace(group, samples=(replace(group.samples[0], score=None, reward=None), *group.samples[1:]))
        for group in groups
    ]
    removed = [replace(group, samples=group.samples[1:]) for group in groups]
    for objective in (Objective(), Objective(aggregation="seq_mean_token_mean"), Objective(kl_coef=0.1)):
        one = gradients(model_folder, marked, objective, tokens=64)
        other = gradients(model_folder, removed, objective, tokens=64)
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_temperature_is_in_engine_and_loss(start_run: StartRun) -> None:
    run = start_run(sampling={"temperature": 0.7})
    totals = run.updater.update(run.source.fill(0, Clock()).kept, version=0)
    assert totals.mismatch_max < 1e-4


def test_an_engine_with_other_weights_is_noticed(start_run: StartRun, model_folder: Path) -> None:
    run = start_run()
    other, tokenizer = load_model(model_folder)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1.5)
    run.source.sampler = TorchEngine(other, tokenizer)
    with pytest.raises(RunStoppedError, match="engine and trainer differ"):
        _step(run)


def test_dropout_is_noticed_before_the_first_update(start_run: StartRun) -> None:
    """A forward pass that is not a function of weights and tokens: new differs from old before any update."""
    run = start_run()
    run.policy.model.lm_head = nn.Sequential(nn.Dropout(0.5), run.policy.model.lm_head)
    groups = run.source.fill(0, Clock()).kept
    run.policy.model.train()
    with pytest.raises(RunStoppedError, match="before the first update"):
        run.updater.update(groups, version=0)


def test_weights_that_are_not_finite_stop_the_run(start_run: StartRun) -> None:
    run = start_run()
    groups = run.source.fill(0, Clock()).kept
    with torch.no_grad():
        run.policy.parameters[0].fill_(float("nan"))
    with pytest.raises(RunStoppedError) as caught:
        run.updater.update(groups, version=0)
    assert caught.value.reason == "nonfinite"


def test_a_few_engine_logprobs_that_are_not_finite_stop_only_losses_that_read_them(start_run: StartRun) -> None:
    groups = start_run().source.fill(0, Clock()).kept
    first = groups[0].samples[0]
    broken = replace(first, logprobs=(float("-inf"), *first.logprobs[1:]))
    groups[0] = replace(groups[0], samples=(broken, *groups[0].samples[1:]))

    def updater(objective: Objective) -> Updater:
        run = start_run()
        run.updater.objective = objective
        return run.updater

    assert updater(Objective()).update(groups, version=0).nonfinite == 0
    with pytest.raises(RunStoppedError, match="not finite"):
        updater(Objective(correction="tis")).update(groups, version=0)


def test_entropy_has_no_graph_without_a_bonus(start_run: StartRun) -> None:
    run = start_run()
    seen: list[Tensor | None] = []
    logprobs = run.policy.logprobs

    def spy(micro: MicroBatch | PackedBatch, *, entropy: Entropy) -> tuple[Tensor, Tensor | None]:
        found = logprobs(micro, entropy=entropy)
        seen.append(found[1])
        return found

    run.policy.logprobs = spy
    groups = run.source.fill(0, Clock()).kept
    for _ in range(2):  # the first update computes entropies in a pass of its own, the second in that of the gradient
        totals = run.updater.update(groups, version=0)
        assert totals.entropy > 0
    assert any(entropy is not None for entropy in seen)
    assert not any(entropy is not None and entropy.requires_grad for entropy in seen)


def test_no_reference_is_loaded_without_a_kl_term(start_run: StartRun) -> None:
    assert start_run().updater.reference is None


def test_a_kl_term_holds_the_policy_near_the_reference(start_run: StartRun) -> None:
    run = start_run(kl={"coef": 0.01})
    reference = run.updater.reference
    assert reference is not None
    before = [parameter.clone() for parameter in reference.parameters()]
    totals = run.updater.update(run.source.fill(0, Clock()).kept, version=0)
    assert "kl/reference" in totals.report()
    assert all(torch.equal(a, b) for a, b in zip(before, reference.parameters(), strict=True))
    run.updater.reset_reference()
    fresh = run.updater.reference
    assert fresh is not None
    assert all(torch.equal(a, b) for a, b in zip(run.policy.model.parameters(), fresh.parameters(), strict=True))


def test_tool_tokens_carry_the_return_across() -> None:
    """policy-tool-policy-tool: the advantages of the policy's tokens are those without the tool tokens."""
    mask_BT = torch.tensor([[1, 0, 1, 1, 0], [1, 1, 0, 0, 0]]).bool()
    old_BT = torch.tensor([[-1.0, -9.0, -2.0, -0.5, -9.0], [-1.0, -0.2, -9.0, -9.0, -9.0]])
    ref_BT = old_BT - torch.tensor([[0.1, 5.0, -0.2, 0.3, 5.0], [0.4, 0.0, 5.0, 5.0, 5.0]])
    compact = Scores(
        rewards_B=torch.tensor([1.0, 0.0]),
        groups_B=torch.tensor([0, 0]),
        mask_BT=torch.tensor([[1, 1, 1], [1, 1, 0]]).bool(),
        logp_old_BT=torch.stack([old_BT[0, mask_BT[0]], torch.tensor([-1.0, -0.2, 0.0])]),
        logp_ref_BT=torch.stack([ref_BT[0, mask_BT[0]], torch.tensor([-1.4, -0.2, 0.0])]),
    )
    scattered = Scores(
        rewards_B=compact.rewards_B, groups_B=compact.groups_B, mask_BT=mask_BT, logp_old_BT=old_BT, logp_ref_BT=ref_BT
    )
    estimate = ADVANTAGES["return_to_go"].estimate
    found, expected = estimate(scattered), estimate(compact)
    torch.testing.assert_close(found[mask_BT], expected[compact.mask_BT])
    assert not found[~mask_BT].any()


def test_uneven_and_mixed_groups_equal_the_reference_of_each_group() -> None:
    rewards_B = torch.tensor([1.0, 0.5, 0.0, 1.0, 0.0, 0.25, 1.0, 0.0, 0.75]).double()
    groups_B = torch.tensor([7, 3, 7, 9, 9, 7, 9, 9, 9])
    mask_BT = torch.ones(9, 1, dtype=torch.bool)
    for name in ("group_z", "centred", "leave_one_out"):
        estimate = ADVANTAGES[name].estimate
        whole = estimate(Scores(rewards_B=rewards_B, groups_B=groups_B, mask_BT=mask_BT))
        for group in (7, 3, 9):
            rows = groups_B == group
            alone = Scores(rewards_B=rewards_B[rows], groups_B=groups_B[rows], mask_BT=mask_BT[rows])
            torch.testing.assert_close(whole[rows], estimate(alone), rtol=1e-12, atol=1e-12)


def test_long_products_of_ratios_stay_finite() -> None:
    """2,000 tokens that differ by 0.01 each: a product ratio of e^20 is capped, and the cap is what is used."""
    old_BT, rollout_BT = torch.full((1, 2000), -1.0), torch.full((1, 2000), -1.01)
    mask_BT = torch.ones(1, 2000, dtype=torch.bool)
    assert bool((tis_sequence(old_BT, rollout_BT, mask_BT) == 2.0).all())
    assert float(tis(old_BT, rollout_BT, mask_BT).max()) == pytest.approx(1.01005, abs=1e-4)
    assert bool(torch.isfinite(tis_sequence(rollout_BT * 1000, old_BT, mask_BT)).all())
