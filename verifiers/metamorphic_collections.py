"""Forms of answers with several parts: points, vectors, sets, lists, intervals, unions and matrices."""

from __future__ import annotations

import random

from verifiers.metamorphic_draw import Draw


def pair(source: random.Random) -> Draw:
    a, b = source.sample([n for n in range(-30, 30) if n], 2)
    return Draw(
        gold=f"({a}, {b})",
        equal={
            "tight": f"({a},{b})", "left right": rf"\left({a}, {b}\right)", "named": f"(x, y) = ({a}, {b})",
            "equations": rf"x = {a},\ y = {b}", "decimals": f"({a}.0, {b}.0)", "wide": f"（{a}，{b}）",
            "words": rf"x = {a} \text{{ and }} y = {b}", "column": rf"\begin{{pmatrix}} {a} \\ {b} \end{{pmatrix}}",
            "point": f"P({a}, {b})", "sums": f"({a + 1}-1, {b})",
            "fractions": rf"\left(\frac{{{2 * a}}}{{2}}, \frac{{{3 * b}}}{{3}}\right)", "semicolon": f"({a}; {b})",
            "point equals": f"P = ({a}, {b})", "other order": f"y = {b}, x = {a}", "big": rf"\big({a}, {b}\big)",
            "tuple name": f"(a, b) = ({a}, {b})", "spaces": f"( {a} , {b} )", "thin": rf"({a},\,{b})",
            "double negative": f"(-({-a}), {b})", "unicode minus": f"({a}, {b})".replace("-", "−"),
            "cases": rf"\begin{{cases}} x = {a} \\ y = {b} \end{{cases}}", "quad": rf"x = {a}, \quad y = {b}",
            "text": rf"\text{{({a}, {b})}}", "roots": rf"({a}\sqrt{{1}}, {b})", "bold": rf"\mathbf{{({a}, {b})}}",
        },
        unequal={
            "swapped": f"({b}, {a})", "first": f"({a + 1}, {b})", "second": f"({a}, {b - 1})",
            "triple": f"({a}, {b}, 0)", "one": str(a), "sum": str(a + b + 100), "closed": f"[{a}, {b}]",
            "equations swapped": f"x = {b}, y = {a}", "sign": f"({-a}, {-b})", "set of three": rf"\{{{a}, {b}, 99\}}",
            "first sign": f"({-a}, {b})", "second sign": f"({a}, {-b})", "first only": f"x = {a}", "other": str(b),
            "column swapped": rf"\begin{{pmatrix}} {b} \\ {a} \end{{pmatrix}}", "two points": f"({a}, {b}), ({b}, {a})",
            "or": rf"({a}, {b}) \text{{ or }} ({a + 99}, {b + 99})", "near": f"({a}.01, {b})",
            "doubled": f"({2 * a}, {2 * b})", "product": f"{a} \\cdot ({b + 50})", "zero": "(0, 0)",
            "empty": r"\emptyset", "line": f"y = {b}", "repeated": f"({a}, {a})",
            "words swapped": rf"x = {b} \text{{ and }} y = {a}", "plus minus": rf"(\pm {abs(a)}, {b})",
            "joined": f"({abs(a)}{abs(b)})",
        },
    )  # fmt: skip


