"""OpenRLHF: `PromptDataset` reads a chat and a label; a reward function gets queries, prompts and labels."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.exports.label import label, messages
from pipeline.problem import MESSAGE, Problem

SCHEMA = pa.schema(
    [("id", pa.string()), ("datasource", pa.string()), ("prompt", pa.list_(MESSAGE)), ("label", pa.string())]
)


def row(problem: Problem) -> dict[str, Any]:
    """`datasource` is the name under which OpenRLHF reports evaluation by set."""
    return {
        "id": problem.id,
        "datasource": problem.data_source,
        "prompt": messages(problem),
        "label": label(problem),
    }
