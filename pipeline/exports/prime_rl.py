"""prime-rl, through an environment of the `verifiers` library: prompt, answer, and `info` as JSON text.

`example_id` and `task` are left to the library: it numbers the rows itself and routes groups of environments by task.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from pipeline.exports.label import messages
from pipeline.problem import MESSAGE, Problem

SCHEMA = pa.schema([("prompt", pa.list_(MESSAGE)), ("answer", pa.string()), ("info", pa.string())])


def row(problem: Problem) -> dict[str, Any]:
    info = {
        "id": problem.id,
        "data_source": problem.data_source,
        "verifier": problem.verifier,
        "verifier_options": problem.verifier_options,
    }
    return {
        "prompt": messages(problem),
        "answer": problem.ground_truth,
        "info": json.dumps(info, ensure_ascii=False),
    }