def vector(source: random.Random) -> Draw:
    a, b, c = source.sample([n for n in range(-20, 20) if n], 3)
    top = rf"{a} \\ {b} \\ {c}"
    return Draw(
        gold=rf"\begin{{pmatrix}} {top} \end{{pmatrix}}",
        equal={
            "brackets": rf"\begin{{bmatrix}} {top} \end{{bmatrix}}", "tuple": f"({a}, {b}, {c})",
            "left right": rf"\left({a}, {b}, {c}\right)", "angles": rf"\langle {a}, {b}, {c} \rangle",
            "tight": rf"\begin{{pmatrix}}{a}\\{b}\\{c}\end{{pmatrix}}",
            "named": rf"\vec{{v}} = \begin{{pmatrix}} {top} \end{{pmatrix}}",
            "array": rf"\left(\begin{{array}}{{c}} {top} \end{{array}}\right)",
            "matrix": rf"\left(\begin{{matrix}} {top} \end{{matrix}}\right)",
            "small": rf"\left(\begin{{smallmatrix}} {top} \end{{smallmatrix}}\right)",
            "half": rf"\frac{{1}}{{2}}\begin{{pmatrix}} {2 * a} \\ {2 * b} \\ {2 * c} \end{{pmatrix}}",
            "negated": rf"-\begin{{pmatrix}} {-a} \\ {-b} \\ {-c} \end{{pmatrix}}",
            "points": rf"\begin{{pmatrix}} {a}.0 \\ {b} \\ {c} \end{{pmatrix}}",
            "fractions": rf"\begin{{pmatrix}} \frac{{{2 * a}}}{{2}} \\ {b} \\ {c} \end{{pmatrix}}",
            "sum": rf"\begin{{pmatrix}} {a - 1}\\{b}\\{c} \end{{pmatrix}} + \begin{{pmatrix}} 1\\0\\0 \end{{pmatrix}}",
            "bold name": rf"\mathbf{{v}} = \begin{{pmatrix}} {top} \end{{pmatrix}}",
            "tuple named": rf"\vec{{v}} = ({a}, {b}, {c})", "arrow": rf"\overrightarrow{{AB}} = ({a}, {b}, {c})",
            "semicolons": f"({a}; {b}; {c})", "coordinates": f"(x, y, z) = ({a}, {b}, {c})",
            "equations": f"x = {a}, y = {b}, z = {c}", "closing break": rf"\begin{{pmatrix}} {top} \\ \end{{pmatrix}}",
            "wide": f"（{a}，{b}，{c}）", "display name": rf"v = \begin{{bmatrix}} {top} \end{{bmatrix}}",
            "row breaks": rf"\begin{{pmatrix}} {a} \\[2pt] {b} \\[2pt] {c} \end{{pmatrix}}",
        },
        unequal={
            "swapped": rf"\begin{{pmatrix}} {b} \\ {a} \\ {c} \end{{pmatrix}}", "reversed": f"({c}, {b}, {a})",
            "entry": rf"\begin{{pmatrix}} {a + 1} \\ {b} \\ {c} \end{{pmatrix}}",
            "last entry": rf"\begin{{pmatrix}} {a} \\ {b} \\ {c - 1} \end{{pmatrix}}",
            "short": rf"\begin{{pmatrix}} {a} \\ {b} \end{{pmatrix}}",
            "long": rf"\begin{{pmatrix}} {top} \\ 0 \end{{pmatrix}}",
            "sign": rf"-\begin{{pmatrix}} {top} \end{{pmatrix}}", "one sign": f"({a}, {-b}, {c})",
            "doubled": rf"2\begin{{pmatrix}} {top} \end{{pmatrix}}",
            "halved": rf"\frac{{1}}{{2}}\begin{{pmatrix}} {top} \end{{pmatrix}}", "pair": f"({a}, {b})",
            "number": str(a), "length": rf"\sqrt{{{a * a + b * b + c * c}}}", "sum": str(a + b + c + 100),
            "zero": "(0, 0, 0)", "square table": rf"\begin{{pmatrix}} {a} & {b} \\ {c} & 0 \end{{pmatrix}}",
            "near": f"({a}.01, {b}, {c})", "rotated": f"({b}, {c}, {a})",
            "two": rf"({a}, {b}, {c}) \text{{ or }} ({c}, {b}, {a})",
            "plus": rf"\begin{{pmatrix}} {top} \end{{pmatrix}} + \begin{{pmatrix}} 1 \\ 0 \\ 0 \end{{pmatrix}}",
            "negative tuple": f"({-a}, {-b}, {-c})", "repeated": f"({a}, {a}, {a})",
            "first two swapped named": f"x = {b}, y = {a}, z = {c}", "tenfold": f"({10 * a}, {10 * b}, {10 * c})",
            "empty": r"\emptyset",
        },
    )  # fmt: skip


