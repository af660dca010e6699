"""The numbers of one step, by the fixed names that trainer/README.md explains."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pipeline.atomic import write_text
from trainer.groups import Filled
from trainer.rollout_group import Group, Sample

Numbers = dict[str, float | int | None]

HEDGED = "hedged"
"""The verifiers' reason for a response that leaves several answers to choose from."""


def sampling_metrics(filled: Filled) -> Numbers:
    """Of everything drawn in the step, except reward/kept_mean: of the groups trained on."""
    samples = [sample for group in filled.drawn for sample in group.samples]
    right = [sample for sample in samples if sample.status == "correct"]
    wrong = [sample for sample in samples if sample.status == "incorrect"]
    decided = [group for group in filled.drawn if group.scores]
    kept = [group for group in filled.drawn if group.informative]
    return {
        "groups/drawn": len(filled.drawn),
        "groups/kept": len(filled.kept),
        "groups/kept_share": len(kept) / len(filled.drawn) if filled.drawn else None,
        "groups/surplus": len(filled.surplus),
        "groups/copies": filled.copies,
        "groups/stale": filled.stale,
        "groups/reused": sum(group.reused for group in filled.drawn),
        "groups/reused_tokens": sum(group.saved_tokens for group in filled.drawn),
        "groups/rounds": filled.rounds,
        "groups/exhausted": int(filled.exhausted),
        "groups/rollouts_per_kept": len(samples) / len(kept) if kept else None,
        "groups/skipped_total": filled.skipped,
        "groups/too_easy": sum(min(group.scores) == 1 for group in decided),
        "groups/too_hard": sum(max(group.scores) == 0 for group in decided),
        "reward/mean": _mean(sample.score for sample in samples if sample.score is not None),
        "reward/undecided_share": _mean(float(sample.score is None) for sample in samples),
        "reward/hedged_share": _mean(float(sample.reason == HEDGED) for sample in samples),
        "reward/kept_mean": _mean(score for group in filled.kept for score in group.scores),
        "length/mean": _mean(len(sample.token_ids) for sample in samples),
        "length/correct_mean": _mean(len(sample.token_ids) for sample in right),
        "length/wrong_mean": _mean(len(sample.token_ids) for sample in wrong),
        "length/truncated_share": _mean(float(sample.finish_reason == "length") for sample in samples),
        "time/generate_s": filled.generate_s,
        "time/score_s": filled.score_s,
        **filled.told,
    }


def ages(filled: Filled, version: int) -> Numbers:
    """Versions that the policy, now at `version`, has gone on since the groups of the batch were drawn."""
    found = [version - group.version for group in filled.kept]
    return {"groups/age_mean": _mean(found), "groups/age_max": max(found, default=None)}


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None


def write_rollouts(path: Path, step: int, filled: Filled, advantages: Sequence[float]) -> None:
    """One object a sample: first the groups trained on (older surplus among them, and their demonstrations, which are
    marked), then the others of this step."""
    kept = {group.key for group in filled.kept}
    given = iter(advantages)
    rows = [
        _row(step, group, index, sample, next(given, None))
        for group in filled.kept
        for index, sample in enumerate(group.rows)
    ]
    rows += [
        _row(step, group, index, sample, None)
        for group in filled.drawn
        if group.key not in kept
        for index, sample in enumerate(group.samples)
    ]
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def _row(step: int, group: Group, index: int, sample: Sample, advantage: float | None) -> dict[str, Any]:
    return {
        "step": step,
        "id": group.problem_id,
        "group": group.key,
        "sample": index,
        "question": group.question,
        "ground_truth": group.ground_truth,
        "response": sample.response,
        "status": sample.status,
        "reason": sample.reason,
        "reward": sample.reward,
        "advantage": None if sample.reward is None else advantage,
        "tokens": len(sample.token_ids),
        "finish_reason": sample.finish_reason,
        "version": group.version if sample.version is None else sample.version,
        **({"demonstration": True, "version": None} if index >= len(group.samples) else {}),
    }
