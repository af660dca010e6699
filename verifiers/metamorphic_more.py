"""More answer types for `metamorphic`: ratios, angles, functions, choices, truth values and nothing at all."""

from __future__ import annotations

import random
from fractions import Fraction

from verifiers.metamorphic_draw import Draw, fraction_text

LETTERS = "ABCDE"


def ratio(source: random.Random) -> Draw:
    a, b = source.choice(((2, 3), (3, 4), (3, 5), (5, 7), (4, 9), (7, 8), (5, 11), (9, 4)))
    factor = source.randrange(2, 9)
    return Draw(
        gold=f"{a}:{b}",
        equal={
            "spaced": f"{a} : {b}", "unreduced": f"{factor * a}:{factor * b}", "to": rf"{a} \text{{ to }} {b}",
            "plain to": f"{a} to {b}", "colon": rf"{a} \colon {b}", "fraction": rf"\frac{{{a}}}{{{b}}}",
            "slash": f"{a}/{b}", "wide": f"{a}：{b}", "text": rf"\text{{{a}:{b}}}", "thin": rf"{a}\,:\,{b}",
            "halves": rf"\frac{{{a}}}{{2}} : \frac{{{b}}}{{2}}",
        },
        unequal={
            "inverse": f"{b}:{a}", "first": f"{a + b}:{b}", "second": f"{a}:{a + b}", "three": f"{a}:{b}:1",
            "one": str(a), "pair": f"({a}, {b})", "sum": f"{a}+{b}", "inverse fraction": rf"\frac{{{b}}}{{{a}}}",
            "sign": f"-{a}:{b}", "scaled one": f"{factor * a}:{b}",
            "two": rf"{a}:{b} \text{{ or }} {b}:{a}", "percent": rf"{a}{b}\%",
        },
    )  # fmt: skip


def angle(source: random.Random) -> Draw:
    n = source.choice([value for value in range(4, 176) if value != 90])
    radians = Fraction(n, 180)
    pi = rf"{fraction_text(radians)}\pi" if radians.denominator > 1 else rf"{radians.numerator}\pi"
    return Draw(
        gold=rf"{n}^\circ",
        equal={
            "braces": rf"{n}^{{\circ}}", "sign": f"{n}°", "words": f"{n} degrees", "text": rf"{n} \text{{ degrees}}",
            "bare": str(n), "point": rf"{n}.0^\circ", "command": rf"{n} \degree", "radians": rf"{pi} \text{{ radians}}",
            "named": rf"\theta = {n}^\circ", "angle": rf"\angle ABC = {n}^\circ", "sum": rf"{n - 3}^\circ + 3^\circ",
        },
        unequal={
            "off by one": rf"{n + 1}^\circ", "supplement": rf"{180 - n}^\circ", "sign": rf"-{n}^\circ",
            "turned": rf"{n + 360}^\circ", "near": rf"{n}.5^\circ", "wrong radians": rf"{n}\pi \text{{ radians}}",
            "unit": rf"{n} \text{{ cm}}", "sine": rf"\sin {n}^\circ", "half": rf"\frac{{{n}}}{{2}}^\circ",
            "two": rf"{n}^\circ \text{{ or }} {180 - n}^\circ", "ten": rf"{n}0^\circ",
            "tenth": rf"{n / 10}^\circ",
        },
    )  # fmt: skip


def function(source: random.Random) -> Draw:
    a, b, c = source.randrange(2, 12), source.randrange(1, 15), source.randrange(1, 20)
    body = f"{a}x^2 + {b}x + {c}"
    return Draw(
        gold=f"f(x) = {body}",
        equal={
            "body": body, "order": f"f(x) = {c} + {b}x + {a}x^2", "y": f"y = {body}",
            "starred": f"{a}*x**2 + {b}*x + {c}",
            "nested": f"f(x) = x({a}x + {b}) + {c}", "unicode": f"f(x) = {a}x² + {b}x + {c}",
            "left right": rf"f\left(x\right) = {body}", "spaced": rf"f(x)\;=\;{body}",
            "halves": rf"f(x) = \frac{{{2 * a}x^2 + {2 * b}x + {2 * c}}}{{2}}",
            "minus": f"f(x) = -(-{a}x^2 - {b}x - {c})", "other symbol": f"f(t) = {a}t^2 + {b}t + {c}",
        },
        unequal={
            "constant": f"f(x) = {a}x^2 + {b}x + {c + 1}", "linear": f"f(x) = {a}x^2 + {b + 1}x + {c}",
            "lead": f"f(x) = {a + 1}x^2 + {b}x + {c}", "sign": f"f(x) = {a}x^2 - {b}x + {c}",
            "negated": f"f(x) = -({body})", "cube": f"f(x) = {a}x^3 + {b}x + {c}", "value": str(c),
            "name only": "f(x)", "missing": f"f(x) = {a}x^2 + {c}", "zero": f"{body} = 0",
            "body constant": f"{a}x^2 + {b}x + {c + 1}", "derivative": f"f'(x) = {2 * a}x + {b}",
        },
    )  # fmt: skip


