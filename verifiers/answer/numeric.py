"""Values of trees at a given binary precision, real or complex."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from mpmath import libmp
from mpmath.libmp import fone, from_int, fzero

from verifiers.answer import exact_value, values
from verifiers.answer.functions import FUNCTIONS
from verifiers.answer.substitute import terms
from verifiers.answer.tree import Node, TooComplex, holds, symbols
from verifiers.answer.values import Undefined, Value

MAX_SYMBOLIC_TERMS = 64


def evaluate(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    """Raises Undefined or TooComplex. `at` gives the free symbols."""
    handler = _HANDLERS.get(node.op)
    if handler is None:
        raise Undefined(node.op)
    return handler(node, at, precision)


def _num(node: Node, _at: Mapping[str, Value], precision: int) -> Value:
    assert isinstance(node.value, int | Fraction)
    return values.from_exact(node.value, precision)


def _sym(node: Node, at: Mapping[str, Value], _precision: int) -> Value:
    try:
        return at[str(node.value)]
    except KeyError:
        raise Undefined("a free symbol") from None


def _const(node: Node, _at: Mapping[str, Value], precision: int) -> Value:
    if node.value == "pi":
        return libmp.mpf_pi(precision), fzero
    if node.value == "e":
        return libmp.mpf_e(precision), fzero
    if node.value == "i":
        return fzero, fone
    raise Undefined("infinity")


def _add(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    total: Value = (fzero, fzero)
    for child in node.args:
        total = values.add(total, evaluate(child, at, precision), precision)
    return total


def _mul(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    total: Value = (fone, fzero)
    for child in node.args:
        total = values.multiply(total, evaluate(child, at, precision), precision)
    return total


def _neg(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return values.negate(evaluate(node.args[0], at, precision))


def _div(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return values.divide(evaluate(node.args[0], at, precision), evaluate(node.args[1], at, precision), precision)


def _root(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    index = exact_value.rational(node.args[1])
    base = evaluate(node.args[0], at, precision)
    if not isinstance(index, int) or not 0 < index < 10_000:
        index_value = evaluate(node.args[1], at, precision)
        return values.powered(base, values.divide((fone, fzero), index_value, precision), precision)
    return values.nth_root(base, index, precision)


def _pow(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    base = evaluate(node.args[0], at, precision)
    exponent = exact_value.rational(node.args[1])
    if (
        isinstance(exponent, Fraction)
        and exponent.denominator < 10_000
        and abs(exponent.numerator) < 2**values.MAX_MAGNITUDE
    ):
        return values.integer_power(
            values.nth_root(base, exponent.denominator, precision), exponent.numerator, precision
        )
    if isinstance(exponent, int):
        if abs(exponent) >= 2**values.MAX_MAGNITUDE:
            return values.enormous(base)
        return values.integer_power(base, exponent, precision)
    return values.powered(base, evaluate(node.args[1], at, precision), precision)


def _log(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    target, base = (evaluate(child, at, precision) for child in node.args)
    return values.divide(values.ln(target, precision), values.ln(base, precision), precision)


def _fact(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return values.gamma(values.add(evaluate(node.args[0], at, precision), (fone, fzero), precision), precision)


def _binom(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    one = (fone, fzero)
    n, k = (evaluate(child, at, precision) for child in node.args)
    difference = values.add(n, values.negate(k), precision)
    top = values.gamma(values.add(n, one, precision), precision)
    bottom = values.multiply(
        values.gamma(values.add(k, one, precision), precision),
        values.gamma(values.add(difference, one, precision), precision),
        precision,
    )
    return values.divide(top, bottom, precision)


def _abs(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return values.size(evaluate(node.args[0], at, precision), precision), fzero


def _rounded(round_: Callable[[Any], Any]) -> Callable[[Node, Mapping[str, Value], int], Value]:
    def handler(node: Node, at: Mapping[str, Value], precision: int) -> Value:
        value = evaluate(node.args[0], at, precision)
        if not values.real(value):
            raise Undefined("rounding of a complex number")
        nearest = libmp.mpf_nint(value[0])
        gap = libmp.mpf_sub(value[0], nearest, precision, "n")
        # an integer known to all but its last bits counts as that integer
        if values.magnitude(gap) < values.magnitude(value[0]) - precision + 16:
            return nearest, fzero
        return round_(value[0]), fzero

    return handler


def _percent(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return values.divide(evaluate(node.args[0], at, precision), (from_int(100), fzero), precision)


def _degree(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    turn = libmp.mpf_div(libmp.mpf_pi(precision), from_int(180), precision, "n")
    return values.multiply(evaluate(node.args[0], at, precision), (turn, fzero), precision)


def _inner(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return evaluate(node.args[0], at, precision)


def _unbounded(node: Node) -> bool:
    return holds(node, frozenset(("const",))) and "inf" in repr(node)


def _series(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    parts = terms(node)
    if parts is None and symbols(node):
        return _series_at(node, at, precision)
    if parts is None:
        if any(_unbounded(child) for child in node.args[1:]):
            raise Undefined("an infinite sum")
        raise TooComplex("a sum of too many terms")
    join = _add if node.op == "sum" else _mul
    return join(Node("add", tuple(parts)), at, precision)


def _series_at(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    """A sum with a symbolic bound, at a point where the bounds are integers."""
    first, last = (evaluate(child, at, precision) for child in node.args[1:])
    if any(value[1] != fzero or value[0][2] < 0 or values.magnitude(value[0]) > 12 for value in (first, last)):
        raise Undefined("bounds that are no small integers")
    low, high = (int(str(libmp.to_int(value[0]))) for value in (first, last))
    if high - low > MAX_SYMBOLIC_TERMS:
        raise Undefined("a sum of too many terms")
    total: Value = (fzero, fzero) if node.op == "sum" else (fone, fzero)
    for index in range(low, high + 1):
        term = evaluate(node.args[0], {**at, str(node.value): (from_int(index), fzero)}, precision)
        total = values.add(total, term, precision) if node.op == "sum" else values.multiply(total, term, precision)
    return total


def _func(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    found = [evaluate(child, at, precision) for child in node.args]
    if node.value in ("max", "min") and all(map(values.real, found)):
        best = found[0]
        for value in found[1:]:
            greater = libmp.mpf_gt(value[0], best[0])
            best = value if greater == (node.value == "max") else best
        return best
    function = FUNCTIONS.get(str(node.value))
    if function is None or len(found) != 1:
        raise Undefined(f"function {node.value}")
    return function(found[0], precision)


_HANDLERS: dict[str, Callable[[Node, Mapping[str, Value], int], Value]] = {
    "num": _num, "sym": _sym, "const": _const, "add": _add, "mul": _mul, "neg": _neg, "div": _div, "pow": _pow,
    "root": _root, "fact": _fact, "binom": _binom, "abs": _abs, "floor": _rounded(libmp.mpf_floor),
    "ceil": _rounded(libmp.mpf_ceil), "percent": _percent, "degree": _degree, "func": _func, "log": _log,
    "group": _inner, "sum": _series, "prod": _series,
}  # fmt: skip
