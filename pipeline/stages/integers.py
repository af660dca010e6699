"""Integer answers without a language model: a closed form with unique parameters, their sum asked for in one sentence.

Forms F0 to F10: integer, rational, multiple of pi, a√b, a√b/c, (a+b√c)/d, exact decimal, percent, degrees, (choices are
opened by `clean`), tuples and lists of integers. Every rewritten row stores its proofs; what no form fits stays, with
`integer_refused` in `meta_json`: the manifest counts the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.config import STRICT
from pipeline.defects import find_leak
from pipeline.gold import boxed, verdicts, with_meta
from pipeline.integer_forms import Form, Refusal, find_form, rewrite
from pipeline.problem import Problem
from pipeline.stage import Context, Outcome
from verifiers import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Integers:
    """max_digits: integers with more digits are refused.
    forms: which forms may be used; F0 is always.
    keep_symbolic: whether rows that no form fits stay (with `integer_form` null).
    """

    __pydantic_config__ = STRICT
    max_digits: int = 15
    forms: tuple[str, ...] = ("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F10")

    def __call__(self, problems: Sequence[Problem], _context: Context) -> Outcome:
        found: dict[tuple[str, str], Form | Refusal] = {}
        plans = [self._plan(problem, found) for problem in problems]
        requests = [request for plan in plans if isinstance(plan, Form) for request in _proof_requests(plan)]
        statuses = iter([verdict.status.value for verdict in verdicts(requests)])
        return Outcome(kept=[_apply(row, plan, statuses) for row, plan in zip(problems, plans, strict=True)])

    def _plan(self, problem: Problem, found: dict[tuple[str, str], Form | Refusal]) -> Form | Refusal:
        if problem.verifier != "math" or problem.verifier_options != "{}":
            return Refusal("not-mathematics")
        plan = find_form(problem.question, problem.ground_truth, found)
        if isinstance(plan, Refusal):
            return plan
        if plan.name != "F0" and plan.name not in self.forms:
            return Refusal("form-switched-off")
        if len(str(abs(plan.integer))) > self.max_digits:
            return Refusal("too-many-digits")
        return plan


def _proof_requests(plan: Form) -> list[Request]:
    """The verifier must accept the integer, refuse its neighbour, and refuse the old answer where its value changed."""
    gold = str(plan.integer)
    responses = [gold, str(plan.integer + 1), plan.original]
    return [Request(response=boxed(response), ground_truth=gold) for response in responses]


def _apply(problem: Problem, plan: Form | Refusal, statuses: Any) -> Problem:
    if isinstance(plan, Refusal):
        return with_meta(problem, integer_refused=plan.reason)
    gold = str(plan.integer)
    accepted, neighbour, original = next(statuses), next(statuses), next(statuses)
    proofs = {
        "rebuilt": plan.rebuilt,
        "conditions": plan.conditions,
        "accepts_integer": accepted == "correct",
        "refuses_next": neighbour == "incorrect",
        "refuses_original": original == "incorrect" if plan.changes_value else None,
        "no_leak": plan.no_leak,
        "idempotent": True,
    }
    question = rewrite(problem.question, plan)
    if find_leak(replace(problem, question=question, ground_truth=gold)) is not None:
        return with_meta(problem, integer_refused="question-leak")
    failed = [name for name, holds in proofs.items() if holds is False]
    if failed:
        return with_meta(problem, integer_refused="unproved: " + ", ".join(failed))
    note = {"form": plan.name, "params": dict(plan.params), "original": plan.original}
    if plan.name != "F0":
        note |= {"appended": plan.sentence, "proofs": proofs}
    row = replace(problem, question=question, ground_truth=gold, integer_form=plan.name)
    return with_meta(row, integer=note)
