"""Rows that no one could learn from: mended where the mend is certain, dropped with the reason where it is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pipeline.config import STRICT
from pipeline.defects import (
    find_broken_gold,
    find_figure,
    find_hyperlink,
    find_leak,
    find_missing_figure,
    find_parts,
    find_proof,
    find_undefined_gold,
    find_yes_no,
    main_script,
)
from pipeline.fields import is_missing_gold
from pipeline.gold import options_of, with_meta
from pipeline.mending import mend_gold, mend_question, open_choice
from pipeline.problem import Problem
from pipeline.stage import Context, Drop, Outcome, drop
from verifiers import check_gold


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """languages: scripts that may stay ("en" stands for every Latin script, for mathematics in words is short).
    figures: keep questions that carry their figure as code, or drop them.
    yes_no, multi_part, proof, hyperlink: keep such rows or drop them.
    max_question_chars: longer questions are dropped.
    """

    __pydantic_config__ = STRICT
    languages: tuple[str, ...] = ("en",)
    keep_figures: bool = True
    keep_yes_no: bool = False
    keep_multi_part: bool = False
    keep_proof: bool = False
    keep_hyperlink: bool = False
    max_question_chars: int = 20_000

    def __call__(self, problems: Sequence[Problem], _context: Context) -> Outcome:
        kept: list[Problem] = []
        drops: list[Drop] = []
        golds: dict[tuple[str, str, str], str | None] = {}
        for problem in problems:
            row, reason, evidence = self.mend(problem)
            if reason is None:
                reason = _gold_fault(row, golds)
            if reason is None:
                kept.append(row)
            else:
                drops.append(drop(problem, "clean", reason, found=evidence))
        return Outcome(kept=kept, drops=drops)

    def mend(self, problem: Problem) -> tuple[Problem, str | None, str]:
        """(mended problem, reason to drop it or None, what was found)."""
        question, notes = mend_question(problem.question)
        gold = mend_gold(problem.ground_truth)
        row = replace(problem, question=question, ground_truth=gold)
        if not question:
            return row, "empty-question", ""
        if is_missing_gold(gold, row.verifier):
            return row, "no-gold", ""
        row, reason = open_choice(row)
        if reason is not None:
            return row, reason, "answer options"
        for name, test in self._tests():
            # A leading "Question 1:" is gone from the mended text.
            found = test(row) or (test(problem) if name == "multi-part" else None)
            if found is not None:
                return row, name, found[:80]
        return with_meta(row, cleaned=notes) if notes else row, None, ""

    def _tests(self) -> list[tuple[str, Callable[[Problem], str | None]]]:
        tests: list[tuple[str, bool, Callable[[Problem], str | None]]] = [
            ("question-too-long", True, self._too_long),
            ("hyperlink", not self.keep_hyperlink, find_hyperlink),
            ("missing-figure", True, find_missing_figure),
            ("figure", not self.keep_figures, find_figure),
            ("language", True, self._other_language),
            ("answer-leaked", True, find_leak),
            ("proof", not self.keep_proof, find_proof),
            ("yes-no", not self.keep_yes_no, find_yes_no),
            ("multi-part", not self.keep_multi_part, find_parts),
        ]
        return [(name, test) for name, wanted, test in tests if wanted]

    def _too_long(self, row: Problem) -> str | None:
        length = len(row.question)
        return f"{length} characters" if length > self.max_question_chars else None

    def _other_language(self, row: Problem) -> str | None:
        script = main_script(row.question)
        return script if script not in self.languages else None


def _gold_fault(row: Problem, seen: dict[tuple[str, str, str], str | None]) -> str | None:
    if row.verifier == "math" and find_broken_gold(row.ground_truth):
        return "gold-unparsable"
    if row.verifier == "math" and find_undefined_gold(row.ground_truth):
        return "gold-unequal-to-itself"
    key = (row.ground_truth, row.verifier, row.verifier_options)
    if key not in seen:
        golds, options = options_of(row)
        verdict = check_gold(golds if len(golds) > 1 else row.ground_truth, row.verifier, options)
        seen[key] = None if verdict.status == "correct" else verdict.reason
    return seen[key]
