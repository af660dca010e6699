"""Bound variables of sums, integrals and limits, and the renaming of symbols."""

from __future__ import annotations

from verifiers.answer import tree
from verifiers.answer.tree import Node


def bind(op: str, body: Node, variable: str, bounds: tuple[Node, ...]) -> Node:
    """A binder with its variable renamed by depth, so that sums that differ only in the index are equal trees."""
    tree.shallow(body)
    fresh = f"#{_binders(body)}"
    return Node(op, (rename(body, variable, fresh), *bounds), fresh)


def _binders(node: Node) -> int:
    own = node.op in ("sum", "prod", "int", "lim")
    return own + max((_binders(child) for child in node.args), default=0)


def rename(node: Node, old: str, new: str) -> Node:
    """Every free symbol `old` (also the constants e and i, when they are an index) as `new`."""
    if node.op in ("sym", "const") and node.value == old:
        return tree.symbol(new)
    if not node.args:
        return node
    return Node(node.op, tuple(rename(child, old, new) for child in node.args), node.value)