def solutions(source: random.Random) -> Draw:
    a, b, c = source.sample([n for n in range(-40, 40) if n], 3)
    return of_set([str(a), str(b), str(c)])


def of_set(items: list[str], gold: str | None = None) -> Draw:
    """Different items; near misses add or leave out items."""
    first, rest, turned = items[0], items[1:], items[::-1]
    rotated = [*rest, first]

    def braces(members: list[str]) -> str:
        return rf"\{{{', '.join(members)}\}}"

    equal = {
        "plain": braces(items), "order": braces(turned), "rotated": braces(rotated),
        "repeated": braces([first, *items]), "repeated last": braces([*items, items[-1]]),
        "tight": rf"\{{{','.join(items)}\}}", "left right": rf"\left\{{{', '.join(items)}\right\}}",
        "bare": ", ".join(rotated), "bare order": ", ".join(turned), "semicolons": "; ".join(items),
        "list": f"[{', '.join(items)}]", "member": rf"x \in {braces(items)}", "named": f"S = {braces(items)}",
        "name before": f"x = {', '.join(items)}", "command": rf"\lbrace {', '.join(items)} \rbrace",
        "spaces": rf"\{{ {' , '.join(items)} \}}", "sum zero": braces([f"{first} + 0", *rest]),
        "one times": braces([rf"1 \cdot ({first})", *rest]), "quad": r", \quad ".join(items),
        "plain braces": f"{{{', '.join(items)}}}", "thin": braces(items).replace(" ", r"\,"),
    }  # fmt: skip
    if len(items) > 1:
        equal |= {
            "words": r" \text{ and } ".join(items), "or": r" \text{ or } ".join(turned),
            "comma and": rf"{', '.join(items[:-1])} \text{{ and }} {items[-1]}",
            "equations": r" \text{ or } ".join(f"x = {item}" for item in items),
            "union": r" \cup ".join(braces([item]) for item in items),
            "commas of equations": ", ".join(f"x = {item}" for item in rotated),
        }  # fmt: skip
    unequal = {
        "extra": braces([*items, "97531"]), "changed": braces([*rest, "97531"]), "empty": r"\emptyset",
        "reals": r"\mathbb{R}", "extra bare": ", ".join([*items, "-97531"]), "interval": "[-97531, 97531]",
        "other": "97531", "extra equations": ", ".join(f"x = {item}" for item in [*items, "97531"]),
        "first moved": braces([f"{first} + 97531", *rest]), "first doubled away": braces([f"{first} - 97531", *rest]),
        "outside": rf"x \notin {braces(items)}", "complement": rf"\mathbb{{R}} \setminus {braces(items)}",
        "dots": rf"{first}, \ldots", "no solution": r"\text{no solution}",
        "extra or": r" \text{ or } ".join([*items, "97531"]), "bound": rf"x \le {first}",
        "infinite": braces([*items, r"\infty"]), "imaginary": braces([f"{first} + 5i", *rest]),
        "nested": braces([braces(items), "97531"]), "all but": rf"x \ne {first}", "ray": rf"[{first}, \infty)",
        "with integers": rf"{braces(items)} \cup \mathbb{{Z}}", "union of more": rf"{braces(items)} \cup \{{97531\}}",
    }  # fmt: skip
    if len(items) > 1:
        unequal |= {
            "missing": braces(items[:-1]),
            "missing first": ", ".join(rest),
            "one": first,
            "last only": items[-1],
            "cut": rf"{braces(items)} \setminus {braces([first])}",
            "met": rf"{braces(items)} \cap {braces(rest)}",
        }
    return Draw(gold=gold or braces(items), equal=equal, unequal=unequal)


