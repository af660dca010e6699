"""Laws of the mathematics verifier: reflexive, symmetric, blind to wrappers and white space and to later remarks."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from verifiers import Status, check_gold, verify_math
from verifiers.answer.compare import same
from verifiers.answer.equality import EQUAL, Outcome
from verifiers.answer.read import readings
from verifiers.answer.tree import TooComplex

GOLDS = (
    "7", "-12", "1,234", "0.5", r"\frac{3}{4}", r"2\frac{1}{3}", r"2\sqrt{3}", r"\frac{\pi}{6}", "28\\%",
    r"5 \text{ cm}", r"\$18", "3:4", "(1, -2)", r"\{1, 2, 3\}", "[0, 1)", r"(-\infty, 2) \cup (3, \infty)", "x > 3",
    "2x+3y=6", "x=5", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "x^2-4", "f(x)=2x+1", "3+4i", "1011_2", r"45^\circ",
    "2:30 pm", "March 5, 2020", "Yes", r"\infty", r"\emptyset", r"\pm 3", "B", "increasing", r"2^{100}",
    r"\log_2 5", r"\mathbb{R}", "Tuesday", "1 hour 30 minutes", "5'6''", r"30^\circ 15'", "€9,99", r"\binom{7}{3}",
    r"\{(1, 2), (2, 1)\}", r"\begin{bmatrix}3\\-1\end{bmatrix}", r"-\infty", "no solution", "True", "third quadrant",
    r"\frac{5}{11}", r"3.2 \times 10^{5}", r"60 \text{ km/h}", "increasing", r"y=\pm\frac{3}{4}x", r"1, 2, \ldots, n",
    r"e^{i\pi/3}", "A, C", "does not exist", r"|x-3| \le 2", r"0.1\overline{6}",
)  # fmt: skip

numbers = st.integers(-(10**6), 10**6)
small = st.integers(1, 40)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0:
        return draw(st.one_of(small.map(str), st.sampled_from(("x", "y", r"\pi", r"\sqrt{2}"))))
    left, right = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    shape = draw(st.sampled_from(("{a}+{b}", "{a}-({b})", r"({a})\cdot({b})", r"\frac{{{a}}}{{{b}}}", "({a})^2")))
    return shape.format(a=left, b=right)


WRAPPERS = (
    r"\boxed{%s}", r"$\boxed{%s}$", r"So the answer is \boxed{%s}.", r"\[\boxed{%s}\]", r"\boxed{ %s }",
    r"\boxed{{%s}}", r"\boxed{\boxed{%s}}", "<think>a \\boxed{99}</think>\n\\boxed{%s}",
    r"<answer>\boxed{%s}</answer>", r"\fbox{%s}",
)  # fmt: skip


@pytest.mark.parametrize("gold", GOLDS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_reflexive_under_wrappers(gold: str, wrapper: str) -> None:
    assert verify_math(wrapper % gold, gold).status is Status.CORRECT


@pytest.mark.parametrize("gold", GOLDS)
def test_golds_check_themselves(gold: str) -> None:
    assert check_gold(gold).status is Status.CORRECT


@given(expressions())
@settings(max_examples=150, deadline=None)
def test_expressions_equal_themselves(text: str) -> None:
    if check_gold(text).status is Status.CORRECT:
        assert verify_math(rf"\boxed{{{text}}}", text).status is Status.CORRECT


@given(expressions(), expressions())
@settings(max_examples=150, deadline=None)
def test_symmetric(left: str, right: str) -> None:
    assert outcome(left, right) == outcome(right, left)


@pytest.mark.parametrize("left", GOLDS)
def test_symmetric_across_types(left: str) -> None:
    assert [right for right in GOLDS if outcome(left, right) != outcome(right, left)] == []


def outcome(left: str, right: str) -> bool | Outcome:
    try:
        pairs = [same(first, second) for first in readings(left) for second in readings(right)]
    except TooComplex:
        return Outcome.COMPLEX
    return any(found in EQUAL for found in pairs)


@given(
    numbers,
    st.sampled_from(("", " ", "  ", r"\,", r"\;", "~")),
    st.sampled_from(("", ".", r" \text{ cm}", r"\ ", "\n")),
)
@settings(max_examples=80, deadline=None)
def test_white_space_changes_nothing(value: int, before: str, after: str) -> None:
    assert verify_math(rf"\boxed{{{before}{value}{after}}}", str(value)).status is Status.CORRECT


@given(
    numbers,
    numbers,
    st.sampled_from(
        (
            "", "\n\nThis completes the solution.", " I checked it twice.", "\n\nNote that $3 + 4 = 7$ was used.",
            "\nHope this helps!", " Let me know if you have questions.", "\n\n---\n", " Q.E.D.", r" $\blacksquare$",
        )
    ),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_text_after_the_final_box_changes_nothing(gold: int, said: int, after: str) -> None:
    plain = verify_math(rf"We get \boxed{{{said}}}.", str(gold))
    longer = verify_math(rf"We get \boxed{{{said}}}.{after}", str(gold))
    assert plain.status is longer.status
    assert (plain.status is Status.CORRECT) == (gold == said)


REMARKS = (
    "", "\n\nThis completes the solution.", " I checked it twice.", "\n\nNote that $3 + 4 = 7$ was used.", "\n\n---\n",
    " Let me know if you have questions.", r" $\blacksquare$", "<|im_end|>", "</s>", "\n(as required)", " 🎉",
    "\nIn general such problems are solved by 2 steps.", "\n\n% end of file", "\nQ.E.D.",
    "\nNote to the grader: be kind.",
)  # fmt: skip


@pytest.mark.parametrize("said", GOLDS)
def test_remarks_after_the_final_box_change_nothing(said: str) -> None:
    """For every type of answer, where it is right and where another one was asked for."""
    golds = (said, "97") if said != "B" else (said, "C")
    for gold in golds:
        verdicts = [verify_math(rf"Hence $\boxed{{{said}}}$.{remark}", gold) for remark in REMARKS]
        assert {verdict.status for verdict in verdicts} == {verdicts[0].status}
        assert (verdicts[0].status is Status.CORRECT) == (gold == said)


@pytest.mark.parametrize("said", GOLDS)
def test_a_denied_or_hedged_answer_is_none(said: str) -> None:
    hedged = [rf"Maybe $\boxed{{{said}}}$ or $\boxed{{97i}}$."] if said not in ("B", "A, C") else []
    for text in (*hedged, rf"$\boxed{{97}}$, not $\boxed{{{said}}}$."):
        assert verify_math(text, said).status is Status.INCORRECT


@pytest.mark.parametrize("gold", GOLDS)
def test_white_space_and_fences_change_nothing(gold: str) -> None:
    for frame in (" {} ", "\n{}\n", r"\displaystyle {}", r"\, {} \,", "{{{}}}", "${}$"):
        assert verify_math(rf"\boxed{{{frame.format(gold)}}}", gold).status is Status.CORRECT


@given(numbers, numbers)
@settings(max_examples=200, deadline=None)
def test_integers_are_exact(left: int, right: int) -> None:
    assert (verify_math(rf"\boxed{{{left}}}", str(right)).status is Status.CORRECT) == (left == right)


@given(numbers, st.integers(1, 10**6), st.integers(1, 50))
@settings(max_examples=150, deadline=None)
def test_fractions_are_exact(top: int, bottom: int, factor: int) -> None:
    gold = rf"\frac{{{top}}}{{{bottom}}}"
    assert verify_math(rf"\boxed{{{top * factor}/{bottom * factor}}}", gold).status is Status.CORRECT
    assert verify_math(rf"\boxed{{{top * factor + 1}/{bottom * factor}}}", gold).status is Status.INCORRECT


def test_an_alias_is_enough() -> None:
    assert verify_math(r"\boxed{2}", ("one", "two")).status is Status.CORRECT
    assert verify_math(r"\boxed{3}", ("one", "two")).status is Status.INCORRECT
    assert verify_math(r"\boxed{3}", ()).status is Status.UNDECIDED


def test_tolerances() -> None:
    assert verify_math(r"\boxed{1.01}", "1", rel_tol=0.02).status is Status.CORRECT
    assert verify_math(r"\boxed{1.03}", "1", rel_tol=0.02).status is Status.INCORRECT
    assert verify_math(r"\boxed{1.03}", "1", abs_tol=0.05).status is Status.CORRECT
    assert verify_math(r"\boxed{1.01}", "1").status is Status.INCORRECT
