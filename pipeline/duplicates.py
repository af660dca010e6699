"""Are two problems the same? Pairwise, on canonical forms, with the answers as evidence.

Similarity alone never decides: copies with one number or one deciding word changed are more alike than rewordings are.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rapidfuzz.distance import OSA, Indel, Opcode
from rapidfuzz.distance.Indel import opcodes

from pipeline.canonical import Canonical, is_content, is_hard
from pipeline.lexicon import LOOSE, STOP

Relation = Literal["equal", "differ", "unknown"]

COPY = 0.6
"""Token similarity from which equal hard sequences mean the same problem."""
NEAR_COPY = 0.8
"""From here on a changed deciding word is the difference that was meant, not a rewording."""
SAME_WORDS = 0.85
REWORDED = 0.3
SHARED_CONTENT = 0.5
CONFLICT = 0.9

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

    @cached_property
    def numbers_equal(self) -> bool:
        """The same numbers, ones aside (`one of`, `x^1`), in any order."""
        first, second = (Counter(t for t in form.numbers if t != "1") for form in (self.a, self.b))
        return first == second

    @cached_property
    def edits(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Replaced runs of tokens, figures left out."""
        found: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for step in opcodes(self.a.tokens, self.b.tokens):
            if step.tag == "equal":
                continue
            first, second = _runs(self.a, self.b, step)
            if found and step.tag == "insert" and not found[-1][1] and _adjacent(step, self):
                found[-1] = (found[-1][0], second)
            else:
                found.append((first, second))
        return [(first, second) for first, second in found if first or second]

    @cached_property
    def cosmetic(self) -> bool:
        """Whether the texts differ in nothing but dressing: articles, a lost figure, a misspelling."""
        first = [t for t in self.a.tokens if not _dressing(t)]
        second = [t for t in self.b.tokens if not _dressing(t)]
        if len(first) != len(second):
            return False
        return all(x == y or _misspelt(x, y) for x, y in zip(first, second, strict=True))


def _runs(a: Canonical, b: Canonical, step: Opcode) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first = tuple(t for t in a.tokens[step.src_start : step.src_end] if not _FIGURE.match(t))
    second = tuple(t for t in b.tokens[step.dest_start : step.dest_end] if not _FIGURE.match(t))
    return (first, ()) if step.tag == "delete" else ((), second)


def _adjacent(step: Opcode, pair: Pair) -> bool:
    return step.src_start > 0 and step.src_start <= len(pair.a.tokens)


_ARTICLES = frozenset(["a", "an", "the", "that", "then", "is", "are", "be", "of", "to", "in"])


def _dressing(token: str) -> bool:
    return token in _ARTICLES or token in _DRESSING or token in "()" or bool(_FIGURE.match(token))


def _misspelt(first: str, second: str) -> bool:
    """One slip apart, and long enough that this is no other word; never for numbers or deciding words."""
    if min(len(first), len(second)) < 5 or not (first.isalpha() and second.isalpha()):
        return False
    if is_hard(first) and is_hard(second):
        return False
    return OSA.distance(first, second, score_cutoff=1) <= 1


def options_agree(a: Canonical, b: Canonical) -> bool:
    return sorted(a.options) == sorted(b.options)


def plausible(pair: Pair) -> bool:
    """Whether an answer could make the two one problem: a cheap test before answers are compared."""
    if not pair.figures_agree:
        return False
    if pair.hard_equal and pair.similarity >= COPY:
        return True
    if pair.similarity >= NEAR_COPY:
        return True
    return _reworded_shape(pair) or _renamed(pair)


def _reworded_shape(pair: Pair) -> bool:
    if not pair.numbers_equal:
        return False
    if pair.similarity >= 0.5:
        return True
    enough = len(pair.a.content & pair.b.content) >= 3
    return enough and (pair.similarity >= REWORDED or pair.shared_content >= SHARED_CONTENT)


