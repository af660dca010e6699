"""Functions of one variable by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import libmp
from mpmath.libmp import fone, from_int, fzero

from verifiers.answer.tree import TooComplex
from verifiers.answer.values import MAX_EXPONENT, MAX_MAGNITUDE, Undefined, Value, divide, exp, ln, magnitude, real


def _periodic(real_function: Any, complex_function: Any) -> Callable[[Value, int], Value]:
    def function(value: Value, precision: int) -> Value:
        if max(magnitude(value[0]), magnitude(value[1])) > MAX_EXPONENT or magnitude(value[1]) > MAX_MAGNITUDE:
            raise TooComplex("a huge angle")
        if value[1] == fzero:
            return real_function(value[0], precision, "n"), fzero
        return complex_function(value, precision, "n")

    return function


def _hyperbolic(real_function: Any, complex_function: Any) -> Callable[[Value, int], Value]:
    def function(value: Value, precision: int) -> Value:
        if max(magnitude(value[0]), magnitude(value[1])) > MAX_MAGNITUDE:
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
        if max(magnitude(value[0]), magnitude(value[1])) > MAX_EXPONENT:
            raise TooComplex("a huge argument")
        result = function(value, precision, "n")
        return result if value[1] != fzero or magnitude(result[1]) > -precision // 2 else (result[0], fzero)

    return wrapped


_arctan = _complex_only(libmp.mpc_atan)
FUNCTIONS: dict[str, Callable[[Value, int], Value]] = {
    "exp": exp, "ln": ln, "log": ln, "sin": _sin, "cos": _cos, "tan": _tan, "cot": _reciprocal(_tan),
    "sec": _reciprocal(_cos), "csc": _reciprocal(_sin), "sinh": _sinh, "cosh": _cosh, "tanh": _tanh,
    "coth": _reciprocal(_tanh), "sech": _reciprocal(_cosh), "csch": _reciprocal(_sinh),
    "arcsin": _complex_only(libmp.mpc_asin), "arccos": _complex_only(libmp.mpc_acos), "arctan": _arctan,
    "arccot": _inverted(_arctan), "arcsec": _inverted(_complex_only(libmp.mpc_acos)),
    "arccsc": _inverted(_complex_only(libmp.mpc_asin)), "arcsinh": _complex_only(libmp.mpc_asinh),
    "arccosh": _complex_only(libmp.mpc_acosh), "arctanh": _complex_only(libmp.mpc_atanh), "sgn": _sgn,
    "conj": lambda value, _precision: (value[0], libmp.mpf_neg(value[1])),
    "Re": lambda value, _precision: (value[0], fzero),
    "Im": lambda value, _precision: (value[1], fzero),
}  # fmt: skip
