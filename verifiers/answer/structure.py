"""Tokens of a whole answer to its type: lists, sets, tuples, intervals, relations, matrices, scalars."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.answer import bases, matrices, regions, relations, scalars, tree
from verifiers.answer.kinds import (
    Answer,
    Bag,
    Dotted,
    Matrix,
    Named,
    Ordered,
    Region,
    Relation,
    Scalar,
    Word,
)
from verifiers.answer.regions import intersection, region_of, union, without
from verifiers.answer.slices import Tokens, enclosed, is_mark, semicolon, separates, split, trim, unwrapped
from verifiers.answer.tokens import Token
from verifiers.answer.tree import MAX_DEPTH, Node, TooComplex, Unreadable

MAX_ITEMS = 400
_SET_OPS = frozenset((r"\cup", r"\cap", r"\setminus"))
_SYSTEMS = (
    r"\begin{cases}",
    r"\begin{aligned}",
    r"\begin{array}",
    r"\begin{align}",
    r"\begin{align*}",
    r"\begin{gathered}",
)
_ALL = frozenset((r"\mathbb{R}", r"\Re"))
_NOTHING = frozenset((r"\emptyset",))


def structure(tokens: Tokens, *, tight_units: bool = False, depth: int = 0) -> Answer:
    """Raises Unreadable when the tokens are no mathematics, TooComplex when a limit is met."""
    if depth > MAX_DEPTH // 4:
        raise TooComplex("too deep")
    tokens = unwrapped(trim(tokens))
    if not tokens:
        raise Unreadable("nothing")
    reader = _Reader(tight_units, depth)
    listed = reader.listed(tokens)
    return reader.single(tokens) if listed is None else listed


class _Reader:
    """The options that every part of one answer is read with."""

    def __init__(self, tight_units: bool, depth: int) -> None:
        self.tight_units = tight_units
        self.depth = depth

    def inner(self, tokens: Tokens) -> Answer:
        return structure(tokens, tight_units=self.tight_units, depth=self.depth + 1)

    # ---- lists -----------------------------------------------------------------------------------------------------

    def listed(self, tokens: Tokens) -> Answer | None:
        """Parts that commas, semicolons, "and" or "or" separate; None when there is one part."""
        parts, marks = split(tokens, semicolon)
        if not marks:
            parts, marks = split(tokens, _or)
            # x = 2, y = 3 or x = 4, y = 5
            marks = marks if all(map(_is_system, parts)) else []
        if not marks:
            parts, marks = split(tokens, separates)
        parts = [part for part in parts if part]
        if not marks or not parts:
            return None
        if len(parts) > MAX_ITEMS:
            raise TooComplex("too many items")
        if len(parts) == 1:
            return self.inner(parts[0])
        dots = [place for place, part in enumerate(parts) if len(part) == 1 and part[0].value == r"\ldots"]
        if dots:
            return self.dotted(parts, dots)
        if any(mark.value == r"\land" for mark in marks) and len(parts) == 2:
            both = [self.inner(part) for part in parts]
            if all(isinstance(answer, Region) for answer in both):
                return intersection(region_of(both[0]), region_of(both[1]))
        joined_by_or = any(mark.value.lower() in ("or", "或", "或者", r"\lor") for mark in marks)
        return collected([self.inner(part) for part in parts], either=joined_by_or)

    def dotted(self, parts: Sequence[Tokens], dots: list[int]) -> Answer:
        if len(dots) > 1:
            raise Unreadable("dots twice")
        before = tuple(self.inner(part) for part in parts[: dots[0]])
        return Dotted(before, tuple(self.inner(part) for part in parts[dots[0] + 1 :]))

    # ---- one part --------------------------------------------------------------------------------------------------

    def single(self, tokens: list[Token]) -> Answer:
        related = relations.relation(tokens, self.inner)
        if related is not None:
            return related
        combined = self.set_operation(tokens)
        if combined is not None:
            return combined
        if len(tokens) == 1 and tokens[0].value in _ALL | _NOTHING:
            return Word("all" if tokens[0].value in _ALL else "nothing", "")
        if len(tokens) == 1 and tokens[0].value == r"\nexists":
            return Word("undefined", "")
        if len(tokens) == 1 and tokens[0].value.startswith(r"\mathbb{"):
            return Word("numbers", tokens[0].value[8:-1])
        if tokens[0].value in _ALL and len(tokens) > 2 and tokens[1].value in "_^":
            return regions.signed_line([token.value for token in tokens[2:]])
        if _named_point(tokens):
            return Named(tokens[0].value, self.bracketed(tokens[1:]))
        head = matrices.untransposed(tokens)
        if head is not None:
            return matrices.transposed(self.inner(head))
        if enclosed(tokens):
            return self.bracketed(tokens)
        found = matrices.arithmetic(tokens) or scalars.matrix(tokens) or bases.based(tokens)
        if found is None and any(is_mark(token, ":") or token.value in ("to", "比") for token in tokens):
            found = scalars.ratio(tokens)
        return found or expanded(scalars.scalar(tokens, tight_units=self.tight_units))

    def set_operation(self, tokens: list[Token]) -> Answer | None:
        parts, marks = split(tokens, lambda token: token.value in _SET_OPS and token.kind == "command")
        ops = [mark.value for mark in marks]
        if not marks:
            parts, marks = split(tokens, lambda token: token.value == "U" and token.kind in ("letter", "text"))
            ops = [r"\cup"] * len(marks)
            if not all(part and part[-1].kind == "close" for part in parts):
                return None
        if not marks:
            parts, marks = split(tokens, lambda token: is_mark(token, "-"))
            if len(parts) != 2 or not all(parts) or not (parts[0][0].value in _ALL or _holed(*parts)):
                return None
            ops = [r"\setminus"]
        answers = [self.inner(part) for part in parts]
        if all(isinstance(answer, Bag) for answer in answers) and set(ops) == {r"\cup"}:
            return Bag(
                tuple(item for answer in answers if isinstance(answer, Bag) for item in answer.items), braced=True
            )
        total = region_of(answers[0])
        for op, answer in zip(ops, answers[1:], strict=True):
            other = region_of(answer)
            combine = {r"\cup": union, r"\cap": intersection, r"\setminus": without}[op]
            total = combine(total, other)
        return total

    def bracketed(self, tokens: list[Token]) -> Answer:
        left, right, inside = tokens[0].value, tokens[-1].value, tokens[1:-1]
        if left in _SYSTEMS and (any(map(relations.relates, inside)) or scalars.matrix(tokens) is None):
            return self.system(inside)
        found = scalars.matrix(tokens)
        if found is not None:
            return found
        if left == r"\{" and right == ".":
            return self.inner(inside)
        if left in (r"\{", "{"):
            return self.braced(inside)
        parts, marks = split(inside, semicolon)
        cells = matrices.spaced_rows(parts) if marks and left == "[" else None
        if cells is not None:
            return Matrix(tuple(tuple(scalars.scalar(cell).node for cell in row) for row in cells))
        if not marks:
            parts, marks = split(inside, lambda token: is_mark(token, ","))
        if not marks:
            return self.one_in_brackets(inside, left, right)
        if left == "[" and any(is_mark(mark, ";") for mark in marks):
            rows = [split(part, lambda token: is_mark(token, ","))[0] for part in parts]
            if len(rows[0]) > 1:
                return Ordered(tuple(Ordered(tuple(map(self.inner, row)), "[", "]") for row in rows), "[", "]")
        if left not in "([" or right not in ")]" or not all(parts):
            raise Unreadable(f"brackets {left}{right}")
        if len(parts) > MAX_ITEMS:
            raise TooComplex("too many items")
        return Ordered(tuple(self.inner(part) for part in parts), left, right)

    def one_in_brackets(self, inside: list[Token], left: str, right: str) -> Answer:
        if (left, right) == ("(", ")"):
            return self.inner(inside)
        if (left, right) == ("[", "]"):
            answer = self.inner(inside)
            return answer if isinstance(answer, Matrix) else Ordered((answer,), left, right)
        raise Unreadable(f"brackets {left}{right}")

    def braced(self, inside: list[Token]) -> Answer:
        if not inside:
            return Word("nothing", "")
        parts, marks = split(inside, lambda token: is_mark(token, "|") or is_mark(token, ":"))
        if len(marks) == 1 and all(parts) and any(relations.relates(token) for token in parts[1]):
            return self.inner(parts[1])
        answer = self.inner(inside)
        if isinstance(answer, Bag):
            return Bag(answer.items, braced=True)
        if isinstance(answer, Dotted) or (isinstance(answer, Word) and answer.kind != "nothing"):
            return answer
        return Bag((answer,), braced=True)

    def system(self, inside: list[Token]) -> Answer:
        lines, _ = split(inside, lambda token: token.value in ("\\\\", r"\cr") and token.kind == "command")
        rows = [[token for token in line if not is_mark(token, "&")] for line in lines]
        if not any(rows):
            raise Unreadable("an empty system")
        return collected([self.inner(row) for row in rows if row], either=False)


def _holed(left: Tokens, right: Tokens) -> bool:
    """(2, 102) - {12}"""
    return enclosed(left) and any(is_mark(token, ",") for token in left) and enclosed(right) and right[0].value == r"\{"


def _or(token: Token) -> bool:
    return separates(token) and token.value.lower() in ("or", "或", "或者", r"\lor")


def _is_system(tokens: Tokens) -> bool:
    parts, _ = split(tokens, separates)
    return len(parts) > 1 and all(any(is_mark(token, "=") for token in part) for part in parts)


def _named_point(tokens: list[Token]) -> bool:
    """P(3, -4) names a point."""
    named = (
        tokens[0].kind in ("letter", "text")
        and len(tokens[0].value) == 1
        and (tokens[0].value.isupper() or not tokens[0].value.isascii())
        and enclosed(tokens[1:])
    )
    return named and tokens[1].value == "(" and any(is_mark(token, ",") for token in tokens)


def expanded(answer: Scalar) -> Answer:
    """a plus-minus b is the set of both values; several signs are independent unless a minus-plus ties them."""
    if not tree.holds(answer.node, frozenset(("pm", "mp"))):
        return answer
    count = _count(answer.node, "pm")
    tied = _count(answer.node, "mp") > 0 or count > 3
    variants = 2 if tied else 2**count
    nodes = [
        signed(answer.node, [bool(variant >> place & 1) for place in range(max(count, 1))], tied)
        for variant in range(variants)
    ]
    return Bag(tuple(Scalar(node, answer.unit, answer.digits) for node in dict.fromkeys(nodes)))


def _count(node: Node, op: str) -> int:
    return (node.op == op) + sum(_count(child, op) for child in node.args)


def signed(node: Node, signs: list[bool], tied: bool) -> Node:
    """The tree with every plus-minus decided; `signs` holds True for minus, in order of appearance."""
    place = [0]

    def walk(current: Node) -> Node:
        if current.op not in ("pm", "mp"):
            return Node(current.op, tuple(map(walk, current.args)), current.value) if current.args else current
        minus = signs[0] if tied else signs[min(place[0], len(signs) - 1)]
        minus ^= current.op == "mp"
        place[0] += 1
        children = tuple(map(walk, current.args))
        last = Node("neg", (children[-1],)) if minus else children[-1]
        return last if len(children) == 1 else Node("add", (children[0], last))

    return walk(node)


def collected(answers: list[Answer], *, either: bool) -> Answer:
    """Several answers as one: a region, a set of values, a system of named values, or a bag."""
    if all(isinstance(answer, Region) for answer in answers):
        found = [answer for answer in answers if isinstance(answer, Region)]
        total = found[0]
        for region in found[1:]:
            total = union(total, region) if either else intersection(total, region)
        if total.pieces or either:
            return total
    quantities = [answer for answer in answers if isinstance(answer, Scalar)]
    if len(quantities) == len(answers) and not either:
        total = scalars.joined(quantities)
        if total is not None:
            return total
    named = [answer for answer in answers if isinstance(answer, Named)]
    names = {answer.name for answer in named}
    if len(named) == len(answers) and len(names) == 1:
        return Bag(_flat([answer.value for answer in named]))
    if len(named) == len(answers) and len(names) == len(answers):
        return Bag(tuple(answers), braced=True)
    first = answers[0]
    if (
        isinstance(first, Named)
        and len(named) == 1
        and not any(isinstance(item, Relation | Region) for item in answers)
    ):
        return Bag(_flat([first.value, *answers[1:]]))
    return Bag(_flat(answers))


def _flat(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """The values of a plus-minus inside a list are items of the list."""
    items: list[Answer] = []
    for answer in answers:
        if isinstance(answer, Bag) and not answer.braced:
            items.extend(answer.items)
        else:
            items.append(answer)
    return tuple(items)
