"""Choice, short answers, layout."""

from typing import Any, cast

import pytest

from verifiers import Status, verify_choice, verify_qa
from verifiers.format import verify_format

RIGHT = [
    ("B", r"\boxed{\textbf{(B)}\ 12}"), ("B", "The answer is (B)."), ("B", "I choose B."),
    ("D", "The answer is not A. It is D."), ("C", "**Answer: C**"), ("A, C", r"\boxed{A, C}"),
    (r"\textbf{(B)}\ 12", "B"), ("D", r"\boxed{E \ll x} fits. **Answer: D**"),
]  # fmt: skip
WRONG = [
    ("B", "A or B"), ("B", "The answer is (C)."), ("B", "12"), ("A", "A quick look shows nothing."), ("B", ""),
    ("A", "Not A"), ("B", "B is incorrect, so C."), ("B", "A, B, C, D"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "response"), RIGHT)
def test_right_choices(gold: str, response: str) -> None:
    assert verify_choice(response, gold).status is Status.CORRECT


@pytest.mark.parametrize(("gold", "response"), WRONG)
def test_wrong_choices(gold: str, response: str) -> None:
    assert verify_choice(response, gold).status is Status.INCORRECT


def test_choice_golds() -> None:
    assert verify_choice("B", "12").reason == "gold-unparsable"
    assert verify_choice("B", "").reason == "gold-empty"


QA = [
    (("Paris",), "The capital is Paris.", True), (("Paris",), "Paris, France", True),
    (("Paris",), "Not Paris", False), (("Paris",), "Paris or London", False), (("1969",), "July 20, 1969", True),
    (("1969",), "1968", False), (("14", "fourteen"), "14.5", False),
    (("September 13, 1969",), "It aired on 13 September 1969.", True),
    (("United States", "USA"), "the United States and Canada", False),
    (("Hugh S. Johnson",), "Hugh Samuel Johnson", True),
    (("Einstein",), "Newton, Bohr, Einstein, Curie, Planck", False), (("The Beatles",), "The Beetles", False),
    (("seven",), "He was 7 years old.", True), (("São Paulo",), "sao paulo", True),
    (("blue whale",), "whale", False),
]  # fmt: skip


@pytest.mark.parametrize(("golds", "response", "right"), QA)
def test_short_answers(golds: tuple[str, ...], response: str, right: bool) -> None:
    assert (verify_qa(response, golds).status is Status.CORRECT) == right


def test_layouts() -> None:
    full = "<think>a</think>\n<answer>7</answer>"
    assert verify_format(full, layout="think-answer").status is Status.CORRECT
    assert verify_format(full + " more", layout="think-answer").status is Status.INCORRECT
    assert verify_format("<answer>7</answer>", layout="think-answer").reason == "wrong-tags"
    assert verify_format(r"<think>a</think> \boxed{7}", layout="think").status is Status.CORRECT
    assert verify_format(r"\boxed{7}").status is Status.CORRECT
    assert verify_format("7").reason == "no-box"
    with pytest.raises(ValueError, match="layout"):
        verify_format("7", layout=cast(Any, "other"))
