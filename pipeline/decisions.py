"""What a person found about labels that were set aside: one JSON object a line, next to the quarantined rows.

`quarantined/suspects.parquet` -> `quarantined/suspects.decisions.jsonl` with id, ground_truth, decision and answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.atomic import write_text
from pipeline.config import RecipeError
from pipeline.problem import DROP_SCHEMA

LABEL_RIGHT, LABEL_WRONG = "label-right", "label-wrong"

Key = tuple[str, str]
"""Problem id and ground truth: a label that has been mended is another question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A quarantined row with the answer that the samples agreed on."""

    id: str
    question: str
    ground_truth: str
    answer: str
    times: int
    samples: int

    @property
    def key(self) -> Key:
        return self.id, self.ground_truth


def decisions_path(quarantine: Path) -> Path:
    return quarantine.with_suffix(".decisions.jsonl")


def is_quarantine(path: Path) -> bool:
    """Whether a file holds rows that a curation removed."""
    if path.suffix != ".parquet":
        return False
    try:
        return pq.read_schema(path).equals(DROP_SCHEMA)
    except (OSError, pa.ArrowInvalid):
        return False


def read_suspects(quarantine: Path) -> list[Suspect]:
    """Rows whose evidence names a majority answer. Raises RecipeError when there is none: nothing could be decided."""
    found: list[Suspect] = []
    for row in pq.read_table(quarantine).to_pylist():
        evidence = json.loads(row["evidence"])
        if "majority_answer" in evidence:
            found.append(
                Suspect(
                    id=row["id"],
                    question=row["question"],
                    ground_truth=row["ground_truth"],
                    answer=str(evidence["majority_answer"]),
                    times=int(evidence["majority_times"]),
                    samples=int(evidence["samples"]),
                )
            )
    if not found:
        raise RecipeError(
            f"{quarantine}: holds no label suspects; give quarantined/suspects.parquet of a curated folder"
        )
    return found


def write_decisions(path: Path, suspects: Sequence[Suspect], decisions: Mapping[Key, str]) -> None:
    """All decisions there are, in the order of the suspects; those of an earlier file are kept."""
    merged = {**read_decisions(path if path.exists() else None), **decisions}
    answers = {suspect.key: suspect.answer for suspect in suspects}
    lines = [
        json.dumps({"id": key[0], "ground_truth": key[1], "decision": decision, "answer": answers.get(key)})
        for key, decision in sorted(merged.items())
    ]
    write_text(path, "".join(line + "\n" for line in lines))


def read_decisions(path: Path | None) -> dict[Key, str]:
    """(id, ground truth) -> decision. Raises RecipeError for a file that is none."""
    if path is None:
        return {}
    try:
        rows: list[Any] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found = {(str(row["id"]), str(row["ground_truth"])): str(row["decision"]) for row in rows}
    except OSError as error:
        raise RecipeError(f"{path}: cannot read the decisions ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise RecipeError(f"{path}: not a file of decisions; `verigold audit QUARANTINE --label` writes one") from None
    strange = set(found.values()) - {LABEL_RIGHT, LABEL_WRONG}
    if strange:
        raise RecipeError(f"{path}: unknown decision {min(strange)!r}; known: {LABEL_RIGHT}, {LABEL_WRONG}")
    return found
