"""Closed forms with unique integer parameters: find the form of an answer, rebuild the answer from it, word it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from verifiers.exact import exact_number

MAX_BITS = 64
"""Larger numbers inside an answer are refused before anything is computed from them."""

_INTEGER = re.compile(r"[-+]?\d{1,3}(?:(?:,|\{,\}|\\!,|,\\!)\d{3})+|[-+]?\d+(?:\.0+)?")
_DECIMAL = re.compile(r"[-+]?\d*\.\d+")
_APPROXIMATE = re.compile(
    r"\bround(?:ed|ing)?\b|\bnearest\b|\bapproximate(?:ly)?\b|\bestimate\b|\bdecimal places?\b"
    r"|\bsignificant (?:digits|figures)\b"
    r"|\bto the (?:tenth|hundredth|thousandth)|\\approx",
    re.IGNORECASE,
)
_DEGREE_SIGN = re.compile(
    r"\s*(?:\^\s*\{?\s*\\(?:circ|degree)\s*\}?|°|\\text\s*\{\s*degrees?\s*\}|\bdegrees?)\s*\Z", re.IGNORECASE
)
_PERCENT_SIGN = re.compile(r"\s*(?:\\?%|\\text\s*\{\s*percent\s*\}|\bpercent)\s*\Z", re.IGNORECASE)
_MONEY = re.compile(r"\A\s*(?:\\?\$|\\text\{\\\$\})\s*")
_UNIT = re.compile(
    r"\s*(?:\\(?:text|mbox|textrm|mathrm)\s*\{\s*([A-Za-z][A-Za-z ./]*?)\s*\}|(?<=[\d\s])([a-z][a-z ]{1,20}))"
    r"(?:\s*\^\s*\{?([23])\}?)?\s*\Z"
)
_BASE = re.compile(r"_\s*\{?\s*\d+\s*\}?\s*\Z|_\s*\{?\\text")
_INTERVAL = re.compile(r"\binterval|\bdomain\b|\brange of\b|\binequalit|\bsolution set\b", re.IGNORECASE)
_LETTER = re.compile(
    r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])|(?<=\d)[a-z](?![a-z]{2})|(?<![A-Za-z\\])[a-z](?=[a-z](?![a-z]))"
)
_TUPLE = re.compile(r"\A\s*(?:\\left)?\s*\((.+?)(?:\\right)?\s*\)\s*\Z", re.DOTALL)
_LIST = re.compile(r"\A(?:\\\{|\{)?\s*(-?\d+(?:\s*,\s*(?:\\ )?-?\d+)+)\s*(?:\\\}|\})?\Z")
_PAIRS = (("m", "n"), ("p", "q"), ("u", "v"), ("s", "t"), ("g", "h"))
_TRIPLES = (("a", "b", "c"), ("p", "q", "r"), ("u", "v", "w"), ("j", "k", "l"))
_QUADS = (("a", "b", "c", "d"), ("p", "q", "r", "s"), ("t", "u", "v", "w"), ("h", "j", "k", "l"))
_SINGLES = (("k",), ("m",), ("q",), ("u",), ("t",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """An answer as integers: the form's name, its parameters, the integer asked for, and the sentence that asks.

    rebuilt, conditions, no_leak: proofs that hold for this row.  changes_value: the integer is not the old answer.
    """

    name: str
    params: tuple[tuple[str, int], ...]
    integer: int
    original: str
    sentence: str = ""
    rebuilt: bool = True
    conditions: bool = True
    no_leak: bool = True
    changes_value: bool = True


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an answer stays as it is."""

    reason: str


def find_form(question: str, gold: str, seen: dict[tuple[str, str], Form | Refusal] | None = None) -> Form | Refusal:
    """The first form that fits the gold under this question, or why none may be used."""
    bare = gold.strip().strip("$").strip()
    if _INTEGER.fullmatch(bare):
        digits = re.sub(r"[,{}\\!]|\.0+\Z", "", bare)
        if len(digits) > 40:
            return Refusal("too-many-digits")
        value = int(digits)
        return Form(name="F0", params=(), integer=value, original=gold, changes_value=False)
    if _BASE.search(bare):
        return Refusal("other-base")
    stripped = _strip_unit(question, bare)
    if isinstance(stripped, Refusal):
        return stripped
    number, name, sentence = stripped
    if _DECIMAL.search(number) and _APPROXIMATE.search(question):
        return Refusal("approximate")
    if _TUPLE.match(number) and _INTERVAL.search(question):
        return Refusal("interval")
    letters = _free_letters(question)
    key = (number, repr(letters))
    cache = seen if seen is not None else {}
    if key not in cache:
        cache[key] = _closed_form(number, letters)
    plan = cache[key]
    return plan if isinstance(plan, Refusal) else _with_unit(plan, gold, name, sentence)


