"""Rewritings of random golds are accepted, near misses refused, for every answer type."""

from collections import Counter

import pytest

from verifiers import Status, verify_math
from verifiers.metamorphic import TYPES, WRAPPERS, trials

DRAWS = 600


@pytest.fixture(scope="module")
def outcomes() -> Counter[tuple[str, str, bool, bool]]:
    """(type, kind, must be accepted, was accepted) -> count, on draws that no case was written for."""
    found: Counter[tuple[str, str, bool, bool]] = Counter()
    for trial in trials(20261129, DRAWS):
        accepted = verify_math(trial.response, trial.gold).status is Status.CORRECT
        found[trial.type, trial.kind, trial.equal, accepted] += 1
    return found


def share(outcomes: Counter[tuple[str, str, bool, bool]], equal: bool) -> float:
    """The share of accepted trials."""
    counts = Counter[bool]()
    for (_, _, must, was), count in outcomes.items():
        if must == equal:
            counts[was] += count
    return counts[True] / counts.total()


def test_rewritings_are_accepted(outcomes: Counter[tuple[str, str, bool, bool]]) -> None:
    assert share(outcomes, equal=True) >= 0.99


def test_near_misses_are_refused(outcomes: Counter[tuple[str, str, bool, bool]]) -> None:
    assert share(outcomes, equal=False) <= 0.005


def test_every_type_has_many_forms(outcomes: Counter[tuple[str, str, bool, bool]]) -> None:
    for name in TYPES:
        for equal in (True, False):
            kinds = {kind for type_, kind, must, _ in outcomes if type_ == name and must == equal}
            assert len(kinds) * len(WRAPPERS) >= 20


def test_the_same_seed_gives_the_same_trials() -> None:
    assert list(trials(3, 20)) == list(trials(3, 20))
    assert list(trials(3, 20)) != list(trials(4, 20))
