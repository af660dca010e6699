"""Equality of equations and inequalities: one zero set up to a constant factor; one truth at sample points."""

from __future__ import annotations

from fractions import Fraction

from mpmath import libmp
from mpmath.libmp import fzero

from verifiers.answer import numeric, regions, tree, values
from verifiers.answer.equality import EQUAL, Outcome, enumerate_points, equal
from verifiers.answer.kinds import Region, Relation
from verifiers.answer.substitute import replace
from verifiers.answer.tree import Node, TooComplex
from verifiers.answer.values import Undefined, Value

_PRECISION = 200
_FLIPPED = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", "=": "=", r"\ne": r"\ne"}


def difference(relation: Relation) -> Node:
    return Node("add", (relation.left, Node("neg", (relation.right,))))


def same_relation(left: Relation, right: Relation) -> Outcome:
    """left and right hold at the same points, as far as a constant factor shows it."""
    if left == right:
        return Outcome.EXACT
    if left.op != right.op and left.op != _FLIPPED[right.op]:
        return Outcome.DIFFERENT
    if left.left == right.right and left.right == right.left and left.op == _FLIPPED[right.op]:
        return Outcome.EXACT
    if equal(left.left, right.left) in EQUAL and equal(left.right, right.right) in EQUAL and left.op == right.op:
        return Outcome.NUMERIC
    first, second = difference(left), difference(right)
    try:
        ratio = _constant_ratio(first, second)
    except TooComplex:
        return Outcome.COMPLEX
    if ratio == 0 and left.op in ("=", r"\ne") and _fractional(first, second):
        ratio = _constant_ratio(_numerator(first)[0], _numerator(second)[0])
    if ratio is None:
        return Outcome.UNKNOWN
    if ratio == 0:
        return Outcome.DIFFERENT
    if left.op in ("=", r"\ne"):
        return Outcome.NUMERIC
    return Outcome.NUMERIC if (ratio > 0) == (left.op == right.op) else Outcome.DIFFERENT


def _fractional(*nodes: Node) -> bool:
    return any(tree.holds(node, frozenset(("div", "pow"))) for node in nodes)


def _numerator(node: Node) -> tuple[Node, Node]:
    """(numerator, denominator) of sums and products of quotients, nothing cancelled."""
    one = tree.number(1)
    if node.op in ("neg", "group"):
        top, bottom = _numerator(node.args[0])
        return Node("neg", (top,)) if node.op == "neg" else top, bottom
    if node.op == "div":
        above, below = map(_numerator, node.args)
        return _times(above[0], below[1]), _times(above[1], below[0])
    if node.op == "pow" and node.args[1].op == "neg" and node.args[1].args[0].op == "num":
        return one, Node("pow", (node.args[0], node.args[1].args[0]))
    if node.op not in ("add", "mul"):
        return node, one
    top, bottom = _numerator(node.args[0])
    for child in node.args[1:]:
        above, below = _numerator(child)
        if node.op == "mul":
            top, bottom = _times(top, above), _times(bottom, below)
        else:
            top, bottom = Node("add", (_times(top, below), _times(above, bottom))), _times(bottom, below)
    return top, bottom


def _times(left: Node, right: Node) -> Node:
    one = tree.number(1)
    return right if left == one else left if right == one else Node("mul", (left, right))


def _constant_ratio(first: Node, second: Node) -> int | None:
    """The sign of first/second where that is one nonzero real constant (1 also for a complex one), 0 where it is not
    constant, None where no values could be had."""
    names = tuple(sorted(tree.symbols(first) | tree.symbols(second)))
    if tree.symbols(first) != tree.symbols(second):
        return 0
    ratios: list[Value] = []
    for _, point in enumerate_points(names):
        try:
            found = [numeric.evaluate(node, point, _PRECISION) for node in (first, second)]
            ratios.append(values.divide(found[0], found[1], _PRECISION))
        except Undefined:
            continue
    if len(ratios) < 2:
        return None
    for ratio in ratios[1:]:
        gap = values.add(ratio, values.negate(ratios[0]), _PRECISION)
        if _size(gap) > _size(ratios[0]) - 120:
            return 0
    if _size(ratios[0]) < -10_000:
        return 0
    return int(libmp.mpf_sign(ratios[0][0][:4])) if ratios[0][1] == fzero else 1


def _size(value: Value) -> int:
    return max(values.magnitude(value[0]), values.magnitude(value[1]))


def same_region(relation: Relation, region: Region) -> Outcome:
    """Whether an inequality in one unknown holds just in the region: tried at, near and between the ends."""
    names = tree.symbols(relation.left) | tree.symbols(relation.right)
    if len(names) != 1 or not regions.known(region):
        return Outcome.UNKNOWN
    name = next(iter(names))
    tried = 0
    for point, inside in _samples(region):
        held = _holds(relation, name, point)
        if held is None:
            continue
        if held != inside:
            return Outcome.DIFFERENT
        tried += 1
    return Outcome.NUMERIC if tried >= 8 else Outcome.UNKNOWN


def _samples(region: Region) -> list[tuple[Node, bool]]:
    ends = [end for piece in region.pieces for end in (piece.low, piece.high) if not regions.infinite_sign(end)]
    points: list[Node] = list(ends)
    for end in ends:
        for step in (Fraction(1, 10**9), Fraction(1, 97), Fraction(13, 11), Fraction(1009, 7)):
            points += [Node("add", (end, tree.number(step))), Node("add", (end, tree.number(-step)))]
    points += [tree.number(Fraction(value, 7)) for value in (-7001, -501, -23, -5, 0, 4, 19, 333, 9002)]
    return [(point, inside(region, point)) for point in points[:200]]


def inside(region: Region, point: Node) -> bool:
    for piece in region.pieces:
        low, high = regions.order(piece.low, point), regions.order(point, piece.high)
        if (low < 0 or (low == 0 and piece.low_closed)) and (high < 0 or (high == 0 and piece.high_closed)):
            return True
    return False


def _holds(relation: Relation, name: str, point: Node) -> bool | None:
    try:
        value = numeric.evaluate(replace(difference(relation), name, point), {}, _PRECISION)
    except (Undefined, TooComplex):
        return None
    if not values.real(value):
        return None
    # zero up to rounding
    sign = 0 if values.magnitude(value[0]) < -150 else libmp.mpf_sign(value[0])
    return {"<": sign < 0, ">": sign > 0, r"\le": sign <= 0, r"\ge": sign >= 0, "=": sign == 0, r"\ne": sign != 0}[
        relation.op
    ]