def _strip_unit(question: str, bare: str) -> tuple[str, str | None, str] | Refusal:
    """(number, F7 or F8 or None, sentence that states the unit); refused where the question does not fix the unit."""
    lower = question.lower()
    if _PERCENT_SIGN.search(bare):
        if "percent" not in lower and "%" not in question:
            return Refusal("percent-not-asked")
        return _PERCENT_SIGN.sub("", bare), "F7", "Give the answer in percent, without the sign."
    if _DEGREE_SIGN.search(bare):
        stated = "degree" in lower
        return _DEGREE_SIGN.sub("", bare), "F8", "" if stated else "Give the answer in degrees, without the sign."
    bare = _MONEY.sub("", bare)
    unit = _UNIT.search(bare)
    if unit is None or not bare[: unit.start()].strip():
        return bare, None, ""
    words = (unit.group(1) or unit.group(2)).lower().split()
    if not all(word.strip(".").rstrip("s")[:4] in lower for word in words if len(word) > 1):
        return Refusal("unit-not-in-question")
    return bare[: unit.start()].strip(), None, ""


def _with_unit(plan: Form, gold: str, name: str | None, sentence: str) -> Form:
    plan = replace(plan, original=gold)
    if name is None:
        return plan
    if plan.name == "F0":
        return replace(plan, name=name, sentence=sentence, changes_value=False)
    return replace(plan, sentence=f"{sentence} {plan.sentence}".strip() if sentence else plan.sentence)


def _free_letters(question: str) -> tuple[tuple[str, ...], ...]:
    """For one, two, three and four parameters: names that the question does not use itself."""
    used = set(_LETTER.findall(question))
    return tuple(
        next((names for names in options if not used & set(names)), ())
        for options in (_SINGLES, _PAIRS, _TRIPLES, _QUADS)
    )


def _closed_form(text: str, letters: Sequence[tuple[str, ...]]) -> Form | Refusal:
    listed = _integer_list(text)
    if listed is not None:
        return listed
    value = exact_number(text)
    if value is None:
        return Refusal("not-a-number")
    if _too_large(value):
        return Refusal("too-many-digits")
    if not value.is_real:
        return Refusal("not-real")
    decimal = bool(_DECIMAL.search(text))
    plan = _scalar_form(value, letters, "F6" if decimal else "F1")
    if isinstance(plan, Refusal):
        return plan
    return replace(plan, original=text, no_leak=not _leaks(plan))


def _too_large(value: Any) -> bool:
    import sympy

    return any(max(abs(int(atom.p)), int(atom.q)).bit_length() > MAX_BITS for atom in value.atoms(sympy.Rational))


def _integer_list(text: str) -> Form | None:
    """F10: a tuple in stated order, or a list of integers whose order does not matter: their sum."""
    inside = _TUPLE.match(text)
    parts = re.split(r"\s*,\s*(?:\\ )?", inside.group(1).strip()) if inside else None
    listed = _LIST.match(text)
    if parts is None and listed:
        parts = re.split(r"\s*,\s*(?:\\ )?", listed.group(1))
    if not parts or len(parts) < 2 or not all(re.fullmatch(r"-?\d{1,12}", part) for part in parts):
        return None
    numbers = [int(part) for part in parts]
    if inside is None and re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
        return None
    what = "the sum of its coordinates" if inside else "the sum of all values in the answer"
    shape = "The answer is a tuple of integers." if inside else "The answer is a list of integers."
    params = tuple((f"x{place}", number) for place, number in enumerate(numbers, start=1))
    return Form(name="F10", params=params, integer=sum(numbers), original=text, sentence=f"{shape} Find {what}.")


def _scalar_form(value: Any, letters: Sequence[tuple[str, ...]], rational: str) -> Form | Refusal:
    import sympy

    if value.is_Integer:
        return Form(name="F0", params=(), integer=int(value), original="", changes_value=False)
    if value.is_Rational:
        return _rational(value, letters[1], rational, "{0}/{1}", sympy.Integer(1))
    over_pi = sympy.nsimplify(value / sympy.pi, rational=False) if value.has(sympy.pi) else None
    if over_pi is not None:
        over_pi = sympy.cancel(over_pi)
        if over_pi.is_Integer:
            return _whole_pi(value, int(over_pi), letters[0])
        if over_pi.is_Rational:
            return _rational(over_pi, letters[1], "F2", "({0}/{1})π", sympy.pi)
        return Refusal("transcendental")
    return _radical(value, letters)


def _rational(value: Any, names: tuple[str, ...], form: str, shape: str, unit: Any) -> Form | Refusal:
    import sympy

    if not names:
        return Refusal("no-free-letters")
    top, bottom = int(value.p), int(value.q)
    written = shape.format(*names)
    sentence = (
        f"The answer can be written uniquely as {written}, where {names[0]} and {names[1]} are relatively prime"
        f" integers and {names[1]} is positive. Find {names[0]} + {names[1]}."
    )
    return Form(
        name=form,
        params=((names[0], top), (names[1], bottom)),
        integer=top + bottom,
        original="",
        sentence=sentence,
        rebuilt=sympy.Rational(top, bottom) * unit == value * unit,
        conditions=bottom > 0 and math.gcd(top, bottom) == 1,
    )


