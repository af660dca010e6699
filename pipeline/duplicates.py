"""Are two problems the same? Pairwise, on canonical forms, with the answers as evidence.

Similarity alone never decides: copies with one number or one deciding word changed are more alike than rewordings are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from rapidfuzz.distance import OSA, Indel

from pipeline.canonical import Canonical, is_hard
from pipeline.lexicon import HARD, LOOSE

Relation = Literal["equal", "differ", "unknown"]

COPY = 0.6
"""Token similarity from which equal hard sequences mean the same problem."""
OPPOSED = 0.7
NEAR_COPY = 0.8
"""From here on a changed deciding word is the difference that was meant, not a rewording."""
SAME_CONTENT = 0.95
SHARED_CONTENT = 0.5
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
EXCHANGED = 0.7
"""From this similarity on, a number that stands for another one is what was meant to differ."""
VARIANT = 0.75
"""Jaccard of content words from which other numbers, or numbers in other places, make a variant and no rewording."""
MIN_SHARED = 2
MIN_SHARED_SIGNS = 6
FEW_SYMBOLS = 3
SAME_SYMBOLS = 0.75
LONG = 30

_GROUPS = frozenset(HARD.values())
_FIGURE = re.compile(r"fig[0-9a-f]{12}\Z")
_DRESSING = frozenset(["diagram", "figure", "shown", "above", "below", "image", "note", "asy", "as", "hence", "thus"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Two problems that are the same (`duplicate`), or the same with golds that differ (`conflict`)."""

    kind: Literal["duplicate", "conflict"]
    rule: str
    score: float


