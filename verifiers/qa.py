"""Short answers to open questions."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.verdict import Verdict


def verify_qa(response: str, ground_truth: str | Sequence[str], /) -> Verdict:
    """Whether the response equals one of the accepted answers after normalisation."""
    from verifiers.math import verify_math

    return verify_math(response, ground_truth)
