"""Slices of tokens at bracket depth zero: splitting, trimming."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verifiers.answer.tokens import Token, closing_places

SEPARATORS = frozenset((",", ";"))
CONJUNCTIONS = frozenset(("and", "or", "且", "或", "和", "与", "或者", "以及", "及", r"\land", r"\lor", "&"))
_TRAILING = frozenset((".", ",", ";", ":"))
_LEADING = frozenset((",", ";", ":", ".", r"\to"))
_QUALIFIERS = frozenset(
    ("for", "where", "such", "with", "as", "since", "because", "when", "respectively", "其中", "only")
)
_NUMBER_SETS = frozenset(rf"\mathbb{{{letter}}}" for letter in "RZNQC")

Tokens = Sequence[Token]


def is_mark(token: Token, value: str) -> bool:
    return token.value == value and token.kind in ("op", "command")


def split(tokens: Tokens, wanted: Callable[[Token], bool]) -> tuple[list[list[Token]], list[Token]]:
    """The slices between the tokens at depth zero that are wanted, and those tokens."""
    closing = closing_places(list(tokens))
    slices: list[list[Token]] = [[]]
    marks: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "open":
            end = closing[place]
            slices[-1].extend(tokens[place : end + 1])
            place = end + 1
            continue
        if wanted(token):
            marks.append(token)
            slices.append([])
        else:
            slices[-1].append(token)
        place += 1
    return slices, marks


def sum_tokens(sides: list[list[Token]], ops: list[str]) -> list[Token]:
    """The sides of a chain of relations and the signs between them as one run of tokens."""
    joined = list(sides[0])
    for op, side in zip(ops, sides[1:], strict=True):
        joined += [Token("op", op), *side]
    return joined


def separates(token: Token) -> bool:
    if token.kind == "op":
        return token.value in SEPARATORS
    spoken = token.kind in ("word", "text", "command") or not token.value.isascii()
    return spoken and token.value.lower() in CONJUNCTIONS


def _of_a_set(token: Token) -> bool:
    """Commas, and the bar of {x | x > 3}."""
    return separates(token) or is_mark(token, "|")


def semicolon(token: Token) -> bool:
    return is_mark(token, ";")


def enclosed(tokens: Tokens) -> bool:
    """Whether one pair of brackets encloses all tokens."""
    if len(tokens) < 2 or tokens[0].kind != "open" or tokens[-1].kind != "close":
        return False
    return closing_places(list(tokens))[0] == len(tokens) - 1


def trim(tokens: Tokens) -> list[Token]:
    """Without trailing punctuation, redundant braces and qualifications such as "for all x" or ", k in Z"."""
    found = list(tokens)
    while found:
        if found[-1].kind == "op" and found[-1].value in _TRAILING:
            found.pop()
        elif found[0].value in _LEADING and found[0].kind in ("op", "command"):
            found.pop(0)
        elif enclosed(found) and found[0].value == "{" and not split(found[1:-1], _of_a_set)[1]:
            found = found[1:-1]
        else:
            break
    return _without_note(_without_qualifier(found))


def unwrapped(tokens: list[Token]) -> list[Token]:
    """((3)) -> (3): doubled brackets of one kind, in linear time."""
    if len(tokens) < 4 or tokens[0].kind != "open" or tokens[1].value != tokens[0].value:
        return tokens
    closing = closing_places(tokens)
    start, end = 0, len(tokens) - 1
    plain = ("(", ")")
    while closing.get(start) == end and closing.get(start + 1) == end - 1:
        if any((tokens[place].value, tokens[closing[place]].value) != plain for place in (start, start + 1)):
            break
        start, end = start + 1, end - 1
    return tokens[start : end + 1]


def _without_qualifier(tokens: list[Token]) -> list[Token]:
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.kind == "open") - (token.kind == "close")
        if depth or place == 0:
            continue
        first = token.value.split(" ", 1)[0].lower()
        if token.kind in ("word", "text") and first in _QUALIFIERS:
            return trim(tokens[:place])
        if token.value == r"\forall" or (token.value == "," and _membership(tokens[place + 1 :])):
            return trim(tokens[:place])
    return tokens


def _membership(tokens: list[Token]) -> bool:
    r"""k \in \mathbb{Z} after a comma restricts a parameter."""
    return (
        len(tokens) >= 3
        and tokens[0].kind == "letter"
        and tokens[1].value == r"\in"
        and tokens[2].value in _NUMBER_SETS
    )


def _without_note(tokens: list[Token]) -> list[Token]:
    """144 (square units): a last pair of parentheses that holds only words is a remark."""
    if len(tokens) < 4 or tokens[-1].value != ")" or tokens[0].value == "(":
        return tokens
    closing = closing_places(tokens)
    start = next((start for start, end in closing.items() if end == len(tokens) - 1), 0)
    inside = tokens[start + 1 : -1]
    words = [token for token in inside if token.kind in ("word", "text")]
    if not words or len(words) != len(inside) or not tokens[start].spaced:
        return tokens
    return tokens[:start]