def _whole_pi(value: Any, factor: int, names: tuple[str, ...]) -> Form | Refusal:
    import sympy

    if not names:
        return Refusal("no-free-letters")
    sentence = f"The answer can be written uniquely as {names[0]}π, where {names[0]} is an integer. Find {names[0]}."
    return Form(
        name="F2",
        params=((names[0], factor),),
        integer=factor,
        original="",
        sentence=sentence,
        rebuilt=sympy.expand(factor * sympy.pi - value) == 0,
    )


def _radical(value: Any, letters: Sequence[tuple[str, ...]]) -> Form | Refusal:
    """(a + b√c)/d with one squarefree radicand, and its special cases."""
    parts = _quadratic_parts(value)
    if parts is None:
        return Refusal("other-radicals")
    plain, factor, radicand = parts
    bottom = math.lcm(int(plain.q), int(factor.q))
    a, b = int(plain * bottom), int(factor * bottom)
    if a != 0:
        return _radical_form(value, "F5", (a, b, radicand, bottom), letters[3], math.gcd(math.gcd(a, b), bottom) == 1)
    if bottom == 1:
        return _radical_form(value, "F3", (b, radicand), letters[1], True)
    return _radical_form(value, "F4", (b, radicand, bottom), letters[2], bottom > 1 and math.gcd(b, bottom) == 1)


def _quadratic_parts(value: Any) -> tuple[Any, Any, int] | None:
    """(rational part, factor, squarefree radicand) when the value is r + s√c; None otherwise."""
    import sympy

    simple = sympy.expand(sympy.radsimp(sympy.sqrtdenest(sympy.expand(value))))
    plain, factors = sympy.Integer(0), {}
    for term in sympy.Add.make_args(simple):
        number, rest = term.as_coeff_Mul()
        if not number.is_Rational:
            return None
        if rest == 1:
            plain += number
            continue
        square = sympy.expand(rest**2)
        if not (square.is_Integer and square > 1):
            return None
        outside, inside = _squarefree(int(square))
        factors[inside] = factors.get(inside, sympy.Integer(0)) + number * outside
    factors = {inside: factor for inside, factor in factors.items() if factor != 0}
    if len(factors) != 1 or 1 in factors:
        return None
    ((radicand, factor),) = factors.items()
    return plain, factor, radicand


def _squarefree(number: int) -> tuple[int, int]:
    """(outside, inside) with number = outside² · inside and inside squarefree. Numbers here are small."""
    import sympy

    outside = inside = 1
    for prime, power in sympy.factorint(number, limit=10**6).items():
        outside *= int(prime) ** (power // 2)
        inside *= int(prime) ** (power % 2)
    return outside, inside


_SHAPES = {"F3": "{0}√{1}", "F4": "({0}√{1})/{2}", "F5": "({0} + {1}√{2})/{3}"}


def _conditions(name: str, names: tuple[str, ...]) -> str:
    """What makes the parameters unique, in words without digits."""
    if name == "F3":
        return f"{names[1]} is a squarefree integer above one"
    if name == "F4":
        coprime = f"{names[0]} and {names[2]} are relatively prime"
        return f"{names[1]} is a squarefree integer above one, {names[2]} is positive and {coprime}"
    coprime = f"{names[0]}, {names[1]} and {names[3]} have no common divisor above one"
    return f"{names[2]} is a squarefree integer above one, {names[3]} is positive and {coprime}"


def _radical_form(
    value: Any, name: str, numbers: tuple[int, ...], names: tuple[str, ...], coprime: bool
) -> Form | Refusal:
    import sympy

    if not names:
        return Refusal("no-free-letters")
    if name == "F5":
        a, b, radicand, bottom = numbers
    else:
        a, (b, radicand, bottom) = 0, (*numbers, 1)[:3]
    rebuilt = (a + b * sympy.sqrt(radicand)) / sympy.Integer(bottom)
    difference = sympy.expand(sympy.radsimp(sympy.sqrtdenest(sympy.expand(rebuilt - value))))
    close = abs(sympy.N(rebuilt - value, 60)) < sympy.Float(10) ** -40
    wording = _conditions(name, names)
    written = _SHAPES[name].format(*names)
    sentence = (
        f"The answer can be written uniquely as {written}, where {', '.join(names)} are integers, {wording}."
        f" Find {' + '.join(names)}."
    )
    return Form(
        name=name,
        params=tuple(zip(names, numbers, strict=True)),
        integer=sum(numbers),
        original="",
        sentence=sentence,
        rebuilt=bool(difference == 0 and close),
        conditions=coprime and radicand > 1 and _squarefree(radicand)[0] == 1 and bottom > 0,
    )


def _leaks(plan: Form) -> bool:
    """Whether the added sentence states the integer."""
    return str(plan.integer) in re.findall(r"-?\d+", plan.sentence)


def rewrite(question: str, plan: Form) -> str:
    """The question with the sentence appended; its own text is never edited."""
    return f"{question.rstrip()} {plan.sentence}".rstrip() if plan.sentence else question
