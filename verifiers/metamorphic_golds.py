"""From the golds of a user's file: rewritings that a verifier must accept and near misses that it must refuse.

The forms are made from the text of a gold by patterns of its own, never by the verifier that is on trial. A gold of no
known type is held against itself and against the wrappers only.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from verifiers.cases import LabelledRow
from verifiers.metamorphic_draw import Draw, fraction_text
from verifiers.registry import Request, verify_many
from verifiers.verdict import Status

MAX_GOLDS = 200
MAX_EXAMPLES = 3
LONGEST_GOLD = 400

_INTEGER = re.compile(r"-?(?:\d{1,30}|\d{1,3}(?:,\d{3})+|\d{1,3}(?:\{,\}\d{3})+)")
_DECIMAL = re.compile(r"-?\d{1,6}\.\d{1,6}")
_FRACTION = re.compile(r"(-?)(?:\\[dt]?frac\{(\d{1,20})\}\{(\d{1,20})\}|(\d{1,20})/(\d{1,20}))")
_PERCENT = re.compile(r"(-?\d{1,15}(?:\.\d{1,15})?)\s?\\?%")
_BRACKETED = re.compile(r"([(\[])([^()\[\]{}]+)([)\]])")
_SET = re.compile(r"\\\{([^()\[\]{}\\]+)\\\}")
_LETTER = re.compile(r"\(?([A-E])\)?")
_TRUTH = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_BOUND = re.compile(r"([a-z])\s?(<|>|\\leq?|\\geq?)\s?(-?\d{1,15})(?![\w.])")
_VALUE = re.compile(r"-?[\w.^+*/ ]{1,30}")
_QUANTITY = re.compile(r"(-?\d{1,9}(?:\.\d{1,6})?)(?:\s|~|\\,)*(?:\\(?:text|mathrm|mbox)\{\s?([a-z]+)\s?\}|([a-z]+))")
_UNITS = {"cm": ("mm", 10, "kg"), "m": ("cm", 100, "s"), "km": ("m", 1000, "kg"), "kg": ("g", 1000, "m"),
          "hours": ("minutes", 60, "km"), "minutes": ("seconds", 60, "kg")}  # fmt: skip
"""A smaller unit, how many of those, and a unit of another kind."""
_BASED = re.compile(r"([1-9]\d{1,30})_\{?([2-9])\}?")
_EXPRESSION = re.compile(
    r"(?:\\(?:[dt]?frac|sqrt|pi|cdot|sin|cos|tan|ln|log|left\(|right\))(?![A-Za-z])|(?<![A-Za-z])[abk-zABX-Z](?![A-Za-z])"
    r"|[\d.^{}()+\-*/\s])+"
)
_NO_FORMULA = re.compile(r"\{\s*0\s*\}|\d-\d\d?-\d|\d/\d\d?/\d|0[xb]")
"""A denominator of nothing, dates, numerals of programs."""
_FLIPPED = {"<": ">", ">": "<", r"\le": r"\ge", r"\leq": r"\ge", r"\ge": r"\le", r"\geq": r"\le"}
_OTHER_STRICT = {"<": r"\le", ">": r"\ge", r"\le": "<", r"\leq": "<", r"\ge": ">", r"\geq": ">"}


# ---- forms by type -------------------------------------------------------------------------------------------------


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else fraction_text(value)


def _misses(value: Fraction) -> dict[str, str]:
    """Values that differ from this number by far more than any tolerance."""
    found = {"range": rf"{_number(value)} \text{{ to }} {_number(value + 9)}", "bound": rf"x \le {_number(value)}"}
    if value:
        found |= {"sign": _number(-value), "times ten": _number(10 * value), "half": _number(value / 2)}
    return found | {"two answers": rf"{_number(value)} \text{{ or }} {_number(value + 31)}"}


def _integer(gold: str) -> Draw | None:
    if not _INTEGER.fullmatch(gold):
        return None
    n = int(gold.replace("{,}", "").replace(",", ""))
    equal = {"plain": str(n), "point": f"{n}.0", "text": rf"\text{{{n}}}", "name": f"x = {n}", "sum": f"{n - 1} + 1",
             "quotient": rf"\frac{{{2 * n}}}{{2}}", "commas": f"{n:,}"}  # fmt: skip
    return Draw(gold=gold, equal=equal, unequal=_misses(Fraction(n)) | {"off by one": str(n + 1)})


def _decimal(gold: str) -> Draw | None:
    if not _DECIMAL.fullmatch(gold):
        return None
    value = Fraction(gold)
    equal = {"fraction": _number(value), "zero": f"{gold}0", "name": f"x = {gold}", "text": rf"\text{{{gold}}}"}
    return Draw(gold=gold, equal=equal, unequal=_misses(value) | {"next digit": f"{gold}7"})


def _fraction(gold: str) -> Draw | None:
    match = _FRACTION.fullmatch(gold)
    parts = [int(part) for part in match.groups()[1:] if part] if match else []
    if match is None or not parts[1]:
        return None
    value = Fraction(parts[0], parts[1]) * (-1 if match.group(1) else 1)
    sign, top, bottom = match.group(1), parts[0], parts[1]
    equal = {"slash": f"{sign}{top}/{bottom}", "display": rf"{sign}\dfrac{{{top}}}{{{bottom}}}",
             "unreduced": rf"{sign}\frac{{{3 * top}}}{{{3 * bottom}}}", "name": f"x = {sign}{top}/{bottom}",
             "inner sign": rf"\frac{{{sign}{top}}}{{{bottom}}}"}  # fmt: skip
    unequal = _misses(value) | {"numerator": rf"{sign}\frac{{{top + 1}}}{{{bottom}}}"}
    if value and abs(value) != 1:
        unequal["inverse"] = _number(1 / value)
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _percent(gold: str) -> Draw | None:
    match = _PERCENT.fullmatch(gold)
    if match is None:
        return None
    number = match.group(1)
    equal = {"words": f"{number} percent", "spaced": rf"{number} \%", "fraction": _number(Fraction(number) / 100)}
    return Draw(gold=gold, equal=equal, unequal=_misses(Fraction(number) / 100))


def _bracketed(gold: str) -> Draw | None:
    """(a, b) as it is, whatever it means: a point, a list or an interval."""
    match = _BRACKETED.fullmatch(gold)
    items = [item.strip() for item in match.group(2).split(",")] if match else []
    if match is None or len(items) < 2 or not all(map(_VALUE.fullmatch, items)):
        return None
    left, right = match.group(1), match.group(3)
    equal = {"left right": rf"\left{left}{', '.join(items)}\right{right}", "tight": f"{left}{','.join(items)}{right}"}
    unequal = {"longer": f"{left}{', '.join([*items, '97'])}{right}", "one": items[0],
               "last": f"{left}{', '.join([*items[:-1], items[-1] + ' + 1'])}{right}"}  # fmt: skip
    if items[::-1] != items and left + right in ("()", "[)", "(]"):
        unequal["swapped"] = f"{left}{', '.join(items[::-1])}{right}"
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _set(gold: str) -> Draw | None:
    match = _SET.fullmatch(gold)
    items = [item.strip() for item in match.group(1).split(",")] if match else []
    if not items or not all(map(_VALUE.fullmatch, items)):
        return None
    equal = {"order": rf"\{{{', '.join(items[::-1])}\}}", "repeated": rf"\{{{', '.join([*items, items[0]])}\}}"}
    unequal = {"extra": rf"\{{{', '.join([*items, '97531'])}\}}", "empty": r"\emptyset"}
    if len(set(items)) > 1:
        unequal["missing"] = rf"\{{{', '.join(item for item in items if item != items[-1])}\}}"
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _inequality(gold: str) -> Draw | None:
    match = _BOUND.fullmatch(gold)
    if match is None:
        return None
    name, op, bound = match.groups()
    equal = {"flipped": f"{bound} {_FLIPPED[op]} {name}", "moved": f"{name} - ({bound}) {op} 0"}
    unequal = {"direction": f"{name} {_FLIPPED[op]} {bound}", "strictness": f"{name} {_OTHER_STRICT[op]} {bound}",
               "bound": f"{name} {op} {int(bound) + 1}", "equation": f"{name} = {bound}", "number": bound}  # fmt: skip
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _quantity(gold: str) -> Draw | None:
    match = _QUANTITY.fullmatch(gold)
    unit = (match.group(2) or match.group(3)) if match else ""
    if match is None or unit not in _UNITS or not Fraction(match.group(1)):
        return None
    number, (small, factor, other) = match.group(1), _UNITS[unit]
    equal = {"bare": number, "plain": f"{number} {unit}", "text": rf"{number} \text{{ {unit}}}",
             "converted": rf"{_number(Fraction(number) * factor)} \text{{ {small}}}"}  # fmt: skip
    unequal = {"smaller unit": rf"{number} \text{{ {small}}}", "other kind": rf"{number} \text{{ {other}}}",
               "times ten": rf"{_number(10 * Fraction(number))} \text{{ {unit}}}"}  # fmt: skip
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _based(gold: str) -> Draw | None:
    match = _BASED.fullmatch(gold)
    if match is None or max(match.group(1)) >= match.group(2):
        return None
    digits, base = match.groups()
    equal = {"braces": f"{digits}_{{{base}}}", "parentheses": f"({digits})_{base}", "no base": digits}
    unequal = {"other base": f"{digits}_{{{int(base) + 1}}}", "longer": f"{digits}0_{base}", "ten": f"{digits}_{{10}}"}
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _expression(gold: str) -> Draw | None:
    """A formula in one-letter symbols; C is left out, for it may stand for any constant."""
    if not _EXPRESSION.fullmatch(gold) or not re.search(r"\d|[a-z]", gold) or _NO_FORMULA.search(gold):
        return None
    equal = {"brackets": f"({gold})", "times one": rf"1 \cdot ({gold})", "plus and minus": f"({gold}) + 1 - 1",
             "quotient": rf"\frac{{2({gold})}}{{2}}"}  # fmt: skip
    unequal = {"plus one": f"({gold}) + 1", "minus one": f"({gold}) - 1", "equation": f"{gold} = 97531"}
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _letter(gold: str) -> Draw | None:
    match = _LETTER.fullmatch(gold)
    if match is None:
        return None
    letter = match.group(1)
    other = "ABCDE"[("ABCDE".index(letter) + 1) % 5]
    equal = {"parentheses": f"({letter})", "stop": f"{letter}.", "text": rf"\text{{{letter}}}"}
    unequal = {"other": other, "two": rf"\text{{{letter} or {other}}}", "other text": rf"\text{{({other})}}"}
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _truth(gold: str) -> Draw | None:
    opposite = _TRUTH.get(gold.lower())
    if opposite is None:
        return None
    equal = {"lower": gold.lower(), "upper": gold.upper(), "text": rf"\text{{{gold}}}"}
    unequal = {"opposite": opposite, "opposite text": rf"\text{{{opposite}}}", "number": "97"}
    return Draw(gold=gold, equal=equal, unequal=unequal | {"two": rf"\text{{{gold} or {opposite}}}"})


_TYPES: tuple[tuple[str, Callable[[str], Draw | None]], ...] = (
    ("integer", _integer), ("decimal", _decimal), ("fraction", _fraction), ("percent", _percent), ("set", _set),
    ("brackets", _bracketed), ("inequality", _inequality), ("letter", _letter), ("truth value", _truth),
    ("quantity", _quantity), ("base", _based), ("expression", _expression),
)  # fmt: skip
_WITHIN_TOLERANCE = ("off by one", "next digit", "numerator", "last", "plus one", "minus one")
"""Near misses that `rel_tol` and `abs_tol` may accept."""
_WRAPPED = (
    ("boxed", r"\boxed{%s}"), ("sentence", r"So the answer is $\boxed{%s}$."), ("display", r"\[ \boxed{ %s } \]"),
    ("after thoughts", "<think>maybe \\boxed{975310}</think>\n\\boxed{%s}"), ("nested box", r"\boxed{\boxed{%s}}"),
    ("bold heading", "**Final Answer**\n\n\\boxed{%s}"), ("with a remark", "\\boxed{%s}\n\nI checked this twice."),
)  # fmt: skip
_SPOKEN = (("plain", "%s"), ("sentence", "The answer is %s."), ("after thoughts", "<think>Not sure.</think>\n%s"))
"""For `choice` and `qa`, whose answers stand in no box."""
_NOTHING = (("no answer", "I do not know."), ("empty box", r"\boxed{}"), ("empty", ""))


# ---- trials --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTrial:
    kind: str
    request: Request
    equal: bool


def typed(gold: str) -> tuple[str, Draw] | None:
    """The type of a gold and its forms, by patterns on its text."""
    text = gold.strip().removeprefix("$").removesuffix("$").strip()
    for name, forms in _TYPES:
        draw = forms(text) if len(text) <= LONGEST_GOLD else None
        if draw is not None:
            return name, draw
    return None


def gold_trials(rows: Sequence[LabelledRow], *, seed: int = 0, golds: int = MAX_GOLDS) -> Iterator[GoldTrial]:
    """Trials of at most so many different golds, drawn at random. Of several accepted answers the first counts."""
    different: dict[tuple[str, str], LabelledRow] = {}
    for row in rows:
        first = _first(row)
        if first.strip() and row.verifier != "format":
            different.setdefault((row.verifier, first), row)
    source = random.Random(f"verigold golds {seed}")
    keys = source.sample(list(different), min(golds, len(different)))
    for place, (verifier, gold) in enumerate(keys):
        row = different[verifier, gold]
        yield from _trials_of(gold, verifier, row.options)
        stranger = different[keys[place - 1]]
        if verifier == "qa" and not _words(row) & _words(stranger):
            request = replace(row.request(), response=_first(stranger))
            yield GoldTrial(kind="any: another gold", request=request, equal=False)


def _first(row: LabelledRow) -> str:
    """The first accepted answer that is no list of spellings."""
    golds = (row.ground_truth,) if isinstance(row.ground_truth, str) else row.ground_truth
    return next((gold for gold in golds if "/" not in gold), golds[0])


def _words(row: LabelledRow) -> set[str]:
    golds = (row.ground_truth,) if isinstance(row.ground_truth, str) else row.ground_truth
    return {word.lower() for gold in golds for word in re.findall(r"\w+", gold)}


def _trials_of(gold: str, verifier: str, options: Mapping[str, Any]) -> Iterator[GoldTrial]:
    def trial(kind: str, response: str, *, equal: bool) -> GoldTrial:
        request = Request(response=response, ground_truth=gold, verifier=verifier, options=options)
        return GoldTrial(kind=kind, request=request, equal=equal)

    for name, wrapper in _WRAPPED if verifier == "math" else _SPOKEN:
        yield trial(f"any: {name}", wrapper.replace("%s", gold.strip()), equal=True)
    for name, response in _NOTHING:
        yield trial(f"any: {name}", response, equal=False)
    found = typed(gold) if verifier in ("math", "choice") else None
    if found is None or (verifier == "choice" and found[0] != "letter"):
        return
    type_, draw = found
    for kind, form in draw.equal.items():
        yield trial(f"{type_}: {kind}", rf"\boxed{{{form}}}", equal=True)
    for kind, form in draw.unequal.items():
        if not (options and kind in _WITHIN_TOLERANCE):
            yield trial(f"{type_}: {kind}", rf"\boxed{{{form}}}", equal=False)


def metamorphic(rows: Sequence[LabelledRow], *, seed: int = 0, golds: int = MAX_GOLDS) -> dict[str, dict[str, Any]]:
    """For each kind of rewriting: {must: accept or refuse, n, accepted, wrongly, examples}.

    wrongly: refused though they must be accepted, or accepted though they must be refused; undecided counts as not
    accepted. Up to three of those are the examples.
    """
    trials = list(gold_trials(rows, seed=seed, golds=golds))
    verdicts = verify_many([trial.request for trial in trials], workers=1)
    table: dict[str, dict[str, Any]] = {}
    for trial, verdict in zip(trials, verdicts, strict=True):
        accepted = verdict.status is Status.CORRECT
        must = "accept" if trial.equal else "refuse"
        entry = table.setdefault(trial.kind, {"must": must, "n": 0, "accepted": 0, "wrongly": 0, "examples": []})
        wrong = accepted != trial.equal
        entry["n"] += 1
        entry["accepted"] += accepted
        entry["wrongly"] += wrong
        if wrong and len(entry["examples"]) < MAX_EXAMPLES:
            shown = {"ground_truth": trial.request.ground_truth, "response": trial.request.response}
            entry["examples"].append(shown | {"status": verdict.status.value, "reason": verdict.reason})
    return dict(sorted(table.items()))
