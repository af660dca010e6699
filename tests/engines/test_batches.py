"""The plan of batches and the random numbers: functions of content."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from engines.batches import Work, draw, left_padded, plan, row_keys, uniforms

prompts = st.lists(st.lists(st.integers(3, 9), min_size=1, max_size=12), min_size=1, max_size=20)


@given(prompts, st.integers(1, 9), st.integers(0, 5), st.integers(1, 120))
def test_plan_covers_every_sample_once_within_the_budget(
    encoded: list[list[int]], n: int, first: int, budget: int
) -> None:
    keys = [str(index) for index in range(len(encoded))]
    batches = plan(encoded, keys, range(len(encoded)), range(first, first + n), 4, budget)
    covered = [(w.index, s) for batch in batches for w in batch for s in range(w.first, w.first + w.count)]
    assert sorted(covered) == [(index, s) for index in range(len(encoded)) for s in range(first, first + n)]
    for batch in batches:
        rows = sum(work.count for work in batch)
        longest = max(len(encoded[work.index]) for work in batch)
        assert rows == 1 or rows * (longest + 4) <= budget


@given(prompts, st.randoms(use_true_random=False))
def test_plan_does_not_depend_on_the_order_of_prompts(encoded: list[list[int]], random: Random) -> None:
    keys = [f"key {index}" for index in range(len(encoded))]
    order = list(range(len(encoded)))
    random.shuffle(order)

    def named(places: list[int]) -> list[list[tuple[str, int, int]]]:
        shuffled_keys = [keys[place] for place in places]
        batches = plan([encoded[p] for p in places], shuffled_keys, range(len(places)), range(3), 4, 60)
        return [[(shuffled_keys[w.index], w.first, w.count) for w in batch] for batch in batches]

    assert named(order) == named(sorted(order))


def test_random_numbers_follow_seed_key_sample_and_position() -> None:
    works = [Work(index=0, first=0, count=2), Work(index=1, first=1, count=1)]
    base = row_keys(0, works, ["a", "b"])
    assert len(set(base.tolist())) == 3
    assert row_keys(0, [Work(index=0, first=1, count=1)], ["a"])[0] == base[1]
    assert row_keys(1, works, ["a", "b"])[0] != base[0]
    assert not np.array_equal(uniforms(base, 0), uniforms(base, 1))


def test_random_numbers_are_uniform_and_uncorrelated() -> None:
    keys = row_keys(3, [Work(index=0, first=0, count=2000)], ["x"])
    numbers = np.stack([uniforms(keys, position) for position in range(20)])
    assert 0 < numbers.min() <= numbers.max() < 1
    assert kstest(numbers.ravel(), "uniform").pvalue > 1e-3
    correlation = np.asarray(np.corrcoef(numbers))
    assert np.abs(correlation - np.eye(20)).max() < 0.1


def test_draws_follow_the_distribution() -> None:
    logits = torch.tensor([0.3, -1.0, float("-inf"), 2.0, 0.0], dtype=torch.float64)
    keys = row_keys(0, [Work(index=0, first=0, count=20_000)], ["x"])
    token_B, logp_B = draw(logits.repeat(20_000, 1), uniforms(keys, 0), 0.8)
    expected = (logits / 0.8).softmax(0)
    counts = torch.bincount(token_B, minlength=5)
    assert counts[2] == 0
    kept = [0, 1, 3, 4]
    assert chisquare(counts[kept].numpy(), (expected[kept] * 20_000).numpy()).pvalue > 1e-3
    assert torch.allclose(logp_B, expected.log()[token_B], atol=1e-6)


def test_the_ends_of_the_distribution_are_drawn() -> None:
    logits = torch.tensor([[0.0, 0.0, float("-inf")]])
    low, high = np.array([2.0**-41]), np.array([1 - 2.0**-41])
    assert draw(logits, low, 1.0)[0].item() == 0
    token, logp = draw(logits, high, 1.0)
    assert token.item() == 1
    assert math.isclose(logp.item(), math.log(0.5), abs_tol=1e-6)


def test_left_padding() -> None:
    ids, mask = left_padded([[5, 6, 7], [8]], torch.device("cpu"))
    assert ids.tolist() == [[5, 6, 7], [0, 0, 8]]
    assert mask.tolist() == [[True, True, True], [False, False, True]]
