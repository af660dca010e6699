"""One number or expression with its unit; ratios; matrices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from verifiers.answer import tree, units
from verifiers.answer.kinds import Answer, Matrix, Ratio, Scalar
from verifiers.answer.lists import listed
from verifiers.answer.parser import parse
from verifiers.answer.slices import Tokens, is_mark, split
from verifiers.answer.tokens import Token, closing_places
from verifiers.answer.tree import Node, Unreadable
from verifiers.answer.units import DEGREE, PERCENT, Unit

_CURRENCY = frozenset(
    (
        "dollar",
        "$",
        "£",
        "€",
        "¥",
        "₹",
        "hk",
        "nt",
        "au",
        r"\pounds",
        r"\euro",
        "usd",
        "eur",
        "gbp",
        "rmb",
        "cny",
        "rs",
        "us",
        "人民币",
    )
)
_MATRICES = re.compile(r"\\begin\{(?:[pbBvV]?matrix|smallmatrix|array|psmallmatrix|bsmallmatrix|tabular)\}")
_UNIT_LETTERS = frozenset("mgshLlNJWVKAFCtd")
TIGHT_UNITS = listed(
    "cm mm km dm kg mg ml mL kW kWh Hz kHz MHz kPa Pa kJ min hr hrs sec ft lb lbs oz mph kph km eV mol deg "
    "rad pct cc inches in feet meters miles hours minutes seconds days years dollars cents percent"
)
"""Words that are units also where they are glued to a number; others glued to a number are products of variables."""
_NOT_UNITS = listed(
    "sqrt pi infty infinity inf oo sin cos tan log ln cot sec csc arctan arcsin arccos max min gcd lcm lim "
    "choose mod exp det C dx dy dt du dz"
)


def scalar(tokens: Tokens, *, tight_units: bool = False) -> Scalar:
    """Raises Unreadable."""
    parts = _compound(tokens)
    if parts is not None:
        return parts
    money, tokens = _currency(tokens)
    place = _unit_start(tokens, tight_units)
    unit, head = money, list(tokens)
    if place is not None:
        written = units.read_unit(tokens[place:])
        scale, rest = (1, None) if written is not None and not written.counted else _multiplied(tokens[place:])
        if scale > 1:
            node = Node("mul", (parse(list(tokens[:place])), tree.number(scale)))
            return Scalar(node, rest or money)
        if written is not None:
            unit, head = money or written, list(tokens[:place])
    return _with_marks(parse(head), unit, _significant(head))


def _compound(tokens: Tokens) -> Scalar | None:
    """2 hours 30 minutes, 5 ft 4 in: a sum of quantities of one kind, written without a sign."""
    starts = [
        place
        for place, token in enumerate(tokens)
        if token.kind == "num"
        and (place == 0 or (tokens[place - 1].kind in ("word", "text", "letter") and _apart(tokens[place - 1], token)))
    ]
    if len(starts) < 2 or starts[0] != 0 or len(tokens) > units.MAX_TOKENS:
        return None
    ends = [*starts[1:], len(tokens)]
    try:
        found = [scalar(tokens[start:end]) for start, end in zip(starts, ends, strict=True)]
    except Unreadable:
        return None
    return joined(found)


def _apart(unit: Token, number: Token) -> bool:
    return number.spaced or not unit.value.isascii()


def joined(found: Sequence[Scalar]) -> Scalar | None:
    """Quantities of one kind in falling, different units as their sum; None for anything else."""
    found = _one_system(found)
    first = found[0].unit
    if first is None or first.counted or first.offset or len({item.unit for item in found}) < len(found):
        return None
    terms: list[Node] = []
    for item in found:
        if item.unit is None or item.unit.counted or item.unit.dimensions != first.dimensions:
            return None
        terms.append(Node("mul", (item.node, tree.number(item.unit.factor / first.factor))))
    return Scalar(Node("add", tuple(terms)), first)


_ARCS = {"minute": units.ARCMINUTE, "minutes": units.ARCMINUTE, "second": units.ARCSECOND, "seconds": units.ARCSECOND}
_PENCE = frozenset(("pence", "penny", "p"))


def _one_system(found: Sequence[Scalar]) -> Sequence[Scalar]:
    """The minutes after degrees are parts of an angle; the pounds before pence are money."""
    names = [item.unit.name if item.unit is not None else "" for item in found]
    if found[0].unit == DEGREE:
        return [replace(item, unit=_ARCS.get(name, item.unit)) for item, name in zip(found, names, strict=True)]
    if names[0] in ("pound", "pounds") and _PENCE.intersection(names):
        money = {"pound": units.lookup("gbp"), "pounds": units.lookup("gbp"), "p": units.lookup("pence")}
        return [replace(item, unit=money.get(name, item.unit)) for item, name in zip(found, names, strict=True)]
    return found


def _currency(tokens: Tokens) -> tuple[Unit | None, Tokens]:
    if not tokens:
        return None, tokens
    if len(tokens) > 1 and tokens[-1].value in "€£¥" and tokens[-2].kind == "num":
        return units.lookup(tokens[-1].value), tokens[:-1]
    place = 1 if len(tokens) > 1 and tokens[0].value in "-+" else 0
    first = tokens[place]
    if len(tokens) > place + 1 and first.value.lower() in _CURRENCY and first.kind != "num":
        skipped = 2 if tokens[place + 1].value == "." and len(tokens) > place + 2 else 1
        rest = [*tokens[:place], *tokens[place + skipped :]]
        if first.value.lower() == "us":
            return units.lookup("usd"), rest[1:] if rest[0].value in ("dollar", "$") else rest
        return units.lookup({r"\pounds": "£", r"\euro": "€"}.get(first.value, first.value)), rest
    return None, tokens


def _unit_start(tokens: Tokens, tight_units: bool) -> int | None:
    """Index of the first token from which on everything can be a unit."""
    depth = 0
    first = max(1, len(tokens) - units.MAX_TOKENS)
    for place, token in enumerate(tokens):
        depth += (token.kind == "open") - (token.kind == "close")
        if place >= first and not depth and _may_be_unit(tokens, place, tight_units) and _unit_like(tokens[place:]):
            if token.kind == "letter" and token.value.isascii() and _has_letters(tokens[:place]):
                return None
            return place if _numeric(tokens[:place]) or token.kind == "text" else None
    return None


def _has_letters(tokens: Tokens) -> bool:
    """pi r^2 h is a product of variables; its last letter is no hour."""
    return any(token.kind in ("letter", "word") for token in tokens)


def _numeric(tokens: Tokens) -> bool:
    return any(token.kind in ("num", "close") for token in tokens)


def _may_be_unit(tokens: Tokens, place: int, tight_units: bool) -> bool:
    token, before = tokens[place], tokens[place - 1]
    if before.kind == "op" and before.value not in "!'%":
        return False
    if token.value == r"\Omega":
        return before.kind == "num" and place == len(tokens) - 1
    if token.kind == "word" and not token.spaced and before.kind == "num" and token.value.isascii():
        return tight_units and token.value in TIGHT_UNITS
    if token.kind in ("word", "text"):
        return (
            token.value not in _NOT_UNITS
            or (token.kind == "text" and token.value == "C")
            or (place == len(tokens) - 1 and token.value in ("min", "deg"))
        )
    if token.value == "^" and place + 2 < len(tokens):
        # 20^{\circ} C
        return tokens[place + 1].value in ("{", r"\circ") and tokens[-1].value.lower() in (
            "c",
            "f",
            "celsius",
            "fahrenheit",
        )
    if token.kind == "letter" and token.value in _UNIT_LETTERS:
        return (token.spaced or tight_units) and before.kind in ("num", "close")
    return token.kind == "letter" and not token.value.isascii()


def _unit_like(tokens: Tokens) -> bool:
    return (
        all(
            token.kind in ("word", "text", "letter", "num", "open", "close")
            or token.value in ("^", "/", r"\cdot", "*", "-", r"\circ", r"\times", "'", r"\Omega")
            for token in tokens
        )
        and units.read_unit(tokens) is not None
    ) or _multiplied(tokens)[0] > 1


def _multiplied(tokens: Tokens) -> tuple[int, Unit | None]:
    """million dollars -> (1000000, dollars)"""
    if not tokens:
        return 1, None
    words = tokens[0].value.split()
    scale = units.multiplier(words[0]) if words and tokens[0].kind in ("word", "text", "letter") else 0
    if scale < 2:
        return 1, None
    rest = [tokens[0]._replace(value=" ".join(words[1:])), *tokens[1:]] if len(words) > 1 else tokens[1:]
    return scale, units.read_unit(rest) if rest else None


def _with_marks(node: Node, unit: Unit | None, digits: int) -> Scalar:
    """A percent or degree mark on the whole is a unit."""
    sign, inner = (True, node.args[0]) if node.op == "neg" else (False, node)
    for op, mark in (("percent", PERCENT), ("degree", DEGREE)):
        if inner.op == op:
            value = inner.args[0]
            kept = mark if unit is None or unit.counted else unit
            return Scalar(Node("neg", (value,)) if sign else value, kept, digits)
    return Scalar(node, unit, digits)


def _significant(tokens: Sequence[Token]) -> int:
    """Significant digits of a lone decimal literal, 0 otherwise."""
    numbers = [token.value for token in tokens if token.kind == "num"]
    if len(numbers) != 1 or len(tokens) > 2 or "." not in numbers[0]:
        return 0
    return len(numbers[0].split("e")[0].split("E")[0].replace(".", "").lstrip("0"))


# ---- ratios --------------------------------------------------------------------------------------------------------


def ratio(tokens: Tokens) -> Ratio | None:
    """3:4, 3 to 4, 1:2:3 of expressions."""
    parts, marks = split(
        tokens,
        lambda token: (
            is_mark(token, ":") or token.value == "比" or (token.value == "to" and token.kind in ("word", "text"))
        ),
    )
    if not marks or not all(parts) or any(_prose(token) for part in parts for token in part):
        return None
    if any(len(part) == 1 and part[0].value[:1] == "0" and part[0].value.isdecimal() for part in parts):
        raise Unreadable("a time of day, or a ratio to nothing")
    found = [scalar(part) for part in parts]
    if any(part.unit != found[0].unit for part in found):
        raise Unreadable("a ratio of quantities")
    return Ratio(tuple(part.node for part in found))


def _prose(token: Token) -> bool:
    return (
        token.kind in ("word", "text")
        and len(token.value) > 2
        and not token.value.isupper()
        and token.value not in _NOT_UNITS
    )


# ---- matrices ------------------------------------------------------------------------------------------------------


def matrix(tokens: Tokens) -> Answer | None:
    """A matrix environment, perhaps with a scalar factor before it; a vmatrix is its determinant."""
    place = next((place for place, token in enumerate(tokens) if _MATRICES.fullmatch(token.value)), None)
    if place is None:
        return None
    closing = closing_places(list(tokens))
    if any(token.kind == "open" for token in tokens[:place]) and closing.get(0, 0) > place:
        return None
    if closing[place] != len(tokens) - 1:
        return None
    rows = _rows(tokens[place + 1 : -1])
    head = list(tokens[:place])
    if tokens[place].value in (r"\begin{vmatrix}",):
        return Scalar(_determinant(rows))
    if len(head) == 1 and head[0].value in (r"\det", "det"):
        return Scalar(_determinant(rows))
    if len(rows) == len(rows[0]) == 1 and tokens[place].value in (r"\begin{array}", r"\begin{tabular}"):
        return Scalar(rows[0][0]) if not head else None
    while head and head[-1].value in (r"\cdot", "*", r"\times"):
        head.pop()
    if head:
        factor = parse(head)
        rows = tuple(tuple(Node("mul", (factor, entry)) for entry in row) for row in rows)
    return Matrix(rows)


def _rows(tokens: Tokens) -> tuple[tuple[Node, ...], ...]:
    lines, _ = split(tokens, lambda token: token.value in ("\\\\", r"\cr", r"\newline") and token.kind == "command")
    rows = [split(line, lambda token: is_mark(token, "&"))[0] for line in lines if line and line[0].value != r"\hline"]
    if not rows or any(len(row) != len(rows[0]) for row in rows) or len(rows) * len(rows[0]) > 400:
        raise Unreadable("rows of a matrix")
    return tuple(tuple(scalar(cell).node for cell in row) for row in rows)


def _determinant(rows: tuple[tuple[Node, ...], ...]) -> Node:
    size = len(rows)
    if size != len(rows[0]) or size > 5:
        raise Unreadable("determinant")
    if size == 1:
        return rows[0][0]
    terms: list[Node] = []
    for column, entry in enumerate(rows[0]):
        minor = tuple(row[:column] + row[column + 1 :] for row in rows[1:])
        term = Node("mul", (entry, _determinant(minor)))
        terms.append(Node("neg", (term,)) if column % 2 else term)
    return Node("add", tuple(terms))
