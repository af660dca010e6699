"""Forms of single exact numbers: integers, fractions, decimals, percentages, mixed numbers, ratios, powers of ten."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from verifiers.metamorphic_draw import (
    Draw,
    decimal_text,
    fraction_text,
    number_text,
    other_numbers,
    same_number,
    scientific_text,
)

WIDE = {ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)} | {ord("."): "．"}
"""Digits to their full-width forms."""


# ---- integers ------------------------------------------------------------------------------------------------------


def integer(source: random.Random) -> Draw:
    return of_integer(source.randrange(1000, 10**7) * source.choice((1, -1)))


def of_integer(n: int, gold: str | None = None) -> Draw:
    value, sign, digits = Fraction(n), "-" if n < 0 else "", str(abs(n))
    swapped = digits[:-2] + digits[:-3:-1]
    equal = same_number(value, str(n)) | {
        "plain": str(n), "commas": f"{n:,}", "latex commas": f"{n:,}".replace(",", "{,}"),
        "thin spaces": f"{n:,}".replace(",", r"\,"), "spaces": f"{n:,}".replace(",", " "), "point": f"{n}.0",
        "text": rf"\text{{{n}}}", "unit": rf"{n} \text{{ cm}}", "sum": f"{n - 1} + 1", "difference": f"{n + 7} - 7",
        "leading zero": f"{sign}0{digits}", "full width": str(n).translate(WIDE), "stop": f"{n}.",
        "floor": rf"\lfloor {n}.0 \rfloor", "exponent zero": f"{n}e0", "bold": rf"\mathbf{{{n}}}",
        "approximation": rf"{n} \approx {n}.0", "minus sign": str(n).replace("-", "−"),
        "braced commas and point": f"{n:,}.00".replace(",", "{,}"),
    }  # fmt: skip
    if n:
        equal["power of ten"] = scientific_text(value)
    others = {
        "off by one": n + 1, "below": n - 1, "swapped digits": int(sign + swapped), "dropped digit": int(n / 10),
        "added digit": int(f"{n}7"), "first digit": int(f"{sign}{(int(digits[0]) % 9) + 1}{digits[1:]}"),
    }  # fmt: skip
    unequal = other_numbers(value, str(n)) | {kind: str(other) for kind, other in others.items() if other != n}
    return Draw(
        gold=gold or str(n), equal=equal,
        unequal=unequal | {"near decimal": f"{n}.001", "tenths": f"{n}.1"} | ({"negation": rf"\neg {n}"} if n else {}),
    )  # fmt: skip


# ---- fractions -----------------------------------------------------------------------------------------------------


def rational(source: random.Random) -> Draw:
    value = Fraction(source.randrange(1, 200), source.randrange(2, 60)) * source.choice((1, -1))
    return of_fraction(value + Fraction(1, 7) if value.denominator == 1 else value, source.randrange(2, 9))


def of_fraction(value: Fraction, factor: int = 3, gold: str | None = None) -> Draw:
    """A fraction that is not 0."""
    top, bottom, text = value.numerator, value.denominator, fraction_text(value)
    whole = math.floor(value)
    equal = same_number(value, text) | {
        "plain": text, "slash": f"{top}/{bottom}", "display": text.replace(r"\frac", r"\dfrac"),
        "small": text.replace(r"\frac", r"\tfrac"), "continued": text.replace(r"\frac", r"\cfrac"),
        "unreduced": fraction_text(value, factor), "inner sign": rf"\frac{{{top}}}{{{bottom}}}",
        "lower sign": rf"\frac{{{-top}}}{{{-bottom}}}", "negative power": rf"{top} \cdot {bottom}^{{-1}}",
        "approximation": rf"{text} \approx {float(value):.3f}", "over": rf"{{{top} \over {bottom}}}",
        "inverted twice": rf"\left(\frac{{{bottom}}}{{{top}}}\right)^{{-1}}", "division": rf"{top} \div {bottom}",
        "one over": rf"\frac{{1}}{{{bottom}/({top})}}", "unit": rf"{text} \text{{ cm}}",
        "points": rf"\frac{{{top}.0}}{{{bottom}.0}}", "part of one": rf"{top} \cdot \frac{{1}}{{{bottom}}}",
        "whole and rest": rf"{whole} + {number_text(value - whole)}", "repeating": repeating_text(value),
        "twenty digits": decimal_text(value, 24), "inner brackets": f"({top})/({bottom})",
    }  # fmt: skip
    others = {
        "off by one": value + 1, "numerator": Fraction(top + 1, bottom), "denominator": Fraction(top, bottom + 1),
        "numerator only": Fraction(top), "sum": Fraction(top + bottom), "product": Fraction(top * bottom),
        "percent": value / 100, "complement": 1 - value, "joined": Fraction(f"{top}{bottom}"),
        "rounded": Fraction(f"{float(value):.3f}"), "bottom only": Fraction(bottom),
    }  # fmt: skip
    unequal = other_numbers(value, text)
    unequal |= {kind: number_text(other) for kind, other in others.items() if other != value}
    return Draw(gold=gold or text, equal=equal, unequal=unequal | {"tuple": f"({top}, {bottom})"})


def repeating_text(value: Fraction) -> str:
    """A decimal with its period under a bar; without one when it ends."""
    whole, rest = divmod(abs(value.numerator), value.denominator)
    digits, seen = "", dict[int, int]()
    while rest and rest not in seen:
        seen[rest] = len(digits)
        digit, rest = divmod(10 * rest, value.denominator)
        digits += str(digit)
    tail = digits if not rest else rf"{digits[: seen[rest]]}\overline{{{digits[seen[rest] :]}}}"
    return f"{'-' if value < 0 else ''}{whole}.{tail or '0'}"


# ---- decimals ------------------------------------------------------------------------------------------------------


def decimal(source: random.Random) -> Draw:
    places = source.randrange(1, 5)
    last = source.randrange(1, 10)
    value = Fraction(source.randrange(1, 10 ** (places + 1)) * 10 + last, 10**places) * source.choice((1, -1))
    return of_decimal(decimal_text(value, places))


def of_decimal(gold: str) -> Draw:
    """A decimal that is not 0 and whose last digit is not 0."""
    value, places = Fraction(gold), len(gold.partition(".")[2])
    sign, digits = "-" if value < 0 else "", gold.lstrip("-").replace(".", "")
    scaled = int(sign + digits)
    whole, step = math.floor(value), Fraction(1, 10**places)
    equal = same_number(value, gold) | {
        "zero": f"{gold}0", "zeros": f"{gold}000", "fraction": number_text(value), "slash": f"{scaled}/{10**places}",
        "unreduced": rf"{sign}\frac{{{abs(scaled)}}}{{{10**places}}}",
        "percent": rf"{decimal_text(100 * value, places)}\%", "power of ten": scientific_text(value),
        "exponent": scientific_text(value, "e%d"), "negative power": rf"{scaled} \cdot 10^{{-{places}}}",
        "unit": rf"{gold} \text{{ cm}}", "text": rf"\text{{{gold}}}", "full width": gold.translate(WIDE),
        "nines": rf"{decimal_text(value - step if value > 0 else value + step, places)}\overline{{9}}",
        "tenths": rf"{decimal_text(10 * value, places)} \cdot 0.1",
        "whole and rest": f"{whole} + {decimal_text(value - whole, places)}",
        "approximation": rf"{gold} \approx {number_text(Fraction(round(value)))}", "plus": gold if sign else f"+{gold}",
        "minus sign": gold.replace("-", "−"), "leading point": gold.replace("0.", ".", 1) if abs(value) < 1 else gold,
        "small fraction": number_text(value).replace(r"\frac", r"\tfrac"),
        "quarter of four": rf"\frac{{{decimal_text(4 * value, places)}}}{{4}}",
    }  # fmt: skip
    others = {
        "last digit": value + step,
        "last digit dropped": Fraction(math.floor(value * 10 ** (places - 1)), 10 ** (places - 1)),
        "off by one": value + 1, "below": value - step, "digits": Fraction(scaled), "thousandth": value / 1000,
        "rounded": Fraction(round(value)), "wrong bottom": Fraction(scaled, 10 ** (places + 2)),
    }  # fmt: skip
    unequal = other_numbers(value, gold)
    unequal |= {kind: number_text(other) for kind, other in others.items() if other != value}
    unequal |= {"next digit": f"{gold}7", "repeating": rf"{gold[:-1]}\overline{{{gold[-1]}}}"}
    return Draw(gold=gold, equal=equal, unequal=unequal)


def repeating(source: random.Random) -> Draw:
    """A period of two different digits, with a digit before it or none."""
    a, b = source.sample("123456789", 2)
    before, whole = source.choice(("", "1", "7")), source.randrange(0, 30)
    value = whole + Fraction(int(before + a + b) - int(before or 0), 99 * 10 ** len(before))
    head = f"{whole}.{before}"
    gold, text = rf"{head}\overline{{{a}{b}}}", fraction_text(value)
    equal = same_number(value, text) | {
        "plain": gold, "fraction": text, "slash": f"{value.numerator}/{value.denominator}",
        "unreduced": fraction_text(value, 4), "dots over": rf"{head}\dot{{{a}}}\dot{{{b}}}",
        "period twice": rf"{head}\overline{{{a}{b}{a}{b}}}", "unrolled": rf"{head}{a}{b}\overline{{{a}{b}}}",
        "rotated": rf"{head}{a}\overline{{{b}{a}}}", "period in brackets": f"{head}({a}{b})",
        "continued": rf"{head}{f'{a}{b}' * 3}\ldots", "plain dots": f"{head}{f'{a}{b}' * 4}...",
        "twenty digits": f"{head}{f'{a}{b}' * 10}", "bar command": rf"{head}\bar{{{a}{b}}}",
        "display": text.replace("frac", "dfrac"),
        "ninety-ninths": rf"{head or 0} + \frac{{{a}{b}}}{{99{'0' * len(before)}}}", "named": rf"x = {gold}",
        "shifted": rf"{gold} + 3 - 3", "tenth": rf"\frac{{1}}{{10}} \cdot {repeating_text(10 * value)}",
        "approximation": rf"{text} \approx {float(value):.3f}", "percent": rf"{number_text(100 * value)}\%",
        "both": rf"{text} = {gold}",
    }  # fmt: skip
    unequal = other_numbers(value, text) | {
        "ends": f"{head}{a}{b}", "ends later": f"{head}{f'{a}{b}' * 3}", "swapped": rf"{head}\overline{{{b}{a}}}",
        "late": rf"{head}0\overline{{{a}{b}}}", "one digit": rf"{head}{a}\overline{{{b}}}",
        "first digit": rf"{head}\overline{{{a}}}", "zero in it": rf"{head}\overline{{0{a}{b}}}",
        "off by one": number_text(value + 1), "numerator": number_text(value + Fraction(1, value.denominator)),
        "hundredths": number_text(whole + Fraction(int(a + b), 100) / 10 ** len(before)),
    }  # fmt: skip
    return Draw(gold=gold, equal=equal, unequal=unequal)


# ---- percentages, mixed numbers, ratios, powers of ten -------------------------------------------------------------


def percent(source: random.Random) -> Draw:
    return of_percent(str(source.randrange(2, 98)))


def of_percent(number: str, gold: str | None = None) -> Draw:
    """number: the digits before the sign, above 0."""
    n = Fraction(number)
    value, point = n / 100, "" if "." in number else ".0"
    equal = {
        "plain": rf"{number}\%", "words": f"{number} percent", "fraction": number_text(value),
        "spaced": rf"{number} \%", "text": rf"{number}\text{{ percent}}", "wide": f"{number}％",
        "point": rf"{number}{point}\%", "bare sign": f"{number}%", "hundredths": rf"\frac{{{number}}}{{100}}",
        "name": rf"p = {number}\%", "slash": f"{number}/100", "short": f"{number} pct",
        "two words": rf"{number} \text{{ per cent}}", "decimal": decimal_text(value, 20),
        "negative power": rf"{number} \cdot 10^{{-2}}", "power of ten": scientific_text(value),
        "sum": rf"{number}\% + 0\%", "sign in text": rf"{number}\text{{\%}}", "thin space": rf"{number}\,\%",
        "brackets": rf"({number})\%", "fraction of a percent": rf"\frac{{{number_text(2 * n)}}}{{2}}\%",
        "chain": rf"{number_text(value)} = {number}\%", "bold": rf"\mathbf{{{number}\%}}",
        "unreduced": f"{number_text(3 * n)}/300",
    }  # fmt: skip
    others = {
        "off by one": n + 1, "below": n - Fraction(1, 2), "times ten": 10 * n, "tenth": n / 10, "half": n / 2,
        "sign": -n, "double": 2 * n, "complement": 100 - n, "squared": n * n, "near": n + Fraction(1, 4),
    }  # fmt: skip
    unequal = {kind: rf"{number_text(other)}\%" for kind, other in others.items() if other != n}
    bare = {
        "thousandths": value / 10,
        "decimal times ten": 10 * value,
        "decimal off": value + Fraction(1, 100),
        "inverse": 1 / value,
    }
    unequal |= {kind: number_text(other) for kind, other in bare.items() if other not in (value, n)}
    return Draw(gold=gold or rf"{number}\%", equal=equal, unequal=unequal | {
        "unit": rf"{number_text(n + 1)} \text{{ cm}}", "range": rf"{number}\%-{number_text(n + 1)}\%",
        "two": rf"{number}\% \text{{ or }} {number_text(n + 2)}\%", "bound": rf"p \le {number}\%",
        "per mille": rf"{number}‰", "pair": rf"({number}\%, {number_text(n + 1)}\%)",
        "plus minus": rf"{number}\% \pm 1\%", "at least": rf"p > {number}\%", "variable": rf"{number}\% x",
        "infinite": r"\infty",
    })  # fmt: skip


def mixed(source: random.Random) -> Draw:
    whole, bottom = source.randrange(1, 20), source.choice((3, 4, 5, 6, 7, 8, 9, 11))
    top = source.randrange(1, bottom)
    value, rest = whole + Fraction(top, bottom), rf"\frac{{{top}}}{{{bottom}}}"
    improper = whole * bottom + top
    gold = f"{whole}{rest}"
    equal = same_number(value, fraction_text(value)) | {
        "plain": gold, "improper": rf"\frac{{{improper}}}{{{bottom}}}", "slash": f"{improper}/{bottom}",
        "inline": f"{whole} {top}/{bottom}", "added": f"{whole} + {rest}", "display": gold.replace("frac", "dfrac"),
        "small": gold.replace("frac", "tfrac"), "thin space": rf"{whole}\,{rest}", "space": f"{whole} {rest}",
        "unit": rf"{gold} \text{{ cm}}", "doubled": rf"\frac{{{2 * improper}}}{{{2 * bottom}}}",
        "from above": rf"{whole + 1} - \frac{{{bottom - top}}}{{{bottom}}}", "name of it": f"x = {gold}",
        "tilde": f"{whole}~{rest}", "text": rf"\text{{{whole} {top}/{bottom}}}", "repeating": repeating_text(value),
        "unreduced rest": rf"{whole}\frac{{{2 * top}}}{{{2 * bottom}}}", "in brackets": rf"\left({gold}\right)",
        "quotient": rf"{improper} \div {bottom}", "approximation": rf"{gold} \approx {float(value):.2f}",
    }  # fmt: skip
    others = {
        "whole": value + 1, "product": whole * Fraction(top, bottom), "joined": Fraction(int(f"{whole}{top}"), bottom),
        "rest only": Fraction(top, bottom), "whole only": Fraction(whole), "difference": whole - Fraction(top, bottom),
        "bottom": whole + Fraction(top, bottom + 1), "top": whole + Fraction(top + 1, bottom),
        "rest inverted": whole + Fraction(bottom, top), "rounded": Fraction(f"{float(value) + 0.01:.2f}"),
        "sum of all": Fraction(whole + top + bottom),
    }  # fmt: skip
    unequal = other_numbers(value, fraction_text(value))
    return Draw(
        gold=gold,
        equal=equal,
        unequal=unequal | {kind: number_text(other) for kind, other in others.items() if other != value},
    )


def ratio(source: random.Random) -> Draw:
    a, b = source.choice(((2, 3), (3, 4), (3, 5), (5, 7), (4, 9), (7, 8), (5, 11), (9, 4), (11, 6), (13, 8)))
    k = source.randrange(2, 9)
    return Draw(
        gold=f"{a}:{b}",
        equal={
            "spaced": f"{a} : {b}", "unreduced": f"{k * a}:{k * b}", "to": rf"{a} \text{{ to }} {b}",
            "plain to": f"{a} to {b}", "colon": rf"{a} \colon {b}", "fraction": rf"\frac{{{a}}}{{{b}}}",
            "slash": f"{a}/{b}", "wide": f"{a}：{b}", "text": rf"\text{{{a}:{b}}}", "thin": rf"{a}\,:\,{b}",
            "halves": rf"\frac{{{a}}}{{2}} : \frac{{{b}}}{{2}}", "points": f"{a}.0:{b}.0",
            "tenths": f"{a / 10}:{b / 10}", "sign": f"{a}∶{b}", "named": f"S_1:S_2 = {a}:{b}",
            "letters": f"a:b = {a}:{b}", "text to": rf"\text{{{a} to {b}}}", "command": rf"{a}\mathbin{{:}}{b}",
            "unreduced fraction": rf"\frac{{{k * a}}}{{{k * b}}}", "display": rf"\dfrac{{{a}}}{{{b}}}",
            "words of it": rf"\text{{the ratio }} {a}:{b}", "roots": rf"{a}\sqrt{{2}} : {b}\sqrt{{2}}",
            "pi": rf"{a}\pi : {b}\pi", "grouped": rf"{{{a}}}:{{{b}}}",
        },
        unequal={
            "inverse": f"{b}:{a}", "first": f"{a + b}:{b}", "second": f"{a}:{a + b}", "three": f"{a}:{b}:1",
            "one": str(a), "pair": f"({a}, {b})", "sum": f"{a}+{b}", "inverse fraction": rf"\frac{{{b}}}{{{a}}}",
            "sign": f"-{a}:{b}", "scaled one": f"{k * a}:{b}", "scaled other": f"{a}:{k * b}",
            "two": rf"{a}:{b} \text{{ or }} {b}:{a}", "percent": rf"{a}{b}\%", "off by one": f"{a + 1}:{b}",
            "off below": f"{a}:{b + 1}", "squares": f"{a * a}:{b * b}", "inverse words": rf"{b} \text{{ to }} {a}",
            "part of whole": rf"\frac{{{a}}}{{{a + b}}}", "difference": str(a - b + 100), "product": str(a * b),
            "rounded": f"{a / b + 0.01:.2f}", "roots of both": rf"\sqrt{{{a}}}:\sqrt{{{b}}}",
            "swapped named": f"a:b = {b}:{a}", "zero": f"0:{b}",
        },
    )  # fmt: skip


def scientific(source: random.Random) -> Draw:
    digits, power = source.choice([n for n in range(11, 99) if n % 10]), source.choice((-6, -4, 5, 8, 12))
    value = Fraction(digits, 10) * Fraction(10) ** power
    a, pow_ = f"{digits / 10:.1f}", f"10^{{{power}}}"
    gold = rf"{a} \times {pow_}"
    equal = {
        "dot": rf"{a} \cdot {pow_}", "e": f"{a}e{power}", "E": f"{a}E{power:+03d}", "plain": number_text(value),
        "star": f"{a}*{pow_}", "double star": f"{a}*10**{power}" if power > 0 else f"{a}*10^({power})",
        "x": f"{a} x {pow_}", "sign": f"{a} × {pow_}", "shifted": rf"{digits} \times 10^{{{power - 1}}}",
        "shifted back": rf"0.{digits} \times 10^{{{power + 1}}}", "unit": rf"{gold} \text{{ m}}",
        "name": rf"v = {gold}", "zero": rf"{a}0 \times {pow_}", "brackets": rf"\left({a}\right) \times {pow_}",
        "reversed": rf"{pow_} \times {a}", "bullet": rf"{a}\cdot{pow_}",
        "fraction": rf"\frac{{{digits}}}{{10}} \times {pow_}",
        "two powers": rf"{a} \times 10^{{{power - 2}}} \times 10^2",
        "written out": decimal_text(value, max(0, 1 - power)) if power < 0 else f"{value.numerator:,}",
        "quotient": rf"\frac{{{a}}}{{10^{{{-power}}}}}", "negated": rf"-(-{gold})",
        "chain": rf"v = {digits} \times 10^{{{power - 1}}} = {gold}", "times thin": rf"{a}\,\times\,{pow_}",
    }  # fmt: skip
    unequal = {
        "power": rf"{a} \times 10^{{{power + 1}}}", "power below": rf"{a} \times 10^{{{power - 1}}}",
        "sign of power": rf"{a} \times 10^{{{-power}}}", "mantissa": a,
        "digit": rf"{digits + 1} \times 10^{{{power - 1}}}", "lost point": rf"{digits} \times {pow_}",
        "base": rf"{a} \times 2^{{{power}}}", "plus": rf"{a} + {pow_}", "power only": pow_,
        "near": rf"{a}1 \times {pow_}", "e off": f"{a}e{power + 1}", "sign of e": f"{a}e{-power}",
        "rounded": rf"{round(value / Fraction(10) ** power)} \times {pow_}", "squared": rf"({gold})^2",
    }  # fmt: skip
    return Draw(gold=gold, equal=equal, unequal=other_numbers(value, gold) | unequal)
