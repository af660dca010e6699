"""What a metamorphic generator returns, and the forms that every exact number has."""

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


def number_text(value: Fraction) -> str:
    """LaTeX of an integer or a fraction."""
    return str(value.numerator) if value.denominator == 1 else fraction_text(value)


def decimal_text(value: Fraction, places: int) -> str:
    """Exactly so many places, cut off, not rounded."""
    scaled = abs(value.numerator) * 10**places // value.denominator
    digits = str(scaled).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def scientific_text(value: Fraction, times: str = r" \times 10^{%d}") -> str:
    """A terminating decimal, not 0, as mantissa and power of ten; `times` says how the power is written."""
    power, mantissa = 0, abs(value)
    while mantissa >= 10:
        mantissa, power = mantissa / 10, power + 1
    while mantissa < 1:
        mantissa, power = mantissa * 10, power - 1
    places = 1
    while (mantissa * 10**places).denominator != 1:
        places += 1
    return f"{'-' if value < 0 else ''}{decimal_text(mantissa, places)}{times % power}"


def same_number(value: Fraction, text: str) -> dict[str, str]:
    """`text`, which is of this value, in arithmetic that does not change it."""
    root = rf"\sqrt{{({number_text(value)})^2}}"
    return {
        "name": f"x = {text}", "brackets": rf"\left({text}\right)", "double negative": f"-(-({text}))",
        "zero added": f"{text} + 0", "one taken and given": f"{number_text(value + 1)} - 1",
        "thirds": rf"\frac{{{number_text(3 * value)}}}{{3}}",
        "half of double": rf"\frac{{1}}{{2}} \cdot ({number_text(2 * value)})",
        "root of square": root if value >= 0 else f"-{root}", "power one": rf"\left({text}\right)^1",
        "chain": f"x = {number_text(value - 1)} + 1 = {text}", "divided by one": rf"({text}) \div 1",
    }  # fmt: skip


def other_numbers(value: Fraction, text: str) -> dict[str, str]:
    """Numbers that differ from this value by far more than any tolerance, and answers that are no single number."""
    numbers = {
        "sign": -value, "times ten": 10 * value, "tenth": value / 10, "double": 2 * value, "half": value / 2,
        "square": value * value, "inverse": 1 / value if value else value, "hundredfold": 100 * value,
    }  # fmt: skip
    apart = {kind: number_text(other) for kind, other in numbers.items() if other != value}
    return apart | {
        "range": rf"{text} \text{{ to }} {number_text(value + 9)}", "bound": rf"x \le {text}",
        "strict bound": f"x > {text}", "two answers": rf"{text} \text{{ or }} {number_text(value + 31)}",
        "variable": rf"{number_text(value)} y" if value else "y", "plus minus": rf"{text} \pm 1",
        "pair": f"({text}, {number_text(value + 1)})", "two in a set": rf"\{{{text}, {number_text(value - 1)}\}}",
        "not equal": rf"x \ne {text}", "infinite": r"\infty", "ray": rf"[{text}, \infty)", "complex": f"{text} + 2i",
        "approximation of another": rf"{number_text(value + 3)} \approx {text}", "nothing": r"\emptyset",
    }  # fmt: skip


NEAR = frozenset(
    (
        "off by one", "below", "near decimal", "numerator", "denominator", "last digit", "next digit", "rounded",
        "last digit dropped", "approximation of another", "last", "plus one", "minus one", "tenths", "swapped digits",
        "decimal off", "near", "whole", "bottom", "top", "repeating",
    )
)  # fmt: skip
"""Near misses that a tolerance of the gold (`rel_tol`, `abs_tol`) may accept."""
