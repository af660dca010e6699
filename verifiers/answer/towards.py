"""Readings of a response that only a ground truth of some type suggests: digits in its base, a decimal comma."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeGuard

from verifiers.answer.exact_value import rational
from verifiers.answer.kinds import Answer, Bag, Based, Scalar, Text, Word
from verifiers.answer.notations import with_point
from verifiers.answer.read import based, listed_words, readings
from verifiers.answer.tree import Node, constant
from verifiers.answer.units import PERCENT
from verifiers.normalise import plain, unfence


def _with_point(text: str) -> Answer | None:
    pointed = with_point(plain(text))
    found = readings(pointed) if pointed is not None else ()
    return found[0] if len(found) == 1 and isinstance(found[0], Scalar) else None


def _broken(answer: Answer) -> bool:
    """A number that needs a decimal mark."""
    return isinstance(answer, Scalar) and any(
        isinstance(node.value, Fraction) for node in (answer.node, *answer.node.args)
    )


_QUADRANT = re.compile(r"Q?\s?(I{1,3}|IV|[1-4])")
_SHORT_WORDS = {
    "R": ("all", ""), "T": ("truth", "true"), "F": ("truth", "false"), r"\phi": ("nothing", ""), "✓": ("truth", "true"),
    "√": ("truth", "true"), "×": ("truth", "false"), "✗": ("truth", "false"), "possible": ("truth", "true"),
    "not possible": ("truth", "false"), "impossible": ("truth", "false"),
}  # fmt: skip
"""Signs and words that mean a truth value, everything or nothing only where the ground truth does."""


def towards(wanted: Answer, found: Sequence[Answer], text: str) -> Sequence[Answer]:
    """The readings of a text and those that only this ground truth suggests."""
    if isinstance(wanted, Based):
        bare = based(text.rstrip(" ."), wanted.base or 36)
        return [*found, bare] if bare is not None else found
    if _broken(wanted) and "," in text:
        pointed = _with_point(text)
        return [*found, pointed] if pointed is not None else found
    if isinstance(wanted, Bag) and all(isinstance(item, Text) for item in wanted.items):
        words = listed_words(text)
        return [*found, words] if words is not None else found
    if isinstance(wanted, Text) and "quadrant" in wanted.words:
        place = _QUADRANT.fullmatch(unfence(text))
        return [*found, Text(("quadrant", place.group(1).lower()))] if place else found
    if isinstance(wanted, Scalar) and wanted.unit is None and _below_one(wanted.node):
        # 0.35 % is not 0.35
        return [Scalar(Node("percent", (one.node,))) if _in_percent(one) else one for one in found]
    if isinstance(wanted, Scalar) and _EXPONENT.search(text) and _has_euler(wanted.node):
        # towards Euler's number 2e+1 is no scientific notation
        return [*found, *readings(_EXPONENT.sub(" e", text))]
    if isinstance(wanted, Word) and _SHORT_WORDS.get(unfence(text)) == (wanted.kind, wanted.value):
        return [wanted]
    return found


_EXPONENT = re.compile(r"(?<=\d)e(?=[+-]\d)")


def _has_euler(node: Node) -> bool:
    return node == constant("e") or any(map(_has_euler, node.args))


def _below_one(node: Node) -> bool:
    value = rational(node) if node.op in ("num", "div") else None
    return value is not None and 0 < value < 1


def _in_percent(answer: Answer) -> TypeGuard[Scalar]:
    return isinstance(answer, Scalar) and answer.unit == PERCENT


def as_digits(gold: str, found: Sequence[Answer]) -> tuple[Answer, ...]:
    """A gold without a base, such as FF, read as digits for a response that has one."""
    if "," in gold and any(map(_broken, found)):
        pointed = _with_point(gold)
        return () if pointed is None else (pointed,)
    bases = [reading.base for reading in found if isinstance(reading, Based)]
    bare = based(gold, bases[0]) if bases and any("A" <= letter <= "F" for letter in gold.upper()) else None
    return () if bare is None else (bare,)
