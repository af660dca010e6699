"""Matrices and column vectors against every way to write them: nested lists, nested braces, i, j, k components."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.answer import tree
from verifiers.answer.equality import Outcome, equal
from verifiers.answer.kinds import Answer, Bag, Matrix, Ordered, Scalar
from verifiers.answer.tree import Node

_BASIS = (tree.constant("i"), tree.symbol("j"), tree.symbol("k"))


def same_entries(left: Matrix, right: Matrix | Ordered | Bag | Scalar) -> list[Outcome]:
    """The outcomes entry by entry; just [DIFFERENT] where the shapes differ."""
    if isinstance(right, Scalar):
        column = [row[0] for row in left.rows]
        vector = len(left.rows[0]) == 1 and len(column) in (2, 3) and bool(tree.symbols(right.node) & {"j", "k"})
        return [same_components(column, right.node) if vector else Outcome.DIFFERENT]
    rows = right.rows if isinstance(right, Matrix) else _rows(right, left)
    if rows is None or [len(row) for row in rows] != [len(row) for row in left.rows]:
        return [Outcome.DIFFERENT]
    pairs = [pair for first, second in zip(left.rows, rows, strict=True) for pair in zip(first, second, strict=True)]
    return [equal(first, second) for first, second in pairs]


def same_components(entries: Sequence[Node], right: Node) -> Outcome:
    """(1, -2, 3) against i - 2j + 3k."""
    terms = tuple(Node("mul", pair) for pair in zip(entries, _BASIS, strict=False))
    return equal(Node("add", terms), right)


def _rows(answer: Ordered | Bag, matrix: Matrix) -> tuple[tuple[Node, ...], ...] | None:
    """[[1, 2], [3, 4]] and {{1, 2}, {3, 4}} as rows; (1, 2) as a vector of the shape of the matrix."""
    scalars = _nodes(answer.items)
    if scalars is not None:
        if isinstance(answer, Bag):
            return None
        return tuple((node,) for node in scalars) if len(matrix.rows[0]) == 1 else (scalars,)
    rows: list[tuple[Node, ...]] = []
    for item in answer.items:
        nodes = _nodes(item.items) if isinstance(item, Ordered | Bag) else None
        if nodes is None:
            return None
        rows.append(nodes)
    return tuple(rows)


def _nodes(items: Sequence[Answer]) -> tuple[Node, ...] | None:
    nodes = tuple(item.node for item in items if isinstance(item, Scalar))
    return nodes if len(nodes) == len(items) else None
