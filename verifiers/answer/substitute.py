"""Sums and products over a short integer range, written out term by term."""

from __future__ import annotations

from verifiers.answer import tree
from verifiers.answer.tree import Node

MAX_TERMS = 2_000


def replace(node: Node, name: str, value: Node) -> Node:
    if node.op == "sym" and node.value == name:
        return value
    if not node.args:
        return node
    return Node(node.op, tuple(replace(child, name, value) for child in node.args), node.value)


def term_count(node: Node) -> int:
    """Terms of a finite sum or product with constant bounds; 20 for others, of which only few terms are summed."""
    from verifiers.answer.exact_value import rational

    first, last = rational(node.args[1]), rational(node.args[2])
    if not isinstance(first, int) or not isinstance(last, int) or last - first >= MAX_TERMS:
        return 20
    return max(1, last - first + 1)


def terms(node: Node) -> list[Node] | None:
    """The terms of a finite `sum` or `prod` with integer bounds; None when there are more than MAX_TERMS."""
    from verifiers.answer.exact_value import rational

    body, low, high = node.args
    first, last = rational(low), rational(high)
    if not isinstance(first, int) or not isinstance(last, int) or last - first >= MAX_TERMS:
        return None
    return [replace(body, str(node.value), tree.number(value)) for value in range(first, last + 1)]
