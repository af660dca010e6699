"""Rows for trainers whose loaders read another layout than the shards: one pure function a file, listed here.

verl, TRL and `datasets` read the shards as they are. README.md says where each layout was read and what becomes of an
undecided verdict in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from pipeline.exports import nemo_rl, openrlhf, prime_rl, slime, verl_default
from pipeline.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """row: a problem in this layout, or None where the layout cannot carry it.

    schema: of the Parquet file, so that no type is inferred.  lost: why `row` may be None.
    reward: file in `rewards/` that the user gives to the trainer; None where the trainer has its own scorer.
    """

    row: Callable[[Problem], dict[str, Any] | None]
    schema: pa.Schema
    lost: str = ""
    reward: str | None = None


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "openrlhf": Format(row=openrlhf.row, schema=openrlhf.SCHEMA, reward="openrlhf"),
        "prime-rl": Format(row=prime_rl.row, schema=prime_rl.SCHEMA, reward="prime_rl"),
        "nemo-rl": Format(row=nemo_rl.row, schema=nemo_rl.SCHEMA, reward="nemo_rl"),
        "slime": Format(row=slime.row, schema=slime.SCHEMA, reward="slime"),
        "verl-default": Format(row=verl_default.row, schema=verl_default.SCHEMA, lost=verl_default.LOST),
    }
)

AS_THEY_ARE: Mapping[str, str] = MappingProxyType(
    {
        "verl": "data.train_files=SHARDS/data/train-00000-of-00001.parquet "
        "custom_reward_function.path=.../verifiers/reward.py custom_reward_function.name=compute_score",
        "trl": 'GRPOTrainer(train_dataset=load_dataset("SHARDS")["train"], reward_funcs=[verifiers.reward.trl_reward])',
    }
)
"""Trainers that need no export, and how they are given the shards."""
