"""Forms of formulas: radicals, complex numbers, polynomials, expressions, functions, equations and inequalities."""

from __future__ import annotations

import random
import re
from fractions import Fraction

from verifiers.metamorphic_draw import Draw, fraction_text


def radical(source: random.Random) -> Draw:
    k, r = source.randrange(2, 12), source.choice((2, 3, 5, 6, 7, 10, 11, 13))
    gold, root = rf"{k}\sqrt{{{r}}}", rf"\sqrt{{{r}}}"
    return Draw(
        gold=gold,
        equal={
            "one root": rf"\sqrt{{{k**2 * r}}}", "plain": f"{k}*sqrt({r})", "sign": f"{k}√{r}",
            "power": rf"{k} \cdot {r}^{{1/2}}", "decimal power": rf"{k} \cdot {r}^{{0.5}}",
            "rationalised": rf"\frac{{{k * r}}}{{{root}}}", "order": rf"{root} \cdot {k}",
            "split": rf"{k - 1}{root} + {root}", "fourth root": rf"{k}\sqrt[4]{{{r**2}}}",
            "approximation": rf"{gold} \approx {k * r**0.5:.2f}", "name": rf"d = {gold}",
            "brackets": rf"{k}\left({root}\right)", "times": rf"{k} \times {root}", "dot": rf"{k} \cdot {root}",
            "unit": rf"{gold} \text{{ cm}}", "half of double": rf"\frac{{{2 * k}{root}}}{{2}}",
            "frac power": rf"{k} \cdot {r}^{{\frac{{1}}{{2}}}}", "negated": rf"-(-{gold})",
            "root of root": rf"{k}\sqrt{{\sqrt{{{r**2}}}}}", "scaled root": rf"\frac{{{k}}}{{3}}\sqrt{{{9 * r}}}",
            "chain": rf"\sqrt{{{k**2 * r}}} = {gold}", "negative power": rf"{k * r} \cdot {r}^{{-1/2}}",
            "difference": rf"{k + 2}{root} - 2{root}", "product of roots": rf"\sqrt{{{k**2}}}\sqrt{{{r}}}",
            "spaced": rf"{k} \, {root}",
        },
        unequal={
            "factor": rf"{k + 1}{root}", "inside": rf"{k}\sqrt{{{r + 1}}}", "cube root": rf"{k}\sqrt[3]{{{r}}}",
            "swapped": rf"{r}\sqrt{{{k + 15}}}", "rounded": f"{k * r**0.5:.3f}", "sign": rf"-{gold}",
            "square": str(k**2 * r), "merged": rf"\sqrt{{{k * r + 1}}}", "product": str(k * r), "plus": rf"{k}+{root}",
            "root only": root, "factor only": str(k), "inverse": rf"\frac{{1}}{{{gold}}}",
            "halved": rf"\frac{{{gold}}}{{2}}", "lost root": f"{k} \\cdot {r}",
            "root of all": rf"\sqrt{{{k + r + 30}}}", "plus minus": rf"\pm {gold}",
            "two": rf"{gold} \text{{ or }} {k + 1}{root}", "variable": rf"{gold} x", "bound": rf"x \le {gold}",
            "difference": rf"{k} - {root}", "squared inside": rf"{k}\sqrt{{{r**2}}}",
            "factor inside": rf"\sqrt{{{k}}} \cdot {r + 40}", "pair": f"({k}, {r})", "complex": rf"{k}\sqrt{{-{r}}}",
            "rounded whole": str(round(k * r**0.5)), "one decimal": f"{k * r**0.5:.1f}",
        },
    )  # fmt: skip