def sequence(source: random.Random) -> Draw:
    """An unbracketed list, which is a set."""
    a, b, c = source.sample([n for n in range(-60, 60) if n], 3)
    drawn = of_set([str(a), str(b), str(c)], f"{a}, {b}, {c}")
    moved = {
        "off by one": f"{a + 1}, {b}, {c}",
        "joined": f"{a}{abs(b)}{abs(c)}",
        "sum": str(a + b + c + 500),
        "one sign": f"{-a - 200}, {b}, {c}",
        "product": str(a * b * c),
    }
    return Draw(gold=drawn.gold, equal=drawn.equal, unequal={**drawn.unequal, **moved})


def interval(source: random.Random) -> Draw:
    a = source.randrange(-40, 39)
    return of_interval(a, source.randrange(a + 1, 60))


def of_interval(a: int, b: int, gold: str | None = None) -> Draw:
    """Closed below, open above; a < b."""
    middle = f"{a}.5" if a >= 0 else f"{a + 1}.5" if a < -1 else "-0.5"
    equal = {
        "plain": f"[{a}, {b})", "tight": f"[{a},{b})", "left right": rf"\left[{a}, {b}\right)",
        "chain": rf"{a} \le x < {b}", "member": rf"x \in [{a}, {b})", "reversed chain": rf"{b} > x \ge {a}",
        "french": f"[{a}, {b}[", "and": rf"x \ge {a} \text{{ and }} x < {b}",
        "union": rf"[{a}, {middle}) \cup [{middle}, {b})" if a + 1 < b or a >= 0 or a == -1 else f"[{a}, {b})",
        "minus": rf"[{a}, {b}] \setminus \{{{b}\}}", "named": f"D = [{a}, {b})",
        "builder": rf"\{{x \mid {a} \le x < {b}\}}", "points": f"[{a}.0, {b}.0)", "unicode": f"{a} ≤ x < {b}",
        "command": rf"{a} \leqslant x \lt {b}", "colon builder": rf"\{{x : {a} \le x < {b}\}}",
        "met": rf"[{a}, \infty) \cap (-\infty, {b})", "semicolon": f"[{a}; {b})", "sums": f"[{a - 1} + 1, {b})",
        "member of reals": rf"\{{x \in \mathbb{{R}} : {a} \le x < {b}\}}", "scaled": rf"{2 * a} \le 2x < {2 * b}",
        "closed and strict": rf"x < {b}, x \ge {a}", "shifted": rf"{a + 1} \le x + 1 < {b + 1}",
        "with end": rf"({a}, {b}) \cup \{{{a}\}}", "big": rf"\big[{a}, {b}\big)", "thin": rf"[{a},\, {b})",
        "wedge": rf"x \ge {a} \land x < {b}",
    }  # fmt: skip
    unequal = {
        "open": f"({a}, {b})", "closed": f"[{a}, {b}]", "flipped": f"({a}, {b}]", "low": f"[{a - 1}, {b})",
        "high": f"[{a}, {b + 1})", "swapped": f"[{b}, {a})", "ray": rf"[{a}, \infty)", "strict": rf"{a} < x < {b}",
        "outside": rf"x < {a} \text{{ or }} x \ge {b}", "end": str(a), "upper end": str(b),
        "other ray": rf"(-\infty, {b})", "closed chain": rf"{a} \le x \le {b}", "two ends": rf"\{{{a}, {b}\}}",
        "ends as list": f"{a}, {b}", "lower bound only": rf"x \ge {a}", "upper bound only": f"x < {b}",
        "hole": rf"[{a}, {b}) \setminus \{{{a}\}}", "union beyond": rf"[{a}, {b}) \cup [{b + 2}, {b + 3}]",
        "complement": rf"(-\infty, {a}) \cup [{b}, \infty)", "sign": f"[{-b - 100}, {-a - 100})",
        "reals": r"\mathbb{R}", "nothing": r"\emptyset", "length": str(b - a + 200), "equation": f"x = {a}",
        "shifted": f"[{a + 1}, {b + 1})", "near": f"[{a}, {b}.01)", "wrong flip": rf"{a} < x \le {b}",
        "french open": f"]{a}, {b}[",
    }  # fmt: skip
    return Draw(gold=gold or f"[{a}, {b})", equal=equal, unequal=unequal)


