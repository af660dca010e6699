"""Labels by a person for an audit: which row to ask next, and the file that keeps the answers.

The next row depends only on the rows, their verdicts and the answers so far, so an interrupted session goes on where
it stopped. Inside a stratum the rows come in a random order that the seed fixes; a skipped row is passed over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from verifiers.audit import AuditResult, accepted, cells_of
from verifiers.cases import LabelledRow, read_rows
from verifiers.estimate import plan, stratify

LABELS_FILE = "labels.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person said of one row. correct None: skipped."""

    row: LabelledRow
    correct: bool | None


def key_of(row: LabelledRow) -> str:
    """The same for the same pair in any file: labels outlive changes of order and of ids."""
    golds = [row.ground_truth] if isinstance(row.ground_truth, str) else list(row.ground_truth)
    text = json.dumps([row.response, golds, row.question, row.source], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_labels(folder: Path) -> list[Answer]:
    """The answers in `folder`, oldest first. Raises RowError for a damaged file."""
    path = folder / LABELS_FILE
    if not path.is_file():
        return []
    return [Answer(row=replace(row, correct=None), correct=row.correct) for row in read_rows(path)]


def labels_text(answers: Sequence[Answer]) -> str:
    """The file's text: JSON Lines as case files have it, so that the labels can become test cases."""
    return "".join(json.dumps(_case(answer), ensure_ascii=False) + "\n" for answer in answers)


def _case(answer: Answer) -> dict[str, Any]:
    row = answer.row
    gold = row.ground_truth if isinstance(row.ground_truth, str) else list(row.ground_truth)
    case: dict[str, Any] = {"id": row.id, "category": row.category, "source": row.source, "verifier": row.verifier}
    if row.options:
        case["verifier_options"] = dict(row.options)
    if row.question:
        case["question"] = row.question
    return case | {"ground_truth": gold, "response": row.response, "correct": answer.correct}


def with_labels(rows: Sequence[LabelledRow], answers: Sequence[Answer]) -> tuple[list[LabelledRow], int]:
    """The rows with the answers filled in where the file has no label; and how many answers belong to no row."""
    said = {key_of(answer.row): answer.correct for answer in answers}
    keys = [key_of(row) for row in rows]
    filled = [
        row if row.correct is not None else replace(row, correct=said.get(key))
        for row, key in zip(rows, keys, strict=True)
    ]
    return filled, len(said.keys() - set(keys))


class Draw:
    """The order in which rows are asked. `result`: the rows of the file, their own labels kept, with verdicts."""

    def __init__(self, result: AuditResult, answers: Sequence[Answer], *, seed: int = 0) -> None:
        self.rows, _ = with_labels(result.rows, answers)
        self.accepted = [accepted(verdict) for verdict in result.verdicts]
        self.strata = stratify(cells_of(result.pairs), [row.correct for row in self.rows])
        self.keys = [key_of(row) for row in self.rows]
        asked = {key_of(answer.row) for answer in answers}
        self.waiting = np.array(
            [key not in asked and row.correct is None for key, row in zip(self.keys, self.rows, strict=True)]
        )
        self.places: dict[str, list[int]] = {}
        for place, key in enumerate(self.keys):
            self.places.setdefault(key, []).append(place)
        order = {key: hashlib.sha256(f"{seed}:{key}".encode()).digest() for key in self.places}
        self.order = sorted(range(len(self.keys)), key=lambda place: order[self.keys[place]])

    def next(self) -> int | None:
        """The place of the next row to ask; None when none is left."""
        left = np.bincount(self.strata.of_row[self.waiting], minlength=len(self.strata.cells))
        if not left.sum():
            return None
        # rows that were skipped cannot be asked: the stratum is as large as its labels and its waiting rows
        chosen = int(plan(replace(self.strata, size=self.strata.labelled + left), 1).argmax())
        return next(place for place in self.order if self.waiting[place] and self.strata.of_row[place] == chosen)

    def answer(self, place: int, correct: bool | None) -> Answer:
        """Notes what a person said, also of equal rows; None skips the row."""
        labelled, errors = self.strata.labelled.copy(), self.strata.errors.copy()
        for same in self.places[self.keys[place]]:
            if self.waiting[same] and correct is not None:
                labelled[self.strata.of_row[same]] += 1
                errors[self.strata.of_row[same]] += correct != self.accepted[same]
            self.waiting[same] = False
        self.strata = self.strata.with_labels(labelled, errors)
        return Answer(row=self.rows[place], correct=correct)