def complex_number(source: random.Random) -> Draw:
    a, b = source.sample(range(2, 30), 2)
    return Draw(
        gold=f"{a} + {b}i",
        equal={
            "order": f"{b}i + {a}", "roman": rf"{a} + {b}\mathrm{{i}}", "tight": f"{a}+{b}i", "named": f"z = {a}+{b}i",
            "conjugate": rf"\overline{{{a}-{b}i}}", "product": f"i({b} - {a}i)", "negated": f"-(-{a} - {b}i)",
            "root": rf"{a} + {b}\sqrt{{-1}}", "quotient": rf"\frac{{{2 * a}+{2 * b}i}}{{2}}",
            "dot": rf"{a} + {b} \cdot i", "starred": f"{a} + {b}*i", "front": f"{a} + i{b}",
            "brackets": rf"\left({a} + {b}i\right)", "points": f"{a}.0 + {b}.0i",
            "split": f"{a - 1} + {b - 1}i + 1 + i", "square of i": f"{a} - {b}i^3", "minus i": f"{a} - {b}(-i)",
            "over i": rf"\frac{{{a}i - {b}}}{{i}}", "fourth power": f"{a}i^4 + {b}i",
            "polar unit": rf"{a} + {b}e^{{i\pi/2}}", "text i": rf"{a} + {b}\text{{i}}",
            "inverse of i": rf"{a} - \frac{{{b}}}{{i}}",
            "twice half": rf"2\left(\frac{{{a}}}{{2}} + \frac{{{b}}}{{2}}i\right)",
            "chain": rf"z = ({a - 1} + {b}i) + 1 = {a} + {b}i", "real part first": rf"({a}) + ({b})i",
        },
        unequal={
            "conjugate": f"{a} - {b}i", "swapped": f"{b} + {a}i", "real": str(a), "imaginary": f"{b}i",
            "modulus": rf"\sqrt{{{a * a + b * b}}}", "pair": f"({a}, {b})", "sign": f"-{a} + {b}i",
            "no unit": f"{a} + {b}", "square": f"({a} + {b}i)^2", "off": f"{a + 1} + {b}i",
            "off imaginary": f"{a} + {b + 1}i", "negative": f"-{a} - {b}i", "times i": f"i({a} + {b}i)",
            "sum": str(a + b), "no real": f"{a}i + {b}i", "inverse": rf"\frac{{1}}{{{a} + {b}i}}",
            "both": rf"{a} \pm {b}i", "two": rf"{a} + {b}i \text{{ or }} {a} - {b}i", "doubled": f"{2 * a} + {2 * b}i",
            "halved": rf"\frac{{{a} + {b}i}}{{2}}", "modulus squared": str(a * a + b * b),
            "over bar": rf"\overline{{{a} + {b}i}}", "square of i": f"{a} + {b}i^2", "variable": f"{a} + {b}x",
            "near": f"{a}.01 + {b}i", "set": rf"\{{{a}, {b}i\}}",
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
            "factors swapped": f"(x + ({q}))(x + ({p}))", "dotted": rf"x^{{2}} + ({s}) \cdot x + ({t})",
            "brackets": rf"\left({gold}\right)", "bar of factors": rf"(x - ({-p})) \cdot (x - ({-q}))",
            "split middle": f"x^2 + ({p})x + ({q})x + ({t})", "zero": f"{gold} + 0",
            "divided": rf"\frac{{x^3 + ({s})x^2 + ({t})x}}{{x}}",
            "halves": rf"\frac{{1}}{{2}}\left(2x^2 + ({2 * s})x + ({2 * t})\right)",
            "chain": f"y = (x + ({p}))(x + ({q})) = {gold}", "points": f"1.0x^2 + ({s}.0)x + ({t})",
            "shift": f"(x + 1)^2 + ({s - 2})x + ({t - 1})", "negated factors": f"(-x - ({p}))(-x - ({q}))",
            "one": rf"1 \cdot x^2 + ({s})x + ({t})", "times sign": rf"(x + ({p})) \times (x + ({q}))",
            "braced": f"{{x}}^{{2}} + ({s}){{x}} + ({t})",
        },
        unequal={
            "constant": f"x^2 + ({s})x + ({t + 1})", "linear": f"x^2 + ({s + 1})x + ({t})",
            "sign": f"x^2 - ({s + 50})x + ({t})", "root sign": f"(x - ({p + 40}))(x + ({q}))",
            "cube": f"x^3 + ({s})x + ({t})", "equation": f"{gold} = 0", "value": str(t),
            "variable": f"y^2 + ({s})y + ({t})", "scaled": f"2x^2 + ({2 * s})x + ({2 * t})",
            "missing": f"x^2 + ({t})" if s else "x^2 + x", "negated": f"-({gold})", "constant lost": f"x^2 + ({s})x",
            "factor": f"(x + ({p}))(x + ({q + 1}))", "one factor": f"(x + ({p}))",
            "square of sum": f"(x + ({p + q}))^2", "derivative": f"2x + ({s})", "plus x": f"{gold} + x",
            "constant sign": f"x^2 + ({s})x - ({t})", "leading sign": f"-x^2 + ({s})x + ({t})",
            "roots": rf"x = {-p} \text{{ or }} x = {-q}", "root": f"x = {-p}", "fourth": f"x^4 + ({s})x^2 + ({t})",
            "inverse": rf"\frac{{1}}{{{gold}}}", "at two": str(4 + 2 * s + t), "bound": rf"{gold} \ge 0",
            "two": rf"{gold} \text{{ or }} x^2 + ({t})x + ({s + 99})", "pair": f"({s}, {t})",
            "near": f"x^2 + ({s})x + ({t}) + 0.001",
        },
    )  # fmt: skip


