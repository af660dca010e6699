"""Rewritings of random golds are accepted, near misses refused, for every answer type."""

import random
from collections import Counter

import pytest

from verifiers import Status, verify_math
from verifiers.metamorphic import TYPES, trials

DRAWS = 5_000
Outcomes = Counter[tuple[str, str, bool, bool]]


def judged(seed: int, draws: int) -> Outcomes:
    """(type, kind, must be accepted, was accepted) -> count, on draws that no case was written for."""
    found: Outcomes = Counter()
    for trial in trials(seed, draws):
        accepted = verify_math(trial.response, trial.gold).status is Status.CORRECT
        found[trial.type, trial.kind, trial.equal, accepted] += 1
    return found


def share(outcomes: Outcomes, equal: bool) -> float:
    """The share of accepted trials."""
    counts = Counter[bool]()
    for (_, _, must, was), count in outcomes.items():
        if must == equal:
            counts[was] += count
    return counts[True] / counts.total()


def wrong(outcomes: Outcomes) -> list[tuple[str, str, bool, bool]]:
    """The kinds with a verdict that must not be, the commonest first."""
    return [key for key, _ in outcomes.most_common() if key[2] != key[3]]


def test_fresh_draws() -> None:
    outcomes = judged(20261129, DRAWS)
    assert share(outcomes, equal=True) >= 0.99, wrong(outcomes)
    assert share(outcomes, equal=False) <= 0.005, wrong(outcomes)
    assert {name for name, *_ in outcomes} == set(TYPES)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_many_fresh_draws() -> None:
    for seed in range(7, 17):
        outcomes = judged(seed, DRAWS)
        assert share(outcomes, equal=True) >= 0.99, wrong(outcomes)
        assert share(outcomes, equal=False) <= 0.005, wrong(outcomes)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_twenty_forms_of_either_sort(name: str) -> None:
    source = random.Random(name)
    for _ in range(40):
        draw = TYPES[name](source)
        # forms with the same text are one form
        assert len(set(draw.equal.values())) >= 20
        assert len(set(draw.unequal.values())) >= 20
        assert not set(draw.equal.values()) & set(draw.unequal.values())
        assert draw.gold not in draw.unequal.values()


@pytest.mark.parametrize("name", TYPES)
def test_parameters_are_random(name: str) -> None:
    source = random.Random(name)
    assert len({tuple(TYPES[name](source).unequal.values()) for _ in range(40)}) > 1


def test_the_same_seed_gives_the_same_trials() -> None:
    assert list(trials(3, 20)) == list(trials(3, 20))
    assert list(trials(3, 20)) != list(trials(4, 20))
