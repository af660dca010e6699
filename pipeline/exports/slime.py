"""slime: a chat, a label and a `metadata` object that its custom reward function finds on the sample."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.exports.label import messages
from pipeline.problem import MESSAGE, Problem

METADATA = pa.struct(
    [("id", pa.string()), ("data_source", pa.string()), ("verifier", pa.string()), ("verifier_options", pa.string())]
)
SCHEMA = pa.schema([("prompt", pa.list_(MESSAGE)), ("label", pa.string()), ("metadata", METADATA)])


def row(problem: Problem) -> dict[str, Any]:
    return {
        "prompt": messages(problem),
        "label": problem.ground_truth,
        "metadata": {
            "id": problem.id,
            "data_source": problem.data_source,
            "verifier": problem.verifier,
            "verifier_options": problem.verifier_options,
        },
    }