def expression(source: random.Random) -> Draw:
    """A quotient in two symbols."""
    a, b, c = source.sample(range(2, 15), 3)
    gold = rf"\frac{{{a}x + {b}y}}{{{c}}}"
    return Draw(
        gold=gold,
        equal={
            "slash": f"({a}x + {b}y)/{c}", "order": rf"\frac{{{b}y + {a}x}}{{{c}}}",
            "split": rf"\frac{{{a}x}}{{{c}}} + \frac{{{b}y}}{{{c}}}",
            "coefficients": rf"\frac{{{a}}}{{{c}}}x + \frac{{{b}}}{{{c}}}y",
            "front": rf"\frac{{1}}{{{c}}}({a}x + {b}y)", "scaled": rf"\frac{{{2 * a}x + {2 * b}y}}{{{2 * c}}}",
            "starred": f"({a}*x + {b}*y)/{c}", "display": rf"\dfrac{{{a}x + {b}y}}{{{c}}}",
            "minus": rf"-\frac{{-{a}x - {b}y}}{{{c}}}", "lower sign": rf"\frac{{-{a}x - {b}y}}{{-{c}}}",
            "negative power": rf"({a}x + {b}y) \cdot {c}^{{-1}}", "named": rf"E = {gold}",
            "brackets": rf"\left({gold}\right)", "power": rf"\left({gold}\right)^1",
            "division": rf"({a}x + {b}y) \div {c}", "over": rf"{{{a}x + {b}y \over {c}}}",
            "times x": rf"\frac{{{a}x^2 + {b}xy}}{{{c}x}}",
            "nested": rf"\frac{{x + \frac{{{b}}}{{{a}}}y}}{{\frac{{{c}}}{{{a}}}}}",
            "added and taken": rf"{gold} + z - z", "dots": rf"\frac{{{a} \cdot x + {b} \cdot y}}{{{c}}}",
            "small": rf"\tfrac{{{a}x + {b}y}}{{{c}}}", "split sum": rf"\frac{{{a - 1}x + x + {b}y}}{{{c}}}",
            "chain": rf"E = \frac{{{a}x}}{{{c}}} + \frac{{{b}y}}{{{c}}} = {gold}",
            "square difference": rf"\frac{{({a}x)^2 - ({b}y)^2}}{{{c}({a}x - {b}y)}}",
            "back fraction": rf"\frac{{{a}x+{b}y}}{c if c < 10 else f'{{{c}}}'}",
        },
        unequal={
            "sign": rf"\frac{{{a}x - {b}y}}{{{c}}}", "negated": rf"-{gold}",
            "swapped symbols": rf"\frac{{{b}x + {a}y}}{{{c}}}", "bottom": rf"\frac{{{a}x + {b}y}}{{{c + 1}}}",
            "top": rf"\frac{{{a + 1}x + {b}y}}{{{c}}}", "lost brackets": rf"{a}x + \frac{{{b}y}}{{{c}}}",
            "lost others": rf"\frac{{{a}x}}{{{c}}} + {b}y", "inverse": rf"\frac{{{c}}}{{{a}x + {b}y}}",
            "no bottom": f"{a}x + {b}y", "product": rf"\frac{{{a * b}xy}}{{{c}}}",
            "symbol": rf"\frac{{{a}x + {b}z}}{{{c}}}", "square": rf"\frac{{{a}x^2 + {b}y}}{{{c}}}",
            "one symbol": rf"\frac{{{a}x}}{{{c}}}", "other symbol": rf"\frac{{{b}y}}{{{c}}}",
            "constant": rf"{gold} + 1", "equation": rf"{gold} = 0", "number": str(a + b), "doubled": rf"2 \cdot {gold}",
            "halved": rf"\frac{{{a}x + {b}y}}{{{2 * c}}}", "root": rf"\sqrt{{{gold}}}", "bound": rf"{gold} \ge 0",
            "subscript": rf"\frac{{{a}x_1 + {b}y}}{{{c}}}", "two": rf"{gold} \text{{ or }} \frac{{{a}x - {b}y}}{{{c}}}",
            "pair": rf"\left(\frac{{{a}x}}{{{c}}}, \frac{{{b}y}}{{{c}}}\right)",
            "same symbol": rf"\frac{{{a + b}x}}{{{c}}}", "near": rf"{gold} + 0.001",
        },
    )  # fmt: skip


