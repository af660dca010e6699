"""Towers, nesting and length: a verdict in time, and no refuge for a policy in what is hard to decide."""

import sys
import time

import pytest

from verifiers import Status, check_gold, verify_choice, verify_math, verify_qa
from verifiers.exact import exact_number
from verifiers.workers import CPU_LIMIT_S

TOWERS = (
    "5^{5^{5^5}}", "5**5**5**5", "9^{9^{9^{9^{9}}}}", "((2^{100})^{100})^{100000}", "(10^{10^{10}})!", "100000000!",
    r"\binom{10^{12}}{10^{11}}", r"\sum_{k=1}^{10^{12}} \frac{1}{k}", r"\prod_{k=1}^{10^{15}} k",
    r"\sum_{a=1}^{2000}\sum_{b=1}^{2000}\sum_{c=1}^{2000} abc", r"\sin(10^{10^{10}})", r"\tan(\tan(\tan(\tan(1))))",
    r"\sqrt{" * 60 + "2" + "}" * 60, "(" * 90 + "x" + ")" * 90, "{" * 1500 + "7" + "}" * 1500,
    "(" * 1500 + "7" + ")" * 1500, r"\frac{1}{" * 90 + "x" + "}" * 90, "1+" * 1500 + "1",
    "x^{" * 200 + "2" + "}" * 200, "!" * 3000, "3" + "!" * 60, "-" * 2000 + "1", "1" * 3900, "x" * 3900,
    "9" * 60000, r"\int_0^1 e^{\sin(x^{x^x})}\,dx", r"\lim_{x\to 0} x^{x^{x^{x^x}}}",
    r"\int_0^\infty \frac{\sin(x^{17})}{x^{1/7}+\ln(x+2)} dx", "a" + "b" * 30 + "^" * 50,
    ",".join(str(value) for value in range(900)), ",".join(f"x_{{{value}}}" for value in range(300)),
    "[" * 500 + "]" * 500, r"\begin{pmatrix}" + r"1&2\\" * 300 + r"\end{pmatrix}", "0." + "3" * 3000, "1e999999999",
    "10^{-10^{10^{10}}}",
)  # fmt: skip
CHAINS = (
    "x y " * 900, "(x)(y)" * 500, "2x" + "(3)" * 900, "x/" * 900 + "y", "x-" * 900 + "y", r"\pm 1" * 300, "x!" * 900,
    "x^2" * 600, "5" + "!" * 200, r"\sqrt{2}" * 400, "1/2" * 300, "-" * 1500 + "x", r"\sin " * 500 + "x", "x'" * 900,
    r"\sin " + "-" * 1500 + "x", "x^" + "-" * 1500 + "1", "2^" * 1500 + "2", r"\frac1" * 600 + "2",
    r"\sqrt" * 900 + "2",
    r"\sum_{k=1}^n " * 250 + "k", "a_{" * 300 + "1" + "}" * 300, "x=" * 500 + "1", "x<" * 500 + "1", "1," * 300 + "2",
    "((1,2)," * 60 + "3" + ")" * 60, r"\{" * 80 + r"\}" * 80, "(" * 20 + "(x" + "/x" * 80 + ")" + "/x)" * 20,
)  # fmt: skip
LIMIT_S = 2.0 - CPU_LIMIT_S
"""CPU seconds of this process, which the load of the machine does not change; a worker adds its own limit at most."""


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """The unit definitions and the first worker process are not part of any verdict."""
    verify_math(r"\boxed{5 \text{ cm}}", "7")
    verify_math(r"\boxed{\int_0^1 x\,dx}", "7")


@pytest.mark.parametrize("text", TOWERS, ids=range(len(TOWERS)))
def test_towers_are_wrong_and_in_time(text: str) -> None:
    """What cannot be decided against a sound gold earns no more than a wrong answer."""
    started = time.process_time()
    verdict = verify_math(rf"\boxed{{{text}}}", "8")
    assert time.process_time() - started < LIMIT_S
    assert verdict.status is Status.INCORRECT
    assert verdict.score == 0.0


@pytest.mark.parametrize("text", TOWERS, ids=range(len(TOWERS)))
def test_towers_as_golds_are_in_time(text: str) -> None:
    started = time.process_time()
    checked = check_gold(text)
    assert time.process_time() - started < LIMIT_S
    if checked.status is Status.UNDECIDED:
        assert checked.reason in ("gold-unparsable", "gold-unequal-to-itself")
    exact_number(text)
    assert time.process_time() - started < LIMIT_S * 2


FILLERS = (
    "the value is ", "$", "$$", "\\boxed{", "{", "}", "answer: ", "Answer is not ", " ", "\n", ",", ";", "\\(",
    "\\[", "A ", "is ", "<think>", "</think>", "<answer>", "**", "`", "#### ", "(((", "1,", "and ", "．", "½", "x_",
    "\\text{", "not A or ", '"', "\\\\",
)  # fmt: skip


@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("gold", ["7", "B", "Yes", "x>3", "Paris"])
def test_long_responses_are_in_time(filler: str, gold: str) -> None:
    text = filler * (100_000 // len(filler))
    started = time.process_time()
    assert verify_math(text, gold).status is Status.INCORRECT
    verify_choice(text, "B")
    verify_qa(text, "Paris")
    assert time.process_time() - started < 3 * LIMIT_S
    assert verify_math(text + "\n\n</think>\\boxed{7}", "7").status is Status.CORRECT


def test_recursion_limit_is_left_alone() -> None:
    before = sys.getrecursionlimit()
    verify_math(r"\boxed{" + "(" * 3000 + ")" * 3000 + "}", "7")
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("text", CHAINS, ids=range(len(CHAINS)))
def test_long_chains_recurse_within_bounds(text: str) -> None:
    """Left-deep and right-deep trees must not reach the interpreter's recursion limit."""
    started = time.process_time()
    for gold in ("7", "x^2"):
        verdict = verify_math(rf"\boxed{{{text}}}", gold)
        assert verdict.status is Status.INCORRECT
    check_gold(text)
    exact_number(text)
    assert time.process_time() - started < 3 * LIMIT_S
