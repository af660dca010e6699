"""Sums and products of written matrices."""

from __future__ import annotations

from verifiers.answer import scalars
from verifiers.answer.kinds import Answer, Matrix
from verifiers.answer.slices import enclosed, is_mark, split
from verifiers.answer.tokens import Token, closing_places
from verifiers.answer.tree import Node, TooComplex, Unreadable

MAX_PARTS = 8
MAX_ENTRIES = 100

Rows = tuple[tuple[Node, ...], ...]


def arithmetic(tokens: list[Token]) -> Matrix | None:
    """A + B, A - B, A B of matrix environments; None when the tokens are no such expression. Raises Unreadable."""
    if sum(token.value.startswith(r"\begin{") for token in tokens) < (1 if is_mark(tokens[0], "-") else 2):
        return None
    parts, marks = split(tokens, lambda token: is_mark(token, "+") or is_mark(token, "-"))
    if not all(parts[1:]) or len(parts) == len(marks):
        return None
    if len(parts) > MAX_PARTS:
        raise TooComplex("too many matrices")
    found = [_product(part) if part else None for part in parts]
    if not parts[0] and len(parts) > 1 and marks[0].value == "-":
        # a sign before a matrix
        found[1] = (
            None if found[1] is None else tuple(tuple(Node("neg", (entry,)) for entry in row) for row in found[1])
        )
        parts, marks, found = parts[1:], marks[1:], found[1:]
    total = found[0]
    if total is None:
        return None
    for mark, rows in zip(marks, found[1:], strict=True):
        if rows is None or [len(row) for row in rows] != [len(row) for row in total]:
            return None
        total = tuple(
            tuple(_sum(left, right, minus=mark.value == "-") for left, right in zip(first, second, strict=True))
            for first, second in zip(total, rows, strict=True)
        )
    return Matrix(total)


_OPERATORS = frozenset(("+", "-", "*", "/", "^", r"\cdot", r"\times"))
_TRANSPOSED = tuple(["^", *mark] for name in ("T", r"\top", r"\intercal", "t") for mark in ([name], ["{", name, "}"]))


def untransposed(tokens: list[Token]) -> list[Token] | None:
    """What stands before the mark of a transpose: a matrix, or a list in brackets; None for anything else."""
    if "^" not in (token.value for token in tokens[-4:]):
        return None
    for mark in _TRANSPOSED:
        head = tokens[: -len(mark)]
        if [token.value for token in tokens[-len(mark) :]] == mark and enclosed(head):
            listed = any(token.value in (",", ";") for token in head) or any(
                token.value.startswith(r"\begin{") for token in head
            )
            return head if listed else None
    return None


def transposed(answer: Answer) -> Answer:
    """Columns from rows; a list is a vector whichever way it lies."""
    return Matrix(tuple(zip(*answer.rows, strict=True))) if isinstance(answer, Matrix) else answer


def spaced_rows(rows: list[list[Token]]) -> list[list[list[Token]]] | None:
    """The cells of [2 0; 1 -3], rows between semicolons and cells between spaces; None for other notations."""
    found: list[list[list[Token]]] = []
    for row in rows:
        cells: list[list[Token]] = []
        for place, token in enumerate(row):
            binary = token.value in _OPERATORS and (
                token.value != "-" or (place + 1 < len(row) and row[place + 1].spaced)
            )
            if place == 0 or (token.spaced and not binary and row[place - 1].value not in _OPERATORS):
                cells.append([])
            cells[-1].append(token)
        if (
            any(token.value == "," for token in row)
            or len(cells) < 2
            or len(cells) != len(found[0] if found else cells)
        ):
            return None
        found.append(cells)
    return found if len(found) > 1 and len(found) * len(found[0]) <= MAX_ENTRIES else None


def _sum(left: Node, right: Node, *, minus: bool) -> Node:
    return Node("add", (left, Node("neg", (right,)) if minus else right))


def _product(tokens: list[Token]) -> Rows | None:
    """Matrices side by side; the first may have a scalar factor."""
    closing = closing_places(tokens)
    ends = [end for start, end in closing.items() if tokens[start].value.startswith(r"\begin{")]
    ends = [end for end in sorted(ends) if not any(start < end < other for start, other in closing.items())]
    if not ends or ends[-1] != len(tokens) - 1 or len(ends) > MAX_PARTS:
        return None
    total: Rows | None = None
    start = 0
    for end in ends:
        piece = tokens[start : end + 1]
        if start and piece[0].value in (r"\cdot", "*", r"\times"):
            piece = piece[1:]
        found = scalars.matrix(piece)
        if not isinstance(found, Matrix):
            return None
        total = found.rows if total is None else _times(total, found.rows)
        start = end + 1
    return total


def _times(left: Rows, right: Rows) -> Rows:
    if len(left[0]) != len(right) or len(left) * len(right) * len(right[0]) > MAX_ENTRIES:
        raise Unreadable("shapes of a product")
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(Node("add", tuple(Node("mul", pair) for pair in zip(row, column, strict=True))) for column in columns)
        for row in left
    )
