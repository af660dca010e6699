"""Expression trees. A tree is data: nothing in it is ever evaluated as code."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class TooComplex(Exception):  # noqa: N818 - a verdict, not a mistake of ours
    """Characters, nodes, depth, bits or operations ran out."""


class Unreadable(Exception):  # noqa: N818
    """The tokens are not an expression of our grammar."""


class Node(NamedTuple):
    """op is one of: num const sym add mul neg div pow root fact func log binom pm mp abs floor ceil percent degree
    sum prod int lim dots group. `value` is a Fraction (num), a name (sym, const, func) or None."""

    op: str
    args: tuple[Node, ...] = ()
    value: Fraction | int | str | None = None


MAX_CHARS = 4_000
MAX_NODES = 5_000
MAX_DEPTH = 110
MAX_BITS = 20_000
"""Integers with more bits are never written out."""


MAX_TREE_DEPTH = 150
"""Trees are walked recursively; this keeps every walk far from the interpreter's own limit."""


def number(value: Fraction | int) -> Node:
    return Node("num", (), value)


def symbol(name: str) -> Node:
    return Node("sym", (), name)


def constant(name: str) -> Node:
    return Node("const", (), name)


def symbols(node: Node) -> frozenset[str]:
    """Free symbols; the bound variable of a sum or integral is not free in its body."""
    found: set[str] = set()
    stack: list[tuple[Node, frozenset[str]]] = [(node, frozenset())]
    while stack:
        current, bound = stack.pop()
        if current.op == "sym":
            if current.value not in bound:
                found.add(str(current.value))
            continue
        if current.op in ("sum", "prod", "int", "lim"):
            inner = bound | {str(current.value)}
            stack.extend((child, inner if place == 0 else bound) for place, child in enumerate(current.args))
            continue
        stack.extend((child, bound) for child in current.args)
    return frozenset(found)


def shallow(node: Node) -> Node:
    """The node itself. Raises TooComplex when it is deeper than MAX_TREE_DEPTH; walks without recursion."""
    level = [node]
    for _ in range(MAX_TREE_DEPTH):
        level = [child for current in level for child in current.args]
        if not level:
            return node
    raise TooComplex("too deep")


def holds(node: Node, ops: frozenset[str]) -> bool:
    """Whether any node of the tree has one of these ops."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.op in ops:
            return True
        stack.extend(current.args)
    return False
