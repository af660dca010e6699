"""Bound variables of sums, integrals and limits, and the renaming of symbols."""

from __future__ import annotations

import re

from verifiers.answer import tree
from verifiers.answer.tree import Node


def bind(op: str, body: Node, variable: str, bounds: tuple[Node, ...]) -> Node:
    """A binder with its variable renamed by depth, so that sums that differ only in the index are equal trees."""
    tree.shallow(body)
    if any(_indexed(name, variable) for name in tree.symbols(body)):
        # a_n under a sum over n is an unknown function of n: only equal trees are equal
        return Node("func", (body, tree.symbol(variable), *bounds), f"{op} of terms")
    fresh = f"#{_binders(body)}"
    return Node(op, (rename(body, variable, fresh), *bounds), fresh)


def _indexed(name: str, variable: str) -> bool:
    """a_n, a_{n-k} depend on n."""
    _, _, subscript = name.partition("_")
    return variable in re.findall(r"\\?[A-Za-z]+", subscript) or (len(variable) == 1 and variable in subscript)


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
