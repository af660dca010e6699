import importlib.util
import itertools
import random
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from pipeline.canonical import canonical
from pipeline.dedupe_candidates import possible
from pipeline.dedupe_rows import Rows
from pipeline.dedupe_verify import relate
from pipeline.duplicates import Pair, Relation, judge, plausible
from pipeline.executor import executor
from pipeline.parts import Parts
from pipeline.parts_work import run_stage
from pipeline.problem import Problem, problem_id
from pipeline.stage import Context, Outcome, Removal
from pipeline.stages.dedupe import Dedupe, dedupe_problems

ROOT = Path(__file__).resolve().parent.parent.parent
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
        ("The remainders when three positive integers are divided by 5 are 1, 2, and 3. Find the remainder when their "
         "product is divided by 5.",
         "When $n$ is divided by 3, the remainder is 2. What is the remainder when $5n$ is divided by 3?", "1", "1"),
        ("In four years, Suzy will be twice Mary's age then. If Suzy is 20 now, how old is Mary?",
         "Twice Angie's age, plus 4, is 20. How old is Angie?", "8", "8"),
        ("Two cards are dealt at random from a standard deck of 52 cards. What is the probability that the first card "
         "is a King and the second card is a heart?",
         "Two cards are chosen at random from a standard 52-card deck. What is the probability that the first card is "
         "a heart and the second card is a 10?", "\\frac{1}{52}", "\\frac{1}{52}"),
        ("what kind of group does Josey Scott and Kurt Cobain have in common?",
         "what kind of group does Muse and Doug Pinnick have in common?", "band", "band"),
        ("Project onto $\\begin{pmatrix} 4 \\\\ -7 \\end{pmatrix}$ by the matrix $P$. What is the trace of $P$?",
         "Project onto $\\begin{pmatrix} 4 \\\\ -7 \\\\ 1 \\end{pmatrix}$ by the matrix $P$. What is the trace of $P$?",
         "1", "1"),
        ("A shop sells 14 red cups at 3 dollars each and 9 blue cups at 5 dollars each on Monday. How many cups were "
         "sold that Monday altogether by this shop?",
         "A shop sells 14 red cups at 3 dollars each and 9 blue cups at 5 dollars each on Monday. By which sum does "
         "income from red exceed twelve coins plus fuel?", "23", "23"),
    ],
)  # fmt: skip
def test_variants_stay(make: Make, context: Context, a: str, b: str, gold_a: str, gold_b: str) -> None:
    assert merged(make, context, a, b, gold_a, gold_b) == "kept"


FIELD = "Statement 1 | Every field is an integral domain. Statement 2 | Every ring is commutative."


@pytest.mark.parametrize(
    ("other", "gold", "expected"),
    [
        (FIELD, "True, False", "merged"),
        (FIELD, "False, True", "quarantined"),
        (FIELD.replace("is commutative", "has an identity"), "True, False", "kept"),
        ("Statement 1 | Every ring is commutative. Statement 2 | Every field is an integral domain.",
         "False, True", "kept"),
        ("Statement 1 | Every integral domain is a field. Statement 2 | Every group is commutative.",
         "False, True", "kept"),
    ],
)  # fmt: skip
def test_truth_values_in_order(make: Make, context: Context, other: str, gold: str, expected: str) -> None:
    assert merged(make, context, FIELD, other, "True, False", gold) == expected


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