@dataclass(frozen=True)
class Pair:
    """What decides about one pair, each part computed when it is asked for."""

    a: Canonical
    b: Canonical

    @cached_property
    def similarity(self) -> float:
        """Indel similarity of the canonical tokens."""
        return Indel.normalized_similarity(self.a.tokens, self.b.tokens)

    @cached_property
    def figures(self) -> tuple[Counter[str], Counter[str]]:
        first, second = (Counter(filter(_FIGURE.match, form.hard)) for form in (self.a, self.b))
        return first, second

    @cached_property
    def figures_agree(self) -> bool:
        """Equal figures, or one side has lost its own."""
        first, second = self.figures
        return first == second or not first or not second

    @cached_property
    def hard(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Hard sequences without figures."""
        first, second = (tuple(t for t in form.hard if not _FIGURE.match(t)) for form in (self.a, self.b))
        return first, second

    @cached_property
    def brackets_equal(self) -> bool:
        first, second = ([t for t in form.tokens if t in "()"] for form in (self.a, self.b))
        return first == second

    @cached_property
    def hard_equal(self) -> bool:
        return self.hard[0] == self.hard[1]

    @cached_property
    def same_but_equals_signs(self) -> bool:
        """Equal hard sequences, where `A = (0, 0)` may stand for `A(0, 0)`."""
        first, second = ([t for t in side if t != "="] for side in self.hard)
        return first == second

    @cached_property
    def hard_difference(self) -> tuple[Counter[str], Counter[str]]:
        """Deciding tokens that only one side has."""
        first, second = Counter(self.hard[0]), Counter(self.hard[1])
        return first - second, second - first

    @cached_property
    def shared_content(self) -> float:
        """Overlap coefficient of the content words."""
        first, second = self.a.content, self.b.content
        return len(first & second) / max(1, min(len(first), len(second)))

    @cached_property
    def same_words(self) -> float:
        """Jaccard similarity of the content words."""
        first, second = self.a.content, self.b.content
        return len(first & second) / max(1, len(first | second))

    @property
    def numbers_equal(self) -> bool:
        """The same numbers, ones aside (`one of`, `x^1`), in any order."""
        return self.number_gap == 0

    @cached_property
    def number_gap(self) -> int:
        """How many numbers, ones aside, only one side has."""
        first, second = (Counter(t for t in form.numbers if t != "1") for form in (self.a, self.b))
        return sum(((first - second) + (second - first)).values())

    @cached_property
    def number_sets(self) -> tuple[int, int, int]:
        """How many different numbers, ones aside, both sides have, only the first, only the second."""
        first, second = self.a.distinct_numbers, self.b.distinct_numbers
        return len(first & second), len(first - second), len(second - first)

    @cached_property
    def permuted(self) -> bool:
        """The same words with the same numbers in other places."""
        first, second = (_bound_numbers(form) for form in (self.a, self.b))
        moved = [number for number, _ in first] != [number for number, _ in second]
        if not moved or self.number_gap or self.same_words < VARIANT or self._formulas:
            return False
        return 2 * sum((Counter(first) & Counter(second)).values()) < len(first)

    @property
    def _formulas(self) -> bool:
        return max(sum(symbols(form).values()) for form in (self.a, self.b)) > FEW_SYMBOLS

    @cached_property
    def symbols_agree(self) -> bool:
        """Formulas are not reworded: most operators, variables and functions must be the same where there are some."""
        first, second = symbols(self.a), symbols(self.b)
        most = max(sum(first.values()), sum(second.values()))
        return most <= FEW_SYMBOLS or sum((first & second).values()) >= SAME_SYMBOLS * most

    @cached_property
    def cosmetic(self) -> bool:
        """Whether the texts differ in nothing but dressing: articles, a lost figure, a misspelling."""
        first = [t for t in self.a.tokens if not _dressing(t)]
        second = [t for t in self.b.tokens if not _dressing(t)]
        if len(first) != len(second):
            return False
        return all(x == y or _misspelt(x, y) for x, y in zip(first, second, strict=True))


def _bound_numbers(form: Canonical) -> list[tuple[str, str]]:
    """Numbers, ones aside, with the token that follows each."""
    following = (*form.tokens[1:], "")
    pairs = zip(form.tokens, following, strict=True)
    return [(token, after) for token, after in pairs if token[0].isdigit() and token != "1"]


def symbols(form: Canonical) -> Counter[str]:
    """Operators, variables, functions and labels."""
    return Counter(t for t in form.hard if not t[0].isdigit() and t not in _GROUPS and not _FIGURE.match(t))


_ARTICLES = frozenset(["a", "an", "the", "that", "then", "is", "are", "be", "of", "to", "in"])


def _dressing(token: str) -> bool:
    return token in _ARTICLES or token in _DRESSING or token in "()=" or bool(_FIGURE.match(token))


def _misspelt(first: str, second: str) -> bool:
    """One slip apart, and long enough that this is no other word; never for numbers or deciding words."""
    if min(len(first), len(second)) < 5 or not (first.isalpha() and second.isalpha()):
        return False
    if is_hard(first) and is_hard(second):
        return False
    return OSA.distance(first, second, score_cutoff=1) <= 1


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
        return (_reworded(pair) or _translated(pair)) and pair.figures_agree
    if not pair.figures_agree and not _same_but_figure(pair):
        return False
    if pair.hard_equal or pair.similarity >= NEAR_COPY:
        return True
    return _reworded(pair) or _extended(pair) or _translated(pair) or _renamed(pair)


def _same_but_figure(pair: Pair) -> bool:
    """A long text that is nearly the same, with its figure drawn by other code."""
    long = min(len(pair.a.tokens), len(pair.b.tokens)) >= LONG
    return long and pair.similarity >= CONFLICT and pair.numbers_equal


def _reworded(pair: Pair, margin: float = 0.0) -> bool:
    """Other words around the same numbers and formulas. With equal answers this is one problem."""
    shared, only_a, only_b = pair.number_sets
    least = REWORDED.get((min(shared, MANY_NUMBERS), only_a + only_b))
    if least is None or (only_a and only_b and pair.similarity >= EXCHANGED):
        return False
    if only_a + only_b and pair.same_words >= VARIANT:
        return False
    if pair.similarity < least - 1 or len(pair.a.content & pair.b.content) < MIN_SHARED:
        return False
    return pair.similarity + pair.same_words >= least + margin and pair.symbols_agree


def _extended(pair: Pair) -> bool:
    """One text is the other with a note or a definition added: no number and no deciding word is exchanged."""
    if pair.similarity < COPY or pair.number_gap or pair.shared_content < SAME_CONTENT:
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


def judge(pair: Pair, relation: Relation, margin: float = 0.0) -> Match | None:
    """The verdict on one pair, given how the answers relate. None: two problems.

    margin: how much closer than usual a rewording must be, for answers that say little or for a stricter use.
    """
    if pair.a.options and pair.b.options and not options_agree(pair.a, pair.b) and relation != "equal":
        return None
    if not pair.figures_agree and not (relation == "equal" and _same_but_figure(pair)):
        return None
    if relation == "equal":
        return _judge_equal(pair, margin)
    identical = pair.same_but_equals_signs and pair.brackets_equal and pair.cosmetic
    if not identical:
        return None
    if relation == "unknown":
        return Match(kind="duplicate", rule="same-text", score=pair.similarity)
    if pair.figures[0] != pair.figures[1]:
        return None
    return Match(kind="conflict", rule="same-text", score=pair.similarity)


def _judge_equal(pair: Pair, margin: float) -> Match | None:
    score = round(pair.similarity, 4)
    if pair.a.tokens == pair.b.tokens:
        return Match(kind="duplicate", rule="same-form", score=score)
    if pair.hard_equal and pair.similarity >= COPY:
        return Match(kind="duplicate", rule="same-hard-sequence", score=score)
    if pair.permuted:
        return None
    if pair.similarity >= NEAR_COPY:
        return Match(kind="duplicate", rule="near-copy", score=score) if _slip(pair) else _as_renamed(pair, score)
    if (_reworded(pair, margin) or _extended(pair)) and not _opposed(pair):
        return Match(kind="duplicate", rule="reworded", score=score)
    if _translated(pair):
        return Match(kind="duplicate", rule="translated", score=score)
    return _as_renamed(pair, score)


def _slip(pair: Pair) -> bool:
    """Near copies with equal answers: deciding tokens were lost or added on one side, none exchanged."""
    first, second = (_weighty(side) for side in pair.hard_difference)
    if first and second and not _same_folded(pair):
        return False
    return pair.number_gap == 0 or (pair.number_gap == 1 and pair.same_words >= SAME_CONTENT)


def _weighty(side: Counter[str]) -> Counter[str]:
    return Counter({token: count for token, count in side.items() if token not in LOOSE and token not in "=*.'"})


def _same_folded(pair: Pair) -> bool:
    """Equal once case and the spelling of `nonzero` are set aside."""
    first, second = (" ".join(side).lower().replace("not 0", "nonzero").split() for side in pair.hard)
    gap = Counter(first) - Counter(second), Counter(second) - Counter(first)
    return not _weighty(gap[0]) or not _weighty(gap[1])


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
    """A one-to-one renaming of single-letter variables that makes the hard sequences equal."""
    first, second = pair.hard
    if len(first) != len(second):
        return None
    there: dict[str, str] = {}
    back: dict[str, str] = {}
    for x, y in zip(first, second, strict=True):
        variable = len(x) == len(y) == 1 and x.isalpha() and y.isalpha()
        if x != y and not variable:
            return None
        if variable and (there.setdefault(x, y) != y or back.setdefault(y, x) != x):
            return None
    return there


def _renamed(pair: Pair) -> bool:
    return pair.numbers_equal and pair.shared_content >= SHARED_CONTENT and _renaming(pair) is not None


def _as_renamed(pair: Pair, score: float) -> Match | None:
    if _renamed(pair):
        return Match(kind="duplicate", rule="variables-renamed", score=score)
    return None
