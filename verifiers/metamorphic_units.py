"""Forms of answers whose notation carries a unit or a base: quantities, degrees, radians, other bases."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from verifiers.metamorphic_draw import Draw, fraction_text, number_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """names: as words; parts: other units of the same kind with how many of them make one; other: another kind."""

    names: tuple[str, str]
    parts: tuple[tuple[str, Fraction], tuple[str, Fraction]]
    other: str


UNITS: Mapping[str, Unit] = MappingProxyType(
    {
        "cm": Unit(names=("centimeters", "centimetres"),
                   parts=(("mm", Fraction(10)), ("m", Fraction(1, 100))), other="kg"),
        "m": Unit(names=("meters", "metres"), parts=(("cm", Fraction(100)), ("km", Fraction(1, 1000))), other="s"),
        "km": Unit(names=("kilometers", "kilometres"),
                   parts=(("m", Fraction(1000)), ("cm", Fraction(100_000))), other="kg"),
        "kg": Unit(names=("kilograms", "kilogram"), parts=(("g", Fraction(1000)), ("mg", Fraction(10**6))), other="m"),
        "g": Unit(names=("grams", "gram"), parts=(("mg", Fraction(1000)), ("kg", Fraction(1, 1000))), other="cm"),
        "hours": Unit(names=("h", "hrs"), parts=(("minutes", Fraction(60)), ("seconds", Fraction(3600))), other="km"),
        "minutes": Unit(names=("min", "mins"),
                        parts=(("seconds", Fraction(60)), ("hours", Fraction(1, 60))), other="kg"),
    }
)  # fmt: skip


def quantity(source: random.Random) -> Draw:
    unit = source.choice(sorted(UNITS))
    return of_quantity(Fraction(source.randrange(2, 90)), unit)


def of_quantity(value: Fraction, unit: str, gold: str | None = None) -> Draw:
    """A value above 0 with a unit of UNITS."""
    known, n = UNITS[unit], number_text(value)
    (small, many), (third, share) = known.parts
    one, two = known.names
    plain = rf"{n} \text{{ {unit}}}"
    converted, shared = number_text(value * many), number_text(value * share)
    equal = {
        "plain": plain, "bare": n, "roman": rf"{n}\,\mathrm{{{unit}}}", "no command": f"{n} {unit}",
        "converted": rf"{converted} \text{{ {small}}}", "converted again": rf"{shared} \text{{ {third}}}",
        "converted plain": f"{converted} {small}",
        "fraction": rf"\frac{{{number_text(2 * value)}}}{{2}} \text{{ {unit}}}", "name": rf"d = {plain}",
        "tilde": rf"{n}~\text{{{unit}}}", "mbox": rf"{n} \mbox{{ {unit}}}", "bold": rf"\mathbf{{{n}}} \text{{ {unit}}}",
        "whole word": rf"{n} \text{{ {one}}}", "other spelling": rf"{n} \text{{ {two}}}", "plain word": f"{n} {one}",
        "thin space": rf"{n}\,\text{{{unit}}}", "bold text": rf"{n} \textbf{{ {unit}}}",
        "all text": rf"\text{{{n} {unit}}}" if value.denominator == 1 else plain,
        "sum": rf"{number_text(value - 1)} + 1 \text{{ {unit}}}",
        "chain": rf"d = {converted} \text{{ {small}}} = {plain}", "stop": rf"{plain}.", "rm": rf"{n} \rm{{ {unit}}}",
        "roman converted": rf"{converted}\,\mathrm{{{small}}}", "brackets": rf"{n}\ (\text{{{unit}}})",
        "doubled": rf"2 \cdot {number_text(value / 2)} \text{{ {unit}}}",
        "word of part": rf"{shared}\,\mathrm{{{third}}}",
    }  # fmt: skip
    if value.denominator == 1:
        equal |= {"point": rf"{n}.0 \text{{ {unit}}}", "tight": f"{n}{unit}", "exponent": rf"{n}e0 \text{{ {unit}}}"}
    unequal = {
        "smaller unit": rf"{n} \text{{ {small}}}", "third unit": rf"{n} \text{{ {third}}}",
        "other kind": rf"{n} \text{{ {known.other}}}", "off by one": rf"{number_text(value + 1)} \text{{ {unit}}}",
        "bare wrong": number_text(value + 1), "square": rf"{plain}^2", "square of it": rf"{n} \text{{ {unit}}}^3",
        "wrong factor": rf"{number_text(10 * value * many)} \text{{ {small}}}",
        "wrong share": rf"{number_text(value * share / 10)} \text{{ {third}}}", "sign": f"-{plain}",
        "rate": rf"{n} \text{{ {unit}}}/\text{{K}}", "things": rf"{n} \text{{ apples}}",
        "two": rf"{plain} \text{{ or }} {number_text(value + 1)} \text{{ {unit}}}",
        "times ten": rf"{number_text(10 * value)} \text{{ {unit}}}",
        "tenth": rf"{number_text(value / 10)} \text{{ {unit}}}", "unconverted": f"{n} {small}",
        "converted off": rf"{number_text(value * many + 1)} \text{{ {small}}}", "converted number": converted,
        "range": rf"{n} \text{{ to }} {number_text(value + 1)} \text{{ {unit}}}", "at least": rf"d \ge {plain}",
        "double": rf"{number_text(2 * value)} \text{{ {unit}}}", "half": rf"{number_text(value / 2)} \text{{ {unit}}}",
        "volts": rf"{n} \text{{ V}}", "plus minus": rf"{n} \pm 1 \text{{ {unit}}}", "unit only": rf"\text{{{unit}}}",
        "inverse factor": rf"{number_text(value / many)} \text{{ {small}}}", "variable": rf"{n} y \text{{ {unit}}}",
        "dollars": rf"\${n}", "degrees": rf"{n}^\circ",
    }  # fmt: skip
    return Draw(gold=gold or plain, equal=equal, unequal=unequal)


def degrees(source: random.Random) -> Draw:
    return of_degrees(source.choice([value for value in range(4, 176) if value not in (45, 90)]))


def of_degrees(n: int, gold: str | None = None) -> Draw:
    """An angle of 1 to 179 degrees."""
    turned = Fraction(n, 180)
    pi = rf"{fraction_text(turned)}\pi" if turned.denominator > 1 else rf"{turned.numerator}\pi"
    equal = {
        "plain": rf"{n}^\circ", "braces": rf"{n}^{{\circ}}", "sign": f"{n}°", "words": f"{n} degrees",
        "text": rf"{n} \text{{ degrees}}", "bare": str(n), "point": rf"{n}.0^\circ", "command": rf"{n} \degree",
        "radians": rf"{pi} \text{{ radians}}", "short radians": rf"{pi} \text{{ rad}}", "named": rf"\theta = {n}^\circ",
        "angle": rf"\angle ABC = {n}^\circ", "sum": rf"{n - 3}^\circ + 3^\circ",
        "difference": rf"180^\circ - {180 - n}^\circ", "deg": rf"{n} \text{{ deg}}", "minutes": rf"{n}^\circ 0'",
        "half of double": rf"\frac{{{2 * n}^\circ}}{{2}}", "thin": rf"{n}\,^\circ",
        "chain": rf"\angle A = 180^\circ - {180 - n}^\circ = {n}^\circ", "brackets": rf"({n})^\circ",
        "in text": rf"\text{{{n} degrees}}", "measure": rf"m\angle ABC = {n}^\circ",
        "alpha": rf"\alpha = {n}^{{\circ}}", "fraction": rf"\left(\frac{{{2 * n}}}{{2}}\right)^\circ",
        "times": rf"{n} \cdot 1^\circ", "less minutes": rf"{n - 1}^\circ 60'",
    }  # fmt: skip
    unequal = {
        "off by one": rf"{n + 1}^\circ", "supplement": rf"{180 - n}^\circ", "sign": rf"-{n}^\circ",
        "turned": rf"{n + 360}^\circ", "near": rf"{n}.5^\circ", "wrong radians": rf"{n}\pi \text{{ radians}}",
        "unit": rf"{n} \text{{ cm}}", "sine": rf"\sin {n}^\circ", "half": rf"\frac{{{n}}}{{2}}^\circ",
        "two": rf"{n}^\circ \text{{ or }} {180 - n}^\circ", "ten": rf"{n}0^\circ", "tenth": rf"{n / 10}^\circ",
        "minutes": rf"{n}^\circ 30'", "only minutes": f"{n}'", "power": f"{n}^2", "double": rf"{2 * n}^\circ",
        "complement": rf"({n} + 90)^\circ", "rest of turn": rf"{360 - n}^\circ", "bound": rf"\theta < {n}^\circ",
        "range": rf"{n}^\circ \text{{ to }} {n + 5}^\circ", "celsius": rf"{n + 1}^\circ\text{{C}}",
        "other radians": rf"{fraction_text(turned + 1)}\pi \text{{ radians}}", "bare off": str(n + 1),
        "words off": f"{n + 1} degrees", "cosine": rf"\cos {n}^\circ", "plus minus": rf"\pm {n}^\circ",
        "plain radians": rf"{n} \text{{ radians}}",
    }  # fmt: skip
    if n == 90:
        unequal = {kind: form for kind, form in unequal.items() if kind not in ("supplement", "two")}
    return Draw(gold=gold or rf"{n}^\circ", equal=equal, unequal=unequal)


def radians(source: random.Random) -> Draw:
    bottom = source.choice((3, 4, 5, 6, 8, 9, 10, 12))
    top = source.choice([n for n in range(1, 2 * bottom) if math.gcd(n, bottom) == 1])
    first = "" if top == 1 else str(top)
    gold, turn = rf"\frac{{{first}\pi}}{{{bottom}}}", Fraction(180 * top, bottom)
    return Draw(
        gold=gold,
        equal={
            "slash": rf"{first}\pi/{bottom}", "front": rf"\frac{{{top}}}{{{bottom}}}\pi", "sign": f"{first}π/{bottom}",
            "words": f"{first}pi/{bottom}", "display": rf"\dfrac{{{first}\pi}}{{{bottom}}}",
            "times": rf"\pi \cdot \frac{{{top}}}{{{bottom}}}", "unreduced": rf"\frac{{{2 * top}\pi}}{{{2 * bottom}}}",
            "radians": rf"{gold} \text{{ radians}}", "rad": rf"{gold} \text{{ rad}}",
            "degrees": rf"{number_text(turn)}^\circ", "named": rf"\theta = {gold}", "brackets": rf"\left({gold}\right)",
            "negative power": rf"{top}\pi \cdot {bottom}^{{-1}}", "over": rf"{{{first}\pi \over {bottom}}}",
            "star": f"{top}*pi/{bottom}", "difference": rf"\pi - \frac{{{bottom - top}\pi}}{{{bottom}}}",
            "sum": rf"\frac{{{top + bottom}\pi}}{{{bottom}}} - \pi",
            "approximation": rf"{gold} \approx {math.pi * top / bottom:.3f}",
            "of turn": rf"\frac{{{top}}}{{{2 * bottom}}} \cdot 2\pi", "division": rf"{top}\pi \div {bottom}",
            "negated": rf"-\left(-{gold}\right)", "part": rf"\frac{{\pi}}{{{bottom}}} \cdot {top}",
            "angle": rf"\angle A = {gold}", "small": rf"\tfrac{{{first}\pi}}{{{bottom}}}",
            "roman": rf"{gold}\,\mathrm{{rad}}",
        },
        unequal={
            "sign": rf"-{gold}", "inverse": rf"\frac{{{bottom}\pi}}{{{top + 2 * bottom}}}",
            "no pi": rf"\frac{{{top}}}{{{bottom}}}", "pi below": rf"\frac{{{top}}}{{{bottom}\pi}}",
            "top": rf"\frac{{{top + 1}\pi}}{{{bottom}}}", "bottom": rf"\frac{{{top}\pi}}{{{bottom + 1}}}",
            "turned": rf"\frac{{{top + 2 * bottom}\pi}}{{{bottom}}}",
            "other degrees": rf"{number_text(turn + 1)}^\circ", "rounded": f"{math.pi * top / bottom:.3f}",
            "whole": rf"{top}\pi", "square": rf"\frac{{{top}\pi^2}}{{{bottom}}}",
            "plus": rf"\frac{{{top} + \pi}}{{{bottom}}}", "double": rf"\frac{{{2 * top}\pi}}{{{bottom}}}",
            "half": rf"\frac{{{top}\pi}}{{{2 * bottom}}}", "sine": rf"\sin \frac{{{top}\pi}}{{{bottom}}}",
            "rest of turn": rf"2\pi - {gold} + \pi", "two": rf"{gold} \text{{ or }} \frac{{{top + 1}\pi}}{{{bottom}}}",
            "plus minus": rf"\pm {gold}", "bound": rf"\theta \le {gold}", "variable": rf"\frac{{{top}x}}{{{bottom}}}",
            "root": rf"\sqrt{{{gold}}}", "e": rf"\frac{{{top}e}}{{{bottom}}}", "pair": rf"\left({top}, {bottom}\right)",
            "with turns": rf"{gold} + 2k\pi", "nothing": r"\emptyset",
        },
    )  # fmt: skip


# ---- other bases ---------------------------------------------------------------------------------------------------


def based(source: random.Random) -> Draw:
    base, n = source.choice((2, 3, 4, 5, 6, 7, 8)), source.randrange(60, 900)
    return of_digits(digits_of(n, base), base)


def digits_of(n: int, base: int) -> str:
    digits = ""
    while n:
        n, digit = divmod(n, base)
        digits = str(digit) + digits
    return digits


def of_digits(digits: str, base: int, gold: str | None = None) -> Draw:
    """At least two digits below the base, the first not 0; 2 <= base <= 8."""
    n, last = int(digits, base), str((int(digits[-1]) + 1) % base)
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}[base]
    equal = {
        "plain": f"{digits}_{base}", "braces": f"{digits}_{{{base}}}", "parentheses": f"({digits})_{{{base}}}",
        "no base": digits, "text base": rf"{digits}_{{\text{{{base}}}}}", "leading zero": f"0{digits}_{{{base}}}",
        "text": rf"\text{{{digits}}}_{{{base}}}", "roman": rf"\mathrm{{{digits}}}_{{{base}}}",
        "words": f"{digits} base {base}", "inner parentheses": f"{digits}_{{({base})}}",
        "spaced": f"{digits} _{{{base}}}", "two zeros": f"00{digits}_{base}",
        "left right": rf"\left({digits}\right)_{{{base}}}", "named": f"n = {digits}_{{{base}}}",
        "base text": rf"{digits}_{{\text{{base }}{base}}}", "in base": rf"{digits} \text{{ in base }} {base}",
        "base words": rf"{digits} \text{{ (base {base})}}", "word base": rf"{digits}_{{\text{{{words}}}}}",
        "bold": rf"\mathbf{{{digits}}}_{{{base}}}", "thin": rf"{digits}\,_{{{base}}}",
        "parentheses twice": f"({digits})_{{({base})}}", "roman base": rf"{digits}_{{\mathrm{{{base}}}}}",
        "word": rf"{digits} \text{{ base {words}}}",
        "full width": digits.translate({ord(str(d)): chr(0xFF10 + d) for d in range(10)}) + f"_{base}",
        "braced digits": f"{{{digits}}}_{base}", "comma base": rf"{digits}, \text{{ base }} {base}",
    }  # fmt: skip
    unequal = {
        "other base": f"{digits}_{{{base + 1}}}", "last digit": f"{digits[:-1]}{last}_{{{base}}}",
        "decimal": str(n + 10**7), "ten": f"{digits}_{{10}}", "longer": f"{digits}0_{{{base}}}",
        "sixteen": f"{digits}_{{16}}", "shorter": f"{digits[:-1]}_{{{base}}}", "sign": f"-{digits}_{{{base}}}",
        "prefixed": f"1{digits}_{{{base}}}", "symbol": f"x_{{{base}}}", "bare last digit": f"{digits[:-1]}{last}",
        "bare longer": f"{digits}0",
        "first digit lost": f"{digits[1:]}_{{{base}}}" if int(digits[1:], base) else f"{digits}{digits}_{base}",
        "words base": f"{digits} base {base + 1}", "twelve": f"{digits}_{{12}}",
        "doubled": f"{digits}{digits}_{{{base}}}", "base only": rf"\text{{base {base}}}",
        "in other base": rf"{digits} \text{{ in base }} {base + 2}",
        "two": rf"{digits}_{{{base}}} \text{{ or }} {digits}0_{{{base}}}", "power": f"{digits}^{{{base}}}",
        "half": rf"\frac{{{digits}_{{{base}}}}}{{2}}", "bound": rf"x \le {digits}_{{{base}}}",
        "point": f"{digits}.1_{{{base}}}", "ten more": f"{n + 1}_{{10}}", "pair": f"({digits}, {base})",
        "negative bare": f"-{digits}", "fraction": rf"\frac{{{digits}}}{{{base}}}",
    }  # fmt: skip
    return Draw(gold=gold or f"{digits}_{base}", equal=equal, unequal=unequal)
