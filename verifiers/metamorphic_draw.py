"""What a metamorphic generator returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One gold with forms that are equal to it and forms that are not; keys name the kind of rewriting."""

    gold: str
    equal: Mapping[str, str]
    unequal: Mapping[str, str]


def fraction_text(value: Fraction, factor: int = 1) -> str:
    """LaTeX of a fraction, top and bottom times `factor`."""
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator) * factor}}}{{{value.denominator * factor}}}"
