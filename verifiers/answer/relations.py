"""Equations, inequalities and memberships: names with values, regions, relations."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from verifiers.answer import bases, exact_value, scalars, tree
from verifiers.answer.equality import EQUAL, equal
from verifiers.answer.kinds import Answer, Bag, Named, Piece, Region, Relation, Scalar, Word
from verifiers.answer.parser import parse
from verifiers.answer.regions import half_line, intersection, normal
from verifiers.answer.slices import Tokens, enclosed, is_mark, split, sum_tokens
from verifiers.answer.substitute import replace
from verifiers.answer.tokens import Token
from verifiers.answer.tree import Node, Unreadable
from verifiers.answer.units import DEGREE, PERCENT

_ORDER = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", r"\ne": r"\ne"}
_RELATIONS = frozenset(
    (
        "=", "==", r"\approx", r"\in", r"\notin", r"\equiv", r"\Rightarrow", r"\implies", r"\sim", r"\cong", r"\subset",
        r"\subseteq", r"\parallel", r"\perp", r"\propto", r"\Leftrightarrow", r"\doteq", r"\coloneqq",
        r"\therefore", r"\because", r"\ll", r"\gg", *_ORDER,
    )
)  # fmt: skip
_IMPLIES = frozenset((r"\Rightarrow", r"\implies", r"\therefore"))
_UNKNOWNS = frozenset("xytnm")
"""|x| = 5 has two solutions; |z| = 5 and |AB| = 5 say how long something is."""
_LENGTH = re.compile(r"\|?(?:\\overline|\\bar)?([A-Z]{2})\|?")
"""|AB|, AB and AB with a bar over it name one length."""
_DIFFERENTIAL = tree.symbol("d")
_INVERSE = Node("neg", (tree.number(1),))
_MEASURE = tree.symbol("m")
"""m in front of an angle."""
Inner = Callable[[Tokens], Answer]


def relates(token: Token) -> bool:
    return token.value in _RELATIONS and token.kind in ("op", "command")


def relation(tokens: list[Token], inner: Inner) -> Answer | None:
    """None when no relation sign stands at depth zero. Raises Unreadable for relations that are not handled."""
    sides, marks = split(tokens, relates)
    if not marks:
        return None
    ops = [mark.value for mark in marks]
    for place in range(len(ops) - 1, -1, -1):
        if ops[place] in _IMPLIES:
            return inner(sum_tokens(sides[place + 1 :], ops[place + 1 :]))
    if not sides[0] and ops[0] == "=" and "==" not in ops and len(sides) > 1:
        return inner(sum_tokens(sides[1:], ops[1:]))
    if len(sides) > 1 + (name_of(sides[0]) is not None) and set(ops) == {"="} and _goes_on(sides[-1]):
        # sqrt(3) = 1.732...
        return inner(sum_tokens(sides[:-1], ops[:-1]))
    if not all(sides):
        raise Unreadable("a relation with an empty side")
    if set(ops) == {"="} and any(map(_dotted, sides[:-1])) and not _dotted(sides[-1]):
        # 1 + 2 + ... + 10 = 55
        return inner(sides[-1])
    if r"\approx" in ops:
        return _approximate(sides, ops, inner)
    if ops == [r"\equiv"] and _applied(sides[0]) and not any("mod" in token.value for token in sides[1]):
        ops = ["="]
    if ops == ["=="] and name_of(sides[0]) is not None and not any(token.kind == "word" for token in sides[0]):
        ops = ["="]
    if set(ops) == {"="}:
        return _equation(sides, inner)
    if ops == [r"\in"]:
        return _member(sides, inner)
    if all(op in _ORDER for op in ops):
        return _ordered(sides, ops)
    raise Unreadable(f"relation {ops[0]}")


def _goes_on(tokens: Tokens) -> bool:
    return len(tokens) == 2 and "." in tokens[0].value and tokens[0].kind == "num" and tokens[1].value == r"\ldots"


def _dotted(tokens: Tokens) -> bool:
    return len(tokens) > 2 and any(token.value == r"\ldots" for token in tokens)


def _approximate(sides: list[list[Token]], ops: list[str], inner: Inner) -> Answer:
    """x = 1/3 (approx) 0.33: the exact part counts; name (approx) value: the value."""
    place = ops.index(r"\approx")
    head = sides[: place + 1]
    if len(head) == 1:
        found = name_of(head[0])
        if found is not None:
            return Named(found[0], inner(sides[1]), found[1])
    return inner(sum_tokens(head, ops[:place]))


def _member(sides: list[list[Token]], inner: Inner) -> Answer:
    found = name_of(sides[0])
    if found is None:
        raise Unreadable("membership of an expression")
    value = inner(sides[1])
    return value if isinstance(value, Word) else Named(found[0], value, found[1])


# ---- names ---------------------------------------------------------------------------------------------------------


def name_of(tokens: Tokens) -> tuple[str, tuple[str, ...]] | None:
    """The canonical text of a name and the symbols that it binds; None for an expression.

    Names: x, a_n, f(x), |AB|, AB, (x, y), A:B, NO/BO, the angle ABC, sin A, words."""
    if all(token.kind in ("word", "text") for token in tokens):
        return " ".join(token.value if token.value.isupper() else token.value.lower() for token in tokens), ()
    if enclosed(tokens) and tokens[0].value == "(":
        parts, marks = split(tokens[1:-1], lambda token: is_mark(token, ","))
        names = [name_of(part) if part else None for part in parts]
        if marks and all(names):
            return "(" + ",".join(name[0] for name in names if name) + ")", ()
    parts, marks = split(tokens, lambda token: is_mark(token, ":"))
    if marks:
        names = [name_of(part) if part else None for part in parts]
        if len({all(token.kind in ("word", "text") for token in part) for part in parts}) > 1:
            return None
        return (":".join(name[0] for name in names if name), ()) if all(names) else None
    applied = _applied(tokens)
    if applied is not None:
        return applied
    try:
        node = parse(list(tokens))
    except Unreadable:
        return None
    if node.op == "abs" and node.args[0].op == "sym" and node.args[0].value in _UNKNOWNS:
        return None
    if node.op == "div" and _name_like(node):
        return ":".join(_written(part) for part in node.args), ()
    if not _name_like(node):
        return None
    length = _LENGTH.fullmatch(_text(tokens))
    return length.group(1) if length else _text(tokens), _subscripts(node)


def _written(node: Node) -> str:
    return str(node.value) if not node.args else "".join(map(_written, node.args))


def _text(tokens: Tokens) -> str:
    return "".join(token.value for token in tokens if token.value not in "{}" and token.kind != "end")


def _applied(tokens: Tokens) -> tuple[str, tuple[str, ...]] | None:
    """f(x), P(A), a_n(t): a letter, then arguments that are short."""
    if len(tokens) < 4 or tokens[0].kind not in ("letter", "command", "text") or tokens[-1].value != ")":
        return None
    opening = next((place for place, token in enumerate(tokens) if token.value == "("), 0)
    if not 1 <= opening <= 7 or not enclosed(tokens[opening:]) or any(relates(token) for token in tokens):
        return None
    head = tokens[:opening]
    if any(
        token.kind not in ("letter", "num", "text", "open", "close", "command") and token.value not in "_'^-"
        for token in head
    ):
        return None
    if head[0].kind == "command" and head[0].value in (r"\frac", r"\sqrt", r"\binom", r"\pm"):
        return None
    inside = tokens[opening + 1 : -1]
    return _text(tokens), tuple(token.value for token in inside if token.kind == "letter" and token.value.islower())


def _name_like(node: Node) -> bool:
    if node.op == "sym":
        return True
    if node.op == "const":
        return node.value in ("e", "i")
    if node.op == "pow":
        return node.args[0].op == "sym" and str(node.args[0].value).isupper() and node.args[1] == _INVERSE
    if node.op == "mul":
        if len(node.args) == 2 and node.args[0] == _MEASURE and str(node.args[1].value).startswith(r"\angle"):
            return True
        return all((child.op == "sym" and str(child.value)[:1].isupper()) or _accented(child) for child in node.args)
    if node.op == "div" and all(part.op == "mul" and part.args[0] == _DIFFERENTIAL for part in node.args):
        return True
    if node.op in ("abs", "div", "degree"):
        return all(map(_name_like, node.args))
    if node.op == "func":
        return all(_name_like(child) or child.op == "num" for child in node.args)
    return False


def _accented(node: Node) -> bool:
    return node.op == "sym" and str(node.value).startswith("\\")


def _subscripts(node: Node) -> tuple[str, ...]:
    """a_n binds n."""
    if node.op == "sym" and "_" in str(node.value):
        subscript = str(node.value).split("_", 1)[1]
        return (subscript,) if len(subscript) == 1 and subscript.isalpha() and subscript.islower() else ()
    return ()


# ---- equations -----------------------------------------------------------------------------------------------------


def _equation(sides: list[list[Token]], inner: Inner) -> Answer:
    first, last = name_of(sides[0]), name_of(sides[-1])
    if _rewritten(sides[-1]) and all(len(side) == 1 or _rewritten(side) for side in sides[:-1]):
        return inner(sides[-1])
    if first is not None:
        return _named(first, sides, sides[-1], inner)
    if last is not None and (len(sides) == 2 or not _closed(sides[0])):
        return _named(last, sides, sides[0], inner)
    if sides[0][0].value in (r"\lim", r"\int", r"\iint", r"\oint"):
        return Named(_text(sides[0]), inner(sides[-1]))
    label, marks = split(sides[0], lambda token: is_mark(token, ":"))
    if len(marks) == 1 and all(label) and len(label[0]) <= 4 and name_of(label[0]) is not None:
        # the line l: 5x - y = 13
        return inner(sum_tokens([label[1], *sides[1:]], ["="] * (len(sides) - 1)))
    nodes = [plain_number(scalars.scalar(side)) for side in sides]
    if not any(tree.symbols(node) for node in nodes):
        if all(equal(nodes[0], node) in EQUAL for node in nodes[1:]):
            return inner(sides[-1])
        raise Unreadable("an equation between different numbers")
    if len(nodes) == 2 and first is None and nodes[0].op in ("add", "mul", "pow") and equal(*nodes) in EQUAL:
        return inner(sides[-1])  # x^2 - 3x + 2 = (x - 1)(x - 2)
    return Relation(nodes[0], "=", nodes[-1])


def _rewritten(tokens: Tokens) -> bool:
    """124 = 7C_16, 12 : 18 = 2 : 3"""
    return bases.based(tokens) is not None or (tokens[0].kind == "num" and any(is_mark(one, ":") for one in tokens))


def plain_number(scalar: Scalar) -> Node:
    """28 % as 0.28, 60 degrees as pi/3; other units are left out."""
    mark = {PERCENT: "percent", DEGREE: "degree"}.get(scalar.unit) if scalar.unit else None
    return Node(mark, (scalar.node,)) if mark else scalar.node


def _closed(tokens: Tokens) -> bool:
    try:
        return not tree.symbols(parse(list(tokens)))
    except Unreadable:
        return False


def _named(name: tuple[str, tuple[str, ...]], sides: list[list[Token]], value: list[Token], inner: Inner) -> Answer:
    answer = inner(value)
    equation = None
    if len(sides) == 2:
        try:
            equation = Relation(parse(list(sides[0])), "=", parse(list(sides[1])))
        except Unreadable:
            equation = None
    return Named(name[0], answer, name[1], equation)


# ---- inequalities --------------------------------------------------------------------------------------------------


def _ordered(sides: list[list[Token]], ops: list[str]) -> Answer:
    """A region when one name or one variable is bounded by numbers, else a relation."""
    nodes = [scalars.scalar(side).node for side in sides]
    if len(nodes) == 2 and not any(tree.symbols(node) for node in nodes):
        raise Unreadable("a relation between numbers")
    if len(ops) == 2 and nodes[1].op == "sym" and tree.symbols(nodes[0]) and tree.symbols(nodes[2]):
        between = _between(nodes, ops)
        if between is not None:
            return between
    if len(ops) > 1 and all(name_of(side) for side in sides):
        pairs = zip(nodes[:-1], ops, nodes[1:], strict=True)
        return Bag(tuple(Relation(left, op, right) for left, op, right in pairs), braced=True)
    total: Region | None = None
    for left, op, right in zip(nodes[:-1], ops, nodes[1:], strict=True):
        region = solved(left, op, right)
        if region is None:
            if len(ops) > 1:
                raise Unreadable("a chain of inequalities")
            return Relation(left, op, right)
        total = region if total is None else intersection(total, region)
    assert total is not None
    if len(ops) == 1 and tree.symbols(nodes[0]) and tree.symbols(nodes[1]):
        return Region(total.pieces, Relation(nodes[0], ops[0], nodes[1]))
    return total


def _between(nodes: list[Node], ops: list[str]) -> Region | None:
    """a < x < b with symbolic ends."""
    closed = [op in (r"\le", r"\ge") for op in ops]
    if all(op in ("<", r"\le") for op in ops):
        return Region((Piece(nodes[0], nodes[2], closed[0], closed[1]),))
    if all(op in (">", r"\ge") for op in ops):
        return Region((Piece(nodes[2], nodes[0], closed[1], closed[0]),))
    return None


def solved(left: Node, op: str, right: Node) -> Region | None:
    """left op right for the one unknown, when it is linear or the absolute value of a linear expression."""
    unknown = _unknown(left, right)
    if unknown is None:
        return None
    if left == unknown:
        return normal(half_line(op, right).pieces)
    if right == unknown:
        return normal(half_line(_ORDER[op], left).pieces)
    if right.op == "abs":
        left, op, right = right, _ORDER[op], left
    if left.op == "abs" and not tree.symbols(right):
        return _absolute(left.args[0], op, right)
    return _linear(Node("add", (left, Node("neg", (right,)))), op, str(unknown.value))


def _unknown(left: Node, right: Node) -> Node | None:
    """The bare name on one side while the other is a number, or the only symbol."""
    free = tree.symbols(left) | tree.symbols(right)
    for side, other in ((left, right), (right, left)):
        if not tree.symbols(other) and _name_like(side) and not _magnitude(side):
            return side
    for side, other in ((left, right), (right, left)):
        # x > a: one symbol against other symbols
        if side.op == "sym" and str(side.value) not in tree.symbols(other):
            return side
    return tree.symbol(next(iter(free))) if len(free) == 1 else None


def _magnitude(node: Node) -> bool:
    """|x| of a variable is a function of x, |AB| is a name."""
    return node.op == "abs" and node.args[0].op == "sym" and str(node.args[0].value)[:1].islower()


def _absolute(inside: Node, op: str, bound: Node) -> Region | None:
    if op == r"\ne":
        return None
    low, high = solved(inside, _ORDER[op], Node("neg", (bound,))), solved(inside, op, bound)
    if low is None or high is None:
        return None
    if op in ("<", r"\le"):
        return intersection(low, high)
    return normal(low.pieces + high.pieces)


def _linear(difference: Node, op: str, name: str) -> Region | None:
    values = [exact_value.rational(replace(difference, name, tree.number(place))) for place in (0, 1, 2, 5)]
    if any(value is None for value in values):
        return None
    zero, one, two, five = (Fraction(value) for value in values if value is not None)
    slope = one - zero
    if slope == 0 or two - one != slope or five != zero + 5 * slope:
        return None
    root = exact_value.tidy(-zero / slope)
    return half_line(op if slope > 0 else _ORDER[op], tree.number(root))
