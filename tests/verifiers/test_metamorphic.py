"""Rewritings of random golds are accepted, near misses refused, for every answer type."""

from collections import Counter

import pytest

from verifiers import Status, verify_math
from verifiers.metamorphic import TYPES, WRAPPERS, trials

DRAWS = 800
MANY_DRAWS = 5_000
Outcomes = Counter[tuple[str, str, bool, bool]]


def judged(seed: int, draws: int) -> Outcomes:
    """(type, kind, must be accepted, was accepted) -> count, on draws that no case was written for."""
    found: Outcomes = Counter()
    for trial in trials(seed, draws):
        accepted = verify_math(trial.response, trial.gold).status is Status.CORRECT
        found[trial.type, trial.kind, trial.equal, accepted] += 1
    return found


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    return judged(20261129, DRAWS)


def share(outcomes: Outcomes, equal: bool) -> float:
    """The share of accepted trials."""
    counts = Counter[bool]()
    for (_, _, must, was), count in outcomes.items():
        if must == equal:
            counts[was] += count
    return counts[True] / counts.total()


def test_rewritings_are_accepted(outcomes: Outcomes) -> None:
    assert share(outcomes, equal=True) >= 0.99


def test_near_misses_are_refused(outcomes: Outcomes) -> None:
    assert share(outcomes, equal=False) <= 0.005


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_fresh_draws() -> None:
    many = judged(7, MANY_DRAWS)
    assert share(many, equal=True) >= 0.99
    assert share(many, equal=False) <= 0.005


def test_every_type_has_many_forms(outcomes: Outcomes) -> None:
    for name in TYPES:
        for equal in (True, False):
            kinds = {kind for type_, kind, must, _ in outcomes if type_ == name and must == equal}
            assert len(kinds) >= 10
            assert len(kinds) * len(WRAPPERS) >= 20


def test_the_same_seed_gives_the_same_trials() -> None:
    assert list(trials(3, 20)) == list(trials(3, 20))
    assert list(trials(3, 20)) != list(trials(4, 20))
