"""verl with its own scorers instead of ours: `data_source` names `math_dapo`, which compares texts after `Answer:`.

That is right for integers and nothing else, so only they are taken; `extra_info.source_row` still names the true
source.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from pipeline.problem import SHARD_SCHEMA, Problem, to_row

SCHEMA = SHARD_SCHEMA
LOST = "verl's own scorer is right for integers only; use the shards as they are with verifiers/reward.py"
_INTEGER = re.compile(r"-?(?:0|[1-9]\d*)")


def row(problem: Problem) -> dict[str, Any] | None:
    """None for golds that are not integers in plain digits, and for other verifiers or options than `math` without."""
    plain = problem.verifier == "math" and problem.verifier_options == "{}"
    if not plain or _INTEGER.fullmatch(problem.ground_truth) is None:
        return None
    return to_row(replace(problem, data_source="math_dapo"))