def variants_of(count: int, seed: int = 0) -> list[Problem]:
    """Number variants and reworded copies of bundled rows."""
    spec = importlib.util.spec_from_file_location("row_variants", ROOT / "benchmarks" / "row_variants.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    sys.modules["row_variants"] = generator  # dataclasses look their module up
    spec.loader.exec_module(generator)
    rows = list(generator.variants(generator.real_rows(), count, seed))
    return build([(row.question, row.answer) for row in rows])


def test_real_families_lose_their_copies_once(context: Context) -> None:
    problems = variants_of(600)
    removals = result(problems, context)
    assert 100 < len(removals) < 500
    kept = [problem for problem in problems if problem.source_row not in removals]
    assert result(kept, context) == {}
    names = {problem.source_row for problem in kept}
    for removal in removals.values():
        assert removal.kind == "quarantined" or removal.evidence["keeper"] in names | set(removals)
        assert removal.evidence["rule"]


def test_parts_and_order_change_nothing(context: Context) -> None:
    problems = variants_of(400, seed=1)
    whole = {row: dict(removal.evidence) for row, removal in result(problems, context).items()}
    stage = Dedupe()
    for size in (7, 150):
        parts = [stage.keys(problems[start : start + size]) for start in range(0, len(problems), size)]
        keys = pa.concat_tables(parts[::-1])
        removals = stage.drops(keys, lambda _: [], context)
        assert {removal.source_row: dict(removal.evidence) for removal in removals} == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_workers_keeps_the_same_rows(tmp_path: Path, context: Context, workers: int) -> None:
    problems = variants_of(120, seed=2)
    source, target = Parts(tmp_path / "source", "a"), Parts(tmp_path / "target", "b")
    source.folder.mkdir()
    for part in range(4):
        rows = problems[part * 30 : part * 30 + 30]
        source.commit(part, "rows", [row.source_row for row in rows], Outcome(kept=rows))
    source.finish(4)
    with executor("local", workers) as chosen:
        run_stage("dedupe", Dedupe(), {}, source, target, context, chosen)
    expected = set(result(problems, context))
    kept = [row.source_row for part in range(4) for row in target.read(part)]
    assert kept == [problem.source_row for problem in problems if problem.source_row not in expected]


def test_a_bucket_of_any_size_leaves_one_of_many_copies(make: Make, context: Context) -> None:
    endings = ("How many in all?", "How many altogether?", "How many clips in all?", "How many is that in all?")
    texts = [BASE.replace("How many in all?", end) + " " * extra for end in endings for extra in range(30)]
    problems = [make(text, "72", index) for index, text in enumerate(texts)]
    for size in (2, 5, 25):
        removals = result(problems, context, Dedupe(max_bucket=size))
        assert len(removals) == len(problems) - 1
        assert len({removal.evidence["keeper"] for removal in removals.values()}) == 1


def test_large_buckets_are_gone_through_in_rounds(make: Make, context: Context) -> None:
    texts = [f"{BASE} Note {word} this." for word in ("that", "well", "also", "just", "only", "please", "do", "here")]
    problems = [make(text, "72", index) for index, text in enumerate(texts)]
    assert set(result(problems, context, Dedupe(max_bucket=2))) == set(result(problems, context))
    assert len(result(problems, context)) == len(problems) - 1


def test_what_the_sketches_rule_out_no_rule_would_match() -> None:
    rows = Rows(Dedupe().keys(variants_of(150, seed=3)))
    everything = np.arange(len(rows) ** 2)
    first, second = np.divmod(everything, len(rows))
    upper = first < second
    first, second = first[upper], second[upper]
    out = np.flatnonzero(~possible(rows, first, second))
    forms = rows.forms(np.arange(len(rows)))
    assert len(out) > 1000
    for place in np.random.default_rng(0).choice(out, 3000, replace=False).tolist():
        pair = Pair(forms[first[place]], forms[second[place]])
        assert not (plausible(pair) and judge(pair, "equal"))
        assert not (plausible(pair) and judge(pair, "unknown"))


@pytest.mark.parametrize(
    ("a", "b", "gold"),
    [
        ("What is the median of 2, 4, 6?", "What is the mean of 2, 4, 6?", "4"),
        ("Compute $12+12$.", "Compute $12\\cdot 12$.", "24"),
        ("Find the number of real solutions of $x^2-4=0$.", "Find the number of real solutions of $x^2-4x=0$.", "2"),
        ("Alice has 10 dollars and Bob has 6. Alice gives Bob 2 dollars. How many does Alice have?",
         "Alice has 10 dollars and Bob has 6. Alice gives Bob 2 dollars. How many does Bob have?", "8"),
        ("A coin is flipped 3 times. What is the probability of exactly two heads?",
         "A coin is flipped 3 times. What is the probability of exactly one head?", "\\frac{3}{8}"),
        ("In triangle $ABC$ with $AB=AC$ and $\\angle A=60^\\circ$, find $\\angle B$.",
         "In triangle $ABC$ with $AB=AC$ and $\\angle A=60^\\circ$, find $\\angle C$.", "60"),
    ],
)  # fmt: skip
def test_near_copies_with_equal_answers_that_ask_another_thing_stay(
    make: Make, context: Context, a: str, b: str, gold: str
) -> None:
    assert merged(make, context, a, b, gold, gold) == "kept"


@pytest.mark.parametrize(
    ("a", "b", "gold"),
    [
        ("Solve the equation $2^{x}+2^{x+1}=24$.", "Find the real number $x$ for which $2^x + 2^{x+1} = 24$.", "3"),
        ("Let $f(x)=2x+3$ and $g(x)=x^2$. Find $f(g(2))$.", "Let $p(t)=2t+3$ and $q(t)=t^2$. Find $p(q(2))$.", "11"),
        ("A jar holds two dozen cookies. Amy eats a quarter of them. How many are left?",
         "A jar holds 24 cookies. Amy eats 1/4 of them. How many are left?", "18"),
        ("Tom has twice as many marbles as Ann. Together they have 36. How many does Tom have?",
         "12. (5 points) Tom has twice as many marbles as Ann. Together they have 36. How many does Tom have?", "24"),
        ("Evaluate $\\sqrt{50}+\\sqrt{18}$ exactly.", "Evaluate √50 + √18 exactly.", "8\\sqrt{2}"),
    ],
)  # fmt: skip
def test_other_words_and_layouts_of_one_problem_go(make: Make, context: Context, a: str, b: str, gold: str) -> None:
    assert merged(make, context, a, b, gold, gold) == "merged"


@pytest.mark.parametrize("odds", [-inf, 1.0, 3.0, inf])
@pytest.mark.parametrize("relation", ["equal", "unknown", "differ"])
def test_a_verdict_does_not_depend_on_the_order_of_the_pair(relation: Relation, odds: float) -> None:
    a = canonical("On each turn, the player removes either 1 token or 4 tokens. Whoever removes the last of 9 wins.")
    b = canonical("On each turn, the player removes 1 token or 4 tokens. The player who removes the last of 9 wins.")
    others = [canonical(question) for question in QUESTIONS]
    for first, second in [(a, b), *itertools.combinations(others, 2)]:
        assert judge(Pair(first, second), relation, odds) == judge(Pair(second, first), relation, odds)
