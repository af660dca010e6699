"""Equality of scalars: units, percent, degrees, digits, constants of integration."""

from __future__ import annotations

from fractions import Fraction

from verifiers.answer import exact_value, regions, tree
from verifiers.answer.binders import rename
from verifiers.answer.equality import EQUAL, Outcome, equal
from verifiers.answer.kinds import Scalar
from verifiers.answer.substitute import replace
from verifiers.answer.tree import Node, TooComplex, Unreadable
from verifiers.answer.units import DEGREE, PERCENT, RADIAN, Unit

_ENOUGH_DIGITS = 15
_DEGREES = frozenset(("degree",))
_IMAGINARY = tree.constant("i")
_POUNDS = ({"£", "pound"}, {"£", "pounds"})
"""Pounds are money or weight; the sign is money."""


def same_scalar(left: Scalar, right: Scalar) -> Outcome:
    """A missing unit is fine, a converted one is right, another one is wrong."""
    first, second = left.unit, right.unit
    if first is not None and second is not None and {first.name, second.name} in _POUNDS:
        return _values(left, right)
    if first is not None and second is not None and not first.counted and not second.counted and first != second:
        return _converted(left, right)
    if first is not None and second is not None and _foreign(first, second):
        return Outcome.DIFFERENT
    outcome = _values(left, right)
    if outcome in EQUAL or first == second:
        return outcome
    for one, other in ((left, right), (right, left)):
        if other.unit is None or other.unit.counted:
            scaled = _in_plain_numbers(one)
            if scaled is not None and _values(scaled, other) in EQUAL:
                return Outcome.EXACT
    return outcome


_NO_THINGS = frozenset(
    ("unit", "units", "number", "value", "answer", "points", "point", "total", "in total", "items", "times")
)


def _foreign(first: Unit, second: Unit) -> bool:
    """5 apples are not 5 cm; 5 units may be anything."""
    if first.counted == second.counted:
        return False
    things = first if first.counted else second
    return not things.dimensions and things.name.lower() not in _NO_THINGS and "unit" not in things.name


def _in_plain_numbers(scalar: Scalar) -> Scalar | None:
    """28 % = 0.28; 60 degrees = pi/3."""
    if scalar.unit == PERCENT:
        return Scalar(Node("percent", (scalar.node,)))
    return Scalar(Node("degree", (scalar.node,))) if scalar.unit == DEGREE else None


def _converted(left: Scalar, right: Scalar) -> Outcome:
    if {left.unit, right.unit} == {DEGREE, RADIAN}:
        nodes = [Node("degree", (item.node,)) if item.unit == DEGREE else item.node for item in (left, right)]
        return equal(nodes[0], nodes[1])
    assert left.unit is not None
    assert right.unit is not None
    if DEGREE in (left.unit, right.unit) and (left.unit.offset or right.unit.offset):
        return _values(left, right)
    if left.unit.dimensions != right.unit.dimensions:
        return Outcome.DIFFERENT
    return _values(_base_value(left, left.unit), _base_value(right, right.unit))


def _base_value(scalar: Scalar, unit: Unit) -> Scalar:
    node = Node("mul", (scalar.node, tree.number(Fraction(unit.factor))))
    return Scalar(node if not unit.offset else Node("add", (node, tree.number(unit.offset))), None, scalar.digits)


def _values(left: Scalar, right: Scalar) -> Outcome:
    signs = regions.infinite_sign(left.node), regions.infinite_sign(right.node)
    if any(signs):
        return Outcome.EXACT if signs[0] == signs[1] else Outcome.DIFFERENT
    outcome = equal(left.node, right.node)
    if outcome is Outcome.DIFFERENT and max(left.digits, right.digits) >= _ENOUGH_DIGITS:
        return Outcome.NUMERIC if _agree_to(left.node, right.node, _needed(left, right)) else outcome
    if outcome is Outcome.DIFFERENT:
        outcome = _engineers(left.node, right.node)
    if outcome is Outcome.DIFFERENT and tree.holds(left.node, _DEGREES) != tree.holds(right.node, _DEGREES):
        outcome = equal(_unmarked(left.node), _unmarked(right.node))
    if outcome is Outcome.DIFFERENT and (_says_log(left.node) or _says_log(right.node)):
        outcome = equal(_decadic(left.node), _decadic(right.node))
    if outcome is Outcome.DIFFERENT:
        return _constant_of_integration(left.node, right.node)
    return outcome


