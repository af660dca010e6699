"""From a random gold of each answer type: rewritings that must be accepted and near misses that must be refused.

Every form is put into one of the `WRAPPERS`, so that each type has well over twenty rewritings and near misses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from verifiers import metamorphic_more as more
from verifiers import metamorphic_words as words
from verifiers.metamorphic_draw import Draw, fraction_text

WRAPPERS = (
    r"\boxed{%s}", r"So the answer is $\boxed{%s}$.", r"<think>maybe \boxed{0}</think>" "\n" r"\boxed{%s}",
    r"\[ \boxed{ %s } \]", r"**Final Answer**" "\n\n" r"\boxed{%s}", r"\boxed{{%s}}", r"\boxed{\boxed{%s}}",
    r"<answer>\boxed{%s}</answer>", r"\boxed{%s}" "\n\nI checked this twice.", r"\fbox{%s}",
)  # fmt: skip
"""What may stand around an answer without changing it."""


def integer(source: random.Random) -> Draw:
    n = source.randrange(1000, 10**7) * source.choice((1, -1))
    digits = list(str(abs(n)))
    swapped = "".join([*digits[:-2], digits[-1], digits[-2]]) if digits[-1] != digits[-2] else str(abs(n) + 9)
    sign = "-" if n < 0 else ""
    return Draw(
        gold=str(n),
        equal={
            "commas": f"{n:,}", "latex commas": f"{n:,}".replace(",", "{,}"),
            "thin spaces": f"{n:,}".replace(",", r"\,"), "decimal": f"{n}.0", "text": rf"\text{{{n}}}",
            "name": f"x = {n}", "unit": rf"{n} \text{{ cm}}", "sum": f"{n - 1} + 1",
            "quotient": rf"\frac{{{2 * n}}}{{2}}", "leading zero": f"{sign}0{abs(n)}", "power": f"({n})^1",
        },
        unequal={
            "off by one": str(n + 1), "sign": str(-n), "times ten": f"{n}0", "swapped digits": sign + swapped,
            "dropped digit": str(n)[:-1], "near decimal": f"{n}.001", "half": f"{n}/2",
            "range": f"[{min(n, n + 9)}, {max(n, n + 9)}]", "two answers": rf"{n} \text{{ or }} {n + 1}",
            "expression": f"{n}x", "bound": rf"x \le {n}", "plus minus": rf"{n} \pm 1",
        },
    )  # fmt: skip


def rational(source: random.Random) -> Draw:
    value = Fraction(source.randrange(1, 200), source.randrange(2, 60)) * source.choice((1, -1))
    if value.denominator == 1:
        value += Fraction(1, 7)
    top, bottom, factor = value.numerator, value.denominator, source.randrange(2, 9)
    return Draw(
        gold=fraction_text(value),
        equal={
            "slash": f"{top}/{bottom}", "dfrac": fraction_text(value).replace("frac", "dfrac"),
            "unreduced": fraction_text(value, factor), "inner sign": rf"\frac{{{top}}}{{{bottom}}}",
            "lower sign": rf"\frac{{{-top}}}{{{-bottom}}}", "negative power": rf"{top} \cdot {bottom}^{{-1}}",
            "approximation": rf"{fraction_text(value)} \approx {float(value):.3f}", "name": f"p = {top}/{bottom}",
            "over": rf"{{{top} \over {bottom}}}", "shifted": rf"\frac{{{top + bottom}}}{{{bottom}}} - 1",
        },
        unequal={
            "inverse": rf"\frac{{{bottom}}}{{{top}}}" if abs(top) != bottom else "0", "sign": fraction_text(-value),
            "numerator": f"{top + 1}/{bottom}", "denominator": f"{top}/{bottom + 1}",
            "rounded": f"{float(value) + 0.001:.3f}", "numerator only": str(top), "tuple": f"({top}, {bottom})",
            "sum": f"{top}+{bottom}", "times ten": f"{10 * top}/{bottom}", "percent": rf"{top}/{bottom}\% + 1",
        },
    )  # fmt: skip


def radical(source: random.Random) -> Draw:
    factor, inside = source.randrange(2, 12), source.choice((2, 3, 5, 6, 7, 10, 11, 13))
    return Draw(
        gold=rf"{factor}\sqrt{{{inside}}}",
        equal={
            "one root": rf"\sqrt{{{factor**2 * inside}}}", "plain": f"{factor}*sqrt({inside})",
            "sign": f"{factor}√{inside}", "power": rf"{factor} \cdot {inside}^{{1/2}}",
            "decimal power": rf"{factor} \cdot {inside}^{{0.5}}",
            "rationalised": rf"\frac{{{factor * inside}}}{{\sqrt{{{inside}}}}}",
            "order": rf"\sqrt{{{inside}}} \cdot {factor}",
            "split": rf"{factor - 1}\sqrt{{{inside}}} + \sqrt{{{inside}}}",
            "fourth root": rf"{factor}\sqrt[4]{{{inside**2}}}",
            "approximation": rf"{factor}\sqrt{{{inside}}} \approx {factor * inside**0.5:.2f}",
        },
        unequal={
            "factor": rf"{factor + 1}\sqrt{{{inside}}}", "inside": rf"{factor}\sqrt{{{inside + 1}}}",
            "cube root": rf"{factor}\sqrt[3]{{{inside}}}", "swapped": rf"{inside}\sqrt{{{factor + 15}}}",
            "rounded": f"{factor * inside**0.5:.3f}", "sign": rf"-{factor}\sqrt{{{inside}}}",
            "square": str(factor**2 * inside), "merged": rf"\sqrt{{{factor * inside + 1}}}",
            "product": str(factor * inside), "plus": rf"{factor}+\sqrt{{{inside}}}",
        },
    )  # fmt: skip


def percent(source: random.Random) -> Draw:
    n = source.randrange(2, 98)
    value = Fraction(n, 100)
    return Draw(
        gold=rf"{n}\%",
        equal={
            "words": f"{n} percent", "decimal": str(float(value)), "fraction": fraction_text(value),
            "spaced": rf"{n} \%", "text": rf"{n}\text{{ percent}}", "wide": f"{n}％", "point": rf"{n}.0\%",
            "hundredths": rf"\frac{{{n}}}{{100}}", "name": rf"p = {n}\%", "plain": f"{n}/100",
        },
        unequal={
            "tenth": rf"{n / 10}\%", "times ten": rf"{10 * n}\%", "off by one": rf"{n + 1}\%",
            "decimal": str(n / 1000), "sign": rf"-{n}\%", "complement": rf"{100 - n}\%" if n != 50 else r"49\%",
            "near": rf"{n}.5\%", "unit": rf"{n} \text{{ cm}}", "square": f"0.{n:02d}^2", "range": rf"{n}\%-{n + 1}\%",
        },
    )  # fmt: skip


def quantity(source: random.Random) -> Draw:
    n = source.randrange(2, 90)
    small, large, factor, other = source.choice(
        (("mm", "cm", 10, "kg"), ("g", "kg", 1000, "m"), ("minutes", "hours", 60, "km"), ("m", "km", 1000, "s"))
    )
    return Draw(
        gold=rf"{n} \text{{ {large}}}",
        equal={
            "bare": str(n), "roman": rf"{n}\,\mathrm{{{large}}}", "plain": f"{n} {large}",
            "converted": rf"{n * factor} \text{{ {small}}}", "point": rf"{n}.0 \text{{ {large}}}",
            "fraction": rf"\frac{{{2 * n}}}{{2}} \text{{ {large}}}", "name": rf"d = {n} \text{{ {large}}}",
            "tilde": rf"{n}~\text{{{large}}}", "mbox": rf"{n} \mbox{{ {large}}}",
            "bold": rf"\mathbf{{{n}}} \text{{ {large}}}",
        },
        unequal={
            "smaller unit": rf"{n} \text{{ {small}}}", "other kind": rf"{n} \text{{ {other}}}",
            "off by one": rf"{n + 1} \text{{ {large}}}", "bare wrong": str(n + 1),
            "square": rf"{n} \text{{ {large}}}^2", "wrong factor": rf"{n * factor * 10} \text{{ {small}}}",
            "sign": rf"-{n} \text{{ {large}}}", "rate": rf"{n} \text{{ {large}}}/\text{{K}}",
            "things": rf"{n} \text{{ apples}}",
            "two": rf"{n} \text{{ {large}}} \text{{ or }} {n + 1} \text{{ {large}}}",
        },
    )  # fmt: skip


def pair(source: random.Random) -> Draw:
    a, b = source.sample(range(-30, 30), 2)
    return Draw(
        gold=f"({a}, {b})",
        equal={
            "tight": f"({a},{b})", "left right": rf"\left({a}, {b}\right)", "named": f"(x, y) = ({a}, {b})",
            "equations": rf"x = {a},\ y = {b}", "decimals": f"({a}.0, {b}.0)", "wide": f"（{a}，{b}）",
            "words": rf"x = {a} \text{{ and }} y = {b}", "column": rf"\begin{{pmatrix}} {a} \\ {b} \end{{pmatrix}}",
            "point": f"P({a}, {b})", "sums": f"({a + 1}-1, {b})",
        },
        unequal={
            "swapped": f"({b}, {a})", "first": f"({a + 1}, {b})", "second": f"({a}, {b - 1})",
            "triple": f"({a}, {b}, 0)", "one": str(a), "sum": str(a + b + 100), "closed": f"[{a}, {b}]",
            "equations swapped": f"x = {b}, y = {a}", "sign": f"({-a}, {-b})" if a or b else "(1, 1)",
            "set of three": rf"\{{{a}, {b}, 99\}}",
        },
    )  # fmt: skip


def solutions(source: random.Random) -> Draw:
    a, b, c = source.sample(range(-40, 40), 3)
    return Draw(
        gold=rf"\{{{a}, {b}, {c}\}}",
        equal={
            "order": rf"\{{{c}, {a}, {b}\}}", "bare": f"{b}, {c}, {a}",
            "words": rf"{a} \text{{ and }} {b} \text{{ and }} {c}", "or": rf"{a} \text{{ or }} {b} \text{{ or }} {c}",
            "name": f"x = {a}, {b}, {c}", "repeated": rf"\{{{a}, {a}, {b}, {c}\}}",
            "member": rf"x \in \{{{a}, {b}, {c}\}}", "equations": rf"x={a} \text{{ or }} x={b} \text{{ or }} x={c}",
            "semicolons": f"{a}; {b}; {c}", "list": f"[{a}, {b}, {c}]",
        },
        unequal={
            "missing": rf"\{{{a}, {b}\}}", "extra": rf"\{{{a}, {b}, {c}, 77\}}",
            "changed": rf"\{{{a}, {b}, {c + 100}\}}", "one": str(a), "sum": str(a + b + c + 1000),
            "sign": rf"\{{{a}, {b}, {-c - 200}\}}", "empty": r"\emptyset", "reals": r"\mathbb{R}",
            "interval": f"[{min(a, b, c)}, {max(a, b, c)}]", "dots": rf"{a}, {b}, \ldots",
        },
    )  # fmt: skip


def interval(source: random.Random) -> Draw:
    a = source.randrange(-40, 39)
    b = source.randrange(a + 1, 60)
    return Draw(
        gold=f"[{a}, {b})",
        equal={
            "left right": rf"\left[{a}, {b}\right)", "chain": rf"{a} \le x < {b}", "member": rf"x \in [{a}, {b})",
            "reversed chain": rf"{b} > x \ge {a}", "french": f"[{a}, {b}[",
            "and": rf"x \ge {a} \text{{ and }} x < {b}", "union": rf"[{a}, {a + 0.5}) \cup [{a + 0.5}, {b})",
            "minus": rf"[{a}, {b}] \setminus \{{{b}\}}", "named": f"D = [{a}, {b})",
            "builder": rf"\{{x \mid {a} \le x < {b}\}}",
        },
        unequal={
            "open": f"({a}, {b})", "closed": f"[{a}, {b}]", "flipped": f"({a}, {b}]", "low": f"[{a - 1}, {b})",
            "high": f"[{a}, {b + 1})", "swapped": f"[{b}, {a})", "ray": rf"[{a}, \infty)",
            "strict": rf"{a} < x < {b}", "outside": rf"x < {a} \text{{ or }} x \ge {b}", "end": str(a),
        },
    )  # fmt: skip


def line(source: random.Random) -> Draw:
    a, b, c = (
        source.randrange(1, 9),
        source.choice([value for value in range(-9, 10) if value]),
        source.randrange(1, 20),
    )
    slope, shift = Fraction(-a, b), Fraction(c, b)
    y = f"{fraction_text(slope)} x + {fraction_text(shift)}"
    return Draw(
        gold=f"{a}x + {b}y = {c}".replace("+ -", "- "),
        equal={
            "zero": f"{a}x + ({b})y - {c} = 0", "scaled": f"{3 * a}x + ({3 * b})y = {3 * c}",
            "negated": f"-{a}x - ({b})y = -{c}", "solved": f"y = {y}", "flipped": f"{c} = {a}x + ({b})y",
            "order": f"({b})y + {a}x = {c}", "half": rf"\frac{{{a}x + ({b})y}}{{2}} = \frac{{{c}}}{{2}}",
            "moved": f"{a}x = {c} - ({b})y", "starred": f"{a}*x + ({b})*y = {c}",
            "unequal sides": f"{a}x + ({b})y + 1 = {c + 1}",
        },
        unequal={
            "constant": f"{a}x + ({b})y = {c + 1}", "slope": f"{a + 1}x + ({b})y = {c}",
            "sign": f"{a}x - ({b})y = {c}", "right side": str(c), "zero": "0", "variable": "x = 1",
            "left side": f"{a}x + ({b})y", "inequality": rf"{a}x + ({b})y \le {c}",
            "swapped": f"{c}x + ({b + 30})y = {a}", "power": f"{a}x^2 + ({b})y = {c}",
        },
    )  # fmt: skip


def polynomial(source: random.Random) -> Draw:
    p, q = source.sample([value for value in range(-12, 13) if value], 2)
    s, t = p + q, p * q
    gold = f"x^2 + ({s})x + ({t})"
    return Draw(
        gold=gold,
        equal={
            "factored": f"(x + ({p}))(x + ({q}))", "other order": f"({t}) + ({s})x + x^2",
            "starred": f"x*x + ({s})*x + ({t})", "double star": f"x**2 + ({s})*x + ({t})",
            "square": rf"\left(x + \frac{{{s}}}{{2}}\right)^2 + ({t}) - \frac{{{s * s}}}{{4}}",
            "named": f"f(x) = {gold}", "minus": f"-(-x^2 - ({s})x - ({t}))", "nested": f"x(x + ({s})) + ({t})",
            "unicode": f"x² + ({s})x + ({t})", "quotient": rf"\frac{{2x^2 + ({2 * s})x + ({2 * t})}}{{2}}",
        },
        unequal={
            "constant": f"x^2 + ({s})x + ({t + 1})", "linear": f"x^2 + ({s + 1})x + ({t})",
            "sign": f"x^2 - ({s + 50})x + ({t})", "root sign": f"(x - ({p + 40}))(x + ({q}))",
            "cube": f"x^3 + ({s})x + ({t})", "equation": f"{gold} = 0", "value": str(t),
            "variable": f"y^2 + ({s})y + ({t})", "scaled": f"2x^2 + ({2 * s})x + ({2 * t})",
            "missing": f"x^2 + ({t})" if s else "x^2 + x",
        },
    )  # fmt: skip


def complex_number(source: random.Random) -> Draw:
    a, b = source.sample(range(2, 30), 2)
    return Draw(
        gold=f"{a} + {b}i",
        equal={
            "order": f"{b}i + {a}", "roman": rf"{a} + {b}\mathrm{{i}}", "tight": f"{a}+{b}i",
            "named": f"z = {a}+{b}i", "conjugate": rf"\overline{{{a}-{b}i}}", "product": f"i({b} - {a}i)",
            "negated": f"-(-{a} - {b}i)", "root": rf"{a} + {b}\sqrt{{-1}}",
            "quotient": rf"\frac{{{2 * a}+{2 * b}i}}{{2}}", "dot": rf"{a} + {b} \cdot i",
        },
        unequal={
            "conjugate": f"{a} - {b}i", "swapped": f"{b} + {a}i", "real": str(a), "imaginary": f"{b}i",
            "modulus": rf"\sqrt{{{a * a + b * b}}}", "pair": f"({a}, {b})", "sign": f"-{a} + {b}i",
            "no unit": f"{a} + {b}", "square": f"({a} + {b}i)^2", "off": f"{a + 1} + {b}i",
        },
    )  # fmt: skip


def based(source: random.Random) -> Draw:
    base, n = source.choice((2, 3, 5, 8)), source.randrange(60, 900)
    digits = ""
    rest = n
    while rest:
        rest, digit = divmod(rest, base)
        digits = str(digit) + digits
    last = str((int(digits[-1]) + 1) % base)
    return Draw(
        gold=f"{digits}_{base}",
        equal={
            "braces": f"{digits}_{{{base}}}", "parentheses": f"({digits})_{{{base}}}", "no base": digits,
            "text base": rf"{digits}_{{\text{{{base}}}}}", "leading zero": f"0{digits}_{{{base}}}",
            "text": rf"\text{{{digits}}}_{{{base}}}", "roman": rf"\mathrm{{{digits}}}_{{{base}}}",
            "words": f"{digits} base {base}", "inner parentheses": f"{digits}_{{({base})}}",
            "spaced": f"{digits} _{{{base}}}",
        },
        unequal={
            "other base": f"{digits}_{{{base + 1}}}", "last digit": f"{digits[:-1]}{last}_{{{base}}}",
            "decimal": str(n + 10**7), "ten": f"{digits}_{{10}}", "longer": f"{digits}0_{{{base}}}",
            "sixteen": f"{digits}_{{16}}", "shorter": f"{digits[:-1]}_{{{base}}}", "sign": f"-{digits}_{{{base}}}",
            "prefixed": f"1{digits}_{{{base}}}", "symbol": f"x_{{{base}}}",
        },
    )  # fmt: skip


TYPES: Mapping[str, Callable[[random.Random], Draw]] = MappingProxyType(
    {
        "integer": integer, "rational": rational, "radical": radical, "percent": percent, "quantity": quantity,
        "pair": pair, "solutions": solutions, "interval": interval, "line": line, "polynomial": polynomial,
        "complex": complex_number, "based": based, "mixed": words.mixed, "scientific": words.scientific,
        "inequality": words.inequality, "matrix": words.matrix, "date": words.date, "clock": words.clock,
        "weekday": words.weekday, "ratio": more.ratio, "angle": more.angle, "function": more.function,
        "choice": more.choice, "truth": more.truth, "nothing": more.nothing,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One response to a drawn gold; `equal` says whether it must be accepted."""

    type: str
    kind: str
    gold: str
    response: str
    equal: bool


def trials(seed: int, draws: int) -> Iterator[Trial]:
    """For every draw: each of its forms once, in a wrapper chosen at random. The same trials for the same seed."""
    source = random.Random(f"verigold metamorphic {seed}")
    names = sorted(TYPES)
    for index in range(draws):
        name = names[index % len(names)]
        draw = TYPES[name](source)
        for equal, forms in ((True, draw.equal), (False, draw.unequal)):
            for kind, form in forms.items():
                response = source.choice(WRAPPERS).replace("%s", form)
                yield Trial(type=name, kind=kind, gold=draw.gold, response=response, equal=equal)
