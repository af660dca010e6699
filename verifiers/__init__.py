"""Is this response right? Verdicts with three outcomes, reward functions and audits."""

from verifiers.verdict import Status, Verdict, Verifier

__all__ = ["Status", "Verdict", "Verifier"]
