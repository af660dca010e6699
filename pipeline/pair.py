"""What two canonical forms have in common and what only one of them has: the evidence of `duplicates`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from rapidfuzz.distance import OSA, Indel, LCSseq, Levenshtein

from pipeline.canonical import Canonical, is_content, is_hard, stem
from pipeline.lexicon import HARD

FEW_SYMBOLS = 3
SAME_SYMBOLS = 0.75
VARIANT = 0.75
"""Jaccard of content words from which other numbers, or numbers in other places, make a variant and no rewording."""
NEAR = 6
"""Tokens before and after a number that are near it."""
BEGINNING = 0.5
OTHER_WORDS = 0.33
_GROUPS = frozenset(HARD.values())
_FIGURE = re.compile(r"fig[0-9a-f]{12}\Z")
_DRESSING = frozenset(["diagram", "figure", "shown", "above", "below", "image", "note", "asy", "as", "hence", "thus"])


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
    def number_order(self) -> float:
        """Share of the numbers, ones aside, that both sides have in the same order; 1 where there are none."""
        first, second = ([token for token, _ in _bound_numbers(form)] for form in (self.a, self.b))
        most = max(len(first), len(second))
        return LCSseq.similarity(first, second) / most if most else 1.0

    @cached_property
    def number_company(self) -> float:
        """Share of the different numbers of both sides that have a content word near them in common; 1 where there
        are none."""
        first, second = _company(self.a), _company(self.b)
        shared = first.keys() & second.keys()
        agree = [bool(first[number] & second[number]) or not (first[number] or second[number]) for number in shared]
        return sum(agree) / len(agree) if agree else 1.0

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
        """Formulas are not reworded: most operators, variables and functions must be the same where there are some.
        Letters without operators are no formula (`T-shirt`, `farm A`)."""
        first, second = symbols(self.a), symbols(self.b)
        if all(symbol.isalpha() or symbol == "/" for symbol in first | second):
            return True
        most = max(sum(first.values()), sum(second.values()))
        return most <= FEW_SYMBOLS or sum((first & second).values()) >= SAME_SYMBOLS * most

    @cached_property
    def exchanged(self) -> bool:
        """Whether somewhere one side has a deciding word, number or sign and the other side another one in its place,
        or two words stand in each other's place (`does Ann have`, `does Bob have`), however the two are aligned."""
        return _exchanged(self.a, self.b) and _exchanged(self.b, self.a)

    @cached_property
    def formula_changed(self) -> bool:
        """Whether a sign, a number or a variable was put between two others: `x^2 - 4` and `x^2 - 4x`."""
        return _formula_changed(self.a, self.b) and _formula_changed(self.b, self.a)

    @cached_property
    def other_ending(self) -> bool:
        """The same beginning, then other words: what is given is the same, what is asked is not."""
        start = next((at for at, (x, y) in enumerate(zip(self.a.tokens, self.b.tokens, strict=False)) if x != y), 0)
        if start < BEGINNING * min(len(self.a.tokens), len(self.b.tokens)):
            return False
        first, second = (
            {stem(t) for t in form.tokens[start:] if is_content(t) and not t.isupper()} for form in (self.a, self.b)
        )
        return min(len(first), len(second)) >= 2 and len(first & second) < OTHER_WORDS * len(first | second)

    @cached_property
    def formulas(self) -> tuple[list[str], list[str]]:
        first, second = ([t for t in form.tokens if is_formula(t)] for form in (self.a, self.b))
        return first, second

    @cached_property
    def common_formula(self) -> int:
        """Length of the longest run of formula tokens that both have."""
        first, second = self.formulas
        return SequenceMatcher(None, first, second, autojunk=False).find_longest_match().size

    @cached_property
    def cosmetic(self) -> bool:
        """Whether the texts differ in nothing but dressing: articles, a lost figure, a misspelling."""
        first = [t for t in self.a.tokens if not _dressing(t)]
        second = [t for t in self.b.tokens if not _dressing(t)]
        if len(first) != len(second):
            return False
        return all(x == y or _misspelt(x, y) for x, y in zip(first, second, strict=True))


def _exchanged(a: Canonical, b: Canonical) -> bool:
    words = set(a.tokens), set(b.tokens)
    for tag in Levenshtein.opcodes(a.tokens, b.tokens):
        if tag.tag != "replace":
            continue
        ours, theirs = a.tokens[tag.src_start : tag.src_end], b.tokens[tag.dest_start : tag.dest_end]
        first, second = (Counter(filter(_decides, side)) for side in (ours, theirs))
        if first - second and second - first:
            return True
        moved = set(filter(is_content, ours)) & words[1], set(filter(is_content, theirs)) & words[0]
        if moved[0] - moved[1] and moved[1] - moved[0]:
            return True
    return False


def _formula_changed(a: Canonical, b: Canonical) -> bool:
    for tag in Levenshtein.opcodes(a.tokens, b.tokens):
        one, other = (a.tokens, (tag.src_start, tag.src_end)), (b.tokens, (tag.dest_start, tag.dest_end))
        tokens, (start, end) = one if tag.tag == "delete" else other
        if tag.tag not in ("insert", "delete") or not (start > 0 and end < len(tokens)):
            continue
        inside = [token for token in tokens[start:end] if token not in _OPTIONAL]
        around = tokens[start - 1], tokens[end]
        if inside and all(map(is_formula, (*inside, *around))):
            return True
        if inside and all(token[0].isdigit() for token in (around[0], *inside)):
            return True  # one more entry of a vector
    return False


def _bound_numbers(form: Canonical) -> list[tuple[str, str]]:
    """Numbers, ones aside, with the token that follows each."""
    following = (*form.tokens[1:], "")
    pairs = zip(form.tokens, following, strict=True)
    return [(token, after) for token, after in pairs if token[0].isdigit() and token != "1"]


def _company(form: Canonical) -> dict[str, set[str]]:
    """Each number, ones aside, with the stems of the content words near it."""
    near: dict[str, set[str]] = {}
    stems = [stem(token) if is_content(token) else "" for token in form.tokens]
    for place, token in enumerate(form.tokens):
        if token[0].isdigit() and token != "1":
            near.setdefault(token, set()).update(filter(None, stems[max(0, place - NEAR) : place + NEAR + 1]))
    return near


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


_OPTIONAL = frozenset("=*.'()")


def _decides(token: str) -> bool:
    return (is_hard(token) and token not in "=.'" and not _FIGURE.match(token)) or token == "one"


def is_formula(token: str) -> bool:
    """Numbers, signs, brackets, variables, functions and labels: hard tokens that are no words."""
    return token not in _GROUPS and not _FIGURE.match(token) and (is_hard(token) or token in "()[]{}")
