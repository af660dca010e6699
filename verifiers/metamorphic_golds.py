"""From the golds of a user's file: rewritings that a verifier must accept and near misses that it must refuse.

The forms are made from the text of a gold by patterns of its own, never by the verifier that is on trial. A gold of no
known type is held against itself and against the wrappers only.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from verifiers import metamorphic_collections as collections
from verifiers import metamorphic_formulas as formulas
from verifiers import metamorphic_numbers as numbers
from verifiers import metamorphic_units as units
from verifiers import metamorphic_words as words
from verifiers.agreement import sides_of, verdicts_of
from verifiers.cases import LabelledRow
from verifiers.metamorphic_draw import NEAR, Draw
from verifiers.registry import Request
from verifiers.verdict import Status, Verdict

MAX_GOLDS = 200
FORMS_PER_GOLD = 10
MAX_EXAMPLES = 3
LONGEST_GOLD = 400

_INTEGER = re.compile(r"-?(?:\d{1,30}|\d{1,3}(?:,\d{3})+|\d{1,3}(?:\{,\}\d{3})+)")
_DECIMAL = re.compile(r"-?\d{1,6}\.\d{0,5}[1-9]")
_FRACTION = re.compile(r"(-?)(?:\\[dt]?frac\{(\d{1,20})\}\{(\d{1,20})\}|(\d{1,20})/(\d{1,20}))")
_PERCENT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?\\?%")
_HALF_OPEN = re.compile(r"\[\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*\)")
_BRACKETED = re.compile(r"([(\[])([^()\[\]{}]+)([)\]])")
_SET = re.compile(r"\\\{([^()\[\]{}\\]+)\\\}")
_LETTER = re.compile(r"\(?([A-E])\)?")
_TRUTH = frozenset(("yes", "no", "true", "false"))
_BOUND = re.compile(r"([a-z])\s?(<|>|\\leq?|\\geq?)\s?(-?\d{1,15})(?![\w.])")
_VALUE = re.compile(r"-?[\w.^+*/ ]{1,30}")
_QUANTITY = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(?:\s|~|\\,)*(?:\\(?:text|mathrm|mbox)\{\s?([a-z]+)\s?\}|([a-z]+))")
_DEGREES = re.compile(r"(\d{1,3})(?:\^\{?\s?\\circ\}?|°)")
_BASED = re.compile(r"([1-9]\d{1,30})_\{?([2-9])\}?")
_EXPRESSION = re.compile(
    r"(?:\\(?:[dt]?frac|sqrt|pi|cdot|sin|cos|tan|ln|log|left\(|right\))(?![A-Za-z])"
    r"|(?<![A-Za-z])[abk-zABX-Z](?![A-Za-z])|[\d.^{}()+\-*/\s])+"
)
_NO_FORMULA = re.compile(r"\{\s*0\s*\}|\d-\d\d?-\d|\d/\d\d?/\d|0[xb]")
"""A denominator of nothing, dates, numerals of programs."""
MAX_PERIOD = 2_000
"""Denominator up to which a fraction is also written as a repeating decimal."""


# ---- forms by type -------------------------------------------------------------------------------------------------


def _integer(gold: str) -> Draw | None:
    return numbers.of_integer(int(gold.replace("{,}", "").replace(",", "")), gold) if _INTEGER.fullmatch(gold) else None


def _decimal(gold: str) -> Draw | None:
    """With a last digit that is not 0."""
    return numbers.of_decimal(gold) if _DECIMAL.fullmatch(gold) else None


def _fraction(gold: str) -> Draw | None:
    match = _FRACTION.fullmatch(gold)
    parts = [int(part) for part in match.groups()[1:] if part] if match else []
    if match is None or not all(parts):
        return None
    value = Fraction(parts[0], parts[1]) * (-1 if match.group(1) else 1)
    if value.denominator == 1:
        return numbers.of_integer(value.numerator, gold)
    return numbers.of_fraction(value, gold=gold) if value.denominator <= MAX_PERIOD else None


def _percent(gold: str) -> Draw | None:
    match = _PERCENT.fullmatch(gold)
    return numbers.of_percent(match.group(1), gold) if match and Fraction(match.group(1)) else None


def _interval(gold: str) -> Draw | None:
    match = _HALF_OPEN.fullmatch(gold)
    ends = (int(match.group(1)), int(match.group(2))) if match else (0, 0)
    return collections.of_interval(*ends, gold) if ends[0] < ends[1] else None


def _bracketed(gold: str) -> Draw | None:
    """(a, b) as it is, whatever it means: a point, a list or an interval."""
    match = _BRACKETED.fullmatch(gold)
    items = [item.strip() for item in match.group(2).split(",")] if match else []
    if match is None or len(items) < 2 or not all(map(_VALUE.fullmatch, items)):
        return None
    left, right, inside = match.group(1), match.group(3), ", ".join(items)
    numbered = [f"({item}) + 0" for item in items]
    equal = {
        "left right": rf"\left{left}{inside}\right{right}", "tight": f"{left}{','.join(items)}{right}",
        "spaces": f"{left} {' , '.join(items)} {right}", "big": rf"\big{left}{inside}\big{right}",
        "zero added": f"{left}{', '.join(numbered)}{right}", "thin": rf"{left}{inside.replace(' ', '')}{right}",
        "space commands": left + r",\ ".join(items) + right, "quad": left + r", \quad ".join(items) + right,
    }  # fmt: skip
    unequal = {
        "longer": f"{left}{inside}, 97{right}", "one": items[0], "empty": r"\emptyset", "number": "97531",
        "last": f"{left}{', '.join([*items[:-1], items[-1] + ' + 1'])}{right}", "infinite": r"\infty",
        "first far": f"{left}{', '.join([items[0] + ' - 97531', *items[1:]])}{right}",
        "all far": f"{left}{', '.join(item + ' + 97531' for item in items)}{right}",
        "two": rf"{left}{inside}{right} \text{{ or }} {left}{', '.join(item + ' + 97531' for item in items)}{right}",
    }  # fmt: skip
    if items[::-1] != items and left + right in ("()", "[)", "(]"):
        unequal["swapped"] = f"{left}{', '.join(items[::-1])}{right}"
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _set(gold: str) -> Draw | None:
    match = _SET.fullmatch(gold)
    items = [item.strip() for item in match.group(1).split(",")] if match else []
    known = items and len(set(items)) == len(items) and all(map(_VALUE.fullmatch, items))
    return collections.of_set(items, gold) if known else None


def _inequality(gold: str) -> Draw | None:
    match = _BOUND.fullmatch(gold)
    if match is None:
        return None
    name, op, bound = match.groups()
    return formulas.of_bound(name, op.replace("leq", "le").replace("geq", "ge"), int(bound), gold)


def _quantity(gold: str) -> Draw | None:
    match = _QUANTITY.fullmatch(gold)
    unit = (match.group(2) or match.group(3)) if match else ""
    if match is None or unit not in units.UNITS or not Fraction(match.group(1)):
        return None
    return units.of_quantity(Fraction(match.group(1)), unit, gold)


def _degrees(gold: str) -> Draw | None:
    match = _DEGREES.fullmatch(gold)
    n = int(match.group(1)) if match else 0
    return units.of_degrees(n, gold) if 3 < n < 176 else None


def _based(gold: str) -> Draw | None:
    match = _BASED.fullmatch(gold)
    if match is None or max(match.group(1)) >= match.group(2) or match.group(2) == "9":
        return None
    return units.of_digits(match.group(1), int(match.group(2)), gold)


def _expression(gold: str) -> Draw | None:
    """A formula in one-letter symbols; C is left out, for it may stand for any constant."""
    if not _EXPRESSION.fullmatch(gold) or not re.search(r"\d|[a-z]", gold) or _NO_FORMULA.search(gold):
        return None
    equal = {
        "brackets": f"({gold})", "times one": rf"1 \cdot ({gold})", "plus and minus": f"({gold}) + 1 - 1",
        "quotient": rf"\frac{{2({gold})}}{{2}}", "zero added": f"{gold} + 0",
        "twice half": rf"2 \cdot \frac{{{gold}}}{{2}}", "double negative": f"-(-({gold}))",
        "over one": rf"\frac{{{gold}}}{{1}}", "sized": rf"\left({gold}\right)", "power one": f"({gold})^1",
        "halves": rf"\frac{{{gold}}}{{2}} + \frac{{{gold}}}{{2}}", "divided": f"({gold})/1",
        "symbol taken": f"({gold}) + w - w", "tenths": rf"0.1 \cdot 10({gold})",
        "third of three": rf"\frac{{1}}{{3}} \cdot 3({gold})",
    }  # fmt: skip
    unequal = {
        "plus one": f"({gold}) + 1", "minus one": f"({gold}) - 1", "equation": f"{gold} = 97531",
        "far": f"({gold}) + 97531", "bound": rf"{gold} \le 97531", "two": rf"{gold} \text{{ or }} ({gold}) + 1",
        "new symbol": f"({gold}) + w", "infinite": r"\infty", "pair": rf"\left({gold}, 97531\right)",
        "set": rf"\{{{gold}, 97531\}}", "nothing": r"\emptyset", "complex": f"({gold}) + 7i",
        "plus minus": rf"({gold}) \pm 97531",
    }  # fmt: skip
    return Draw(gold=gold, equal=equal, unequal=unequal)


def _letter(gold: str) -> Draw | None:
    match = _LETTER.fullmatch(gold)
    if match is None:
        return None
    letter = match.group(1)
    return words.of_letter(letter, "ABCDE"[("ABCDE".index(letter) + 1) % 5], gold=gold)


def _truth(gold: str) -> Draw | None:
    return words.of_truth(gold.lower() in ("yes", "true"), gold) if gold.lower() in _TRUTH else None


_TYPES: tuple[tuple[str, Callable[[str], Draw | None]], ...] = (
    ("integer", _integer), ("decimal", _decimal), ("fraction", _fraction), ("percent", _percent), ("set", _set),
    ("interval", _interval), ("brackets", _bracketed), ("inequality", _inequality), ("letter", _letter),
    ("truth value", _truth), ("quantity", _quantity), ("degrees", _degrees), ("base", _based),
    ("expression", _expression),
)  # fmt: skip
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
    """`source`: of the row that the gold comes from; verl chooses its scorer by it."""

    kind: str
    request: Request
    equal: bool
    source: str

    def row(self) -> LabelledRow:
        asked = self.request
        return LabelledRow(
            id=self.kind,
            ground_truth=asked.ground_truth,
            response=asked.response,
            verifier=asked.verifier,
            options=asked.options,
            source=self.source,
        )


def typed(gold: str) -> tuple[str, Draw] | None:
    """The type of a gold and its forms, by patterns on its text."""
    text = gold.strip().removeprefix("$").removesuffix("$").strip()
    for name, forms in _TYPES:
        draw = forms(text) if len(text) <= LONGEST_GOLD else None
        if draw is not None:
            return name, draw
    return None


def gold_trials(
    rows: Sequence[LabelledRow], *, seed: int = 0, golds: int = MAX_GOLDS, forms: int = FORMS_PER_GOLD
) -> Iterator[GoldTrial]:
    """Trials of at most so many different golds, and so many of the rewritings and of the near misses of each, drawn at
    random. Of several accepted answers the first counts."""
    different: dict[tuple[str, str], LabelledRow] = {}
    for row in rows:
        first = _first(row)
        if first.strip() and row.verifier != "format":
            different.setdefault((row.verifier, first), row)
    source = random.Random(f"verigold golds {seed}")
    keys = source.sample(list(different), min(golds, len(different)))
    for place, (verifier, gold) in enumerate(keys):
        row = different[verifier, gold]
        yield from _trials_of(gold, row, source, forms)
        stranger = different[keys[place - 1]]
        if verifier == "qa" and not _words(row) & _words(stranger):
            request = replace(row.request(), response=_first(stranger))
            yield GoldTrial(kind="any: another gold", request=request, equal=False, source=row.source)


def _first(row: LabelledRow) -> str:
    """The first accepted answer that is no list of spellings."""
    golds = (row.ground_truth,) if isinstance(row.ground_truth, str) else row.ground_truth
    return next((gold for gold in golds if "/" not in gold), golds[0])


def _words(row: LabelledRow) -> set[str]:
    golds = (row.ground_truth,) if isinstance(row.ground_truth, str) else row.ground_truth
    return {word.lower() for gold in golds for word in re.findall(r"\w+", gold)}


def _trials_of(gold: str, row: LabelledRow, source: random.Random, forms: int) -> Iterator[GoldTrial]:
    verifier, options = row.verifier, row.options

    def trial(kind: str, response: str, *, equal: bool) -> GoldTrial:
        request = Request(response=response, ground_truth=gold, verifier=verifier, options=options)
        return GoldTrial(kind=kind, request=request, equal=equal, source=row.source)

    for name, wrapper in _WRAPPED if verifier == "math" else _SPOKEN:
        yield trial(f"any: {name}", wrapper.replace("%s", gold.strip()), equal=True)
    for name, response in _NOTHING:
        yield trial(f"any: {name}", response, equal=False)
    found = typed(gold) if verifier in ("math", "choice") else None
    if found is None or (verifier == "choice" and found[0] != "letter"):
        return
    type_, draw = found
    for equal, drawn in ((True, draw.equal), (False, draw.unequal)):
        known = [(kind, form) for kind, form in drawn.items() if equal or not (options and kind in NEAR)]
        for kind, form in source.sample(known, min(forms, len(known))):
            yield trial(f"{type_}: {kind}", rf"\boxed{{{form}}}", equal=equal)


def metamorphic(
    rows: Sequence[LabelledRow],
    *,
    names: Sequence[str] = (),
    seed: int = 0,
    golds: int = MAX_GOLDS,
    forms: int = FORMS_PER_GOLD,
    verdicts: Callable[[str, Sequence[LabelledRow]], Sequence[Verdict]] = verdicts_of,
) -> dict[str, Any]:
    """`metamorphic` of audit.json: {verifiers, kinds: {kind: {must: accept or refuse, n, by_verifier, examples}}}.

    names: verifiers to judge, put side by side as `agreement.sides_of` does. by_verifier: for each of them `accepted`
    and `wrongly`: refused though it must be accepted, or accepted though it must be refused; undecided counts as not
    accepted. Up to three of those of each verifier are the examples.
    """
    trials = list(gold_trials(rows, seed=seed, golds=golds, forms=forms))
    asked = [trial.row() for trial in trials]
    sides = sides_of(names)
    table: dict[str, dict[str, Any]] = {}
    for name in sides:
        for trial, verdict in zip(trials, verdicts(name, asked), strict=True):
            _count(table, name, trial, verdict)
    return {"verifiers": list(sides), "kinds": dict(sorted(table.items()))}


def _count(table: dict[str, dict[str, Any]], name: str, trial: GoldTrial, verdict: Verdict) -> None:
    must = "accept" if trial.equal else "refuse"
    entry = table.setdefault(trial.kind, {"must": must, "n": 0, "by_verifier": {}, "examples": []})
    counts = entry["by_verifier"].setdefault(name, {"n": 0, "accepted": 0, "wrongly": 0})
    accepted = verdict.status is Status.CORRECT
    counts["n"] += 1
    counts["accepted"] += accepted
    entry["n"] = counts["n"]
    if accepted == trial.equal:
        return
    counts["wrongly"] += 1
    if counts["wrongly"] <= MAX_EXAMPLES:
        shown = {"verifier": name, "ground_truth": trial.request.ground_truth, "response": trial.request.response}
        entry["examples"].append(shown | {"status": verdict.status.value, "reason": verdict.reason})