def choice(source: random.Random) -> Draw:
    letter, other = source.sample(LETTERS, 2)
    value = source.randrange(10, 500)
    return Draw(
        gold=letter,
        equal={
            "parentheses": f"({letter})", "stop": f"{letter}.", "text": rf"\text{{{letter}}}",
            "text parentheses": rf"\text{{({letter})}}", "bold": rf"\textbf{{({letter})}}",
            "roman": rf"\mathrm{{{letter}}}", "value": rf"\text{{({letter}) }} {value}", "half": f"{letter})",
            "option": rf"\text{{Option {letter}}}", "bold letter": rf"\mathbf{{{letter}}}",
            "bracket": f"[{letter}]",
        },
        unequal={
            "other": other, "other parentheses": f"({other})", "two": f"{letter}, {other}",
            "or": rf"\text{{{letter} or {other}}}", "other text": rf"\text{{{other}}}",
            "other value": rf"\text{{({other}) }} {value}", "number": str(value), "none": r"\text{none of these}",
            "pair": f"({letter}, {other})", "all": "A, B, C, D, E", "option": rf"\text{{Option {other}}}",
            "not": rf"\text{{not {letter}}}",
        },
    )  # fmt: skip


def truth(source: random.Random) -> Draw:
    yes = source.random() < 0.5
    (word, same), (no, other) = (("Yes", "True"), ("No", "False"))[:: 1 if yes else -1]
    return Draw(
        gold=source.choice((word, same)),
        equal={
            "word": word, "other word": same, "lower": word.lower(), "upper": same.upper(), "text": rf"\text{{{word}}}",
            "bold": rf"\textbf{{{same}}}", "stop": f"{word}.", "roman": rf"\mathrm{{{same}}}",
            "lower text": rf"\text{{{same.lower()}}}", "chinese": "是" if yes else "否",
        },
        unequal={
            "opposite": no, "opposite word": other, "opposite lower": no.lower(), "opposite text": rf"\text{{{other}}}",
            "two": rf"\text{{{word} or {no}}}", "not": rf"\text{{not {same.lower()}}}", "number": "7",
            "maybe": r"\text{maybe}", "unknown": r"\text{cannot be determined}", "letter": "x",
            "opposite bold": rf"\textbf{{{no}}}",
        },
    )  # fmt: skip


def nothing(source: random.Random) -> Draw:
    n = source.randrange(1, 60)
    return Draw(
        gold=source.choice((r"\emptyset", r"\text{no solution}", r"\varnothing")),
        equal={
            "empty set": r"\emptyset", "varnothing": r"\varnothing", "words": "no solution",
            "text": r"\text{no solution}", "plural": r"\text{no solutions}", "braces": r"\{\}",
            "spaced braces": r"\{ \}", "sentence": r"\text{There is no solution}", "sign": "∅",
            "real": r"\text{no real solutions}", "name": r"\text{the empty set}", "capital": r"\text{No Solution}",
        },
        unequal={
            "number": str(n), "zero": "0", "zero set": r"\{0\}", "set": rf"\{{{n}\}}", "reals": r"\mathbb{R}",
            "all": r"\text{all real numbers}", "equation": f"x = {n}", "infinite": r"\text{infinitely many solutions}",
            "one": r"\text{one solution}", "infinity": r"\infty", "interval": f"[0, {n}]",
            "either": rf"\text{{no solution or }} {n}",
        },
    )  # fmt: skip
