"""Are two problems the same? Pairwise, on canonical forms, with the answers as evidence.

Similarity alone never decides: copies with one number or one deciding word changed are more alike than rewordings are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Literal

from pipeline.canonical import Canonical
from pipeline.lexicon import LOOSE
from pipeline.pair import VARIANT, Pair, is_formula, symbols

Relation = Literal["equal", "differ", "unknown"]

COPY = 0.6
"""Token similarity from which equal hard sequences mean the same problem."""
OPPOSED = 0.7
NEAR_COPY = 0.8
"""From here on a changed deciding word is the difference that was meant, not a rewording."""
SAME_CONTENT = 0.95
SHARED_CONTENT = 0.5
RENAMED_CONTENT = 0.8
CONFLICT = 0.9
MANY_NUMBERS = 3
REWORDED = MappingProxyType(
    {
        (0, 0): 0.85,
        (1, 0): 0.75,
        (2, 0): 0.55,
        (3, 0): 0.45,
        (2, 1): 0.8,
        (3, 1): 0.5,
        (3, 2): 0.65,
        (3, 3): 0.9,
    }
)
"""(different numbers shared, numbers that differ) -> least token similarity plus Jaccard of content words. The fewer
numbers agree, the more words must. Fitted on GSM8K: its reworded test set, and other pairs with equal answers."""
CERTAIN = 1.0
"""Least log-odds at which a row may be lost for a rewording; see `reworded_odds`."""
FEW_NUMBERS = MappingProxyType({0: -7.6, 1: -5.5, 2: -2.5})
"""What few numbers in common take from the log-odds."""
IN_WORDS = frozenset(["0", "2", "3", "4", "7", "12", "24", "60", "100"])
"""Numbers that words may stand for: a pair, twice, a week, a dozen, a percentage."""
WEAK, STRONG = 2.0, -1.5
"""What answers of one digit, and of three or more, add to the least log-odds."""
EXCHANGED = 0.7
"""From this similarity on, a number that stands for another one is what was meant to differ."""
ADDED = 0.65
"""From this similarity on, a number that one side has more is what was meant to differ."""
IN_ORDER = 0.6
MIN_SHARED = 2
FEW_WORDS = 0.4
"""Token similarity from which one shared content word is enough beside many equal numbers and no other."""
LONG_FORMULA = 7
"""Tokens of a formula that are no accident."""
SHARED_FORMULA = 0.5
FORMULA_COPY = 0.35
MIN_SHARED_SIGNS = 6
LONG = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Two problems that are the same (`duplicate`), or the same with golds that differ (`conflict`)."""

    kind: Literal["duplicate", "conflict"]
    rule: str
    score: float


MOST_NUMBERS = 12


