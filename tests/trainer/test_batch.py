"""Masks from lengths and provenance, positions from masks, log-probabilities that no layout changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.batch import MicroBatch, micro_batches, rows_of, split
from trainer.config import TrainConfig
from trainer.policy import Policy, load_model, self_certainty, token_entropy, token_logprobs
from trainer.rollout_group import Group, Sample
from trainer.sections import Optimiser

Recipe = Callable[..., TrainConfig]
EOS = 2


def sample(ids: tuple[int, ...], *, reward: float | None = 1.0, finish: str = "stop") -> Sample:
    return Sample(
        response="",
        token_ids=ids,
        logprobs=tuple(-1.0 for _ in ids),
        finish_reason=finish,
        status="correct",
        reason="",
        score=reward,
        reward=reward,
    )


def group(prompt: tuple[int, ...], *samples: Sample, key: str = "0:a", version: int = 0) -> Group:
    return Group(
        key=key, problem_id=key[2:], question="", ground_truth="", prompt_ids=prompt, samples=samples, version=version
    )


@pytest.fixture
def policy(model_folder: Path) -> Policy:
    model, tokenizer = load_model(model_folder)
    return Policy(model, tokenizer, Optimiser(), 1.0)


def test_the_end_token_is_trained_even_where_it_equals_the_padding() -> None:
    """The ids 0 (padding) and EOS inside a response are tokens like any other."""
    rows = rows_of([group((5, 6), sample((7, EOS)), sample((0, 0, EOS)))], version=0)
    assert rows.mask_BT.tolist() == [[True, True, False], [True, True, True]]
    micro = micro_batches(rows, [0, 1], 100)[0]
    assert micro.attention_mask_MS.sum(1).tolist() == [4, 5]


def test_truncated_responses_leave_the_loss_only_when_asked() -> None:
    groups = [group((5,), sample((7, 8), finish="length"), sample((9, EOS), reward=0.0))]
    assert rows_of(groups, version=0).mask_BT.all()
    rows = rows_of(groups, version=0, drop_truncated=True)
    assert rows.mask_BT.tolist() == [[False, False], [True, True]]
    assert rows.rewards_B.tolist() == [1.0, 0.0]
    assert rows.sampled_BT.all()


def test_undecided_is_nan_and_old_groups_are_not_fresh() -> None:
    rows = rows_of([group((5,), sample((7,), reward=None), sample((8,)), version=3)], version=4)
    assert rows.rewards_B.isnan().tolist() == [True, False]
    assert not rows.fresh_B.any()


@given(
    lengths=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=20),
    budget=st.integers(1, 120),
)
@settings(max_examples=60, deadline=None)
def test_micro_batches_hold_every_row_once_within_the_budget(lengths: list[tuple[int, int]], budget: int) -> None:
    groups = [group(tuple(range(3, 3 + p)), sample(tuple(range(3, 3 + r)))) for p, r in lengths]
    rows = rows_of(groups, version=0)
    micros = micro_batches(rows, range(len(rows)), budget)
    assert sorted(row for micro in micros for row in micro.index_M.tolist()) == list(range(len(rows)))
    for micro in micros:
        assert micro.input_ids_MS.numel() <= budget or len(micro.index_M) == 1
        for place, row in enumerate(micro.index_M.tolist()):
            real = micro.input_ids_MS[place][micro.attention_mask_MS[place].bool()].tolist()
            assert tuple(real) == rows.prompts[row] + rows.responses[row]
            assert micro.response_ids[place, : len(rows.responses[row])].tolist() == list(rows.responses[row])


def padded(micro: MicroBatch, left: int, right: int) -> MicroBatch:
    pad = torch.nn.functional.pad
    return replace(
        micro,
        input_ids_MS=pad(micro.input_ids_MS, (left, right), value=9),
        attention_mask_MS=pad(micro.attention_mask_MS, (left, right)),
        width=micro.width + right,
    )


def test_padding_changes_no_logprob(policy: Policy) -> None:
    rows = rows_of([group((5, 6, 7), sample((8, 9, 10, EOS)))], version=0)
    micro = micro_batches(rows, [0], 100)[0]
    with torch.no_grad():
        alone, entropy = policy.logprobs(micro, entropy="value")
        for left, right in ((7, 0), (0, 7), (7, 100)):
            shifted, entropy_shifted = policy.logprobs(padded(micro, left, right), entropy="value")
            torch.testing.assert_close(shifted[:, :4], alone, rtol=0, atol=1e-5)
            assert entropy is not None
            assert entropy_shifted is not None
            torch.testing.assert_close(entropy_shifted[:, :4], entropy, rtol=0, atol=1e-5)


def test_logprobs_are_those_of_the_sampled_tokens(policy: Policy) -> None:
    """Logits at position p predict the token at p + 1; temperature is applied."""
    prompt, response = (5, 6, 7), (8, 9, EOS)
    rows = rows_of([group(prompt, sample(response))], version=0)
    micro = micro_batches(rows, [0], 100)[0]
    with torch.no_grad():
        found, _ = policy.logprobs(micro, entropy="none")
        logits = policy.model(input_ids=torch.tensor([prompt + response])).logits[0]
    expected = [logits[2 + t].log_softmax(-1)[token] for t, token in enumerate(response)]
    torch.testing.assert_close(found[0], torch.stack(expected), rtol=0, atol=1e-5)
    cold = token_logprobs(logits[None, 2:5], torch.tensor([response]), 0.5)
    expected_cold = (logits[2] / 0.5).log_softmax(-1)[8]
    assert float(cold[0, 0]) == pytest.approx(float(expected_cold), abs=1e-5)


def test_a_rows_logprobs_do_not_depend_on_its_neighbours(policy: Policy) -> None:
    groups = [group(tuple(range(3, 3 + n)), sample(tuple(range(20, 20 + m)))) for n, m in ((2, 9), (8, 3), (4, 4))]
    rows = rows_of(groups, version=0)
    together, _ = policy.all_logprobs(micro_batches(rows, range(3), 1000), rows.mask_BT.shape)
    apart, _ = policy.all_logprobs(micro_batches(rows, range(3), 1), rows.mask_BT.shape)
    torch.testing.assert_close(together[rows.mask_BT], apart[rows.mask_BT], rtol=0, atol=1e-5)


def test_entropy_and_self_certainty() -> None:
    flat = torch.zeros(1, 1, 4, dtype=torch.float64)
    assert float(token_entropy(flat, 1.0)) == pytest.approx(1.3862943611198906)
    assert float(self_certainty(flat)) == pytest.approx(0.0, abs=1e-12)


@given(count=st.integers(1, 20), parts=st.integers(1, 8))
def test_minibatches_are_whole_groups_and_never_empty(count: int, parts: int) -> None:
    groups = [group((1,), sample((3,)), key=f"0:{index}") for index in range(count)]
    found = split(groups, parts)
    assert [item for part in found for item in part] == groups
    assert all(found)
    assert max(map(len, found)) - min(map(len, found)) <= 1
