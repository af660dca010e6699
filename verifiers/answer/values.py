"""Real and complex values at a given binary precision.

Only the pure functions of mpmath.libmp are used: they take the precision as an argument, so that nothing is shared
between threads. A value is a pair (re, im) of libmp floats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mpmath import libmp
from mpmath.libmp import fone, from_int, from_rational, fzero

from verifiers.answer.tree import TooComplex

Value = tuple[Any, Any]

MAX_EXPONENT = 2_000
"""Arguments of periodic functions above 2^2000 would need as many bits of pi."""
MAX_MAGNITUDE = 60
"""Exponents above 2^60 give numbers that no answer needs."""


class Undefined(Exception):  # noqa: N818
    """No value here: a pole, or an operation that is not computed (an integral, a limit, an infinite sum)."""


def real(value: Value) -> bool:
    return value[1] == fzero


def from_exact(value: int | Fraction, precision: int) -> Value:
    if isinstance(value, int):
        return from_int(value, precision, "n"), fzero
    return from_rational(value.numerator, value.denominator, precision, "n"), fzero


def magnitude(value: Any) -> int:
    """Exponent of a libmp float: |x| < 2^magnitude; very negative for zero."""
    return value[2] + value[3] if value[1] else -(10**18)


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


def nth_root(base: Value, index: int, precision: int) -> Value:
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


def enormous(base: Value) -> Value:
    if base == (fone, fzero):
        return base
    raise TooComplex("a tower of powers")


def integer_power(base: Value, exponent: int, precision: int) -> Value:
    if base == (fzero, fzero):
        if exponent <= 0:
            raise Undefined("0 to a power that is not positive")
        return base
    guard = precision + 2 * abs(exponent).bit_length()
    if base[1] == fzero:
        return libmp.mpf_pow_int(base[0], exponent, guard, "n"), fzero
    return libmp.mpc_pow_int(base, exponent, guard, "n")


def powered(base: Value, exponent: Value, precision: int) -> Value:
    if max(magnitude(exponent[0]), magnitude(exponent[1])) > MAX_MAGNITUDE:
        return enormous(base)
    if base == (fzero, fzero):
        if exponent[1] == fzero and exponent[0][0] == 0 and exponent[0] != fzero:
            return base
        raise Undefined("0 to a power that is not positive")
    if base[1] == fzero and exponent[1] == fzero and base[0][0] == 0:
        return libmp.mpf_pow(base[0], exponent[0], precision + MAX_MAGNITUDE, "n"), fzero
    logarithm = libmp.mpc_log(base, precision + MAX_MAGNITUDE, "n")
    return exp(multiply(logarithm, exponent, precision + MAX_MAGNITUDE), precision)


def exp(value: Value, precision: int) -> Value:
    if max(magnitude(value[0]), magnitude(value[1])) > MAX_MAGNITUDE:
        raise TooComplex("the exponential of a huge number")
    if value[1] == fzero:
        return libmp.mpf_exp(value[0], precision, "n"), fzero
    return libmp.mpc_exp(value, precision, "n")


def ln(value: Value, precision: int) -> Value:
    if value == (fzero, fzero):
        raise Undefined("logarithm of zero")
    if value[1] == fzero and value[0][0] == 0:
        return libmp.mpf_log(value[0], precision, "n"), fzero
    return libmp.mpc_log(value, precision, "n")


def gamma(value: Value, precision: int) -> Value:
    if value[1] != fzero:
        raise Undefined("factorial of a complex number")
    if magnitude(value[0]) > MAX_MAGNITUDE:
        raise TooComplex("factorial of a huge number")
    floor = libmp.mpf_floor(value[0])
    if floor == value[0] and not libmp.mpf_gt(value[0], fzero):
        raise Undefined("a pole of the gamma function")
    return libmp.mpf_gamma(value[0], precision, "n"), fzero
