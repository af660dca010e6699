"""Exact rational value of a tree, in int and Fraction; None when it has none or is too large to be written out."""

from __future__ import annotations

import math
from fractions import Fraction

from verifiers.answer.cost import MAX_COST, cost
from verifiers.answer.tree import MAX_BITS, Node, TooComplex

Rational = int | Fraction


def rational(node: Node) -> Rational | None:
    """None for irrational, complex or symbolic trees and for values above MAX_BITS bits. Division by zero: None."""
    handler = _HANDLERS.get(node.op)
    return None if handler is None else handler(node)


def bits(value: Rational) -> int:
    if isinstance(value, int):
        return value.bit_length()
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def tidy(value: Rational) -> Rational:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _all(node: Node) -> list[Rational] | None:
    values: list[Rational] = []
    for child in node.args:
        value = rational(child)
        if value is None:
            return None
        values.append(value)
    return values


def _num(node: Node) -> Rational | None:
    assert isinstance(node.value, int | Fraction)
    return node.value if bits(node.value) <= MAX_BITS else None


def _add(node: Node) -> Rational | None:
    values = _all(node)
    return None if values is None else _bounded(sum(values))


def _mul(node: Node) -> Rational | None:
    values = _all(node)
    if values is None or sum(map(bits, values)) > MAX_BITS:
        return None
    return tidy(math.prod(values))


def _bounded(value: Rational) -> Rational | None:
    return tidy(value) if bits(value) <= MAX_BITS else None


def _neg(node: Node) -> Rational | None:
    value = rational(node.args[0])
    return None if value is None else -value


def _div(node: Node) -> Rational | None:
    values = _all(node)
    return None if values is None or values[1] == 0 else _bounded(Fraction(values[0]) / values[1])


def _pow(node: Node) -> Rational | None:
    values = _all(node)
    if values is None:
        return None
    return power(*values)


def power(base: Rational, exponent: Rational) -> Rational | None:
    if isinstance(exponent, Fraction):
        root = exact_root(base, exponent.denominator)
        return None if root is None else power(root, exponent.numerator)
    if base == 0:
        return None if exponent <= 0 else 0
    if abs(base) == 1:
        return 1 if exponent % 2 == 0 else base
    if abs(exponent) > MAX_BITS or bits(base) * abs(exponent) > MAX_BITS:
        return None
    return tidy(Fraction(base) ** exponent if exponent < 0 else base**exponent)


def exact_root(value: Rational, index: int) -> Rational | None:
    """The real root when it is rational, for negative values of odd index too."""
    if index < 1 or index > 1000:
        return None
    if value < 0:
        root = exact_root(-value, index) if index % 2 else None
        return None if root is None else -root
    top, bottom = (_integer_root(part, index) for part in (Fraction(value).numerator, Fraction(value).denominator))
    return None if top is None or bottom is None else tidy(Fraction(top, bottom))


def _integer_root(value: int, index: int) -> int | None:
    if index == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    if value < 2:
        return value
    low, high = 1, 1 << (value.bit_length() // index + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**index < value:
            low = middle + 1
        else:
            high = middle
    return low if low**index == value else None


def _root(node: Node) -> Rational | None:
    values = _all(node)
    return None if values is None or not isinstance(values[1], int) else exact_root(values[0], values[1])


def _fact(node: Node) -> Rational | None:
    value = rational(node.args[0])
    if not isinstance(value, int) or value < 0 or value > 10_000 or math.lgamma(value + 1) / math.log(2) > MAX_BITS:
        return None
    return math.factorial(value)


def _fact2(node: Node) -> Rational | None:
    value = rational(node.args[0])
    return math.prod(range(value, 0, -2)) if isinstance(value, int) and 0 <= value <= 5_000 else None


def _binom(node: Node) -> Rational | None:
    values = _all(node)
    if values is None or not all(isinstance(value, int) for value in values):
        return None
    n, k = int(values[0]), int(values[1])
    if n < 0 or k < 0 or n > 50_000:
        return None
    return math.comb(n, k)


def _abs(node: Node) -> Rational | None:
    value = rational(node.args[0])
    return None if value is None else abs(value)


def _floor(node: Node) -> Rational | None:
    value = rational(node.args[0])
    return None if value is None else math.floor(value)


def _ceil(node: Node) -> Rational | None:
    value = rational(node.args[0])
    return None if value is None else math.ceil(value)


def _percent(node: Node) -> Rational | None:
    value = rational(node.args[0])
    return None if value is None else tidy(Fraction(value) / 100)


_OF_MANY = {"max": max, "min": min}


def _func(node: Node) -> Rational | None:
    if node.value not in ("max", "min", "gcd", "lcm"):
        return _special(node)
    values = _all(node)
    if not values:
        return None
    if node.value in _OF_MANY:
        return _OF_MANY[str(node.value)](values)
    integers = [value for value in values if isinstance(value, int)]
    if len(integers) != len(values):
        return None
    return math.gcd(*integers) if node.value == "gcd" else _bounded(math.lcm(*integers))


def _special(node: Node) -> Rational | None:
    """exp(0), ln(1), sin(0) and their like; everything else is left to numbers."""
    if len(node.args) != 1:
        return None
    value = rational(node.args[0])
    at_zero = {"exp": 1, "sin": 0, "tan": 0, "cos": 1, "arctan": 0, "arcsin": 0, "sinh": 0, "cosh": 1}
    if value == 0 and node.value in at_zero:
        return at_zero[str(node.value)]
    return 0 if value == 1 and node.value in ("ln", "log") else None


def _log(node: Node) -> Rational | None:
    """log_2 8 = 3: an exact integer logarithm."""
    values = _all(node)
    if values is None or not all(isinstance(value, int) and value > 0 for value in values) or values[1] == 1:
        return None
    target, base = int(values[0]), int(values[1])
    count = round(math.log(target, base)) if target.bit_length() < 1000 else target.bit_length() // base.bit_length()
    return count if 0 <= count < MAX_BITS and power(base, count) == target else None


def _series(node: Node) -> Rational | None:
    from verifiers.answer.substitute import terms

    if cost(node) > MAX_COST:
        raise TooComplex("a sum of too much work")
    total: Rational = 0 if node.op == "sum" else 1
    parts = terms(node)
    if parts is None:
        return None
    for part in parts:
        value = rational(part)
        if value is None:
            return None
        total = total + value if node.op == "sum" else total * value
        if bits(total) > MAX_BITS:
            raise TooComplex("a sum of large terms")
    return tidy(total)


def _group(node: Node) -> Rational | None:
    return rational(node.args[0])


_HANDLERS = {
    "num": _num, "add": _add, "mul": _mul, "neg": _neg, "div": _div, "pow": _pow, "root": _root, "fact": _fact,
    "fact2": _fact2, "binom": _binom, "abs": _abs, "floor": _floor, "ceil": _ceil, "percent": _percent,
    "func": _func, "log": _log, "sum": _series, "prod": _series, "group": _group,
}  # fmt: skip
