"""Digits to exact numbers."""

from __future__ import annotations

from fractions import Fraction

from verifiers.answer import tree
from verifiers.answer.tree import MAX_NODES, Node, TooComplex


def literal(text: str) -> Node:
    """3, 0.50, 3.2e5 as an exact number."""
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    if len(text) > MAX_NODES or len(exponent) > 6:
        raise TooComplex("too many digits")
    if not exponent and "." not in mantissa:
        return tree.number(int(mantissa)) if len(mantissa) <= 4000 else _long_integer(mantissa)
    value = Fraction(mantissa if mantissa[-1] != "." else mantissa[:-1])
    if exponent:
        power = int(exponent)
        if abs(power) > 4000:
            return Node("mul", (tree.number(value), Node("pow", (tree.number(10), tree.number(power)))))
        value *= Fraction(10) ** power
    return tree.number(value)


def _long_integer(digits: str) -> Node:
    """int() refuses more than 4,300 digits by default; chunks avoid changing a setting of the whole process."""
    value = 0
    for start in range(0, len(digits), 4000):
        chunk = digits[start : start + 4000]
        value = value * 10 ** len(chunk) + int(chunk)
    return tree.number(value)