def _engineers(left: Node, right: Node) -> Outcome:
    """3 + 4j is 3 + 4i where the other side has an i and no j."""
    for one, other in ((left, right), (right, left)):
        if tree.symbols(one) == {"j"} and "j" not in tree.symbols(other) and _IMAGINARY in _constants(other):
            return equal(replace(one, "j", _IMAGINARY), other)
    return Outcome.DIFFERENT


def _unmarked(node: Node) -> Node:
    """180 degrees - x as 180 - x; the argument of a sine keeps its mark."""
    if node.op == "degree":
        return node.args[0]
    if node.op not in ("add", "neg", "mul", "div", "group"):
        return node
    return Node(node.op, tuple(map(_unmarked, node.args)), node.value)


def _says_log(node: Node) -> bool:
    return (node.op == "func" and node.value == "log") or any(map(_says_log, node.args))


def _decadic(node: Node) -> Node:
    """log x as the logarithm to base ten."""
    children = tuple(map(_decadic, node.args))
    if node.op == "func" and node.value == "log":
        return Node("log", (*children, tree.number(10)))
    return Node(node.op, children, node.value) if children else node


def _constants(node: Node) -> set[Node]:
    return {node} if node.op == "const" else {found for child in node.args for found in _constants(child)}


def _needed(left: Scalar, right: Scalar) -> int:
    """Digits that must agree: more for another decimal than for a value without a last digit, all for an integer."""
    finite = [exact_value.rational(item.node) for item in (left, right) if item.digits < _ENOUGH_DIGITS]
    if not finite or finite[0] is None:
        return _ENOUGH_DIGITS
    if isinstance(finite[0], int):
        return 10_000
    bottom = finite[0].denominator
    return _ENOUGH_DIGITS if pow(10, bottom.bit_length(), bottom) else _ENOUGH_DIGITS + 1


def _agree_to(left: Node, right: Node, digits: int) -> bool:
    """Equal to so many significant digits; only for a decimal against an exact irrational form."""
    try:
        first, second = regions.place(left), regions.place(right)
    except (Unreadable, TooComplex):
        return False
    gap = abs(first[1] - second[1])
    return first[0] == second[0] == 0 and gap * 10 ** (digits - 1) <= max(abs(first[1]), abs(second[1]))


def _constant_of_integration(left: Node, right: Node) -> Outcome:
    """x^2 + C = x^2 + c: an additive constant may have another name on the other side; so may the integer of a period,
    pi/2 + k pi = pi/2 + n pi."""
    periods = (_period(left), _period(right))
    if periods[0] and periods[1] and periods[0] != periods[1]:
        return equal(left, rename(right, periods[1], periods[0]))
    names = (_constant(left), _constant(right))
    if names[0] is None or names[1] is None or names[0] == names[1]:
        return Outcome.DIFFERENT
    return equal(rename(left, names[0], "C"), rename(right, names[1], "C"))


def _period(node: Node) -> str | None:
    names = tree.symbols(node)
    single = next(iter(names)) if len(names) == 1 else ""
    return single if single in ("k", "n", "m") and tree.holds(node, frozenset(("const",))) else None


def _constant(node: Node) -> str | None:
    if node.op != "add":
        return None
    found = [
        str(child.value) for child in node.args if child.op == "sym" and str(child.value) in ("C", "c", "K", "k", "C_1")
    ]
    return found[0] if len(found) == 1 else None