def union(source: random.Random) -> Draw:
    a = source.randrange(-40, 30)
    b = source.randrange(a + 2, 40)
    low, high = rf"(-\infty, {a})", rf"({b}, \infty)"
    return Draw(
        gold=rf"{low} \cup {high}",
        equal={
            "order": rf"{high} \cup {low}", "or": rf"x < {a} \text{{ or }} x > {b}",
            "or order": rf"x > {b} \text{{ or }} x < {a}", "member": rf"x \in {low} \cup {high}",
            "left right": rf"\left(-\infty, {a}\right) \cup \left({b}, \infty\right)",
            "signed": rf"{low} \cup ({b}, +\infty)", "unicode": f"(-∞, {a}) ∪ ({b}, ∞)",
            "minus": rf"\mathbb{{R}} \setminus [{a}, {b}]", "named": rf"D = {low} \cup {high}",
            "french": rf"]-\infty, {a}[ \cup ]{b}, \infty[", "overlap": rf"{low} \cup (-\infty, {a - 1}) \cup {high}",
            "points": rf"(-\infty, {a}.0) \cup ({b}, \infty)",
            "builder": rf"\{{x \mid x < {a} \text{{ or }} x > {b}\}}", "flipped": rf"{a} > x \text{{ or }} {b} < x",
            "vee": rf"x < {a} \lor x > {b}", "command": rf"x \lt {a} \text{{ or }} x \gt {b}",
            "tight": rf"(-\infty,{a})\cup({b},\infty)", "sums": rf"(-\infty, {a - 1} + 1) \cup {high}",
            "big cup": rf"{low} \bigcup {high}", "colon builder": rf"\{{x : x < {a} \text{{ or }} x > {b}\}}",
            "split": rf"{low} \cup ({b}, {b + 5}] \cup ({b + 5}, \infty)",
            "semicolons": rf"(-\infty; {a}) \cup ({b}; \infty)", "scaled": rf"2x < {2 * a} \text{{ or }} 2x > {2 * b}",
            "set minus of rays": rf"(-\infty, \infty) \setminus [{a}, {b}]",
        },
        unequal={
            "closed low": rf"(-\infty, {a}] \cup {high}", "closed high": rf"{low} \cup [{b}, \infty)",
            "both closed": rf"(-\infty, {a}] \cup [{b}, \infty)", "inside": f"({a}, {b})",
            "inside closed": f"[{a}, {b}]", "low only": low, "high only": high,
            "low end": rf"(-\infty, {a + 1}) \cup {high}", "high end": rf"{low} \cup ({b + 1}, \infty)",
            "wedge": rf"x < {a} \land x > {b}", "met": rf"{low} \cap {high}", "chain": f"{a} < x < {b}",
            "swapped": rf"(-\infty, {b}) \cup ({a}, \infty)", "or closed": rf"x \le {a} \text{{ or }} x > {b}",
            "reals": r"\mathbb{R}", "nothing": r"\emptyset", "all but ends": rf"\mathbb{{R}} \setminus \{{{a}, {b}\}}",
            "minus open": rf"\mathbb{{R}} \setminus ({a}, {b})", "ends": rf"\{{{a}, {b}\}}", "one end": str(a),
            "bounded": rf"({a - 9}, {a}) \cup {high}", "with end": rf"{low} \cup {high} \cup \{{{b}\}}",
            "flipped or": rf"x > {a} \text{{ or }} x < {b}", "sign": rf"(-\infty, {-b - 90}) \cup ({-a + 90}, \infty)",
            "near": rf"(-\infty, {a}.01) \cup {high}", "not equal": rf"x \ne {a}",
        },
    )  # fmt: skip


def table(kind: str, *rows: str) -> str:
    return rf"\begin{{{kind}}} " + r" \\ ".join(rows) + rf" \end{{{kind}}}"


