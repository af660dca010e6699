"""The rule-based mathematics verifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifiers import extract
from verifiers.answer.equality import EQUAL, Outcome, equal
from verifiers.answer.parser import parse
from verifiers.answer.tokens import tokenise, without_doubled_braces
from verifiers.answer.tree import Node, TooComplex, Unreadable
from verifiers.normalise import key, plain, unfence
from verifiers.verdict import Verdict, correct, incorrect, undecided


def verify_math(response: str, ground_truth: str | Sequence[str], /) -> Verdict:
    """Whether the response's final answer equals the ground truth (or any of several accepted ones)."""
    if isinstance(ground_truth, str):
        return _verify_one(response, ground_truth)
    verdicts = [_verify_one(response, gold) for gold in ground_truth]
    order = {"correct": 0, "undecided": 1, "incorrect": 2}
    return min(verdicts, key=lambda verdict: order[verdict.status]) if verdicts else undecided("gold-empty")


def _verify_one(response: str, gold: str) -> Verdict:
    checked = check_gold(gold)
    if checked.status != "correct":
        return checked
    answer = extract.final_answer(response)
    if answer.text is None:
        return incorrect(answer.reason, None)
    if key(unfence(answer.text)) == key(unfence(gold)):
        return correct("exact", answer.text)
    try:
        outcome = equal(_tree(gold), _tree(answer.text))
    except Unreadable:
        return incorrect("unreadable", answer.text)
    except TooComplex:
        return incorrect("response-too-complex", answer.text)
    if outcome in EQUAL:
        return correct(outcome.value, answer.text)
    return incorrect("response-too-complex" if outcome is Outcome.COMPLEX else outcome.value, answer.text)


def _tree(text: str) -> Node:
    return parse(tokenise(without_doubled_braces(unfence(plain(text)))))


def check_gold(
    ground_truth: str | Sequence[str], verifier: str = "math", options: Mapping[str, Any] | None = None
) -> Verdict:
    """Correct when the ground truth can be read and equals itself; otherwise undecided with reason gold-empty,
    gold-unparsable or gold-unequal-to-itself."""
    golds = [ground_truth] if isinstance(ground_truth, str) else list(ground_truth)
    if not golds or not all(gold.strip() for gold in golds):
        return undecided("gold-empty")
    return correct("exact", golds[0])
