"""How much work one evaluation of a tree is: an upper estimate that depends on the tree only, not on load."""

from __future__ import annotations

from verifiers.answer.tree import Node

MAX_COST = 4_000
_WEIGHTS = {"fact": 20, "fact2": 20, "binom": 60, "func": 3, "log": 3, "pow": 3, "root": 3}


def cost(node: Node) -> int:
    """Sums count every term. Anything above MAX_COST is reported as MAX_COST + 1."""
    from verifiers.answer.substitute import term_count

    own = _WEIGHTS.get(node.op, 1)
    if node.op in ("sum", "prod"):
        body = cost(node.args[0])
        bounds = sum(map(cost, node.args[1:]))
        if body + bounds > MAX_COST:
            return MAX_COST + 1
        return min(MAX_COST + 1, own + bounds + body * term_count(node))
    total = own
    for child in node.args:
        total += cost(child)
        if total > MAX_COST:
            return MAX_COST + 1
    return total
