"""Is this response right? Verdicts with three outcomes, reward functions and audits."""

from verifiers.choice import verify_choice
from verifiers.math import check_gold, verify_math
from verifiers.qa import verify_qa
from verifiers.registry import VERIFIERS, Request, verify_many
from verifiers.verdict import Status, Verdict, Verifier

__all__ = [
    "VERIFIERS",
    "Request",
    "Status",
    "Verdict",
    "Verifier",
    "check_gold",
    "verify_choice",
    "verify_many",
    "verify_math",
    "verify_qa",
]