def function(source: random.Random) -> Draw:
    a, b, c = source.randrange(2, 12), source.randrange(1, 15), source.randrange(1, 20)
    body = f"{a}x^2 + {b}x + {c}"
    return Draw(
        gold=f"f(x) = {body}",
        equal={
            "body": body, "order": f"f(x) = {c} + {b}x + {a}x^2", "y": f"y = {body}",
            "starred": f"{a}*x**2 + {b}*x + {c}", "nested": f"f(x) = x({a}x + {b}) + {c}",
            "unicode": f"f(x) = {a}x² + {b}x + {c}", "left right": rf"f\left(x\right) = {body}",
            "spaced": rf"f(x)\;=\;{body}", "halves": rf"f(x) = \frac{{{2 * a}x^2 + {2 * b}x + {2 * c}}}{{2}}",
            "minus": f"f(x) = -(-{a}x^2 - {b}x - {c})", "other symbol": f"f(t) = {a}t^2 + {b}t + {c}",
            "tight": f"f(x)={a}x^2+{b}x+{c}", "dots": rf"f(x) = {a} \cdot x^2 + {b} \cdot x + {c}",
            "braces": f"f(x) = {a}x^{{2}} + {b}x + {c}", "body brackets": rf"f(x) = \left({body}\right)",
            "other letter": f"f(n) = {a}n^2 + {b}n + {c}", "product": f"f(x) = {a}xx + {b}x + {c}",
            "chain": f"f(x) = x({a}x + {b}) + {c} = {body}",
            "shifted": f"f(x) = {a}(x+1)^2 + {b - 2 * a}x + {c - a}".replace("+ -", "- "),
            "body order": f"{c} + {b}x + {a}x^2", "double star": f"f(x) = {a}*x**2 + {b}*x + {c}",
            "zero": f"f(x) = {body} + 0", "points": f"f(x) = {a}.0x^2 + {b}x + {c}", "one": rf"f(x) = 1 \cdot ({body})",
        },
        unequal={
            "constant": f"f(x) = {a}x^2 + {b}x + {c + 1}", "linear": f"f(x) = {a}x^2 + {b + 1}x + {c}",
            "lead": f"f(x) = {a + 1}x^2 + {b}x + {c}", "sign": f"f(x) = {a}x^2 - {b}x + {c}",
            "negated": f"f(x) = -({body})", "cube": f"f(x) = {a}x^3 + {b}x + {c}", "value": str(c), "name only": "f(x)",
            "missing": f"f(x) = {a}x^2 + {c}", "zero": f"{body} = 0", "body constant": f"{a}x^2 + {b}x + {c + 1}",
            "derivative": f"f'(x) = {2 * a}x + {b}", "no constant": f"f(x) = {a}x^2 + {b}x",
            "constant sign": f"f(x) = {a}x^2 + {b}x - {c}", "only lead": f"f(x) = {a}x^2",
            "doubled": f"f(x) = {2 * a}x^2 + {2 * b}x + {2 * c}", "half": rf"f(x) = \frac{{{body}}}{{2}}",
            "inverse": rf"f(x) = \frac{{1}}{{{body}}}", "shifted": f"f(x) = {a}(x+1)^2 + {b}(x+1) + {c}",
            "wrong symbol": f"f(x) = {a}t^2 + {b}t + {c}", "body sign": f"{a}x^2 - {b}x + {c}",
            "constant function": f"f(x) = {c}", "bound": rf"f(x) \ge {c}",
            "two": rf"f(x) = {body} \text{{ or }} f(x) = {a}x^2", "root": rf"f(x) = \sqrt{{{body}}}",
            "near": f"f(x) = {body} + 0.001",
        },
    )  # fmt: skip


