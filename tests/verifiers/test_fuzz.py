"""Hostile text: never an exception, never a late verdict."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from verifiers import Status, check_gold, verify_choice, verify_math, verify_qa
from verifiers.exact import exact_number
from verifiers.fuzzing import FRAGMENTS, GOLDS, texts
from verifiers.reward import compute_score
from verifiers.workers import CPU_LIMIT_S

COUNT = 20_000
LIMIT_S = 2.0


@pytest.mark.timeout(600)
def test_random_fragments() -> None:
    """CPU of this process counts, for the load of the machine says nothing; a worker's own CPU is bounded."""
    verify_math(r"\boxed{\int_0^1 x\,dx \text{ cm}}", "7")
    late: list[tuple[float, str]] = []
    statuses: Counter[Status] = Counter()
    for index, response in enumerate(texts(0, COUNT)):
        started = time.process_time()
        verdict = verify_math(response, GOLDS[index % len(GOLDS)])
        spent = time.process_time() - started
        statuses[verdict.status] += 1
        if spent > LIMIT_S - CPU_LIMIT_S:
            late.append((spent, response))
    assert not late
    assert statuses.total() == COUNT
    # every gold is sound, so whatever is hostile is wrong
    assert statuses[Status.UNDECIDED] == 0


FOUND = (
    (r"2\sqrt{3}", r"\boxed{\begin{pmatrix}&2\end{pmatrix}}"), ("1011_2", r"\boxed{1011_❽}"),
    (r"2\sqrt{3}", r"\boxed{\begin{pmatrix}&2\boxed\end{pmatrix}}"), ("7", r"\boxed{7^②}"),
)  # fmt: skip
"""Kinds of text on which a verifier once raised: an empty cell, digits that are none."""


@pytest.mark.parametrize(("gold", "response"), FOUND)
def test_once_raised(gold: str, response: str) -> None:
    assert verify_math(response, gold).status is Status.INCORRECT
    assert verify_math(rf"\boxed{{{gold}}}", response.removeprefix(r"\boxed{").removesuffix("}")).score != 1.0


def test_bulk_program_bounds_time_and_memory() -> None:
    """In a process of its own, for other tests' libraries fill the memory of this one."""
    program = Path(__file__).resolve().parents[2] / "benchmarks" / "fuzz_verifiers.py"
    command = [sys.executable, str(program), "--count", "1500", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "later than 2 s: 0, " in done.stdout
    assert "exceptions: 0" in done.stdout
    assert "children left: 0" in done.stdout


def test_random_golds() -> None:
    for gold in texts(1, 1500):
        checked = check_gold(gold)
        verdict = verify_math(r"so \boxed{7}", gold)
        assert (verdict.status is Status.UNDECIDED) == (
            checked.status is Status.UNDECIDED
        ) or "worker" in verdict.reason
        exact_number(gold)


def test_random_text_for_the_others() -> None:
    for text in texts(2, 1500):
        verify_choice(text, "B")
        verify_qa(text, ("Paris", "1969"))
        compute_score("x", text, "7")


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text(text: str) -> None:
    verify_math(text, "7")
    verify_math(rf"\boxed{{{text}}}", "x^2")
    check_gold(text)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_fragments(parts: list[str]) -> None:
    text = "".join(parts)
    verify_math(rf"\boxed{{{text}}}", r"\frac{3}{4}")
    check_gold(text)
