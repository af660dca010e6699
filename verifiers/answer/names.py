"""Names in an expression: symbols with subscripts and primes, applications such as f(x), C_n^k."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifiers.answer import tree
from verifiers.answer.tree import Node

if TYPE_CHECKING:
    from verifiers.answer.parser import Parser


_UPRIGHT = frozenset((r"\max", r"\min", r"\sup", r"\inf", r"\lim"))


def plain_name(value: str) -> Node:
    return tree.constant(value) if value in ("e", "i") else tree.symbol(value)


def name(parser: Parser, value: str) -> Node:
    """A symbol with its subscript and primes; e and i are the constants when they carry neither."""
    full = value
    if parser.peek().value == "_" and parser.peek().kind == "op":
        parser.take()
        full += "_" + raw_script(parser)
    if value == "C" and full != "C" and parser.peek().value == "^":
        return combination(parser, full[2:])
    while parser.peek().value == "'" and parser.peek().kind == "op":
        parser.take()
        full += "'"
    if value in ("f", "g", "h", "F", "G", "H") and parser.peek().value == "(" and not parser.peek().spaced:
        return Node("func", (parser.group(),), full)
    return plain_name(full)


def combination(parser: Parser, lower: str) -> Node:
    """C_5^2 = C_2^5 = 5 choose 2."""
    parser.take()
    upper = parser.script()
    if lower.isdecimal() and len(lower) < 9 and upper.op == "num" and isinstance(upper.value, int):
        big, small = max(int(lower), upper.value), min(int(lower), upper.value)
        return Node("binom", (tree.number(big), tree.number(small)))
    if lower.isalpha():
        return Node("binom", (tree.symbol(lower), upper))
    return Node("pow", (tree.symbol("C_" + lower), upper))


def raw_script(parser: Parser) -> str:
    if parser.peek().kind == "open":
        end = parser.closing[parser.at]
        inner = parser.tokens[parser.at + 1 : end]
        text = "".join(token.value.lstrip("\\") if token.value in _UPRIGHT else token.value for token in inner)
        parser.at = end + 1
        return text
    return parser.take().value
