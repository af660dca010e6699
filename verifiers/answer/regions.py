"""Unions of real intervals with exact ends: union, intersection, difference, equality."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cmp_to_key

from mpmath import libmp

from verifiers.answer import exact_value, numeric, tree, values
from verifiers.answer.kinds import Answer, Bag, Named, Ordered, Piece, Region, Scalar, Word
from verifiers.answer.tree import Node, Unreadable
from verifiers.answer.values import Undefined

INFINITY = tree.constant("inf")
MINUS_INFINITY = Node("neg", (INFINITY,))
LINE = Region((Piece(MINUS_INFINITY, INFINITY, False, False),))
NOWHERE = Region(())
_PRECISION = 200
_SAME = Fraction(1, 1 << 140)
MAX_PIECES = 200


def infinite_sign(node: Node) -> int:
    """1, -1, or 0 for a finite node."""
    if node.op in ("neg", "group"):
        return (-1 if node.op == "neg" else 1) * infinite_sign(node.args[0])
    return int(node.op == "const" and node.value == "inf")


def place(node: Node) -> tuple[int, Fraction]:
    """A sortable place on the line. Raises Unreadable for ends that are no real numbers."""
    sign = infinite_sign(node)
    if sign:
        return sign, Fraction(0)
    value = exact_value.rational(node)
    if value is not None:
        return 0, Fraction(value)
    try:
        found = numeric.evaluate(node, {}, _PRECISION)
    except Undefined:
        raise Unreadable("the end of an interval") from None
    if not values.real(found) or abs(values.magnitude(found[0])) > 4_000:
        raise Unreadable("the end of an interval")
    top, bottom = libmp.to_rational(found[0])
    return 0, Fraction(int(top), int(bottom))


def order(left: Node, right: Node) -> int:
    first, second = place(left), place(right)
    if first[0] != second[0]:
        return -1 if first[0] < second[0] else 1
    gap = first[1] - second[1]
    if abs(gap) <= _SAME * max(1, abs(first[1])):
        return 0
    return 1 if gap > 0 else -1


def known(region: Region) -> bool:
    """Whether every end is a number."""
    try:
        for piece in region.pieces:
            place(piece.low)
            place(piece.high)
    except Unreadable:
        return False
    return True


def normal(pieces: Iterable[Piece]) -> Region:
    """Sorted, empty pieces dropped, touching pieces joined. Symbolic ends: as written."""
    found = tuple(pieces)
    if len(found) > MAX_PIECES:
        raise tree.TooComplex("too many intervals")
    if not known(Region(found)):
        return Region(found)
    kept = [piece for piece in found if not _empty(piece)]
    kept.sort(key=cmp_to_key(_before))
    joined: list[Piece] = []
    for piece in kept:
        if joined and _touch(joined[-1], piece):
            joined[-1] = _joined(joined[-1], piece)
        else:
            joined.append(piece)
    return Region(tuple(joined))


def _empty(piece: Piece) -> bool:
    side = order(piece.low, piece.high)
    return side > 0 or (side == 0 and not (piece.low_closed and piece.high_closed))


def _before(left: Piece, right: Piece) -> int:
    return order(left.low, right.low) or int(right.low_closed) - int(left.low_closed)


def _touch(left: Piece, right: Piece) -> bool:
    side = order(left.high, right.low)
    return side > 0 or (side == 0 and (left.high_closed or right.low_closed))


def _joined(left: Piece, right: Piece) -> Piece:
    side = order(left.high, right.high)
    closed = left.high_closed or right.high_closed if side == 0 else (left if side > 0 else right).high_closed
    high = left.high if side >= 0 else right.high
    low_closed = left.low_closed or (order(left.low, right.low) == 0 and right.low_closed)
    return Piece(left.low, high, low_closed, closed)


def union(left: Region, right: Region) -> Region:
    return normal(left.pieces + right.pieces)


def intersection(left: Region, right: Region) -> Region:
    return normal(_overlap(first, second) for first in left.pieces for second in right.pieces)


def _overlap(first: Piece, second: Piece) -> Piece:
    low, high = order(first.low, second.low), order(first.high, second.high)
    low_piece = first if low > 0 else second
    high_piece = first if high < 0 else second
    return Piece(
        low_piece.low,
        high_piece.high,
        first.low_closed and second.low_closed if low == 0 else low_piece.low_closed,
        first.high_closed and second.high_closed if high == 0 else high_piece.high_closed,
    )


def without(left: Region, right: Region) -> Region:
    for piece in right.pieces:
        below = Piece(MINUS_INFINITY, piece.low, False, not piece.low_closed)
        above = Piece(piece.high, INFINITY, not piece.high_closed, False)
        left = intersection(left, Region((below, above)))
    return left


def interval(answer: Ordered) -> Region:
    """A pair in brackets as an interval. Raises Unreadable when the ends are no scalars."""
    if len(answer.items) != 2:
        raise Unreadable("an interval has two ends")
    low, high = answer.items
    if not isinstance(low, Scalar) or not isinstance(high, Scalar):
        raise Unreadable("the end of an interval")
    low_closed = answer.left == "[" and not infinite_sign(low.node)
    high_closed = answer.right == "]" and not infinite_sign(high.node)
    piece = Piece(low.node, high.node, low_closed, high_closed)
    if known(Region((piece,))) and _empty(piece):
        raise Unreadable("the ends of an interval in falling order")
    return normal([piece])


def region_of(answer: Answer) -> Region:
    """Raises Unreadable for answers that are no set of reals."""
    if isinstance(answer, Region):
        return answer
    if isinstance(answer, Named):
        return region_of(answer.value)
    if isinstance(answer, Ordered):
        return interval(answer)
    if isinstance(answer, Word) and answer.kind in ("all", "nothing"):
        return LINE if answer.kind == "all" else NOWHERE
    if isinstance(answer, Bag):
        return normal(_pieces(answer.items))
    if isinstance(answer, Scalar) and not infinite_sign(answer.node):
        return Region((Piece(answer.node, answer.node, True, True),))
    raise Unreadable("no set of real numbers")


def _pieces(items: Sequence[Answer]) -> Iterable[Piece]:
    for item in items:
        yield from region_of(item).pieces


_SIGNS = {"+": ">", "-": "<", ">0": ">", "<0": "<", r"\ge0": r"\ge", r"\le0": r"\le", r"\ne0": r"\ne", "*": r"\ne"}


def signed_line(marks: Sequence[str]) -> Region:
    """The reals with a mark below or above: + (positive), >= 0, and so on. Raises Unreadable for other marks."""
    op = _SIGNS.get("".join(mark for mark in marks if mark not in "{}"))
    if op is None:
        raise Unreadable("a set of reals")
    return half_line(op, tree.number(0))


def half_line(op: str, end: Node) -> Region:
    """x op end."""
    if op in ("<", r"\le"):
        return Region((Piece(MINUS_INFINITY, end, False, op == r"\le" and not infinite_sign(end)),))
    if op in (">", r"\ge"):
        return Region((Piece(end, INFINITY, op == r"\ge" and not infinite_sign(end), False),))
    return Region((Piece(MINUS_INFINITY, end, False, False), Piece(end, INFINITY, False, False)))
