"""More answer types for `metamorphic`: those whose forms are words, signs or tables rather than arithmetic."""

from __future__ import annotations

import random
from fractions import Fraction

from verifiers.metamorphic_draw import Draw, fraction_text

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def mixed(source: random.Random) -> Draw:
    whole, bottom = source.randrange(1, 20), source.choice((3, 4, 5, 6, 7, 8, 9, 11))
    top = source.randrange(1, bottom)
    improper = whole * bottom + top
    return Draw(
        gold=rf"{whole}\frac{{{top}}}{{{bottom}}}",
        equal={
            "improper": rf"\frac{{{improper}}}{{{bottom}}}", "slash": f"{improper}/{bottom}",
            "inline": f"{whole} {top}/{bottom}", "sum": rf"{whole} + \frac{{{top}}}{{{bottom}}}",
            "dfrac": rf"{whole}\dfrac{{{top}}}{{{bottom}}}", "spaced": rf"{whole}\,\frac{{{top}}}{{{bottom}}}",
            "name": rf"x = {whole}\frac{{{top}}}{{{bottom}}}",
            "unit": rf"{whole}\frac{{{top}}}{{{bottom}}} \text{{ cm}}",
            "doubled": rf"\frac{{{2 * improper}}}{{{2 * bottom}}}",
            "difference": rf"{whole + 1} - \frac{{{bottom - top}}}{{{bottom}}}",
        },
        unequal={
            "whole": rf"{whole + 1}\frac{{{top}}}{{{bottom}}}", "product": rf"\frac{{{whole * top}}}{{{bottom + 7}}}",
            "joined": rf"\frac{{{whole}{top}}}{{{bottom}}}", "fraction only": rf"\frac{{{top}}}{{{bottom}}}",
            "whole only": str(whole), "sign": rf"-{whole}\frac{{{top}}}{{{bottom}}}",
            "difference": rf"{whole} - \frac{{{top}}}{{{bottom}}}",
            "bottom": rf"{whole}\frac{{{top}}}{{{bottom + 1}}}", "rounded": f"{improper / bottom + 0.01:.2f}",
            "pair": f"({whole}, {top})",
        },
    )  # fmt: skip


def scientific(source: random.Random) -> Draw:
    digits, power = source.randrange(11, 99), source.choice((-6, -4, 5, 8, 12))
    value = Fraction(digits, 10) * Fraction(10) ** power
    a = f"{digits / 10:.1f}"
    plain = str(value.numerator) if value.denominator == 1 else fraction_text(value)
    return Draw(
        gold=rf"{a} \times 10^{{{power}}}",
        equal={
            "dot": rf"{a} \cdot 10^{{{power}}}", "e": f"{a}e{power}", "E": f"{a}E{power:+03d}", "plain": plain,
            "star": f"{a}*10^{{{power}}}", "double star": f"{a}*10**{power}" if power > 0 else f"{a}*10^({power})",
            "x": f"{a} x 10^{power}" if power > 0 else f"{a} x 10^{{{power}}}",
            "shifted": rf"{digits} \times 10^{{{power - 1}}}", "unit": rf"{a} \times 10^{{{power}}} \text{{ m}}",
            "name": rf"v = {a} \times 10^{{{power}}}",
        },
        unequal={
            "power": rf"{a} \times 10^{{{power + 1}}}", "sign of power": rf"{a} \times 10^{{{-power}}}",
            "mantissa": a, "digit": rf"{digits + 1} \times 10^{{{power - 1}}}",
            "sign": rf"-{a} \times 10^{{{power}}}", "lost point": rf"{digits} \times 10^{{{power}}}",
            "base": rf"{a} \times 2^{{{power}}}", "plus": rf"{a} + 10^{{{power}}}", "power only": rf"10^{{{power}}}",
            "near": rf"{a}1 \times 10^{{{power}}}",
        },
    )  # fmt: skip


def inequality(source: random.Random) -> Draw:
    a = source.randrange(-30, 30)
    return Draw(
        gold=f"x > {a}",
        equal={
            "flipped": f"{a} < x", "interval": rf"({a}, \infty)", "plus": rf"({a}, +\infty)", "gt": rf"x \gt {a}",
            "scaled": f"2x > {2 * a}", "negated": f"-x < {-a}", "member": rf"x \in ({a}, \infty)",
            "builder": rf"\{{x \mid x > {a}\}}", "shifted": f"x - ({a}) > 0", "unicode": f"({a}, ∞)",
        },
        unequal={
            "less": f"x < {a}", "closed": rf"x \ge {a}", "closed interval": rf"[{a}, \infty)",
            "bound": f"x > {a + 1}", "other ray": rf"(-\infty, {a})", "equal": f"x = {a}", "number": str(a),
            "bounded": f"({a}, {a + 10})", "not equal": rf"x \ne {a}", "flipped wrong": f"{a} > x",
        },
    )  # fmt: skip