def line(source: random.Random) -> Draw:
    """An equation in two unknowns."""
    a, b, c = (
        source.randrange(1, 9),
        source.choice([value for value in range(-9, 10) if value]),
        source.randrange(1, 20),
    )
    slope, shift = Fraction(-a, b), Fraction(c, b)
    y, left = f"{fraction_text(slope)} x + {fraction_text(shift)}", f"{a}x + ({b})y"
    return Draw(
        gold=f"{a}x + {b}y = {c}".replace("+ -", "- "),
        equal={
            "zero": f"{left} - {c} = 0", "scaled": f"{3 * a}x + ({3 * b})y = {3 * c}",
            "negated": f"-{a}x - ({b})y = -{c}", "solved": f"y = {y}", "flipped": f"{c} = {left}",
            "order": f"({b})y + {a}x = {c}", "half": rf"\frac{{{left}}}{{2}} = \frac{{{c}}}{{2}}",
            "moved": f"{a}x = {c} - ({b})y", "starred": f"{a}*x + ({b})*y = {c}",
            "unequal sides": f"{left} + 1 = {c + 1}", "zero first": f"0 = {left} - {c}",
            "y first": f"({b})y = {c} - {a}x", "solved for x": rf"x = \frac{{{c} - ({b})y}}{{{a}}}",
            "points": f"{a}.0x + ({b})y = {c}.0", "dots": rf"{a} \cdot x + ({b}) \cdot y = {c}",
            "tenth": rf"{a / 10}x + ({b / 10})y = {c / 10}", "both sides": f"{a + 1}x + ({b})y = {c} + x",
            "point slope": rf"y - ({fraction_text(shift)}) = {fraction_text(slope)}(x - 0)",
            "negated zero": f"{c} - {a}x - ({b})y = 0", "brackets": rf"\left({left}\right) = {c}",
            "tight": f"{a}x+({b})y={c}", "label": rf"\ell: {left} = {c}",
            "y with slope": rf"y = \frac{{-{a}x + {c}}}{{{b}}}",
            "scaled by root": rf"\sqrt{{2}}({left}) = {c}\sqrt{{2}}", "ratio form": rf"\frac{{{left}}}{{{c}}} = 1",
        },
        unequal={
            "constant": f"{left} = {c + 1}", "slope": f"{a + 1}x + ({b})y = {c}", "sign": f"{a}x - ({b})y = {c}",
            "right side": str(c), "zero": "0", "variable": "x = 1", "left side": left, "inequality": rf"{left} \le {c}",
            "swapped": f"{c}x + ({b + 30})y = {a}", "power": f"{a}x^2 + ({b})y = {c}", "right sign": f"{left} = -{c}",
            "zero right": f"{left} = 0", "strict": f"{left} < {c}", "not equal": rf"{left} \ne {c}",
            "solved sign": f"y = {fraction_text(-slope)} x + {fraction_text(shift)}",
            "solved shift": f"y = {fraction_text(slope)} x + {fraction_text(shift + 1)}",
            "doubled left": f"{2 * a}x + ({2 * b})y = {c}", "doubled right": f"{left} = {2 * c}",
            "y power": f"{a}x + ({b})y^2 = {c}", "product": f"{a}x({b})y = {c}", "no y": f"{a}x = {c}",
            "no x": f"({b})y = {c}", "other unknown": f"{a}x + ({b})z = {c}",
            "two": rf"{left} = {c} \text{{ or }} {left} = {c + 1}", "identity": f"{left} = {left}",
            "point": f"({a}, {b})", "slope only": fraction_text(slope),
        },
    )  # fmt: skip


def inequality(source: random.Random) -> Draw:
    return of_bound("x", ">", source.randrange(-30, 30))


