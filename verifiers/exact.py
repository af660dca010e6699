"""The exact value of a closed-form number written as text. Bounded cost; the text is parsed, never evaluated."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from verifiers.answer import exact_value
from verifiers.answer.lists import listed
from verifiers.answer.parser import parse
from verifiers.answer.tokens import tokenise, without_doubled_braces
from verifiers.answer.tree import MAX_BITS, Node, TooComplex, Unreadable
from verifiers.normalise import plain, unfence

if TYPE_CHECKING:
    import sympy

_ALLOWED = listed("num const add mul neg div pow root fact binom abs floor ceil func log group sum prod")
_CONSTANTS = frozenset(("pi", "e", "i"))
_MAX_SYMBOLIC_NODES = 200
_MAX_SYMBOLIC_BITS = 4_096


def exact_number(text: str) -> sympy.Expr | None:
    """The exact value of a LaTeX or plain number without free symbols: integers, decimals, fractions, mixed numbers,
    radicals, pi, e, i, powers, factorials, binomials, logarithms and trigonometric values.

    None when the text is not one such number, or is too large for its value to be written out (a tower of powers).
    Percent signs, units and degrees are not numbers here.
    """
    try:
        node = parse(tokenise(without_doubled_braces(unfence(plain(text)))))
        return to_sympy(node)
    except (TooComplex, Unreadable):
        return None


def to_sympy(node: Node) -> sympy.Expr | None:
    """A closed tree as a sympy expression; None when it holds free symbols or is too large."""
    import sympy

    if _size(node) > _MAX_SYMBOLIC_NODES or not _closed(node):
        return None
    value = _build(node)
    return None if value is None or value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo) else value


def _size(node: Node) -> int:
    return 1 + sum(map(_size, node.args))


def _closed(node: Node) -> bool:
    if node.op not in _ALLOWED or (node.op == "const" and node.value not in _CONSTANTS):
        return False
    if node.op in ("sum", "prod"):
        return exact_value.rational(node) is not None
    return all(map(_closed, node.args))


def _build(node: Node) -> Any:
    import sympy

    value = exact_value.rational(node)
    if value is not None:
        fraction = Fraction(value)
        return sympy.Rational(fraction.numerator, fraction.denominator)
    if node.op == "num" or node.op in ("fact", "binom", "sum", "prod"):
        return None
    if node.op == "const":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I}[str(node.value)]
    children = [_build(child) for child in node.args]
    if any(child is None for child in children):
        return None
    if node.op in ("pow", "root") and not _small_power(node, children):
        return None
    return _combine(node, children)


def _small_power(node: Node, children: list[Any]) -> bool:
    base, exponent = children
    if not exponent.is_Rational or not base.is_Rational:
        # a power of an irrational: small exponents only, for sympy may expand it
        return not exponent.is_Rational or bool(abs(exponent.p) <= 64 and exponent.q <= 64)
    index = 1 if node.op == "root" else abs(exponent.p)
    return int(base.p).bit_length() * index <= min(MAX_BITS, _MAX_SYMBOLIC_BITS)


def _combine(node: Node, children: list[Any]) -> Any:
    import sympy

    op = node.op
    if op == "func":
        functions = {
            "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
            "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan, "ln": sympy.log,
            "log": sympy.log, "exp": sympy.exp,
            "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh,
        }  # fmt: skip
        function = functions.get(str(node.value))
        return None if function is None or len(children) != 1 else function(children[0])
    if op == "div" and children[1] == 0:
        return None
    if op == "root" and children[0].is_negative and children[1].is_Integer and children[1] % 2:
        return -((-children[0]) ** (1 / children[1]))
    builders = {
        "add": sympy.Add, "mul": sympy.Mul, "neg": lambda a: -a, "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b, "root": lambda a, n: a ** (1 / n), "group": lambda a: a, "abs": sympy.Abs,
        "floor": sympy.floor, "ceil": sympy.ceiling, "log": lambda a, b: sympy.log(a, b),
    }  # fmt: skip
    return builders[op](*children) if op in builders else None
