"""Are two scalar trees equal? In order of cost: the same tree, exact arithmetic, arithmetic modulo a large prime
(rational functions; Schwartz and Zippel), values at high precision at random points."""

from __future__ import annotations

import random
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from mpmath.libmp import fzero

from verifiers.answer import exact_value, numeric, tree, values
from verifiers.answer.cost import MAX_COST, cost
from verifiers.answer.simplify import cancelled
from verifiers.answer.tree import Node, TooComplex
from verifiers.answer.values import Undefined, Value


class Outcome(Enum):
    """How equality was decided, or that it was not."""

    EXACT = "exact"
    NUMERIC = "numeric"
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    """Nothing could be computed on both sides."""
    COMPLEX = "complex"
    """A limit was met."""


EQUAL = (Outcome.EXACT, Outcome.NUMERIC)

_PRIME = (1 << 61) - 1
_LOW, _HIGH = 200, 420
"""Bits of the first evaluation and of the one that settles doubtful cases."""
_MAX_HIDDEN = 8_000
"""Bits up to which a sum is valued until its smallest term is seen."""
_POINTS = 6
_INTEGER_NAMES = frozenset("nmkNKM")
_SUMS = frozenset(("add",))
_BRANCHED = frozenset(("root", "log", "func", "pow"))
_PIECEWISE = frozenset(("abs", "floor", "ceil", "root"))
_RATIONAL_OPS = frozenset(("num", "sym", "add", "mul", "neg", "div", "pow", "group", "percent"))


def equal(left: Node, right: Node) -> Outcome:
    """Symmetric. Never raises for bad trees."""
    if left == right:
        return Outcome.EXACT
    if cost(left) + cost(right) > MAX_COST:
        return Outcome.COMPLEX
    try:
        return _equal(left, right)
    except TooComplex:
        left, right = cancelled(left), cancelled(right)
    try:
        return Outcome.EXACT if left == right else _equal(left, right)
    except TooComplex:
        return _by_logarithms(left, right)


def _by_logarithms(left: Node, right: Node) -> Outcome:
    """Powers of positive numbers that are too large to be valued: e1 ln b1 against e2 ln b2."""
    logarithms: list[Node] = []
    for node in (left, right):
        base = exact_value.rational(node.args[0]) if node.op == "pow" else None
        if base is None or base <= 1:
            return Outcome.COMPLEX
        logarithms.append(Node("mul", (node.args[1], Node("func", (node.args[0],), "ln"))))
    try:
        return _equal(*logarithms)
    except TooComplex:
        return Outcome.COMPLEX


def _equal(left: Node, right: Node) -> Outcome:
    first, second = exact_value.rational(left), exact_value.rational(right)
    if first is not None and second is not None:
        return Outcome.EXACT if first == second else Outcome.DIFFERENT
    names = tree.symbols(left) | tree.symbols(right)
    if not names:
        return _same_number(left, right)
    outcome = _modular(left, right, names)
    if outcome is None:
        outcome = _at_points(left, right, names)
    if outcome is Outcome.UNKNOWN and cancelled(left) == cancelled(right):
        return Outcome.EXACT
    return outcome


# ---- modulo a prime ------------------------------------------------------------------------------------------------


def _modular(left: Node, right: Node, names: frozenset[str]) -> Outcome | None:
    """None when a side is no rational function with rational coefficients."""
    if not _rational_function(left) or not _rational_function(right):
        return None
    tried = 0
    for residues in _residues(tuple(sorted(names))):
        try:
            if _residue(left, residues) != _residue(right, residues):
                return Outcome.DIFFERENT
        except ZeroDivisionError:
            continue
        tried += 1
    return Outcome.EXACT if tried else None


@lru_cache(maxsize=4096)
def _residues(names: tuple[str, ...]) -> tuple[dict[str, int], ...]:
    source = random.Random("verigold modular " + " ".join(names))
    return tuple({name: source.randrange(2, _PRIME - 1) for name in names} for _ in range(3))


def _rational_function(node: Node) -> bool:
    if node.op not in _RATIONAL_OPS:
        return False
    if node.op == "pow":
        return isinstance(exact_value.rational(node.args[1]), int) and _rational_function(node.args[0])
    return all(map(_rational_function, node.args))


def _residue(node: Node, at: dict[str, int]) -> int:
    op, args = node.op, node.args
    if op == "num":
        value = node.value
        if isinstance(value, int):
            return value % _PRIME
        assert isinstance(value, Fraction)
        return value.numerator * _inverse(value.denominator) % _PRIME
    if op == "sym":
        return at[str(node.value)]
    if op == "add":
        return sum(_residue(child, at) for child in args) % _PRIME
    if op == "mul":
        total = 1
        for child in args:
            total = total * _residue(child, at) % _PRIME
        return total
    first = _residue(args[0], at)
    if op == "neg":
        return -first % _PRIME
    if op == "group":
        return first
    if op == "percent":
        return first * _inverse(100) % _PRIME
    if op == "div":
        return first * _inverse(_residue(args[1], at)) % _PRIME
    exponent = exact_value.rational(args[1])
    assert isinstance(exponent, int)
    if first == 0 and exponent <= 0:
        raise ZeroDivisionError
    return pow(first, exponent % (_PRIME - 1), _PRIME) if first else 0


def _inverse(value: int) -> int:
    if value % _PRIME == 0:
        raise ZeroDivisionError
    return pow(value, -1, _PRIME)


# ---- values --------------------------------------------------------------------------------------------------------