FLIPPED = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le"}
OTHER_STRICT = {"<": r"\le", ">": r"\ge", r"\le": "<", r"\ge": ">"}
SIGNS = {"<": "<", ">": ">", r"\le": "≤", r"\ge": "≥"}
COMMANDS = {"<": r"\lt", ">": r"\gt", r"\le": r"\leqslant", r"\ge": r"\geqslant"}


def of_bound(x: str, op: str, n: int, gold: str | None = None) -> Draw:
    """x: one letter; op: one of the keys of FLIPPED."""
    other = "w" if x != "w" else "u"
    flip, upper, closed = FLIPPED[op], op in (">", r"\ge"), op in (r"\le", r"\ge")
    left, right = ("[" if closed else "("), ("]" if closed else ")")
    ray = rf"{left}{n}, \infty)" if upper else rf"(-\infty, {n}{right}"
    other_ray = rf"(-\infty, {n}{right}" if upper else rf"{left}{n}, \infty)"
    changed = rf"{'(' if closed else '['}{n}, \infty)" if upper else rf"(-\infty, {n}{')' if closed else ']'}"
    sized = re.sub(r"([\[(])(.*)([\])])", r"\\left\1\2\\right\3", ray)
    equal = {
        "plain": f"{x} {op} {n}", "tight": f"{x}{op} {n}", "flipped": f"{n} {flip} {x}", "interval": ray,
        "left right": sized, "command": rf"{x} {COMMANDS[op]} {n}", "scaled": f"2{x} {op} {2 * n}",
        "negated": f"-{x} {flip} {-n}", "member": rf"{x} \in {ray}", "builder": rf"\{{{x} \mid {x} {op} {n}\}}",
        "shifted": f"{x} - ({n}) {op} 0", "unicode ray": ray.replace(r"\infty", "∞"), "sign": f"{x} {SIGNS[op]} {n}",
        "point": f"{x} {op} {n}.0", "half": rf"\frac{{{x}}}{{2}} {op} \frac{{{n}}}{{2}}",
        "zero side": f"0 {op} {n} - {x}", "plus one": f"{x} + 1 {op} {n + 1}",
        "colon builder": rf"\{{{x} : {x} {op} {n}\}}",
        "member of reals": rf"\{{{x} \in \mathbb{{R}} \mid {x} {op} {n}\}}",
        "three": f"3{x} - {3 * n} {op} 0".replace("- -", "+ "), "fraction bound": rf"{x} {op} \frac{{{2 * n}}}{{2}}",
        "flipped sign": f"{n} {SIGNS[flip]} {x}", "both sides": f"2{x} {op} {x} + ({n})", "brackets": f"({x}) {op} {n}",
        "signed infinity": ray.replace(r", \infty", r", +\infty"), "negated zero": f"{n} - {x} {flip} 0",
    }  # fmt: skip
    unequal = {
        "direction": f"{x} {flip} {n}", "strictness": f"{x} {OTHER_STRICT[op]} {n}", "strict interval": changed,
        "bound": f"{x} {op} {n + 1}", "bound below": f"{x} {op} {n - 1}", "other ray": other_ray, "equal": f"{x} = {n}",
        "number": str(n), "bounded": f"[{n}, {n + 10}]", "not equal": rf"{x} \ne {n}", "flipped wrong": f"{n} {op} {x}",
        "scaled bound": f"2{x} {op} {2 * n + 1}", "negated wrong": f"-{x} {op} {-n}", "reals": r"\mathbb{R}",
        "nothing": r"\emptyset", "infinite": r"\infty", "bound sign": f"{x} {op} {-n - 1}",
        "ray of next": ray.replace(str(n), str(n + 3)), "absolute": f"|{x}| {op} {abs(n) + 1}",
        "square": f"{x}^2 {op} {abs(n) + 2}", "shifted wrong": f"{x} + ({n + 2}) {op} 0" if n != -1 else f"{x} {op} 7",
        "chain": f"{n} < {x} < {n + 5}", "near": f"{x} {op} {n}.01", "pair": f"({n}, {n + 1})",
        "two rays": rf"{x} < {n} \text{{ or }} {x} > {n}", "other unknown bound": f"{x} {op} {n} + {other}",
        "tenfold": f"{x} {op} {10 * n + 3}",
    }  # fmt: skip
    return Draw(gold=gold or f"{x} {op} {n}", equal=equal, unequal=unequal)
