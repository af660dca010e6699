import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from pipeline.problem import Problem, problem_id
from pipeline.dedupe_verify import relate
from pipeline.stage import Context, Removal
from pipeline.stages.dedupe import Dedupe, dedupe_problems

Make = Callable[..., Problem]
BASE = "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many in all?"


def result(problems: list[Problem], context: Context, stage: Dedupe | None = None) -> dict[str, Removal]:
    return {drop.source_row: drop for drop in dedupe_problems(problems, context, stage)}


def merged(make: Make, context: Context, a: str, b: str, gold_a: str = "72", gold_b: str = "72") -> str:
    drops = result([make(a, gold_a, 0), make(b, gold_b, 1)], context)
    if not drops:
        return "kept"
    return "quarantined" if all(drop.kind == "quarantined" for drop in drops.values()) else "merged"


@pytest.mark.parametrize(
    "copy",
    [
        BASE,
        BASE.replace("  ", " ").upper().lower(),
        BASE + " Let's think step by step and output the final answer within \\boxed{}.",
        BASE.replace("48", "$48$"),
        BASE.replace("How many in all?", "How many altogether?"),
        "In April, Natalia sold clips to 48 friends. In May, she sold half as many clips. How many clips in all?",
    ],
)
def test_copies_go(make: Make, context: Context, copy: str) -> None:
    assert merged(make, context, BASE, copy) == "merged"


@pytest.mark.parametrize(
    ("a", "b", "gold_a", "gold_b"),
    [
        (BASE, BASE.replace("48", "46"), "72", "69"),
        (BASE, BASE.replace("48", "46"), "72", "72"),
        (BASE, BASE.replace("half", "twice"), "72", "144"),
        ("Find the sum of the roots of $x^2-5x+6=0$.", "Find the product of the roots of $x^2-5x+6=0$.", "5", "6"),
        ("Find $\\cos C$ in triangle $ABC$ with $AB=6$.", "Find $\\cos A$ in triangle $ABC$ with $AB=6$.", "1", "0"),
        ("Compute $88/(4/2)$ now.", "Compute $88/4/2$ now.", "44", "11"),
        ("Let $f(x)$ be odd functions. Is $f(x) g(x)$ even, odd, or neither?",
         "Let $f(x)$ be even functions. Is $f(x) g(x)$ even, odd, or neither?", "even", "even"),
        ("Find $x$. [asy]draw(A);[/asy]", "Find $x$. [asy]draw(B);[/asy]", "1", "1"),
        ("Which statement is true?\nA) 1\nB) 2\nC) 3", "Which statement is true?\nA) Red\nB) Sky\nC) We", "A", "B"),
    ],
)  # fmt: skip
def test_variants_stay(make: Make, context: Context, a: str, b: str, gold_a: str, gold_b: str) -> None:
    assert merged(make, context, a, b, gold_a, gold_b) == "kept"


def test_one_text_with_two_golds_sets_both_aside(make: Make, context: Context) -> None:
    drops = result([make(BASE, "72", 0), make(BASE, "73", 1), make("What is 4 + 9?", "13", 2)], context)
    assert set(drops) == {"s#0", "s#1"}
    assert {drop.reason for drop in drops.values()} == {"conflicting-golds"}
    assert drops["s#0"].evidence["other_gold"] == "73"


def test_answers_are_compared_by_value(make: Make, context: Context) -> None:
    question = "A fair coin is tossed. What is the probability of heads, as a number?"
    assert merged(make, context, question, question.replace("coin", "coin "), "\\frac{1}{2}", "0.5") == "merged"
    assert relate([("2340", "\\mathbf{2340}", "math"), ("1", "2", "math"), ("", "2", "math")]) == [
        "equal", "differ", "unknown"
    ]  # fmt: skip


def test_three_copies_leave_one_and_each_names_its_keeper(make: Make, context: Context) -> None:
    drops = result([make(BASE, "72", index) for index in range(3)], context)
    assert len(drops) == 2
    keepers = {drop.evidence["keeper"] for drop in drops.values()}
    assert len(keepers) == 1
    assert keepers.isdisjoint(drops)
    for drop in drops.values():
        assert drop.reason == "exact-duplicate"
        assert drop.evidence["rule"] == "same-form"
        assert drop.evidence["score"] == 1.0


def test_the_preferred_source_is_kept(make: Make, context: Context) -> None:
    problems = [make(BASE, "72", 0, "web"), make(BASE + " ", "72", 1, "book")]
    assert set(result(problems, context, Dedupe(priority=("book", "web")))) == {"web#0"}
    assert set(result(problems, context, Dedupe(priority=("web", "book")))) == {"book#1"}


def test_every_row_gets_a_template(make: Make) -> None:
    keys = Dedupe().keys([make("Tom has 3 cats."), make("Tom has 9 cats.", index=1)])
    first, second = keys.column("template_id").to_pylist()
    assert first == second


QUESTIONS = [
    f"{name} has {first} {thing} and gives {second} to a friend. {ending}"
    for name in ("Ann", "Bob")
    for thing in ("pens", "cups")
    for first, second in ((9, 4), (8, 3), (9, 3))
    for ending in ("How many are left?", "How many remain?")
]
ROWS = st.lists(st.tuples(st.sampled_from(QUESTIONS), st.sampled_from(["5", "6"])), max_size=14)


def build(rows: list[tuple[str, str]]) -> list[Problem]:
    return [
        Problem(
            id=problem_id(question, gold),
            data_source="s",
            source_row=f"s#{index}",
            index=index,
            question=question,
            ground_truth=gold,
            original_answer=gold,
            license="MIT",
        )
        for index, (question, gold) in enumerate(rows)
    ]


@settings(max_examples=40, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_twice_is_once(rows: list[tuple[str, str]], chance: random.Random) -> None:
    context = Context(seed=0, rollouts=None, console=Console(quiet=True))  # pyright: ignore[reportArgumentType]
    problems = build(rows)
    drops = result(problems, context)
    shuffled = list(problems)
    chance.shuffle(shuffled)
    assert {row: drop.reason for row, drop in result(shuffled, context).items()} == {
        row: drop.reason for row, drop in drops.items()
    }
    kept = [problem for problem in problems if problem.source_row not in drops]
    assert result(kept, context) == {}
