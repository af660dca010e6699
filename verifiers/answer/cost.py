"""How much work one evaluation of a tree is: an upper estimate that depends on the tree only, not on load."""

from __future__ import annotations

import math
from fractions import Fraction

from verifiers.answer.tree import Node, symbols

MAX_COST = 4_000
MAX_DIGITS = 6_000
"""Powers and factorials with more digits are towers."""
_WEIGHTS = {"fact": 20, "fact2": 20, "binom": 60, "func": 3, "log": 3, "pow": 3, "root": 3}


def towering(node: Node) -> bool:
    """Whether a part of the tree is a power or factorial of numbers that is too large to be written out."""
    if node.op in ("pow", "fact", "fact2") and not symbols(node) and _size(node) > MAX_DIGITS:
        return True
    return any(map(towering, node.args))


def _size(node: Node) -> float:
    """The decimal logarithm of a tree of numbers, at most: of the larger of numerator and denominator."""
    if node.op == "num":
        value = Fraction(str(node.value))
        return math.log10(max(abs(value.numerator), value.denominator, 2))
    below = [_size(child) for child in node.args]
    if node.op == "pow":
        return below[0] * 10.0 ** min(below[1], 200)
    if node.op in ("fact", "fact2"):
        return below[0] * 10.0 ** min(below[0], 200)
    return sum(below) if node.op in ("mul", "div") else max(below, default=1.0) + 1


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
