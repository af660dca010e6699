"""Are two typed answers equal? Symmetric: same(a, b) is same(b, a)."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.answer import equations, exact_value, regions, tree
from verifiers.answer.binders import rename
from verifiers.answer.equality import EQUAL, Outcome, equal
from verifiers.answer.kinds import (
    Answer,
    Bag,
    Based,
    Dotted,
    Matrix,
    Named,
    Ordered,
    Ratio,
    Region,
    Relation,
    Scalar,
    Text,
    Word,
)
from verifiers.answer.regions import region_of
from verifiers.answer.same_matrix import same_components, same_entries
from verifiers.answer.same_scalar import same_scalar
from verifiers.answer.same_words import same_based, same_duration, same_text, same_word
from verifiers.answer.tree import Node, TooComplex, Unreadable

MAX_PAIRS = 400
_WORST = (Outcome.EXACT, Outcome.NUMERIC, Outcome.UNKNOWN, Outcome.COMPLEX, Outcome.DIFFERENT)


def same(left: Answer, right: Answer) -> Outcome:
    """Never raises for bad answers."""
    if left == right:
        return Outcome.EXACT
    try:
        outcome = _same(left, right)
        return _same(right, left) if outcome is None else outcome
    except Unreadable:
        return Outcome.DIFFERENT
    except TooComplex:
        return Outcome.COMPLEX


def _same(left: Answer, right: Answer) -> Outcome:
    for first, second in ((left, right), (right, left)):
        outcome = _directed(first, second)
        if outcome is not None:
            return outcome
    return Outcome.DIFFERENT


def _directed(left: Answer, right: Answer) -> Outcome | None:
    """None when this order of the two types has no rule."""
    match left, right:
        case Scalar(), Scalar():
            return same_scalar(left, right)
        case Named(), _:
            return _named(left, right)
        case Relation(), Relation():
            return equations.same_relation(left, right)
        case Relation(), Region(relation=Relation()):
            assert right.relation is not None
            return equations.same_relation(left, right.relation)
        case Region(relation=Relation()), Region(relation=Relation()):
            assert left.relation is not None
            assert right.relation is not None
            outcome = _same_pieces(left, right)
            return outcome if outcome in EQUAL else equations.same_relation(left.relation, right.relation)
        case Relation(), Region():
            return equations.same_region(left, right)
        case Bag(), _:
            return _bag(left, right)
        case Region(), (Region() | Ordered() | Word()):
            return _same_pieces(left, region_of(right))
        case Ordered(), _:
            return _ordered(left, right)
        case Matrix(), Bag() if _system(right):
            return _bag(right, left)
        case Matrix(), (Matrix() | Ordered() | Bag() | Scalar()):
            return _all(same_entries(left, right))
        case Ratio(), (Ratio() | Scalar()):
            return _ratio(left, right)
        case Dotted(), Dotted():
            return _dotted(left, right)
        case _:
            return _of_words(left, right)


def _of_words(left: Answer, right: Answer) -> Outcome | None:
    if isinstance(left, Word) and isinstance(right, Scalar):
        return _outcome(same_duration(left, right))
    if isinstance(left, Based) and isinstance(right, Scalar):
        return _outcome(left.base == 10 and str(_plain_number(right)) == left.digits)
    if isinstance(left, Word) and isinstance(right, Word):
        return _outcome(same_word(left, right))
    if isinstance(left, Text) and isinstance(right, Text):
        return _outcome(same_text(left.words, right.words))
    if isinstance(left, Based) and isinstance(right, Based):
        return _outcome(same_based(left, right))
    return None


def _outcome(value: bool) -> Outcome:
    return Outcome.EXACT if value else Outcome.DIFFERENT


def _all(outcomes: Sequence[Outcome]) -> Outcome:
    return max(outcomes, key=_WORST.index, default=Outcome.EXACT)


# ---- names and relations -------------------------------------------------------------------------------------------


def _named(left: Named, right: Answer) -> Outcome:
    if isinstance(right, Named):
        return _both_named(left, right)
    if isinstance(right, Relation):
        return equations.same_relation(left.equation, right) if left.equation else Outcome.DIFFERENT
    return same(left.value, right)


def _both_named(left: Named, right: Named) -> Outcome:
    if left.name != right.name and _renamed(left, right):
        # a_n = 2n+1 and a_k = 2k+1
        assert isinstance(right.value, Scalar)
        node = rename(right.value.node, right.parameters[0], left.parameters[0])
        return same(left.value, Scalar(node, right.value.unit, right.value.digits))
    if left.name != right.name and ":" in left.name and left.name.split(":") == right.name.split(":")[::-1]:
        return same(left.value, _turned(right.value))
    if left.name == right.name or _label(left) or _label(right) or _graph(left, right) or _graph(right, left):
        outcome = same(left.value, right.value)
    else:
        outcome = Outcome.DIFFERENT
    if outcome not in EQUAL and left.equation is not None and right.equation is not None:
        return equations.same_relation(left.equation, right.equation)
    return outcome


def _turned(value: Answer) -> Answer:
    """b : a from a : b."""
    if isinstance(value, Ratio):
        return Ratio(value.parts[::-1])
    return Scalar(Node("div", (tree.number(1), value.node))) if isinstance(value, Scalar) else value


def _renamed(left: Named, right: Named) -> bool:
    if not len(left.parameters) == len(right.parameters) == 1:
        return False
    return isinstance(left.value, Scalar) and isinstance(right.value, Scalar) and _skeleton(left) == _skeleton(right)


def _graph(left: Named, right: Named) -> bool:
    """y = x^2 and f(x) = x^2."""
    return left.name == "y" and len(right.parameters) == 1 and right.name.endswith(f"({right.parameters[0]})")


def _label(named: Named) -> bool:
    """x = 5 is not y = 5, but "area = 5" and "S = 5" may name one thing."""
    return len(named.name) > 3 and named.name.replace(" ", "").isalpha() and named.name.islower()


def _skeleton(named: Named) -> str:
    return named.name.replace(named.parameters[0], "#")


# ---- collections ---------------------------------------------------------------------------------------------------


def _bag(left: Bag, right: Answer) -> Outcome | None:
    if isinstance(right, Bag):
        if _system(left) != _system(right):
            return _in_order(left, right.items) if _system(left) else _in_order(right, left.items)
        return same_set(left.items, right.items)
    if isinstance(right, Ordered):
        if len(left.items) == 1 and isinstance(left.items[0], Ordered):
            return same(left.items[0], right)
        if _system(left):
            return _in_order(left, right.items)
        if right.left == "[" and right.right == "]":
            if left.braced and len(right.items) == 2 and _increasing(right):
                return Outcome.DIFFERENT
            return same_set(left.items, right.items)
        if _interval_like(left):
            return _bag_region(left, regions.interval(right))
        return _listed_in_order(left, right)
    if isinstance(right, Region):
        return _bag_region(left, right)
    if isinstance(right, Matrix):
        column = _system(left) and len(right.rows[0]) == 1
        return _in_order(left, [Scalar(row[0]) for row in right.rows]) if column else None
    if len(left.items) == 1 and not (left.braced and isinstance(right, Word)):
        return same(left.items[0], right)
    if not left.braced and isinstance(right, Scalar) and all(same(item, right) in EQUAL for item in left.items):
        return Outcome.EXACT
    return None


def _increasing(pair: Ordered) -> bool:
    """[2, 5] is an interval before it is a list of two."""
    low, high = (_plain_number(item) for item in pair.items)
    return low is not None and high is not None and low < high


def _listed_in_order(bag: Bag, right: Ordered) -> Outcome:
    """1, 2 in the order of (1, 2). 2,500 may be a number and is not (2, 500); {1, 2} has no order."""
    if bag.braced or len(bag.items) != len(right.items) or right.left + right.right != "()":
        return Outcome.DIFFERENT
    values = [_plain_number(item) for item in bag.items[1:]]
    if all(isinstance(value, int) and 0 <= value < 1000 for value in values) and all(
        value is None or value > 99 for value in values
    ):
        return Outcome.DIFFERENT
    return _all([same(item, other) for item, other in zip(bag.items, right.items, strict=True)])


def _system(bag: Bag) -> bool:
    return len(bag.items) > 1 and all(isinstance(item, Named) for item in bag.items)


def _in_order(system: Bag, values: Sequence[Answer]) -> Outcome:
    """x = 1, y = 2 against (1, 2) or 1, 2."""
    if len(system.items) != len(values):
        return Outcome.DIFFERENT
    items = [item for item in system.items if isinstance(item, Named)]
    if {item.name for item in items} in ({"x", "y"}, {"x", "y", "z"}):
        items.sort(key=lambda item: item.name)
    return _all([same(item.value, value) for item, value in zip(items, values, strict=True)])


def _interval_like(bag: Bag) -> bool:
    return all(isinstance(item, Region | Ordered) for item in bag.items)


def _bag_region(bag: Bag, region: Region) -> Outcome:
    return _same_pieces(region_of(bag), region)


def _single(answer: Answer) -> bool:
    """{1} is an item of its own inside a set."""
    return isinstance(answer, Bag) and len(answer.items) == 1


def _plain_number(item: Answer) -> exact_value.Rational | None:
    return exact_value.rational(item.node) if isinstance(item, Scalar) and item.unit is None else None


def same_set(left: Sequence[Answer], right: Sequence[Answer]) -> Outcome:
    """Every item has an equal one on the other side; repetition does not count."""
    numbers = [{_plain_number(item) for item in items} - {None} for items in (left, right)]
    rest = [
        [item for item in items if _plain_number(item) not in other]
        for items, other in zip((left, right), reversed(numbers), strict=True)
    ]
    if len(rest[0]) * len(right) + len(left) * len(rest[1]) > 2 * MAX_PAIRS:
        raise TooComplex("too many items")
    worst = Outcome.EXACT
    for items, others in ((rest[0], right), (rest[1], left)):
        for item in items:
            alike = [other for other in others if _single(item) == _single(other)]
            best = min((same(item, other) for other in alike), key=_WORST.index, default=Outcome.DIFFERENT)
            if best is Outcome.DIFFERENT:
                return best
            worst = max(worst, best, key=_WORST.index)
    return worst


def _same_pieces(left: Region, right: Region) -> Outcome:
    if len(left.pieces) != len(right.pieces):
        return Outcome.DIFFERENT
    outcomes: list[Outcome] = []
    for first, second in zip(left.pieces, right.pieces, strict=True):
        if (first.low_closed, first.high_closed) != (second.low_closed, second.high_closed):
            return Outcome.DIFFERENT
        outcomes += [_same_end(first.low, second.low), _same_end(first.high, second.high)]
    return _all(outcomes)


def _same_end(left: Node, right: Node) -> Outcome:
    if regions.infinite_sign(left) or regions.infinite_sign(right):
        return _outcome(regions.infinite_sign(left) == regions.infinite_sign(right))
    return equal(left, right)


def _ordered(left: Ordered, right: Answer) -> Outcome | None:
    if isinstance(right, Word):
        return _same_pieces(regions.interval(left), region_of(right))
    if isinstance(right, Scalar) and len(left.items) == 1:
        return same(left.items[0], right)
    if isinstance(right, Scalar) and len(left.items) in (2, 3) and "j" in tree.symbols(right.node):
        nodes = [item.node for item in left.items if isinstance(item, Scalar)]
        return same_components(nodes, right.node) if len(nodes) == len(left.items) else Outcome.DIFFERENT
    if not isinstance(right, Ordered):
        return None
    if len(left.items) != len(right.items):
        return Outcome.DIFFERENT
    if len(left.items) == 2 and left.left + left.right != right.left + right.right:
        if not _infinite_ends(left) or not _infinite_ends(right):
            return Outcome.DIFFERENT
        return _same_pieces(regions.interval(left), regions.interval(right))
    return _all([same(first, second) for first, second in zip(left.items, right.items, strict=True)])


def _infinite_ends(answer: Ordered) -> bool:
    return any(isinstance(item, Scalar) and regions.infinite_sign(item.node) for item in answer.items)


def _ratio(left: Ratio, right: Ratio | Scalar) -> Outcome:
    """a : b equals any multiple of itself, and the quotient a / b."""
    if isinstance(right, Scalar):
        return equal(Node("div", left.parts), right.node) if len(left.parts) == 2 else Outcome.DIFFERENT
    if len(left.parts) != len(right.parts):
        return Outcome.DIFFERENT
    first, second = left.parts, right.parts
    outcomes = [
        equal(Node("mul", (first[0], second[place])), Node("mul", (second[0], first[place])))
        for place in range(1, len(first))
    ]
    return _all(outcomes)


def _dotted(left: Dotted, right: Dotted) -> Outcome:
    """The shorter beginning is a beginning of the longer one; the ends are equal."""
    short, long = sorted((left.before, right.before), key=len)
    if len(left.after) != len(right.after) or len(short) < 2:
        return Outcome.DIFFERENT
    pairs = [*zip(short, long, strict=False), *zip(left.after, right.after, strict=True)]
    return _all([same(first, second) for first, second in pairs])
