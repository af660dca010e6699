"""NeMo-RL: `ResponseDataset` reads one text and one answer, and drops every other column.

Its own mathematics environment is given `output_key: output` (the gold), ours `output_key: label`. A system prompt has
no place in a row (NeMo-RL takes one from a file for all rows), so a problem's own goes before its question.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.exports.label import label
from pipeline.problem import Problem

SCHEMA = pa.schema([("input", pa.string()), ("output", pa.string()), ("label", pa.string())])


def row(problem: Problem) -> dict[str, Any]:
    question = problem.question if problem.system_prompt is None else f"{problem.system_prompt}\n\n{problem.question}"
    return {"input": question, "output": problem.ground_truth, "label": label(problem)}
