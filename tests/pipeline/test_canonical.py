import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.canonical import canonical
from pipeline.canonical_text import split_options, strip_instructions

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "canonical_pairs.jsonl").read_text(encoding="utf-8").splitlines()
]
SAME = [(pair["a"], pair["b"]) for pair in PAIRS if pair["same"]]
OTHER = [(pair["a"], pair["b"]) for pair in PAIRS if not pair["same"]]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_problem_has_the_same_tokens(a: str, b: str) -> None:
    assert canonical(a).tokens == canonical(b).tokens


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_another_problem_has_other_deciding_tokens(a: str, b: str) -> None:
    first, second = canonical(a), canonical(b)
    assert (first.hard, first.options) != (second.hard, second.options) or first.tokens != second.tokens


def test_there_are_enough_golden_pairs() -> None:
    assert len(PAIRS) >= 200


def test_templates_mask_numbers_only() -> None:
    a, b, c = (
        f"Tom has {n} {what}. He buys {m} more." for n, m, what in ((3, 4, "cats"), (5, 9, "cats"), (3, 4, "dogs"))
    )
    assert canonical(a).template_id == canonical(b).template_id != canonical(c).template_id


def test_options_are_set_apart_and_sorted() -> None:
    a = canonical("What is 2 + 2?\nA) 3\nB) 4\nC) 5")
    b = canonical("What is 2 + 2?\nA) 5\nB) 3\nC) 4")
    assert a.options == b.options == ("3", "4", "5")
    assert a.tokens == b.tokens
    _, options = split_options("Pick $\\textbf{(A) }59\\qquad\\textbf{(B) }60\\qquad\\textbf{(C) }61$")
    assert len(options) == 3


def test_a_text_that_is_all_instruction_stays() -> None:
    assert strip_instructions("Let's think step by step.") == "Let's think step by step."
    assert canonical("").tokens == ("empty",)


@given(st.text(max_size=300))
def test_no_text_crashes_and_tokens_hold_no_space(text: str) -> None:
    form = canonical(text)
    assert form.tokens
    assert not any(" " in token or not token for token in form.tokens)
    assert tuple(form.text.split(" ")) == form.tokens


@given(st.text(alphabet="{}\\frac^_$()[]12ab sqrt ", max_size=200))
def test_broken_latex_does_not_crash(text: str) -> None:
    canonical(text)


def test_time_is_linear_in_hostile_text() -> None:
    for text in (
        "{" * 50_000,
        "\\frac" * 20_000,
        "$" * 50_000,
        "^" * 50_000,
        "\\sqrt[" * 15_000,
        "[asy]" * 20_000,
        "(A) " * 20_000,
    ):
        canonical(text)
