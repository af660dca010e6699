"""LaTeX tokens with one spelling for fractions, roots, exponents and indices; other braces gone."""

from __future__ import annotations

PUNCTUATION = frozenset(".,;:?!'\"`~&$")


def structure(flat: list[str]) -> list[str]:
    """Fractions, roots, exponents and indices with one spelling; other braces gone."""
    if _STRUCTURAL.isdisjoint(flat):
        return flat
    out: list[str] = []
    _sequence(flat, 0, out, None)
    return out


_STRUCTURAL = frozenset(
    ["{", "}", "^", "_", "\\sqrt"] + [f"\\{size}{kind}" for size in ("", "d", "t", "c") for kind in ("frac", "binom")]
)
_MAX_DEPTH = 40


def _sequence(flat: list[str], place: int, out: list[str], closer: str | None, depth: int = 0) -> int:
    while place < len(flat):
        token = flat[place]
        if token == closer:
            return place + 1
        if token in ("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"):
            top, place = _argument(flat, place + 1, depth)
            bottom, place = _argument(flat, place, depth)
            out += [*_wrap(top), "/", *_wrap(bottom)]
        elif token in ("\\binom", "\\dbinom", "\\tbinom"):
            top, place = _argument(flat, place + 1, depth)
            bottom, place = _argument(flat, place, depth)
            out += ["binom", *_wrap(top), *_wrap(bottom)]
        elif token == "\\sqrt":
            place = _root(flat, place + 1, out, depth)
        elif token in ("^", "_"):
            inner, place = _argument(flat, place + 1, depth)
            out += [token, *_wrap(inner)]
        elif token == "{" and depth < _MAX_DEPTH:
            place = _sequence(flat, place + 1, out, "}", depth + 1)
        else:
            place += 1
            if token not in ("{", "}"):
                out.append(token)
    return place


def _root(flat: list[str], place: int, out: list[str], depth: int) -> int:
    index: list[str] = []
    if place < len(flat) and flat[place] == "[" and "]" in flat[place : place + 6]:
        end = flat.index("]", place)
        index = ["_", *flat[place + 1 : end]]
        place = end + 1
    inner, place = _argument(flat, place, depth)
    out += ["sqrt", *index, *_wrap(inner)]
    return place


def _argument(flat: list[str], place: int, depth: int) -> tuple[list[str], int]:
    """One LaTeX argument: a group, or a single token (the first digit of a number after a command)."""
    if place >= len(flat):
        return [], place
    token = flat[place]
    if token == "{" and depth < _MAX_DEPTH:
        inner: list[str] = []
        place = _sequence(flat, place + 1, inner, "}", depth + 1)
        return inner, place
    if token.isdigit() and len(token) > 1 and flat[place - 1] not in ("^", "_"):
        flat[place] = token[1:]
        return [token[0]], place
    if token in ("\\frac", "\\dfrac", "\\tfrac", "\\sqrt") and depth < _MAX_DEPTH:
        inner = []
        take = flat[place:]
        used = _one(take, inner, depth + 1)
        return inner, place + used
    if token == "-" and place + 1 < len(flat) and flat[place - 1] in ("^", "_"):
        return [token, flat[place + 1]], place + 2
    return [token], place + 1


def _one(flat: list[str], out: list[str], depth: int) -> int:
    if flat[0] == "\\sqrt":
        return _root(flat, 1, out, depth)
    top, place = _argument(flat, 1, depth)
    bottom, place = _argument(flat, place, depth)
    out += [*_wrap(top), "/", *_wrap(bottom)]
    return place


def _wrap(inner: list[str]) -> list[str]:
    """Brackets around more than one token, unless they are there."""
    inner = [token for token in inner if token not in PUNCTUATION]
    if len(inner) <= 1 or (inner[0] == "(" and _matching(inner) == len(inner) - 1):
        return inner
    return ["(", *inner, ")"]


def _matching(tokens: list[str]) -> int:
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return place
    return -1
