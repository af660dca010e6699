"""Words and LaTeX commands in an expression: functions, fractions, roots, sums, integrals, limits, accents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifiers.answer import grammar, names, tree
from verifiers.answer.binders import bind
from verifiers.answer.literals import literal
from verifiers.answer.tokens import Token
from verifiers.answer.tree import Node, Unreadable

if TYPE_CHECKING:
    from verifiers.answer.parser import Parser

END = Token("end", "")


def roman(parser: Parser, value: str) -> Node:
    """Upright text: a function, a constant, a name of one letter or a few; prose is no mathematics."""
    known = grammar.ALIASES.get(value, value)
    if known in grammar.FUNCTIONS or value in grammar.CONSTANTS:
        return word(parser, value)
    if " " in value or (value.isascii() and len(value) > 3 and value.islower()) or value.lower() in grammar.PROSE:
        raise Unreadable(f"prose: {value}")
    return names.name(parser, value)


def word(parser: Parser, value: str) -> Node:
    lowered = value.lower()
    known = grammar.ALIASES.get(lowered, lowered)
    if known in grammar.FUNCTIONS:
        return applied(parser, known)
    if lowered in grammar.CONSTANTS:
        return tree.constant(grammar.CONSTANTS[lowered])
    if value in grammar.GREEK:
        return names.name(parser, "\\" + value)
    if not value.isascii():
        return names.name(parser, value)
    prose = lowered in grammar.PROSE and not (len(value) < 4 and parser.peek().value in ("^", "_"))
    if (not value.isupper() and (prose or _pronounced(value))) or len(value) > 8:
        raise Unreadable(f"a word of prose: {value}")
    for function in ("sqrt", "sin", "cos", "tan", "ln", "log", "pi"):
        if value.endswith(function):
            return split_word(parser, value[: -len(function)], function)
    return letters(parser, value)


def _pronounced(value: str) -> bool:
    """More than three letters with a vowel among them; GMmr is a product."""
    return len(value) > 3 and any(letter in "aeiouyAEIOUY" for letter in value)


def split_word(parser: Parser, before: str, function: str) -> Node:
    """xsin, nsqrt: letters before a function name."""
    head = letters(parser, before) if before else None
    tail = word(parser, function)
    return tail if head is None else Node("mul", (head, tail))


def letters(parser: Parser, value: str) -> Node:
    nodes = [names.plain_name(letter) for letter in value[:-1]] + [parser.postfix(names.name(parser, value[-1]))]
    parser.nodes += len(nodes)
    return nodes[0] if len(nodes) == 1 else Node("mul", tuple(nodes))


def command(parser: Parser, value: str) -> Node:
    name = value[1:]
    if value in grammar.CONSTANTS:
        return tree.constant(grammar.CONSTANTS[value])
    if value == r"\frac":
        return fraction(parser)
    if value == r"\sqrt":
        return root(parser)
    if value == r"\binom":
        return Node("binom", (argument(parser), argument(parser)))
    known = grammar.ALIASES.get(name, name)
    if known in grammar.FUNCTIONS and name not in ("Gamma",):
        return applied(parser, known)
    if value in grammar.FENCES:
        return fenced(parser, *grammar.FENCES[value])
    if value in grammar.BIG_OPERATORS:
        return big_operator(parser, grammar.BIG_OPERATORS[value])
    if value == r"\int":
        return integral(parser)
    if value == r"\lim":
        return limit(parser)
    if value in grammar.ACCENTS:
        return accented(parser, value)
    if value in (r"\underbrace", r"\overbrace"):
        node = argument(parser)
        if parser.peek().value in ("_", "^"):
            parser.take()
            names.raw_script(parser)
        return node
    if value in grammar.ADDITIVE or value in grammar.MULTIPLICATIVE or value in grammar.EXPRESSION_ENDS:
        raise Unreadable(f"unexpected {value}")
    if parser.peek().value == "{" and name not in grammar.GREEK:
        raise Unreadable(f"unknown command {value}")
    return names.name(parser, value)


def argument(parser: Parser) -> Node:
    parser.enter()
    node = _argument(parser)
    parser.depth -= 1
    return node


def _argument(parser: Parser) -> Node:
    """The argument of \\frac and its kin: a group, one digit, or one atom."""
    token = parser.peek()
    if token.kind == "num" and len(token.value) > 1 and token.value.isdecimal():
        parser.tokens[parser.at] = token._replace(value=token.value[1:], spaced=False)
        return tree.number(int(token.value[0]))
    if token.kind == "num":
        return literal(parser.take().value)
    if token.kind == "op" and token.value == "-":
        parser.take()
        return Node("neg", (argument(parser),))
    return parser.group() if token.value == "{" else parser.atom()


def fraction(parser: Parser) -> Node:
    return Node("div", (argument(parser), argument(parser)))


def root(parser: Parser) -> Node:
    index = tree.number(2)
    if parser.peek().value == "[":
        end = parser.closing[parser.at]
        index = parser.whole(parser.at + 1, end)
        parser.at = end + 1
    if parser.peek().kind == "open":
        return Node("root", (parser.group(), index))
    if parser.peek().kind == "num":
        return Node("root", (literal(parser.take().value), index))
    return Node("root", (parser.atom(), index))


def fenced(parser: Parser, closing: str, op: str) -> Node:
    node = parser.expression(0)
    if not parser.accept(closing):
        raise Unreadable(f"{closing} is missing")
    return Node("func", (node,), op) if op == "norm" else Node(op, (node,))


def applied(parser: Parser, name: str) -> Node:
    """A function with its subscript, exponent and argument."""
    parser.enter()
    node = _applied(parser, name)
    parser.depth -= 1
    return node


def _applied(parser: Parser, name: str) -> Node:
    base = exponent = None
    while parser.peek().value in ("_", "^") and parser.peek().kind == "op":
        if parser.take().value == "_":
            base = argument_of_log(parser)
        else:
            exponent = parser.script()
    if name in grammar.SEVERAL_ARGUMENTS and parser.peek().kind == "open":
        return Node("func", arguments(parser), name)
    inner = function_argument(parser)
    node = _apply(name, inner, base)
    if exponent is None:
        return node
    if exponent == Node("neg", (tree.number(1),)) and node.op == "func":
        return Node("func", node.args, "arc" + name)
    return Node("pow", (node, exponent))


def argument_of_log(parser: Parser) -> Node:
    if parser.peek().kind == "num" and parser.peek(1).kind == "open":
        return literal(parser.take().value)
    return argument(parser)


def function_argument(parser: Parser) -> Node:
    if parser.peek().kind == "open" and parser.peek().value in "([{":
        inner = parser.group()
        return inner.args[0] if inner.op == "group" else inner
    if parser.accept("-"):
        parser.enter()
        inner = function_argument(parser)
        parser.depth -= 1
        return Node("neg", (inner,))
    node = parser.postfix(parser.atom())
    factors = [node]
    while parser.starts_factor() and not at_function(parser):
        factors.append(parser.postfix(parser.atom()))
    return node if len(factors) == 1 else Node("mul", tuple(factors))


def at_function(parser: Parser) -> bool:
    token = parser.peek()
    name = token.value.lstrip("\\")
    return token.kind in ("command", "word") and grammar.ALIASES.get(name, name) in grammar.FUNCTIONS


def arguments(parser: Parser) -> tuple[Node, ...]:
    if parser.peek().kind != "open":
        raise Unreadable("a list of arguments was expected")
    start, end = parser.at + 1, parser.closing[parser.at]
    nodes: list[Node] = []
    place = first = start
    while place <= end:
        token = parser.tokens[place]
        if place == end or (token.value in (",", ";") and token.kind == "op"):
            nodes.append(parser.whole(first, place))
            first = place + 1
        elif token.kind == "open":
            place = parser.closing[place]
        place += 1
    parser.at = end + 1
    return tuple(nodes)


def bounds_of(parser: Parser) -> tuple[list[Token], Node | None]:
    """The tokens below and the expression above a big operator."""
    lower: list[Token] = []
    upper: Node | None = None
    while parser.peek().value in ("_", "^") and parser.peek().kind == "op":
        if parser.take().value == "^":
            upper = parser.script()
        elif parser.peek().kind == "open":
            end = parser.closing[parser.at]
            lower = parser.tokens[parser.at + 1 : end]
            parser.at = end + 1
        else:
            lower = [parser.take()]
    return lower, upper


def big_operator(parser: Parser, op: str) -> Node:
    lower, upper = bounds_of(parser)
    if len(lower) < 3 or lower[0].kind != "letter" or lower[1].value != "=" or upper is None:
        raise Unreadable("bounds of a sum")
    body = parser.expression(grammar.MULTIPLY)
    return bind(op, body, lower[0].value, (parser.fresh(lower[2:]), upper))


def limit(parser: Parser) -> Node:
    lower, _ = bounds_of(parser)
    if len(lower) < 3 or lower[1].value != r"\to":
        raise Unreadable("bounds of a limit")
    return bind("lim", parser.expression(grammar.MULTIPLY), lower[0].value, (parser.fresh(lower[2:]),))


def integral(parser: Parser) -> Node:
    lower, upper = bounds_of(parser)
    place = parser.at
    while place < parser.end:
        following = parser.tokens[place + 1] if place + 1 < parser.end else END
        if parser.tokens[place].kind == "open":
            place = parser.closing[place]
        elif (parser.tokens[place].value == "d" and following.kind in ("letter", "command")) or (
            parser.tokens[place].kind == "word" and parser.tokens[place].value in ("dx", "dt", "du", "dy", "dz")
        ):
            break
        place += 1
    else:
        raise Unreadable("an integral without its differential")
    body = parser.whole(parser.at, place) if place > parser.at else tree.number(1)
    joined = parser.tokens[place].kind == "word"
    variable = parser.tokens[place].value[1] if joined else parser.tokens[place + 1].value
    parser.at = place + (1 if joined else 2)
    bounds = (parser.fresh(lower), upper) if lower and upper is not None else ()
    return bind("int", body, variable, bounds)


def accented(parser: Parser, value: str) -> Node:
    if parser.peek().kind == "open":
        end = parser.closing[parser.at]
        inner = "".join(token.value for token in parser.tokens[parser.at + 1 : end])
        if value in (r"\overline", r"\bar") and any(
            token.value in "+-" for token in parser.tokens[parser.at + 1 : end]
        ):
            return Node("func", (parser.group(),), "conj")
        parser.at = end + 1
    else:
        inner = parser.take().value
    return names.name(parser, f"{grammar.SAME_ACCENTS.get(value, value)}{{{inner}}}")


def _apply(name: str, inner: Node, base: Node | None) -> Node:
    if name == "log" and base is not None:
        return Node("log", (inner, base))
    if name == "cis":
        parts = (Node("func", (inner,), "cos"), Node("mul", (tree.constant("i"), Node("func", (inner,), "sin"))))
        return Node("add", parts)
    if name == "lg":
        return Node("log", (inner, tree.number(10)))
    if name == "sqrt":
        return Node("root", (inner, tree.number(2)))
    if name == "cbrt":
        return Node("root", (inner, tree.number(3)))
    if name in ("abs", "floor", "ceil"):
        return Node(name, (inner,))
    return Node("func", (inner,), name)
