from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.mending import mend_gold, mend_mojibake, mend_question
from pipeline.problem import Problem
from pipeline.stage import Context
from pipeline.stages.clean import Clean

Make = Callable[..., Problem]


def outcome(make: Make, context: Context, question: str, gold: str, **options: Any) -> tuple[Problem | None, str]:
    result = Clean(**options)([make(question, gold)], context)
    return (result.kept[0], "") if result.kept else (None, result.drops[0].reason)


@pytest.mark.parametrize(
    ("question", "gold", "reason"),
    [
        ("Find $x$ if $x + 1 = 3$.", "None", "no-gold"),
        ("Find $x$ if $x + 1 = 3$.", "", "no-gold"),
        ("Prove that $\\sqrt{2}$ is irrational.", "0", "proof"),
        ("Show that the sum of two odd numbers is even.", "2", "proof"),
        ("(a) Find $x$ if $x=2$. (b) Find $y$ if $y=3$.", "2", "multi-part"),
        ("1) Find the sum of 2 and 3; \n2) Find the product of 2 and 3.", "5", "multi-part"),
        ("Is 91 a prime number?", "no", "yes-no"),
        ("Is 91 a prime number?", "\\text{No}", "yes-no"),
        ("Which of the following is prime?\nA) 4\nB) 5\nC) 6", "B", "multiple-choice"),
        ("Two lines cross.\nThe answer is\nA) none of these\nB) 5\nC) 6", "B", "multiple-choice"),
        ("What is 2+2?\nA) 3\nB) 4\nC) 5\n\nNote: the sum is taken modulo 7.", "B", "multiple-choice"),
        ("In the figure below, find the length of $AB$.", "3", "missing-figure"),
        ("Triangle $ABC$ is drawn as shown. Find its area.", "3", "missing-figure"),
        ("See https://example.org/x.png and find x.", "3", "hyperlink"),
        ("求 $x^2 = 4$ 的正数解的值是多少?", "2", "language"),
        ("Найдите положительное решение уравнения.", "2", "language"),
        ("Find 6 x 7. The answer is 42.", "42", "answer-leaked"),
        ("Find 6 x 7. \\boxed{42}", "42", "answer-leaked"),
    ],
)
def test_planted_defects_are_dropped(make: Make, context: Context, question: str, gold: str, reason: str) -> None:
    assert outcome(make, context, question, gold)[1] == reason


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        ("How many movies are shown in total if 4 screens show 3 each?", "12"),
        ("In the diagram, find $AB$. [asy]draw((0,0)--(1,1));[/asy]", "3"),
        ("Let $f(x)=x^2$. Prove or guess: what is $f(3)$?", "9"),
        ("What is half of 3? Express your answer as a decimal rounded to the nearest tenth.", "1.5"),
        ("Define (a) $p=2$ and (b) $q=3$. Find $p+q$.", "5"),
        ("Find the number of ways to show that 3 is odd. How many are there?", "1"),
        ("Résoudre: what is 2+3 at the café?", "5"),
        ("Compute $\\alpha+\\beta$ where α = 2 and β = 3.", "5"),
        ("The answer is a positive integer less than 100. Find it if it is 7 squared.", "49"),
    ],
)
def test_good_rows_stay_as_they_are(make: Make, context: Context, question: str, gold: str) -> None:
    kept, _ = outcome(make, context, question, gold)
    assert kept is not None
    assert (kept.question, kept.ground_truth) == (question, gold)


def test_switches_keep_what_they_name(make: Make, context: Context) -> None:
    assert outcome(make, context, "Is 91 a prime number?", "no", keep_yes_no=True)[0] is not None
    assert outcome(make, context, "求 $x$ 的值", "2", languages=("en", "zh"))[0] is not None
    figure = "Find x. [asy]draw((0,0)--(1,1));[/asy]"
    assert outcome(make, context, figure, "2", keep_figures=False)[1] == "figure"


def test_choices_are_opened_where_the_options_do_not_matter(make: Make, context: Context) -> None:
    question = "What is $2+3$?\n$\\textbf{(A) }4\\qquad\\textbf{(B) }5\\qquad\\textbf{(C) }6$"
    for gold in ("B", "5", "\\text{(B)}"):
        kept, _ = outcome(make, context, question, gold)
        assert kept is not None
        assert (kept.question, kept.ground_truth, kept.original_answer) == ("What is $2+3$?", "5", gold)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It costs 5 â‚¬. How much for 3?", "It costs 5 €. How much for 3?"),
        ("Find $x$. Let's think step by step and output the final answer within \\boxed{}.", "Find $x$."),
        ("Find $n$.\n\n[i]Israel[/i]", "Find $n$."),
        ("Find $n$.\n\n[i]", "Find $n$."),
        ("Find $\x0crac{1}{2} \x09imes \x08eta$ of\tit.", "Find $\\frac{1}{2} \\times \\beta$ of\tit."),
        ("A [i]fancy[/i] number $n$. Find it.", "A fancy number $n$. Find it."),
        ("Find $f[i]$ for $i=2$.", "Find $f[i]$ for $i=2$."),
        ("Zero\u200bwidth $x$.", "Zerowidth $x$."),
        ("Find x [asy] label(\"[b]\"); [/asy]", "Find x [asy] label(\"[b]\"); [/asy]"),
    ],
)  # fmt: skip
def test_mends(before: str, after: str) -> None:
    assert mend_question(before)[0] == after


@pytest.mark.parametrize(
    ("before", "after"),
    [("\\boxed{42}", "42"), ("$\\boxed{\\frac{1}{2}}$.", "\\frac{1}{2}"), ("$3$", "3"), ("$3$ and $4$", "$3$ and $4$"),
     ("\\boxed{1}, \\boxed{2}", "\\boxed{1}, \\boxed{2}"),
     ("\\[\n\\boxed{2, 3}\n\\]", "2, 3"), ("\\(\\boxed{77}\\)", "77"), ("The number is \\(\\boxed{6}\\).", "6"),
     ("x = \\boxed{5}", "x = \\boxed{5}"), ("\\(\\frac{1}{2}\\)", "\\frac{1}{2}"),
     ("\\(1\\) and \\(2\\)", "\\(1\\) and \\(2\\)"), ("5", "5"), ("$", "$")],
)  # fmt: skip
def test_golds_leave_their_wrappers(before: str, after: str) -> None:
    assert mend_gold(before) == after


def test_mathematics_is_not_mojibake() -> None:
    for text in ("x² ≤ ½·√2 − π°", "∠ABC ≅ △DEF", "f′(x) ⇒ ∑ᵢ aᵢ", "naïve café Ångström"):
        assert mend_mojibake(text) == text


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_is_kept_or_dropped(question: str, gold: str) -> None:
    problem = Problem(
        id="0", data_source="s", source_row="s#0", index=0, question=question, ground_truth=gold, original_answer=gold,
        license="MIT",
    )  # fmt: skip
    row, reason, _ = Clean().mend(problem)
    assert reason is not None or row.question


@given(st.text(max_size=300))
def test_mending_twice_changes_nothing_more(text: str) -> None:
    once = mend_question(text)[0]
    assert mend_question(mend_question(once)[0])[0] == mend_question(once)[0]