def number_sets(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """The different numbers of a text in order, ones aside, and with each left out in turn."""
    numbers = sorted({token for token in tokens if token[0].isdigit() and token != "1"})[:MOST_NUMBERS]
    if not numbers:
        return []
    left_out = [(*numbers[:gap], *numbers[gap + 1 :]) for gap in range(len(numbers))] if len(numbers) > 1 else []
    return [tuple(numbers), *left_out]


def options_agree(a: Canonical, b: Canonical) -> bool:
    return sorted(a.options) == sorted(b.options)


def plausible(pair: Pair) -> bool:
    """Whether an answer could make the two one problem: a cheap test before answers are compared."""
    if pair.similarity < COPY:
        return (_reworded(pair) or _translated(pair) or _same_formula(pair) or _renamed(pair)) and pair.figures_agree
    if not pair.figures_agree and not _same_but_figure(pair):
        return False
    if pair.hard_equal or pair.similarity >= NEAR_COPY:
        return True
    return _reworded(pair) or _extended(pair) or _translated(pair) or _renamed(pair) or _same_formula(pair)


def _same_but_figure(pair: Pair) -> bool:
    """A long text that is nearly the same, with its figure drawn by other code."""
    long = min(len(pair.a.tokens), len(pair.b.tokens)) >= LONG
    return long and pair.similarity >= CONFLICT and pair.numbers_equal


def _reworded(pair: Pair) -> bool:
    """Other words around the same numbers and formulas. With equal answers this is one problem."""
    shared, only_a, only_b = pair.number_sets
    least = REWORDED.get((min(shared, MANY_NUMBERS), only_a + only_b))
    if least is None or (only_a and only_b and pair.similarity >= EXCHANGED):
        return False
    if only_a + only_b and (pair.same_words >= VARIANT or pair.similarity >= ADDED):
        return False
    sure = shared >= MANY_NUMBERS and not only_a + only_b and pair.similarity >= FEW_WORDS
    if pair.similarity < least - 1 or len(pair.a.content & pair.b.content) < (1 if sure else MIN_SHARED):
        return False
    return pair.similarity + pair.same_words >= least and pair.symbols_agree


def reworded_odds(pair: Pair) -> float:
    """Log-odds that two texts with the same answer and nearly the same numbers are one problem in other words, both
    taken to be as frequent. A logistic regression on the reworded GSM8K test and on other pairs of the bundled rows
    with equal answers, rounded: numbers in the same order and in the same company say as much as the words do."""
    few = FEW_NUMBERS.get(pair.number_sets[0], 0.0)
    words = 5.5 * pair.similarity + 2.5 * pair.same_words
    numbers = 5 * pair.number_order + 5 * pair.number_company - 0.5 * min(pair.number_gap, 4) + few
    strange = len((pair.a.distinct_numbers ^ pair.b.distinct_numbers) - IN_WORDS)
    same = pair.hard_equal and len(pair.hard[0]) >= MANY_NUMBERS
    return words + numbers - 1.5 * strange + 1.5 * same - 8


def _same_formula(pair: Pair) -> bool:
    """A formula of some length stands in both, and nothing else decides: no other numbers, no word against another."""
    shorter = min(map(len, pair.formulas))
    if pair.number_gap or shorter < LONG_FORMULA or not pair.symbols_agree or pair.similarity < FORMULA_COPY:
        return False
    first, second = (
        _weighty(Counter({t: n for t, n in side.items() if not is_formula(t)})) for side in pair.hard_difference
    )
    return not (first and second) and pair.common_formula >= max(LONG_FORMULA, SHARED_FORMULA * shorter)


def _extended(pair: Pair) -> bool:
    """One text is the other with a note or a definition added: no number and no deciding word is exchanged."""
    if pair.similarity < COPY or pair.number_gap or pair.shared_content < SAME_CONTENT:
        return False
    if pair.number_order < IN_ORDER:
        return False
    first, second = pair.hard_difference
    return not first or not second


def _translated(pair: Pair) -> bool:
    """The same numbers and formulas in another script."""
    if pair.a.cjk == pair.b.cjk or pair.number_gap > 1:
        return False
    first, second = symbols(pair.a), symbols(pair.b)
    shared = sum((first & second).values())
    enough = shared + len(pair.a.numbers) >= MIN_SHARED_SIGNS
    return enough and shared >= COPY * max(sum(first.values()), sum(second.values()))


def judge(pair: Pair, relation: Relation, odds: float = -inf) -> Match | None:
    """The verdict on one pair, given how the answers relate. None: two problems.

    odds: least log-odds of a rewording (see `reworded_odds`); infinite where only the words decide, which must then be
    the same.
    """
    if pair.a.options and pair.b.options and not options_agree(pair.a, pair.b) and relation != "equal":
        return None
    if not pair.figures_agree and not (relation == "equal" and _same_but_figure(pair)):
        return None
    if relation == "equal":
        return _judge_equal(pair, odds)
    identical = pair.same_but_equals_signs and pair.brackets_equal and pair.cosmetic
    if not identical:
        return None
    if relation == "unknown":
        return Match(kind="duplicate", rule="same-text", score=pair.similarity)
    if pair.figures[0] != pair.figures[1]:
        return None
    return Match(kind="conflict", rule="same-text", score=pair.similarity)


def _judge_equal(pair: Pair, odds: float) -> Match | None:
    score = round(pair.similarity, 4)
    if pair.a.tokens == pair.b.tokens:
        return Match(kind="duplicate", rule="same-form", score=score)
    if odds == inf and not (pair.hard_equal and pair.same_words >= SAME_CONTENT and not pair.exchanged):
        return None
    if odds > -inf and pair.other_ending:
        return None
    if pair.hard_equal and pair.similarity >= COPY:
        if pair.similarity >= NEAR_COPY and pair.exchanged:
            return None
        if odds > -inf and len(pair.hard[0]) < LONG_FORMULA and reworded_odds(pair) < odds:
            return None
        return Match(kind="duplicate", rule="same-hard-sequence", score=score)
    if pair.permuted:
        return None
    if pair.similarity >= NEAR_COPY:
        return Match(kind="duplicate", rule="near-copy", score=score) if _slip(pair) else _as_renamed(pair, score, odds)
    reworded = _reworded(pair) and (odds == -inf or reworded_odds(pair) >= odds)
    if (reworded or _extended(pair)) and not _opposed(pair):
        return Match(kind="duplicate", rule="reworded", score=score)
    if _same_formula(pair) and not _opposed(pair):
        return Match(kind="duplicate", rule="same-formula", score=score)
    if _translated(pair):
        return Match(kind="duplicate", rule="translated", score=score)
    return _as_renamed(pair, score, odds)


def _slip(pair: Pair) -> bool:
    """Near copies with equal answers: deciding tokens were lost or added on one side, none exchanged."""
    first, second = (_weighty(side) for side in pair.hard_difference)
    if first and second and not _same_folded(pair):
        return False
    short = min(len(pair.a.tokens), len(pair.b.tokens)) < 2 * LONG
    if pair.exchanged or (short and pair.formula_changed):
        first, second = _folded(pair)
        return first == second or (not short and Counter(first) == Counter(second))
    return pair.number_gap == 0 or (pair.number_gap == 1 and pair.same_words >= SAME_CONTENT)


def _weighty(side: Counter[str]) -> Counter[str]:
    return Counter({token: count for token, count in side.items() if token not in LOOSE and token not in "=*.'"})


def _same_folded(pair: Pair) -> bool:
    """Equal once case and the spelling of `nonzero` are set aside."""
    first, second = _folded_gap(pair)
    return not first or not second


def _folded_gap(pair: Pair) -> tuple[Counter[str], Counter[str]]:
    first, second = map(Counter, _folded(pair))
    return _weighty(first - second), _weighty(second - first)


def _folded(pair: Pair) -> tuple[list[str], list[str]]:
    first, second = (" ".join(side).lower().replace("not 0", "nonzero").split() for side in pair.hard)
    return first, second


_OPPOSITES = tuple(
    frozenset(words.split())
    for words in (
        "max min",
        "sum product difference quotient",
        "odd even",
        "positive negative",
        "first last",
        "more less",
        "increase decrease",
        "inscribed circumscribed",
        "area perimeter volume",
        "radius diameter",
        "median altitude bisector",
        "permutation combination",
        "interior exterior",
        "acute obtuse",
        "arithmetic geometric harmonic",
        "real complex",
        "labeled unlabeled",
        "sin cos tan",
        "gcd lcm",
        "horizontal vertical",
        "before after",
        "rational irrational",
        "king queen jack ace",
        "heart diamond club spade",
    )
)


def _opposed(pair: Pair) -> bool:
    """One side has a deciding word, the other its opposite in its stead."""
    if pair.similarity < OPPOSED:
        return False
    first, second = (set(side) for side in pair.hard_difference)
    return any(words & first and words & second for words in _OPPOSITES)


def _renaming(pair: Pair) -> dict[str, str] | None:
    """A one-to-one renaming of variables and points, letter by letter, that makes the hard sequences equal."""
    first, second = pair.hard
    if len(first) != len(second):
        return None
    there: dict[str, str] = {}
    back: dict[str, str] = {}
    for one, other in zip(first, second, strict=True):
        if len(one) != len(other) or (one != other and not (_is_variable(one) and _is_variable(other))):
            return None
        for x, y in zip(one, other, strict=True) if _is_variable(one) else ():
            if there.setdefault(x, y) != y or back.setdefault(y, x) != x:
                return None
    return there


def _is_variable(token: str) -> bool:
    """A single letter, or a label of several points."""
    return token.isalpha() and (len(token) == 1 or token.isupper())


def _renamed(pair: Pair, least: float = SHARED_CONTENT) -> bool:
    if not pair.numbers_equal:
        return False
    first, second = ({word for word in form.content if not word.isupper()} for form in (pair.a, pair.b))
    bare = not first and not second
    shared = pair.similarity if bare else len(first & second) / max(1, min(len(first), len(second)))
    return shared >= (SHARED_CONTENT if bare else least) and _renaming(pair) is not None


def _as_renamed(pair: Pair, score: float, odds: float) -> Match | None:
    """Where loss matters, the words around other variables must be the same; equal variables are no renaming."""
    certain = not pair.hard_equal and _renamed(pair, RENAMED_CONTENT)
    if certain or (_renamed(pair) and (odds == -inf or reworded_odds(pair) >= odds)):
        return Match(kind="duplicate", rule="variables-renamed", score=score)
    return None
