"""Each prompt once for all its responses, and one pass where two would give the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import Tensor

from pipeline.config import RecipeError
from trainer.batch import micro_batches, rows_of
from trainer.checkpoint import RunFolder
from trainer.clock import Clock
from trainer.config import TrainConfig
from trainer.objective import Objective
from trainer.policy import Policy, load_model
from trainer.refusals import check_ranks
from trainer.rollout_group import Group, Sample
from trainer.scorers import Scorer
from trainer.sections import Optimiser
from trainer.start import Run, start
from trainer.update import Updater

Recipe = Callable[..., TrainConfig]


def group(place: int, prompt: tuple[int, ...], *lengths: int) -> Group:
    samples = tuple(
        Sample(response="", token_ids=tuple((7 * place + 3 * row + t) % 20 for t in range(length)),
               logprobs=(-2.0,) * length, finish_reason="stop", status="correct", reason="",
               score=float(row % 2), reward=float(row % 2))
        for row, length in enumerate(lengths)
    )  # fmt: skip
    return Group(
        key=f"0:{place}", problem_id=str(place), question="", ground_truth="", prompt_ids=prompt, samples=samples,
        version=0,
    )  # fmt: skip


GROUPS = [group(0, (0, 5, 6), 1, 9, 4), group(1, (5, 6), 2, 2, 12, 5), group(2, (0, 0, 5, 6, 7), 6, 3)]
"""Prompts that are equal but for tokens which look like padding, and responses of one token."""


def policy_of(model_folder: Path, *, share: bool) -> Policy:
    model, tokenizer = load_model(model_folder, dtype=torch.float64)
    return Policy(model, tokenizer, Optimiser(max_grad_norm=1e9, share_prompts=share), 0.9)


def gradients(model_folder: Path, objective: Objective, *, tokens: int, share: bool) -> list[Tensor]:
    policy = policy_of(model_folder, share=share)
    updater = Updater(policy, objective, minibatches=1, microbatch_tokens=tokens, seed=0)
    found: list[Tensor] = []

    def keep() -> float:
        found.extend(parameter.grad.clone() for parameter in policy.parameters if parameter.grad is not None)
        return 0.0

    policy.apply = keep
    updater.update(GROUPS, version=1)
    return found


@pytest.mark.parametrize(
    "objective",
    [
        Objective(),
        Objective(aggregation="prompt_mean", entropy_coef=0.01),
        Objective(loss="gspo", aggregation="seq_mean_token_mean", kl_coef=0.1),
    ],
)
def test_sharing_prompts_changes_no_gradient(objective: Objective, model_folder: Path) -> None:
    whole = gradients(model_folder, objective, tokens=10_000, share=False)
    assert any(bool(gradient.any()) for gradient in whole)
    for tokens in (1, 40, 10_000):
        shared = gradients(model_folder, objective, tokens=tokens, share=True)
        torch.testing.assert_close(shared, whole, rtol=1e-4, atol=1e-7)  # Llama normalises in float32, even here


@pytest.mark.parametrize("chosen", [range(9), [0]])
def test_sharing_prompts_changes_no_logprob_and_no_entropy(chosen: list[int], model_folder: Path) -> None:
    rows = rows_of(GROUPS, version=0)
    (micro,) = micro_batches(rows, chosen, 10_000)
    mask = rows.mask_BT[micro.index_M, : micro.width]
    with torch.no_grad():
        shared = policy_of(model_folder, share=True).logprobs(micro, entropy="value")
        padded = policy_of(model_folder, share=False).logprobs(micro, entropy="value")
    for one, other in zip(shared, padded, strict=True):
        assert one is not None
        assert other is not None
        torch.testing.assert_close(one[mask], other[mask], rtol=0, atol=1e-12)


def test_a_shared_prompt_is_computed_once(model_folder: Path) -> None:
    policy, rows = policy_of(model_folder, share=True), rows_of(GROUPS, version=0)
    (micro,) = micro_batches(rows, range(len(rows)), 10_000)
    fed: list[torch.Size] = []
    policy.model.get_input_embeddings().register_forward_hook(lambda _, given, __: fed.append(given[0].shape))
    policy.logprobs(micro, entropy="none")
    assert [tuple(shape) for shape in fed] == [(3, 5), (9, 11)]  # three prompts; the last token predicts nothing


def test_sharing_is_refused_where_it_cannot_be(recipe: Recipe) -> None:
    with pytest.raises(RecipeError, match=r"optimiser\.share_prompts: packing"):
        recipe(optimiser={"share_prompts": True, "packing": True})
    with pytest.raises(RecipeError, match=r"optimiser\.share_prompts: in one process"):
        check_ranks(recipe(optimiser={"share_prompts": True}), 2)


def updates(run: Run, count: int, *, two_passes: bool) -> tuple[list[Tensor], list[dict[str, float]], int]:
    """Weights and metrics after some updates, and how many forward passes the last one made."""
    reports, calls = [], list[int]()
    groups = run.source.fill(0, Clock()).kept
    for version in range(count):
        run.updater._checked = run.updater._checked and not two_passes
        calls.clear()
        handle = run.policy.model.register_forward_hook(lambda *_: calls.append(1))
        reports.append(run.updater.update(groups, version=version).report())
        handle.remove()
    return [value.detach().clone() for value in run.policy.parameters], reports, len(calls)


@pytest.mark.parametrize(
    "changes", [{}, {"entropy": {"coef": 0.01}}, {"optimiser": {"packing": True, "microbatch_tokens": 64}}]
)
def test_one_pass_gives_the_bits_of_two(
    changes: dict[str, object], recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path
) -> None:
    """So a resumed run, whose first update makes both passes, has the bits of the run that was not stopped."""
    config = recipe(**changes)
    config = replace(config, optimiser=replace(config.optimiser, minibatches=1, lr=1e-4))
    found = []
    for two in (False, True):
        folder = RunFolder.open(tmp_path / str(two), config, fresh=False)
        found.append(updates(start(config, folder, quiet, scorer), 3, two_passes=two))
    (weights, reports, passes), (weights_two, reports_two, passes_two) = found
    assert 2 * passes == passes_two
    assert reports == reports_two
    assert all(torch.equal(one, other) for one, other in zip(weights, weights_two, strict=True))
