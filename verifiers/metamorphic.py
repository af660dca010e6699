"""From a random gold of each answer type: rewritings that must be accepted and near misses that must be refused.

Each type has at least twenty forms of either sort; a form is put into one of the `WRAPPERS`, which do not count.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from verifiers import metamorphic_collections as collections
from verifiers import metamorphic_formulas as formulas
from verifiers import metamorphic_numbers as numbers
from verifiers import metamorphic_units as units
from verifiers import metamorphic_words as words
from verifiers.metamorphic_draw import Draw

WRAPPERS = (
    r"\boxed{%s}", r"So the answer is $\boxed{%s}$.", r"<think>maybe \boxed{0}</think>" "\n" r"\boxed{%s}",
    r"\[ \boxed{ %s } \]", r"**Final Answer**" "\n\n" r"\boxed{%s}", r"\boxed{{%s}}", r"\boxed{\boxed{%s}}",
    r"<answer>\boxed{%s}</answer>", r"\boxed{%s}" "\n\nI checked this twice.", r"\fbox{%s}",
)  # fmt: skip
"""What may stand around an answer without changing it."""

TYPES: Mapping[str, Callable[[random.Random], Draw]] = MappingProxyType(
    {
        "integer": numbers.integer, "rational": numbers.rational, "decimal": numbers.decimal,
        "repeating decimal": numbers.repeating, "percent": numbers.percent, "quantity": units.quantity,
        "mixed number": numbers.mixed, "ratio": numbers.ratio, "scientific notation": numbers.scientific,
        "choice": words.choice, "pair": collections.pair, "vector": collections.vector, "set": collections.solutions,
        "list": collections.sequence, "interval": collections.interval, "union": collections.union,
        "inequality": formulas.inequality, "equation": formulas.line, "matrix": collections.matrix,
        "polynomial": formulas.polynomial, "expression": formulas.expression, "radical": formulas.radical,
        "function": formulas.function, "complex number": formulas.complex_number, "base": units.based,
        "degrees": units.degrees, "radians": units.radians, "date": words.date, "time": words.clock,
        "weekday": words.weekday, "truth value": words.truth, "infinity": words.infinity, "no solution": words.nothing,
        "text": words.text,
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


FORMS_PER_DRAW = 6
"""Rewritings, and near misses, that each draw tries."""


def trials(seed: int, draws: int) -> Iterator[Trial]:
    """For every draw: six of its rewritings and six of its near misses, each in a wrapper, all chosen at random.

    The types take turns. The same trials for the same seed.
    """
    source = random.Random(f"verigold metamorphic {seed}")
    names = sorted(TYPES)
    for index in range(draws):
        name = names[index % len(names)]
        draw = TYPES[name](source)
        for equal, forms in ((True, draw.equal), (False, draw.unequal)):
            for kind, form in source.sample(list(forms.items()), min(FORMS_PER_DRAW, len(forms))):
                response = source.choice(WRAPPERS).replace("%s", form)
                yield Trial(type=name, kind=kind, gold=draw.gold, response=response, equal=equal)