def _same_number(left: Node, right: Node) -> Outcome:
    try:
        same = same_value(left, right, {})
    except Undefined:
        return Outcome.UNKNOWN
    hidden = max(map(_hidden_bits, (left, right))) if same else 0
    if hidden > _MAX_HIDDEN:
        return Outcome.EXACT if cancelled(left) == cancelled(right) else Outcome.UNKNOWN
    if hidden:
        first, second = (numeric.evaluate(node, {}, hidden + _LOW) for node in (left, right))
        same = _gap(first, second, hidden + _LOW) < max(_size(first), _size(second)) - hidden - _LOW // 2
    return Outcome.NUMERIC if same else Outcome.DIFFERENT


def _hidden_bits(node: Node) -> int:
    """How many bits a sum in the tree needs for its smallest term to be seen: 10^10^10 + 1; 1 + e^-500. 0: few."""
    if not tree.holds(node, _SUMS):
        return 0
    own = 0
    if node.op == "add":
        sizes = [_size(numeric.evaluate(child, {}, _LOW)) for child in node.args]
        spread = max(sizes) - min((size for size in sizes if size > -(10**18)), default=0)
        own = spread if spread > _LOW - 60 else 0
    return max(own, *map(_hidden_bits, node.args))


def same_value(left: Node, right: Node, at: dict[str, Value]) -> bool:
    """Relative comparison; a small difference must go on shrinking with the precision to count as none."""
    first, second = numeric.evaluate(left, at, _LOW), numeric.evaluate(right, at, _LOW)
    scale = max(_size(first), _size(second))
    gap = _gap(first, second, _LOW)
    if gap < scale - _LOW + 40 or gap == _size((fzero, fzero)):
        return True
    if gap > scale - 20 and scale > -60:
        return False
    settled = _gap(numeric.evaluate(left, at, _HIGH), numeric.evaluate(right, at, _HIGH), _HIGH)
    return settled < gap - 120


def _size(value: Value) -> int:
    return max(values.magnitude(value[0]), values.magnitude(value[1]))


def _gap(first: Value, second: Value, precision: int) -> int:
    return _size(values.add(first, values.negate(second), precision))


def _at_points(left: Node, right: Node, names: frozenset[str]) -> Outcome:
    agreed = 0
    ordered = tuple(sorted(names))
    points = enumerate_points(ordered)
    if any(map(_piecewise, (left, right))):
        points += far_points(ordered)
    for positive, point in points:
        try:
            same = same_value(left, right, point)
            if not same and not positive and _leaves_the_reals(left, right, point):
                continue
        except Undefined:
            continue
        if not same:
            return Outcome.DIFFERENT
        agreed += 1
    return Outcome.NUMERIC if agreed >= 2 else Outcome.UNKNOWN


def _piecewise(node: Node) -> bool:
    """Whether the tree may follow one formula near zero and another one far away."""
    return tree.holds(node, _PIECEWISE) or (
        tree.holds(node, frozenset(("func",))) and any(name in repr(node) for name in ("'max'", "'min'", "'sgn'"))
    )


def _leaves_the_reals(left: Node, right: Node, point: dict[str, Value]) -> bool:
    """A mismatch on another branch of a root or logarithm of a negative value says nothing about real variables."""
    return not all(_stays_real(node, point) for node in (left, right))


def _stays_real(node: Node, point: dict[str, Value]) -> bool:
    if node.op in _BRANCHED and not _nearly_real(numeric.evaluate(node, point, _LOW)):
        return False
    return all(_stays_real(child, point) for child in node.args) and _nearly_real(numeric.evaluate(node, point, _LOW))


def _nearly_real(value: Value) -> bool:
    return value[1] == fzero or values.magnitude(value[1]) < values.magnitude(value[0]) - 100


@lru_cache(maxsize=4096)
def enumerate_points(names: tuple[str, ...]) -> tuple[tuple[bool, dict[str, Value]], ...]:
    """(all positive?, values): positive reals first, then reals of both signs; n, m, k are positive integers."""
    source = random.Random("verigold points " + " ".join(names))
    points: list[tuple[bool, dict[str, Value]]] = []
    for index in range(_POINTS):
        positive = index in (0, 1, 3)
        point = {name: _coordinate(name, positive, index, source) for name in names}
        points.append((positive, point))
    return tuple(points)


@lru_cache(maxsize=4096)
def far_points(names: tuple[str, ...]) -> tuple[tuple[bool, dict[str, Value]], ...]:
    """Like enumerate_points, of three larger sizes and both signs."""
    source = random.Random("verigold far points " + " ".join(names))
    points: list[tuple[bool, dict[str, Value]]] = []
    for size in (40, 1_500, 60_000):
        for sign in (1, -1):
            point = {
                name: values.from_exact(
                    source.randrange(size // 2, size)
                    if name in _INTEGER_NAMES
                    else sign * Fraction(source.randrange(size << 20, size << 21), (1 << 20) + 7),
                    _HIGH,
                )
                for name in names
            }
            points.append((sign > 0, point))
    return tuple(points)


def _coordinate(name: str, positive: bool, index: int, source: random.Random) -> Value:
    if name in _INTEGER_NAMES:
        return values.from_exact(source.randrange(2, 12) + 7 * (index > 3), _HIGH)
    value = Fraction(source.randrange(1 << 57, 1 << 60), 1 << (58 if index % 2 else 60))
    if not positive and source.random() < 0.5:
        value = -value
    return values.from_exact(value, _HIGH)
