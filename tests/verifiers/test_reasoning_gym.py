"""The verifier reasoning_gym: the package's scorers accept their references, run no text, and cannot hang a run."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from pathlib import Path

import pytest

from verifiers import Request, Status, Verdict, check_gold, verify_many
from verifiers.reasoning_gym import ALLOWED, REFUSED, answer_text, refusal, verify_reasoning_gym

pytest.importorskip("reasoning_gym")

TEN = (
    *("chain_sum", "gcd", "fraction_simplification", "simple_equations", "complex_arithmetic"),
    *("number_sequence", "spell_backward", "family_relationships", "knights_knaves", "mini_sudoku"),
)
RUNS_CODE = {"eval", "exec", "compile", "sympify", "parse_expr", "parse_latex", "__import__", "literal_eval"}


def entry(task: str, place: int = 0) -> dict:
    from reasoning_gym.factory import create_dataset

    return json.loads(json.dumps(create_dataset(task, size=place + 1, seed=5)[place]))


def judge(task: str, found: dict, *responses: str) -> list[Verdict]:
    options = {"task": task, "config": {}, "metadata": found["metadata"]}
    return verify_many(
        [
            Request(response=text, ground_truth=found["answer"], verifier="reasoning_gym", options=options)
            for text in responses
        ]
    )


@pytest.mark.parametrize("task", TEN)
def test_its_scorer_and_ours_agree_on_reference_answers(task: str) -> None:
    found = entry(task)
    gold = found["answer"]
    tagged, boxed, wrong, empty = judge(
        task, found, f"So <answer>{gold}</answer>", f"So \\boxed{{{gold}}}.", "<answer>surely not</answer>", ""
    )
    assert (tagged.status, tagged.score, tagged.reason) == (Status.CORRECT, 1.0, "scorer")
    assert boxed.status is Status.CORRECT
    assert (wrong.status, wrong.score) == (Status.INCORRECT, 0.0)
    assert empty.reason == "no-answer"
    options = {"task": task, "config": {}, "metadata": found["metadata"]}
    assert check_gold(gold, "reasoning_gym", options).status is Status.CORRECT
    ours = verify_many([Request(response=f"\\boxed{{{gold}}}", ground_truth=gold, verifier="math")])
    assert ours[0].status is Status.CORRECT


def test_partial_scores_are_incorrect_and_kept_in_the_detail() -> None:
    found = entry("spell_backward")
    (verdict,) = judge("spell_backward", found, f"<answer>{found['answer'][:-1]}?</answer>")
    assert verdict.status is Status.INCORRECT
    assert verdict.score == 0.0
    assert 0.0 < float(verdict.detail.removeprefix("score ")) < 1.0


def test_every_task_is_either_taken_or_refused_with_a_reason() -> None:
    from reasoning_gym.factory import DATASETS

    assert set(DATASETS) == ALLOWED | set(REFUSED)
    assert not ALLOWED & set(REFUSED)
    assert all(refusal(task) for task in (*REFUSED, "no_such_task"))


def calls(function: object) -> set[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))  # type: ignore[arg-type]
    nodes = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
    }


def reached(task: str) -> set[str]:
    """Names called by the scorer and by what it calls in its class and module, as far as names tell."""
    from reasoning_gym.factory import DATASETS

    kind = DATASETS[task][0]
    module = sys.modules[kind.__module__]
    found, waiting = set(), [kind.score_answer]
    while waiting:
        for name in calls(waiting.pop()) - found:
            found.add(name)
            inner = getattr(kind, name, None) or getattr(module, name, None)
            if inspect.isfunction(inner) and "reasoning_gym" in inner.__module__:
                waiting.append(inner)
    return found


def test_no_scorer_that_is_taken_runs_text_as_code() -> None:
    """Also after the package is upgraded."""
    assert {task: found for task in sorted(ALLOWED) if (found := reached(task) & RUNS_CODE)} == {}
    assert all(reached(task) & RUNS_CODE for task, why in REFUSED.items() if "as Python code" in why)


def test_text_that_would_run_as_code_does_not(tmp_path: Path) -> None:
    target = tmp_path / "written"
    attack = f"<answer>open({str(target)!r}, 'w').close()</answer>"
    for task in ("n_queens", "chain_sum", "countdown"):
        verdict = verify_reasoning_gym(attack, "24", task=task, metadata={})
        assert verdict.status is not Status.CORRECT
    assert not target.exists()


def test_faults_of_our_side_are_undecided() -> None:
    assert verify_reasoning_gym("<answer>1</answer>", "1", task="n_queens").reason == "task-refused"
    assert verify_reasoning_gym("<answer>1</answer>", " ", task="gcd").reason == "gold-empty"
    assert verify_reasoning_gym("<answer>1</answer>", "x", task="coin_flip").reason == "gold-unequal-to-itself"
    bad: dict = {"task": "gcd", "metadata": [1]}
    assert verify_reasoning_gym("<answer>1</answer>", "1", **bad).reason == "gold-unparsable"


def test_a_response_that_eats_the_budget_is_incorrect() -> None:
    """A Fraction of a huge exponent never ends."""
    verdict = verify_reasoning_gym("<answer>1e999999999</answer>", "1/2", task="coin_flip", metadata={})
    assert (verdict.status, verdict.reason) == (Status.INCORRECT, "response-too-complex")
    long = verify_reasoning_gym(f"<answer>{'9' * 30_000}</answer>", "1/2", task="coin_flip", metadata={})
    assert long.reason == "response-too-complex"


def test_where_the_answer_is_read() -> None:
    assert answer_text("<think>no</think><answer>1 2\n3 4\n</answer>") == ("1 2\n3 4", "")
    assert answer_text("<answer>1</answer> or <answer>2</answer>") == ("2", "")
    assert answer_text("<answer>1") == (None, "truncated")
    assert answer_text("<think>5") == (None, "truncated")
    assert answer_text("Paris") == ("Paris", "")
    assert answer_text("it is \\boxed{7}") == ("7", "")


def test_without_a_task_texts_are_compared() -> None:
    assert verify_reasoning_gym("\\boxed{A knave}", "A knave").status is Status.CORRECT
    assert verify_reasoning_gym("\\boxed{A knave}", "A knight").status is Status.INCORRECT