def matrix(source: random.Random) -> Draw:
    a, b, c, d = source.sample([n for n in range(-20, 20) if n], 4)
    top, bottom = f"{a} & {b}", f"{c} & {d}"
    gold = table("pmatrix", top, bottom)
    return Draw(
        gold=gold,
        equal={
            "brackets": table("bmatrix", top, bottom),
            "array": rf"\left[\begin{{array}}{{cc}} {top} \\ {bottom} \end{{array}}\right]",
            "rows": f"[[{a}, {b}], [{c}, {d}]]", "matrix": rf"\left({table('matrix', top, bottom)}\right)",
            "named": f"A = {gold}", "tight": table("pmatrix", f"{a}&{b}", f"{c}&{d}"),
            "factor": r"\frac{1}{2}" + table("pmatrix", f"{2 * a} & {2 * b}", f"{2 * c} & {2 * d}"),
            "decimals": table("pmatrix", f"{a}.0 & {b}", bottom), "semicolons": f"[{a}, {b}; {c}, {d}]",
            "small": table("smallmatrix", top, bottom),
            "round array": rf"\left(\begin{{array}}{{cc}} {top} \\ {bottom} \end{{array}}\right)",
            "negated": "-" + table("pmatrix", f"{-a} & {-b}", f"{-c} & {-d}"),
            "sum": table("pmatrix", f"{a - 1} & {b}", bottom) + " + " + table("pmatrix", "1 & 0", "0 & 0"),
            "square matrix": rf"\left[{table('matrix', top, bottom)}\right]",
            "closing break": table("pmatrix", top, bottom + r" \\"),
            "row breaks": rf"\begin{{pmatrix}} {top} \\[4pt] {bottom} \end{{pmatrix}}",
            "fractions": table("pmatrix", rf"\frac{{{2 * a}}}{{2}} & {b}", bottom),
            "sums": table("pmatrix", f"{a - 1} + 1 & {b}", bottom), "transposed twice": rf"\left({gold}^T\right)^T",
            "transposed": table("pmatrix", f"{a} & {c}", f"{b} & {d}") + "^T", "bold name": rf"\mathbf{{A}} = {gold}",
            "round small": rf"\left({table('smallmatrix', top, bottom)}\right)",
            "product": gold + table("pmatrix", "1 & 0", "0 & 1"),
            "names of it": rf"M = {table('bmatrix', top, bottom)}",
            "doubled half": "2" + table("pmatrix", f"{a}/2 & {b}/2", f"{c}/2 & {d}/2"),
        },
        unequal={
            "transposed": table("pmatrix", f"{a} & {c}", f"{b} & {d}"),
            "entry": table("pmatrix", top, f"{c} & {d + 1}"), "first entry": table("pmatrix", f"{a - 1} & {b}", bottom),
            "row": table("pmatrix", top), "swapped": table("pmatrix", bottom, top),
            "columns swapped": table("pmatrix", f"{b} & {a}", f"{d} & {c}"),
            "flat": table("pmatrix", f"{a} & {b} & {c} & {d}"), "determinant": table("vmatrix", top, bottom),
            "column": table("pmatrix", str(a), str(b), str(c), str(d)), "scaled": "2" + gold, "number": str(a),
            "pair": f"({a}, {b})", "sign": "-" + gold, "one sign": table("pmatrix", f"{-a} & {b}", bottom),
            "wide": table("pmatrix", top + " & 0", bottom + " & 0"), "tall": table("pmatrix", top, bottom, "0 & 0"),
            "inverse": rf"{gold}^{{-1}}", "squared": rf"{gold}^2",
            "plus one": gold + " + " + table("pmatrix", "1 & 0", "0 & 1"),
            "determinant value": str(a * d - b * c + 500), "zero": table("pmatrix", "0 & 0", "0 & 0"),
            "diagonal": table("pmatrix", f"{a} & 0", f"0 & {d}"), "near": table("pmatrix", f"{a}.01 & {b}", bottom),
            "rows of other": f"[[{a}, {c}], [{b}, {d}]]", "halved": r"\frac{1}{2}" + gold, "empty": r"\emptyset",
        },
    )  # fmt: skip