def matrix(source: random.Random) -> Draw:
    a, b, c, d = source.sample(range(-20, 20), 4)

    def table(kind: str, *rows: str) -> str:
        return rf"\begin{{{kind}}}" + r" \\ ".join(rows) + rf"\end{{{kind}}}"

    top, bottom = f"{a} & {b}", f"{c} & {d}"
    return Draw(
        gold=table("pmatrix", top, bottom),
        equal={
            "brackets": table("bmatrix", top, bottom),
            "array": r"\left[\begin{array}{cc}" + rf"{top} \\ {bottom}" + r"\end{array}\right]",
            "rows": f"[[{a}, {b}], [{c}, {d}]]", "matrix": r"\left(" + table("matrix", top, bottom) + r"\right)",
            "named": "A = " + table("pmatrix", top, bottom), "tight": table("pmatrix", f"{a}&{b}", f"{c}&{d}"),
            "factor": r"\frac{1}{2}" + table("pmatrix", f"{2 * a} & {2 * b}", f"{2 * c} & {2 * d}"),
            "decimals": table("pmatrix", f"{a}.0 & {b}", bottom), "semicolons": f"[{a}, {b}; {c}, {d}]",
            "small": table("smallmatrix", top, bottom),
        },
        unequal={
            "transposed": table("pmatrix", f"{a} & {c}", f"{b} & {d}"),
            "entry": table("pmatrix", top, f"{c} & {d + 1}"), "row": table("pmatrix", top),
            "swapped": table("pmatrix", bottom, top), "flat": table("pmatrix", f"{a} & {b} & {c} & {d}"),
            "determinant": table("vmatrix", top, bottom), "column": table("pmatrix", str(a), str(b), str(c), str(d)),
            "scaled": "2" + table("pmatrix", top, bottom), "number": str(a), "pair": f"({a}, {b})",
        },
    )  # fmt: skip


def date(source: random.Random) -> Draw:
    month, day, year = source.randrange(len(MONTHS)), source.randrange(1, 28), source.randrange(1800, 2030)
    name = MONTHS[month]
    number = month + 1 if month < 4 else month + 2
    other = MONTHS[(month + 1) % len(MONTHS)]
    return Draw(
        gold=f"{name} {day}, {year}",
        equal={
            "day first": f"{day} {name} {year}", "iso": f"{year}-{number:02d}-{day:02d}",
            "short": f"{name[:3]}. {day}, {year}", "ordinal": f"{name} {day}th, {year}",
            "text": rf"\text{{{name} {day}, {year}}}", "of": f"the {day}th of {name}, {year}",
            "chinese": f"{year}年{number}月{day}日", "no comma": f"{name} {day} {year}",
            "lower": f"{name.lower()} {day}, {year}", "on": rf"\text{{on {name} {day}, {year}}}",
        },
        unequal={
            "day": f"{name} {day + 1}, {year}", "month": f"{other} {day}, {year}",
            "year": f"{name} {day}, {year + 1}", "year only": str(year), "difference": str(year - number - day),
            "iso day": f"{year}-{number:02d}-{day + 1:02d}", "month only": name,
            "two": rf"\text{{{name} {day}, {year} or {other} {day}, {year}}}", "weekday": "Monday",
            "number": str(day),
        },
    )  # fmt: skip


def clock(source: random.Random) -> Draw:
    hour, minute = source.randrange(1, 12), source.choice((5, 10, 20, 25, 35, 40, 50, 55))
    return Draw(
        gold=f"{hour}:{minute:02d} PM",
        equal={
            "dots": f"{hour}:{minute:02d} p.m.", "tight": f"{hour}:{minute:02d}pm",
            "text": rf"{hour}:{minute:02d} \text{{ PM}}", "military": f"{hour + 12}:{minute:02d}",
            "upper dots": f"{hour}:{minute:02d} P.M.", "whole text": rf"\text{{{hour}:{minute:02d} PM}}",
            "thin": rf"{hour}\!:\!{minute:02d} \text{{ PM}}", "open": f"{hour}:{minute:02d}",
            "at": rf"\text{{at {hour}:{minute:02d} pm}}",
            "afternoon": rf"\text{{{hour}:{minute:02d} in the afternoon}}",
        },
        unequal={
            "morning": f"{hour}:{minute:02d} AM", "minute": f"{hour}:{minute - 1:02d} PM",
            "hour": f"{hour + 1}:{minute:02d} PM", "wrong military": f"{hour + 11}:{minute:02d}", "number": str(hour),
            "swapped": f"{hour}:0{minute // 10 + 1} PM", "joined": f"{hour}{minute:02d}",
            "two": rf"\text{{{hour}:{minute:02d} PM or {hour}:{minute + 1:02d} PM}}", "day": "Monday",
            "date": f"March {hour}, 2020",
        },
    )  # fmt: skip


def weekday(source: random.Random) -> Draw:
    place = source.randrange(7)
    name, other = DAYS[place], DAYS[(place + source.randrange(1, 7)) % 7]
    return Draw(
        gold=name,
        equal={
            "lower": name.lower(), "short": name[:3], "text": rf"\text{{{name}}}", "on": rf"\text{{on {name}}}",
            "sentence": rf"\text{{It is a {name}.}}", "bold": rf"\textbf{{{name}}}",
            "chinese": "星期" + "一二三四五六日"[place], "week": "周" + "一二三四五六日"[place], "stop": f"{name}.",
            "upper": name.upper(),
        },
        unequal={
            "other": other, "short other": other[:3], "two": rf"\text{{{name} or {other}}}",
            "not": rf"\text{{not {other}}}", "number": str(place),
            "chinese other": "星期" + "一二三四五六日"[DAYS.index(other)], "text other": rf"\text{{{other}}}",
            "month": "March", "word": "day", "and": rf"\text{{{other} and {name}}}",
        },
    )  # fmt: skip