def judge(pair: Pair, relation: Relation) -> Match | None:
    """The verdict on one pair, given how the answers relate. None: two problems."""
    if pair.a.options and pair.b.options and not options_agree(pair.a, pair.b) and relation != "equal":
        return None
    if not pair.figures_agree:
        return None
    if relation == "equal":
        return _judge_equal(pair)
    identical = pair.hard_equal and pair.brackets_equal and pair.cosmetic
    if not identical:
        return None
    if relation == "unknown":
        return Match(kind="duplicate", rule="same-text", score=pair.similarity)
    if pair.figures[0] != pair.figures[1]:
        return None
    return Match(kind="conflict", rule="same-text", score=pair.similarity)


def _judge_equal(pair: Pair) -> Match | None:
    score = round(pair.similarity, 4)
    if pair.a.tokens == pair.b.tokens:
        return Match(kind="duplicate", rule="same-form", score=score)
    if pair.hard_equal and pair.similarity >= COPY and not _one_word_replaced(pair):
        return Match(kind="duplicate", rule="same-hard-sequence", score=score)
    if pair.similarity >= NEAR_COPY:
        return Match(kind="duplicate", rule="near-copy", score=score) if _slip(pair) else _as_renamed(pair, score)
    if _reworded_shape(pair) and not _permuted(pair) and not _opposed(pair):
        return Match(kind="duplicate", rule="reworded", score=score)
    return _as_renamed(pair, score)


def _one_word_replaced(pair: Pair) -> bool:
    """A near copy in which one content word stands for another asks something else (opening, closing)."""
    if pair.similarity < CONFLICT:
        return False
    return False


def _slip(pair: Pair) -> bool:
    """Near copies with equal answers: deciding tokens were lost or added on one side, none exchanged."""
    first, second = (_weighty(side) for side in pair.hard_difference)
    if first and second and not _same_folded(pair):
        return False
    numbers = sum(count for token, count in (first + second).items() if token[0].isdigit())
    return numbers <= 1 or pair.numbers_equal


def _weighty(side: Counter[str]) -> Counter[str]:
    return Counter({token: count for token, count in side.items() if token not in LOOSE and token not in "=*.'"})


def _same_folded(pair: Pair) -> bool:
    """Equal once case and the spelling of `nonzero` are set aside."""
    first, second = (" ".join(side).lower().replace("not 0", "nonzero").split() for side in pair.hard)
    gap = Counter(first) - Counter(second), Counter(second) - Counter(first)
    return not _weighty(gap[0]) or not _weighty(gap[1])


def _permuted(pair: Pair) -> bool:
    """The same words with the numbers in other places."""
    order_differs = [t for t in pair.a.numbers if t != "1"] != [t for t in pair.b.numbers if t != "1"]
    return order_differs and pair.same_words >= SAME_WORDS


_OPPOSITES = tuple(
    frozenset(pair.split())
    for pair in (
        "max min", "sum product", "sum difference", "odd even", "positive negative", "first last", "more less",
        "increase decrease", "inscribed circumscribed", "area perimeter", "radius diameter", "median altitude",
        "permutation combination", "interior exterior", "acute obtuse", "arithmetic geometric", "real complex",
        "labeled unlabeled", "sin cos", "gcd lcm", "horizontal vertical", "before after", "rational irrational",
    )
)  # fmt: skip


def _opposed(pair: Pair) -> bool:
    """One side has a deciding word, the other its opposite in its stead."""
    first, second = pair.hard_difference
    return any(
        (opposites & set(first)) and (opposites & set(second)) and (opposites & set(first)) != (opposites & set(second))
        for opposites in _OPPOSITES
        if pair.similarity >= COPY
    )


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


def plain_answer(text: str) -> str:
    """A spelling of an answer in which equal strings are certainly equal answers."""
    text = unicodedata.normalize("NFKC", text).strip().strip("$").strip()
    text = re.sub(r"\\[dt]frac", r"\\frac", text)
    text = re.sub(r"\\(?:left|right|,|!|;|:| )", "", text)
    text = re.sub(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", re.sub(r"\s+", "", text))
    text = re.sub(r"\\frac(\d)(\d)(?!\d)", r"\\frac{\1}{\2}", text)
    number = re.fullmatch(r"(-?)0*(\d+)(?:\.(\d*?)0*)?", text)
    if number:
        sign, whole, decimals = number.groups()
        return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"
    return text.rstrip(".").lower() if text.isalpha() else text.rstrip(".")


def content_words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"[a-z]+", text.lower()) if word not in STOP and is_content(word))
