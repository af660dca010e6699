"""Multiple choice."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.verdict import Verdict


def verify_choice(response: str, ground_truth: str | Sequence[str], /) -> Verdict:
    """Whether the response chooses the letter of the ground truth."""
    from verifiers.math import verify_math

    return verify_math(response, ground_truth)
