"""How closely a problem's rewards followed the course of learning: the scores by which LIMR chooses its problems.

Li, Zou and Liu, "LIMR: Less is More for RL Scaling" (2025), learning impact measurement: with r_i^k the mean reward of
problem i in epoch k and r^k the mean of that over the problems,

    s_i = 1 - sum_k (r_i^k - r^k)^2 / sum_k (1 - r^k)^2

A problem whose curve is the mean curve scores 1; one that is always solved scores 0, and one that is never solved
falls far below as soon as others are learnt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.config import RecipeError
from pipeline.readers import read_file

LOG_SCHEMA = pa.schema([("id", pa.string()), ("epoch", pa.int64()), ("reward", pa.float64())])
LOG_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
ROWS_A_CHUNK = 65536


def read_reward_log(path: Path) -> pa.Table:
    """Mean reward of each problem in each epoch: `LOG_SCHEMA`, one row for each (id, epoch).

    path: JSON Lines (plain, gz, zst) or Parquet, or a folder of such files (`rollouts/` of a training run is one). A
    row is one sample: `id` of the problem, `epoch` or `step`, and `reward` from 0 to 1. With `step`, the n-th step in
    which a problem was drawn is its n-th epoch. A sample without reward (null, nan: undecided) is left out.

    Raises RecipeError naming file and row for a field that is missing or of the wrong kind.
    """
    files = sorted(item for item in path.iterdir() if item.name.endswith(LOG_SUFFIXES)) if path.is_dir() else [path]
    if not files or not path.exists():
        raise RecipeError(f"{path}: no reward log here; give JSON Lines or Parquet with id, epoch or step, and reward")
    tables, chunk = [LOG_SCHEMA.empty_table()], []
    counts_steps = None
    for file in files:
        for place, row in _rows(file):
            entry = _entry(row, place)
            by_step = "epoch" not in row
            if counts_steps not in (None, by_step):
                raise RecipeError(
                    f"{place}: has {'a step' if by_step else 'an epoch'} and earlier rows have not; use one"
                )
            counts_steps = by_step
            if entry is not None:
                chunk.append(entry)
            if len(chunk) == ROWS_A_CHUNK:
                tables.append(pa.Table.from_pylist(chunk, schema=LOG_SCHEMA))
                chunk = []
    tables.append(pa.Table.from_pylist(chunk, schema=LOG_SCHEMA))
    means = pa.concat_tables(tables).group_by(["id", "epoch"]).aggregate([("reward", "mean")])
    means = means.rename_columns(["id", "epoch", "reward"]).sort_by([("id", "ascending"), ("epoch", "ascending")])
    return _visits(means) if counts_steps else means


def _rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for raw in read_file(file):
        place = f"{file}: row {raw.index}"
        if raw.row is None:
            raise RecipeError(f"{place}: {raw.reason} ({raw.detail}); mend the reward log or leave the row out")
        yield place, raw.row


def _entry(row: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    identity, reward = row.get("id"), row.get("reward")
    when = row.get("epoch", row.get("step"))
    if not isinstance(identity, str):
        raise RecipeError(f"{place}: id: must be the id of a problem, as text (got {identity!r})")
    if isinstance(when, bool) or not isinstance(when, int):
        raise RecipeError(f"{place}: epoch, step: one of them must be a whole number (got {when!r})")
    if reward is None or (isinstance(reward, float) and math.isnan(reward)):
        return None
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not 0 <= reward <= 1:
        raise RecipeError(f"{place}: reward: must be a number from 0 to 1 (got {reward!r}); scale the log first")
    return {"id": identity, "epoch": when, "reward": float(reward)}


def _visits(means: pa.Table) -> pa.Table:
    """Steps, in order within each problem, become 1, 2, 3 ..."""
    visits: list[int] = []
    before, visit = None, 0
    for identity in means.column("id"):
        visit = visit + 1 if identity == before else 1
        visits.append(visit)
        before = identity
    return means.set_column(1, "epoch", pa.array(visits, pa.int64()))


def alignment_scores(means: pa.Table) -> dict[str, float]:
    """id -> s_i, over the epochs in which the problem has a reward; `means` as `read_reward_log` gives it."""
    course = {
        row["epoch"]: row["reward_mean"]
        for row in means.group_by(["epoch"]).aggregate([("reward", "mean")]).to_pylist()
    }
    missed: dict[str, float] = {}
    most: dict[str, float] = {}
    columns = (means.column(name).to_pylist() for name in LOG_SCHEMA.names)
    for identity, epoch, reward in zip(*columns, strict=True):
        mean = course[epoch]
        missed[identity] = missed.get(identity, 0.0) + (reward - mean) ** 2
        most[identity] = most.get(identity, 0.0) + (1 - mean) ** 2
    return {identity: _score(missed[identity], most[identity]) for identity in missed}


def _score(missed: float, most: float) -> float:
    """Where all problems are always solved, no reward tells one from another: the curve is the mean curve."""
    if most == 0:
        return 1.0
    return 1 - missed / most
