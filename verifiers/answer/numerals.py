"""Numbers in an expression: literals, mixed numbers, repeating decimals, 5C2."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from verifiers.answer import commands, tree
from verifiers.answer.literals import literal
from verifiers.answer.tree import Node, Unreadable

if TYPE_CHECKING:
    from verifiers.answer.parser import Parser


def numeral(parser: Parser) -> Node:
    token = parser.take()
    following = parser.peek()
    if "." in token.value:
        if following.kind == "command" and following.value in (r"\overline", r"\bar", r"\dot"):
            return repeating(parser, token.value)
        if (
            following.value == "("
            and not following.spaced
            and parser.peek(1).value.isdecimal()
            and parser.peek(2).value == ")"
        ):
            parser.at += 3
            return periodic(token.value, parser.tokens[parser.at - 2].value)
        if following.value == r"\ldots":
            parser.take()
            return going_on(token.value)
    node = literal(token.value)
    whole = token.value.isdecimal()
    if whole and following.value == r"\frac" and following.kind == "command":
        return mixed(parser, node)
    if whole and following.kind == "num" and following.spaced and parser.peek(1).value == "/":
        return mixed_inline(parser, node)
    if whole and following.value == "C" and parser.peek(1).kind == "num":
        parser.take()
        return Node("binom", (node, literal(parser.take().value)))
    return node


def repeating(parser: Parser, literal_text: str) -> Node:
    """0.1\\overline{6}; dots over the first and the last digit of the period mean the same."""
    digits, dotted = "", parser.peek().value == r"\dot"
    while parser.peek().kind in ("command", "num"):
        if parser.peek().kind == "command" and parser.peek().value not in (r"\overline", r"\bar", r"\dot"):
            break
        if parser.peek().kind == "num":
            if not dotted:
                break
            digits += parser.take().value
            continue
        parser.take()
        digits += digits_of(parser)
    return periodic(literal_text, digits)


def going_on(literal_text: str) -> Node:
    """0.1666...: the shortest period that stands three times at the end (twice for two digits and more)."""
    whole, _, digits = literal_text.partition(".")
    for length in range(1, len(digits) // 2 + 1):
        period = digits[-length:]
        if digits.endswith(period * (3 if length == 1 else 2)):
            while digits.endswith(period):
                digits = digits[:-length]
            return periodic(f"{whole}.{digits}", period)
    raise Unreadable("digits that go on")


def periodic(literal_text: str, digits: str) -> Node:
    whole, _, fixed = literal_text.partition(".")
    if not digits.isdecimal() or len(digits) > 200 or len(literal_text) > 200:
        raise Unreadable("repeating decimal")
    value = Fraction(f"{whole or '0'}.{fixed or '0'}")
    return tree.number(value + Fraction(int(digits), (10 ** len(digits) - 1) * 10 ** len(fixed)))


def digits_of(parser: Parser) -> str:
    if parser.peek().kind == "open":
        end = parser.closing[parser.at]
        text = "".join(token.value for token in parser.tokens[parser.at + 1 : end])
        parser.at = end + 1
        return text
    return parser.take().value


def mixed(parser: Parser, whole: Node) -> Node:
    """2\\frac{1}{2}: a mixed number when both parts are integers and the fraction is proper, else a product."""
    parser.take()
    fraction = commands.fraction(parser)
    top, bottom = (part.value if part.op == "num" else None for part in fraction.args)
    if isinstance(top, int) and isinstance(bottom, int) and top < bottom and isinstance(whole.value, int):
        return tree.number(whole.value + Fraction(top, bottom))
    return Node("mul", (whole, fraction))


def mixed_inline(parser: Parser, whole: Node) -> Node:
    """1 1/4"""
    top, slash, bottom = parser.peek(), parser.peek(1), parser.peek(2)
    if slash.kind != "op" or not top.value.isdecimal() or not bottom.value.isdecimal() or not int(bottom.value[:9]):
        raise Unreadable("two numbers side by side")
    if len(top.value) > 9 or len(bottom.value) > 9 or int(top.value) >= int(bottom.value):
        raise Unreadable("two numbers side by side")
    parser.at += 3
    return tree.number(Fraction(int(str(whole.value)) * int(bottom.value) + int(top.value), int(bottom.value)))
