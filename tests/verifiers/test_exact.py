"""Exact values of closed-form numbers."""

import pytest
import sympy

from verifiers.exact import exact_number

VALUES = {
    "5": 5, "-3": -3, "0.50": sympy.Rational(1, 2), r"\frac12": sympy.Rational(1, 2),
    r"2\frac{1}{2}": sympy.Rational(5, 2), "1 1/4": sympy.Rational(5, 4), "7,425,000": 7425000,
    r"2\sqrt{3}": 2 * sympy.sqrt(3), "2√3": 2 * sympy.sqrt(3), r"\sqrt[3]{-8}": -2, r"\frac{\pi}{6}": sympy.pi / 6,
    "3.2e5": 320000, r"3.2\times 10^5": 320000, "½": sympy.Rational(1, 2), r"0.1\overline{6}": sympy.Rational(1, 6),
    "5!": 120, r"\binom{10}{3}": 120, r"2^{10}": 1024, "$-7$": -7, r"\boxed{4}": 4, r"e^{i\pi}": -1, r"\log_2 8": 3,
    r"\sin 30": sympy.sin(30), r"\lfloor 3.7 \rfloor": 3, "10^{-12}": sympy.Rational(1, 10**12),
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), VALUES.items(), ids=list(VALUES))
def test_values(text: str, value: object) -> None:
    found = exact_number(text)
    assert found is not None
    assert sympy.simplify(found - sympy.sympify(value)) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x+1",
        "28\\%",
        "5 cm",
        "(1,2)",
        "Yes",
        "9^{9^{9^{9}}}",
        "1/0",
        "{",
        "import os",
        "x",
        r"\infty",
        "1 2",
        "12,34",
    ],
)
def test_not_numbers(text: str) -> None:
    assert exact_number(text) is None
