"""Values of infinite sums and products and of definite integrals by mpmath, each by two precisions. For workers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from verifiers.answer.lists import listed
from verifiers.answer.tree import Node, Unreadable

_DIGITS = (20, 30)
"""mpmath extrapolates; a series for which it cannot gives another value at another precision."""
_SURE = 1e-13
"""Values that differ by more, relatively, are none."""
_KNOWN = listed("ln exp sin cos tan cot sec csc sinh cosh tanh coth asin acos atan erf")
_BOUND = frozenset(("sum", "prod", "int"))


def compared(left: Node, right: Node, at: Mapping[str, float]) -> str | None:
    """numeric, different, or None where a side has no trustworthy value. `at` gives the free symbols."""
    from mpmath import MPContext
    from mpmath.libmp import NoConvergence

    found: list[list[Any]] = []
    for digits in _DIGITS:
        mp: Any = MPContext()
        mp.dps = digits
        try:
            found.append([_value(node, at, mp) for node in (left, right)])
        except (Unreadable, ArithmeticError, ValueError, TypeError, KeyError, NoConvergence):
            return None
    (first, second), (again_first, again_second) = found
    if _apart(first, again_first) > _SURE or _apart(second, again_second) > _SURE:
        return None
    gap = _apart(again_first, again_second)
    return "numeric" if gap < 100 * _SURE else "different" if gap > 1e-9 else None


def _apart(first: Any, second: Any) -> float:
    """Relative distance; infinite for values that are none."""
    gap = abs(complex(first - second))
    return gap / max(abs(complex(first)), 1e-30) if isfinite(gap) else inf


def _value(node: Node, at: Mapping[str, Any], mp: Any) -> Any:
    """Raises Unreadable for what has no value here, and mpmath's own errors."""
    if node.op in _BOUND:
        return _bound(node, at, mp)
    if node.op == "num":
        value = Fraction(str(node.value))
        return mp.mpf(value.numerator) / value.denominator
    if node.op == "sym":
        return at[str(node.value)] if str(node.value) in at else _refuse(node)
    if node.op == "const":
        return {"pi": mp.pi, "e": mp.e, "i": mp.j, "inf": mp.inf}[str(node.value)]
    found = [_value(child, at, mp) for child in node.args]
    operations: dict[str, Any] = {
        "add": lambda: mp.fsum(found), "mul": lambda: mp.fprod(found), "neg": lambda: -found[0],
        "div": lambda: found[0] / found[1], "pow": lambda: found[0] ** found[1], "group": lambda: found[0],
        "root": lambda: mp.root(found[0], int(found[1])), "abs": lambda: abs(found[0]),
        "fact": lambda: mp.factorial(found[0]),
        "binom": lambda: mp.binomial(*found), "log": lambda: mp.log(found[0]) / mp.log(found[1]),
        "percent": lambda: found[0] / 100, "degree": lambda: found[0] * mp.pi / 180,
    }  # fmt: skip
    if node.op == "func" and len(found) == 1:
        return _function(str(node.value), found[0], mp)
    return operations[node.op]() if node.op in operations else _refuse(node)


def _function(name: str, value: Any, mp: Any) -> Any:
    own = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "log": "ln"}.get(name, name)
    known = (
        "ln",
        "exp",
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "sinh",
        "cosh",
        "tanh",
        "coth",
        "asin",
        "acos",
        "atan",
        "erf",
    )
    if own not in known:
        raise Unreadable(name)
    return getattr(mp, own)(value)


def _refuse(node: Node) -> Any:
    raise Unreadable(node.op)


def _bound(node: Node, at: Mapping[str, Any], mp: Any) -> Any:
    if len(node.args) != 3:
        raise Unreadable("no bounds")
    low, high = (_value(child, at, mp) for child in node.args[1:])

    def body(value: Any) -> Any:
        return _value(node.args[0], {**at, str(node.value): value}, mp)

    if node.op == "int":
        return mp.quad(body, [low, high])
    return mp.nsum(body, [low, high]) if node.op == "sum" else mp.nprod(body, [low, high])
