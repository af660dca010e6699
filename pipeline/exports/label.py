"""One string that holds all a verifier reads, for trainers that hand a reward function a label and nothing else."""

from __future__ import annotations

import json

from pipeline.problem import Problem, to_row


def label(problem: Problem) -> str:
    """A JSON object with `ground_truth`, `verifier` and `verifier_options` (JSON text)."""
    fields = {
        "ground_truth": problem.ground_truth,
        "verifier": problem.verifier,
        "verifier_options": problem.verifier_options,
    }
    return json.dumps(fields, ensure_ascii=False)


def messages(problem: Problem) -> list[dict[str, str]]:
    return to_row(problem)["prompt"]
