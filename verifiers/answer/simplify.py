"""Cancellation of equal factors and terms, for trees too large to be valued (a tower of powers over itself)."""

from __future__ import annotations

from collections import Counter

from verifiers.answer import tree
from verifiers.answer.tree import Node

_ONE = tree.number(1)


def cancelled(node: Node) -> Node:
    """The tree with common factors of quotients and opposite terms of sums removed, bottom up."""
    if not node.args:
        return node
    node = Node(node.op, tuple(map(cancelled, node.args)), node.value)
    if node.op in ("div", "mul"):
        return _quotient(node)
    return _sum(node) if node.op in ("add", "neg") else node


def _quotient(node: Node) -> Node:
    above: Counter[Node] = Counter()
    below: Counter[Node] = Counter()
    _factors(node, above, below)
    common = above & below
    above, below = above - common, below - common
    above.pop(_ONE, None)
    below.pop(_ONE, None)
    top, bottom = _product(above), _product(below)
    return top if bottom == _ONE else Node("div", (top, bottom))


def _factors(node: Node, above: Counter[Node], below: Counter[Node]) -> None:
    if node.op in ("mul", "group"):
        for child in node.args:
            _factors(child, above, below)
    elif node.op == "div":
        _factors(node.args[0], above, below)
        _factors(node.args[1], below, above)
    else:
        above[node] += 1


def _product(factors: Counter[Node]) -> Node:
    nodes = sorted(factors.elements(), key=repr)
    return _ONE if not nodes else nodes[0] if len(nodes) == 1 else Node("mul", tuple(nodes))


def _sum(node: Node) -> Node:
    plus: Counter[Node] = Counter()
    minus: Counter[Node] = Counter()
    _terms(node, plus, minus)
    common = plus & minus
    plus, minus = plus - common, minus - common
    nodes = sorted(plus.elements(), key=repr) + [Node("neg", (term,)) for term in sorted(minus.elements(), key=repr)]
    return tree.number(0) if not nodes else nodes[0] if len(nodes) == 1 else Node("add", tuple(nodes))


def _terms(node: Node, plus: Counter[Node], minus: Counter[Node]) -> None:
    if node.op in ("add", "group"):
        for child in node.args:
            _terms(child, plus, minus)
    elif node.op == "neg":
        _terms(node.args[0], minus, plus)
    else:
        plus[node] += 1
