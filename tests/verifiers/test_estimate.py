"""Error rates from few labels: laws of the estimate, and its coverage on real verdicts."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.estimate import OTHER, Cell, Strata, estimate, plan, rates_of, stratify

ROOT = Path(__file__).resolve().parents[2]


def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit_coverage", ROOT / "benchmarks" / "audit_coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cell(accepted: bool, source: str = "a", verifier: str = "math") -> Cell:
    return Cell(verifier=verifier, accepted=accepted, reason="exact" if accepted else "different", source=source)


@st.composite
def files(draw: st.DrawFn) -> tuple[list[Cell], list[bool]]:
    """Rows with their true labels; at least one right and one wrong, accepted and not."""
    n = draw(st.integers(2, 120))
    kinds = st.tuples(st.booleans(), st.sampled_from("abc"), st.sampled_from(("math", "qa")))
    cells = [cell(*draw(kinds)) for _ in range(n)] + [cell(True), cell(False)]
    truth = [draw(st.booleans()) for _ in range(n)] + [True, False]
    return cells, truth


def counted(cells: Sequence[Cell], truth: Sequence[bool]) -> tuple[float, float]:
    right = [c.accepted for c, good in zip(cells, truth, strict=True) if good]
    wrong = [c.accepted for c, good in zip(cells, truth, strict=True) if not good]
    return right.count(False) / len(right), wrong.count(True) / len(wrong)


@settings(max_examples=25, deadline=None)
@given(files())
def test_all_labels_give_the_counted_rates_without_doubt(file: tuple[list[Cell], list[bool]]) -> None:
    cells, truth = file
    found = estimate(stratify(cells, truth))
    assert found is not None
    for value, true in zip((found["fnr"], found["fpr"]), counted(cells, truth), strict=True):
        assert value.estimate == pytest.approx(true)
        assert value.low == pytest.approx(true)
        assert value.high == pytest.approx(true)


@settings(max_examples=40, deadline=None)
@given(files(), st.randoms(use_true_random=False))
def test_any_labels_give_an_ordered_interval_in_range(file: tuple[list[Cell], list[bool]], random: Random) -> None:
    cells, truth = file
    draw = random.random
    found = estimate(stratify(cells, [good if draw() < 0.3 else None for good in truth]))
    for value in (found or {}).values():
        assert 0 <= value.low <= value.high <= 1
        assert value.estimate is None or value.low <= value.estimate <= value.high


def test_a_rate_without_a_row_that_counts_is_unknown() -> None:
    found = estimate(stratify([cell(True)] * 30, [True] * 5 + [None] * 25))
    assert found is not None
    assert found["fnr"].estimate == 0
    assert (found["fpr"].estimate, found["fpr"].high) == (None, 1)


@settings(max_examples=25, deadline=None)
@given(files(), st.integers(0, 150))
def test_a_plan_asks_what_there_is_and_no_more(file: tuple[list[Cell], list[bool]], count: int) -> None:
    cells, truth = file
    strata = stratify(cells, [good if index % 3 == 0 else None for index, good in enumerate(truth)])
    added = plan(strata, count)
    left = strata.size - strata.labelled
    assert added.sum() == min(count, left.sum())
    assert (added <= left).all()


def test_strata_count_every_row_once_and_merge_the_small_ones() -> None:
    cells = [cell(True, "a")] * 60 + [cell(True, "b")] * 38 + [cell(True, "c"), cell(False, "a")]
    correct = [True, False, *[None] * 98]
    strata = stratify(cells, correct)
    assert strata.size.sum() == 100
    assert {(c.accepted, c.source) for c in strata.cells} == {
        (True, "a"), (True, "b"), (True, OTHER), (False, OTHER),
    }  # fmt: skip
    assert (strata.labelled.sum(), strata.errors.sum()) == (2, 1)
    assert (np.bincount(strata.of_row) == strata.size).all()


def test_nothing_is_said_of_a_side_without_labels() -> None:
    cells = [cell(True)] * 10 + [cell(False)] * 10
    assert estimate(stratify(cells, [True] * 5 + [None] * 15)) is None
    assert estimate(stratify(cells, [None] * 20)) is None
    assert estimate(stratify(cells, [True, *[None] * 9, False, *[None] * 9])) is not None


def test_every_stratum_gets_a_label_and_doubtful_ones_more() -> None:
    cells = [cell(True, source) for source in "abcd" for _ in range(200)] + [cell(False)] * 200
    strata = stratify(cells, [None] * len(cells))
    first = plan(strata, 40)
    assert first.min() >= 1
    assert first.max() <= 3 * first.min()


def test_doubtful_groups_get_more_labels() -> None:
    cells = [cell(False, verifier=name) for name in ("math", "qa") for _ in range(300)] + [cell(True)] * 600
    correct = [False] * 10 + [None] * 290 + [True, False] * 5 + [None] * 290 + [True] * 10 + [None] * 590
    added = plan(stratify(cells, correct), 80)
    by_verifier = {c.verifier: n for c, n in zip(stratify(cells, correct).cells, added, strict=True) if not c.accepted}
    assert by_verifier["qa"] > 2 * by_verifier["math"]


def population(module: ModuleType) -> tuple[Strata, np.ndarray]:
    return module.strata_of(ROOT / "data" / "samples" / "graded_responses.jsonl.gz")


def test_intervals_cover_on_real_verdicts() -> None:
    """The benchmark in small, on the bundled graded responses."""
    module = benchmark()
    strata, truth = population(module)
    found = module.run(strata, truth, labels=100, resamples=60, batch=20)
    design = found["designs"]["stratified draw, estimate"]
    for name in ("fnr", "fpr"):
        # 60 resamples of a coverage of 0.95: below 0.87 in one of a thousand
        assert design[name]["coverage"] >= 0.87, (name, design)
        assert design[name]["relative_width"] <= 0.85, (name, design)


@pytest.mark.parametrize(("accepted_errors", "rejected_errors"), [(0.002, 0.004), (0.1, 0.05), (0.3, 0.4)])
def test_intervals_cover_for_good_and_bad_verifiers(accepted_errors: float, rejected_errors: float) -> None:
    module = benchmark()
    cells = [cell(True, source) for source in "abc" for _ in range(500)]
    cells += [cell(False, source) for source in "abc" for _ in range(400)]
    strata = stratify(cells, [None] * len(cells))
    truth = np.round(np.where(strata.accepted, accepted_errors, rejected_errors) * strata.size).astype(np.int64)
    true = dict(zip(("fnr", "fpr"), rates_of(strata, truth.astype(float)), strict=True))
    generator = np.random.default_rng(1)
    found = [module.powered(module.stratified(strata, truth, 100, 20, generator), seed) for seed in range(60)]
    for name, value in true.items():
        covered = [bounds[name][0] <= value <= bounds[name][1] for bounds in found]
        assert np.mean(covered) >= 0.85, name
