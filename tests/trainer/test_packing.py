"""Rows end to end: the same log-probabilities and gradients as padded rows, and no row sees another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import pad

from trainer.batch import MicroBatch, Rows, micro_batches, rows_of
from trainer.objective import Objective
from trainer.packing import packed_batches
from trainer.policy import Policy, load_model
from trainer.rollout_group import Group, Sample
from trainer.sections import Optimiser
from trainer.update import Updater


def group(place: int, prompt: int, *lengths: int) -> Group:
    samples = tuple(
        Sample(response="", token_ids=tuple((7 * place + 3 * row + t) % 20 + 3 for t in range(length)),
               logprobs=(-2.0,) * length, finish_reason="stop", status="correct", reason="",
               score=float(row % 2), reward=float(row % 2))
        for row, length in enumerate(lengths)
    )  # fmt: skip
    prompt_ids = tuple(3 + (place + t) % 17 for t in range(prompt))
    return Group(
        key=f"0:{place}", problem_id=str(place), question="", ground_truth="", prompt_ids=prompt_ids, samples=samples,
        version=0,
    )  # fmt: skip


GROUPS = [group(0, 3, 1, 9, 4), group(1, 7, 2, 2, 12, 5), group(2, 1, 6, 3)]


def policy_of(model_folder: Path) -> Policy:
    model, tokenizer = load_model(model_folder, dtype=torch.float64)
    return Policy(model, tokenizer, Optimiser(max_grad_norm=1e9), 0.9)


def gradients(
    model_folder: Path, groups: list[Group], objective: Objective, *, tokens: int, packing: bool
) -> list[Tensor]:
    policy = policy_of(model_folder)
    updater = Updater(policy, objective, minibatches=1, microbatch_tokens=tokens, seed=0, packing=packing)
    found: list[Tensor] = []

    def keep() -> float:
        found.extend(parameter.grad.clone() for parameter in policy.parameters if parameter.grad is not None)
        return 0.0

    policy.apply = keep
    updater.update(groups, version=1)
    return found


@pytest.mark.parametrize(
    "objective",
    [
        Objective(),
        Objective(aggregation="prompt_mean", entropy_coef=0.01),
        Objective(loss="gspo", aggregation="seq_mean_token_mean", kl_coef=0.1),
        Objective(loss="kl_cov", loss_options={"ratio": 0.1}, high_entropy_share=0.5),
    ],
)
def test_packing_changes_no_gradient(objective: Objective, model_folder: Path) -> None:
    """Against padding, in any order of the groups, for whole-step methods too."""
    whole = gradients(model_folder, GROUPS, objective, tokens=10_000, packing=False)
    assert any(bool(gradient.any()) for gradient in whole)
    for tokens, groups in ((1, GROUPS), (30, GROUPS), (10_000, [GROUPS[i] for i in (2, 0, 1)])):
        packed = gradients(model_folder, groups, objective, tokens=tokens, packing=True)
        torch.testing.assert_close(packed, whole, rtol=0, atol=1e-10)


def test_no_row_sees_another(model_folder: Path) -> None:
    """Other tokens in one row leave the log-probabilities of the rows beside it bit-identical."""
    policy = policy_of(model_folder)
    rows = rows_of(GROUPS, version=0)
    (micro,) = packed_batches(rows, range(len(rows)), 10_000)
    with torch.no_grad():
        before, entropy = policy.logprobs(micro, entropy="value")
        changed = micro.ids_S.clone()
        changed[micro.segment_S == 4] = 5
        after, _ = policy.logprobs(replace(micro, ids_S=changed), entropy="none")
        padded, padded_entropy = policy.logprobs(
            micro_batches(rows, micro.index_M.tolist(), 10_000)[0], entropy="value"
        )
    others = torch.arange(len(before)) != 4
    assert torch.equal(before[others], after[others])
    assert not torch.equal(before[4], after[4])
    assert entropy is not None
    assert padded_entropy is not None
    mask = rows.mask_BT[micro.index_M]
    torch.testing.assert_close(before[mask], padded[mask], rtol=0, atol=1e-12)
    torch.testing.assert_close(entropy[mask], padded_entropy[mask], rtol=0, atol=1e-12)


@given(
    sizes=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=12),
    budget=st.integers(1, 90),
)
def test_every_row_is_packed_once_within_the_budget(sizes: list[tuple[int, int]], budget: int) -> None:
    rows = rows_of([group(place, p, r) for place, (p, r) in enumerate(sizes)], version=0)
    micros = packed_batches(rows, range(len(rows)), budget)
    assert sorted(row for micro in micros for row in micro.index_M.tolist()) == list(range(len(rows)))
    for micro in micros:
        assert len(micro.ids_S) <= budget or len(micro.index_M) == 1
        for place, row in enumerate(micro.index_M.tolist()):
            own = micro.segment_S == place
            assert tuple(micro.ids_S[own].tolist()) == rows.prompts[row] + rows.responses[row]
            assert micro.position_S[own].tolist() == list(range(int(own.sum())))
            assert tuple(micro.target_ids[micro.row_N == place].tolist()) == rows.responses[row]


def test_a_hundred_columns_of_padding_change_no_gradient(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the model's own inputs, on both sides; the ids that stand there are real tokens."""
    objective = Objective(aggregation="constant", max_length=12, advantage="centred", kl_coef=0.1)
    whole = gradients(model_folder, GROUPS, objective, tokens=60, packing=False)

    def wide(rows: Rows, index: Sequence[int], max_tokens: int) -> list[MicroBatch]:
        return [
            replace(
                micro,
                input_ids_MS=pad(micro.input_ids_MS, (100, 100), value=9),
                attention_mask_MS=pad(micro.attention_mask_MS, (100, 100)),
                width=micro.width + 100,
            )
            for micro in micro_batches(rows, index, max_tokens)
        ]

    monkeypatch.setattr("trainer.update.micro_batches", wide)
    monkeypatch.setattr("trainer.update.rows_of", lambda *a, **k: _widened(rows_of(*a, **k)))
    padded = gradients(model_folder, GROUPS, objective, tokens=60, packing=False)
    torch.testing.assert_close(padded, whole, rtol=0, atol=1e-10)


def _widened(rows: Rows) -> Rows:
    wide = {name: pad(getattr(rows, name), (0, 100)) for name in ("mask_BT", "sampled_BT", "logp_rollout_BT")}
    return replace(rows, **wide)
