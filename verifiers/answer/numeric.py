"""Values of trees at a given binary precision, real or complex.

Only the pure functions of mpmath.libmp are used: they take the precision as an argument, so that nothing is shared
between threads. A value is a pair (re, im) of libmp floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from mpmath import libmp
from mpmath.libmp import fone, from_int, from_rational, fzero

from verifiers.answer import exact_value
from verifiers.answer.substitute import terms
from verifiers.answer.tree import Node, TooComplex, holds, symbols

Real = tuple[int, int, int, int]
Value = tuple[Any, Any]


class Undefined(Exception):  # noqa: N818
    """No value here: a pole, or an operation that is not computed (an integral, a limit, an infinite sum)."""


_MAX_EXPONENT = 2_000
"""Arguments of periodic functions above 2^2000 would need as many bits of pi."""
MAX_SYMBOLIC_TERMS = 64
_MAX_MAGNITUDE = 60
"""Exponents above 2^60 give numbers that no answer needs."""


def evaluate(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    """Raises Undefined or TooComplex. `at` gives the free symbols."""
    handler = _HANDLERS.get(node.op)
    if handler is None:
        raise Undefined(node.op)
    return handler(node, at, precision)


def real(value: Value) -> bool:
    return value[1] == fzero


def from_exact(value: int | Fraction, precision: int) -> Value:
    if isinstance(value, int):
        return from_int(value, precision, "n"), fzero
    return from_rational(value.numerator, value.denominator, precision, "n"), fzero


def magnitude(value: Any) -> int:
    """Exponent of a libmp float: |x| < 2^magnitude; very negative for zero."""
    return value[2] + value[3] if value[1] else -(10**18)


def _num(node: Node, _at: Mapping[str, Value], precision: int) -> Value:
    assert isinstance(node.value, int | Fraction)
    return from_exact(node.value, precision)


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


def add(left: Value, right: Value, precision: int) -> Value:
    if left[1] == fzero and right[1] == fzero:
        return libmp.mpf_add(left[0], right[0], precision, "n"), fzero
    return libmp.mpc_add(left, right, precision, "n")


def multiply(left: Value, right: Value, precision: int) -> Value:
    if left[1] == fzero and right[1] == fzero:
        return libmp.mpf_mul(left[0], right[0], precision, "n"), fzero
    return libmp.mpc_mul(left, right, precision, "n")


def divide(left: Value, right: Value, precision: int) -> Value:
    if right[0] == fzero and right[1] == fzero:
        raise Undefined("division by zero")
    if left[1] == fzero and right[1] == fzero:
        return libmp.mpf_div(left[0], right[0], precision, "n"), fzero
    return libmp.mpc_div(left, right, precision, "n")


def negate(value: Value) -> Value:
    return libmp.mpf_neg(value[0]), libmp.mpf_neg(value[1])


def size(value: Value, precision: int) -> Any:
    return libmp.mpf_abs(value[0]) if value[1] == fzero else libmp.mpc_abs(value, precision, "n")


def _add(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    total: Value = (fzero, fzero)
    for child in node.args:
        total = add(total, evaluate(child, at, precision), precision)
    return total


def _mul(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    total: Value = (fone, fzero)
    for child in node.args:
        total = multiply(total, evaluate(child, at, precision), precision)
    return total


def _neg(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return negate(evaluate(node.args[0], at, precision))


def _div(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return divide(evaluate(node.args[0], at, precision), evaluate(node.args[1], at, precision), precision)


def _root(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    index = exact_value.rational(node.args[1])
    base = evaluate(node.args[0], at, precision)
    if not isinstance(index, int) or not 0 < index < 10_000:
        index_value = evaluate(node.args[1], at, precision)
        return _powered(base, divide((fone, fzero), index_value, precision), precision)
    return _nth_root(base, index, precision)


def _nth_root(base: Value, index: int, precision: int) -> Value:
    """The real root of a negative real when the index is odd, the principal root otherwise."""
    if base == (fzero, fzero):
        return base
    if base[1] == fzero:
        if base[0][0] == 0:
            return libmp.mpf_nthroot(base[0], index, precision, "n"), fzero
        if index % 2:
            root = libmp.mpf_nthroot(libmp.mpf_neg(base[0]), index, precision, "n")
            return libmp.mpf_neg(root), fzero
        if index == 2:
            return fzero, libmp.mpf_sqrt(libmp.mpf_neg(base[0]), precision, "n")
    return libmp.mpc_nthroot(base, index, precision, "n")


def _pow(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    base = evaluate(node.args[0], at, precision)
    exponent = exact_value.rational(node.args[1])
    if isinstance(exponent, Fraction) and exponent.denominator < 10_000 and abs(exponent.numerator) < 2**_MAX_MAGNITUDE:
        return _integer_power(_nth_root(base, exponent.denominator, precision), exponent.numerator, precision)
    if isinstance(exponent, int):
        if abs(exponent) >= 2**_MAX_MAGNITUDE:
            return _enormous(base)
        return _integer_power(base, exponent, precision)
    return _powered(base, evaluate(node.args[1], at, precision), precision)


def _enormous(base: Value) -> Value:
    if base == (fone, fzero):
        return base
    raise TooComplex("a tower of powers")


def _integer_power(base: Value, exponent: int, precision: int) -> Value:
    if base == (fzero, fzero):
        if exponent <= 0:
            raise Undefined("0 to a power that is not positive")
        return base
    guard = precision + 2 * abs(exponent).bit_length()
    if base[1] == fzero:
        return libmp.mpf_pow_int(base[0], exponent, guard, "n"), fzero
    return libmp.mpc_pow_int(base, exponent, guard, "n")


def _powered(base: Value, exponent: Value, precision: int) -> Value:
    if max(magnitude(exponent[0]), magnitude(exponent[1])) > _MAX_MAGNITUDE:
        return _enormous(base)
    if base == (fzero, fzero):
        if exponent[1] == fzero and exponent[0][0] == 0 and exponent[0] != fzero:
            return base
        raise Undefined("0 to a power that is not positive")
    if base[1] == fzero and exponent[1] == fzero and base[0][0] == 0:
        return libmp.mpf_pow(base[0], exponent[0], precision + _MAX_MAGNITUDE, "n"), fzero
    logarithm = libmp.mpc_log(base, precision + _MAX_MAGNITUDE, "n")
    return _exp(multiply(logarithm, exponent, precision + _MAX_MAGNITUDE), precision)


def _exp(value: Value, precision: int) -> Value:
    if max(magnitude(value[0]), magnitude(value[1])) > _MAX_MAGNITUDE:
        raise TooComplex("the exponential of a huge number")
    if value[1] == fzero:
        return libmp.mpf_exp(value[0], precision, "n"), fzero
    return libmp.mpc_exp(value, precision, "n")


def _ln(value: Value, precision: int) -> Value:
    if value == (fzero, fzero):
        raise Undefined("logarithm of zero")
    if value[1] == fzero and value[0][0] == 0:
        return libmp.mpf_log(value[0], precision, "n"), fzero
    return libmp.mpc_log(value, precision, "n")


def _log(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    target, base = (evaluate(child, at, precision) for child in node.args)
    return divide(_ln(target, precision), _ln(base, precision), precision)


def _gamma(value: Value, precision: int) -> Value:
    if value[1] != fzero:
        raise Undefined("factorial of a complex number")
    if magnitude(value[0]) > _MAX_MAGNITUDE:
        raise TooComplex("factorial of a huge number")
    floor = libmp.mpf_floor(value[0])
    if floor == value[0] and not libmp.mpf_gt(value[0], fzero):
        raise Undefined("a pole of the gamma function")
    return libmp.mpf_gamma(value[0], precision, "n"), fzero


def _fact(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return _gamma(add(evaluate(node.args[0], at, precision), (fone, fzero), precision), precision)


def _binom(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    one = (fone, fzero)
    n, k = (evaluate(child, at, precision) for child in node.args)
    difference = add(n, negate(k), precision)
    top = _gamma(add(n, one, precision), precision)
    bottom = multiply(
        _gamma(add(k, one, precision), precision), _gamma(add(difference, one, precision), precision), precision
    )
    return divide(top, bottom, precision)


def _abs(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return size(evaluate(node.args[0], at, precision), precision), fzero


def _rounded(round_: Callable[[Any], Any]) -> Callable[[Node, Mapping[str, Value], int], Value]:
    def handler(node: Node, at: Mapping[str, Value], precision: int) -> Value:
        value = evaluate(node.args[0], at, precision)
        if not real(value):
            raise Undefined("rounding of a complex number")
        nearest = libmp.mpf_nint(value[0])
        gap = libmp.mpf_sub(value[0], nearest, precision, "n")
        # an integer known to all but its last bits counts as that integer
        if magnitude(gap) < magnitude(value[0]) - precision + 16:
            return nearest, fzero
        return round_(value[0]), fzero

    return handler


def _percent(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    return divide(evaluate(node.args[0], at, precision), (from_int(100), fzero), precision)


def _degree(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    turn = libmp.mpf_div(libmp.mpf_pi(precision), from_int(180), precision, "n")
    return multiply(evaluate(node.args[0], at, precision), (turn, fzero), precision)


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
    if any(value[1] != fzero or value[0][2] < 0 or magnitude(value[0]) > 12 for value in (first, last)):
        raise Undefined("bounds that are no small integers")
    low, high = (int(libmp.to_int(value[0])) for value in (first, last))
    if high - low > MAX_SYMBOLIC_TERMS:
        raise Undefined("a sum of too many terms")
    total: Value = (fzero, fzero) if node.op == "sum" else (fone, fzero)
    for index in range(low, high + 1):
        term = evaluate(node.args[0], {**at, str(node.value): (from_int(index), fzero)}, precision)
        total = add(total, term, precision) if node.op == "sum" else multiply(total, term, precision)
    return total


def _periodic(real_function: Any, complex_function: Any) -> Callable[[Value, int], Value]:
    def function(value: Value, precision: int) -> Value:
        if max(magnitude(value[0]), magnitude(value[1])) > _MAX_EXPONENT or magnitude(value[1]) > _MAX_MAGNITUDE:
            raise TooComplex("a huge angle")
        if value[1] == fzero:
            return real_function(value[0], precision, "n"), fzero
        return complex_function(value, precision, "n")

    return function


def _hyperbolic(real_function: Any, complex_function: Any) -> Callable[[Value, int], Value]:
    def function(value: Value, precision: int) -> Value:
        if max(magnitude(value[0]), magnitude(value[1])) > _MAX_MAGNITUDE:
            raise TooComplex("a huge argument")
        if value[1] == fzero:
            return real_function(value[0], precision, "n"), fzero
        return complex_function(value, precision, "n")

    return function


def _reciprocal(function: Callable[[Value, int], Value]) -> Callable[[Value, int], Value]:
    return lambda value, precision: divide((fone, fzero), function(value, precision), precision)


def _inverted(function: Callable[[Value, int], Value]) -> Callable[[Value, int], Value]:
    """arccot x = arctan 1/x and its like."""
    return lambda value, precision: function(divide((fone, fzero), value, precision), precision)


def _sgn(value: Value, _precision: int) -> Value:
    if not real(value):
        raise Undefined("sign of a complex number")
    return from_int(libmp.mpf_sign(value[0])), fzero


_sin, _cos = _periodic(libmp.mpf_sin, libmp.mpc_sin), _periodic(libmp.mpf_cos, libmp.mpc_cos)
_tan = _periodic(libmp.mpf_tan, libmp.mpc_tan)
_sinh, _cosh = _hyperbolic(libmp.mpf_sinh, libmp.mpc_sinh), _hyperbolic(libmp.mpf_cosh, libmp.mpc_cosh)
_tanh = _hyperbolic(libmp.mpf_tanh, libmp.mpc_tanh)


def _complex_only(function: Any) -> Callable[[Value, int], Value]:
    """Inverse functions leave the real line outside their domain; the complex ones return to it inside."""

    def wrapped(value: Value, precision: int) -> Value:
        if max(magnitude(value[0]), magnitude(value[1])) > _MAX_EXPONENT:
            raise TooComplex("a huge argument")
        result = function(value, precision, "n")
        return result if value[1] != fzero or magnitude(result[1]) > -precision // 2 else (result[0], fzero)

    return wrapped


_arctan = _complex_only(libmp.mpc_atan)
_FUNCTIONS: dict[str, Callable[[Value, int], Value]] = {
    "exp": _exp, "ln": _ln, "sin": _sin, "cos": _cos, "tan": _tan, "cot": _reciprocal(_tan),
    "sec": _reciprocal(_cos), "csc": _reciprocal(_sin), "sinh": _sinh, "cosh": _cosh, "tanh": _tanh,
    "coth": _reciprocal(_tanh), "sech": _reciprocal(_cosh), "csch": _reciprocal(_sinh),
    "arcsin": _complex_only(libmp.mpc_asin), "arccos": _complex_only(libmp.mpc_acos), "arctan": _arctan,
    "arccot": _inverted(_arctan), "arcsec": _inverted(_complex_only(libmp.mpc_acos)),
    "arccsc": _inverted(_complex_only(libmp.mpc_asin)), "arcsinh": _complex_only(libmp.mpc_asinh),
    "arccosh": _complex_only(libmp.mpc_acosh), "arctanh": _complex_only(libmp.mpc_atanh), "sgn": _sgn,
    "conj": lambda value, _precision: (value[0], libmp.mpf_neg(value[1])), "Re": lambda value,
    precision: (value[0], fzero), "Im": lambda value, _precision: (value[1], fzero),
}  # fmt: skip


def _func(node: Node, at: Mapping[str, Value], precision: int) -> Value:
    values = [evaluate(child, at, precision) for child in node.args]
    if node.value in ("max", "min") and all(map(real, values)):
        best = values[0]
        for value in values[1:]:
            greater = libmp.mpf_gt(value[0], best[0])
            best = value if greater == (node.value == "max") else best
        return best
    function = _FUNCTIONS.get(str(node.value))
    if function is None or len(values) != 1:
        raise Undefined(f"function {node.value}")
    return function(values[0], precision)


_HANDLERS: dict[str, Callable[[Node, Mapping[str, Value], int], Value]] = {
    "num": _num, "sym": _sym, "const": _const, "add": _add, "mul": _mul, "neg": _neg, "div": _div, "pow": _pow,
    "root": _root, "fact": _fact, "binom": _binom, "abs": _abs, "floor": _rounded(libmp.mpf_floor),
    "ceil": _rounded(libmp.mpf_ceil), "percent": _percent, "degree": _degree, "func": _func, "log": _log,
    "group": _inner, "sum": _series, "prod": _series,
}  # fmt: skip
