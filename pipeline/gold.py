"""What stages share about golds: aliases, verdicts on candidate answers, notes kept with the row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pipeline.problem import Problem
from verifiers import Request, verify_many
from verifiers.verdict import Verdict

ALIASES = "aliases"
"""Key of `verifier_options` that holds further accepted golds."""


def options_of(problem: Problem) -> tuple[tuple[str, ...], dict[str, Any]]:
    """(accepted golds, options of the verifier)."""
    options = json.loads(problem.verifier_options)
    aliases = options.pop(ALIASES, None)
    return tuple(dict.fromkeys((problem.ground_truth, *map(str, aliases or ())))), options


def request(problem: Problem, response: str) -> Request:
    """A request that judges a response against a problem's gold."""
    golds, options = options_of(problem)
    truth = golds if len(golds) > 1 else problem.ground_truth
    return Request(response=response, ground_truth=truth, verifier=problem.verifier, options=options)


def boxed(answer: str) -> str:
    return f"\\boxed{{{answer}}}"


def verdicts(requests: Sequence[Request], workers: int = 1) -> list[Verdict]:
    """One verdict a request; equal requests are judged once."""
    keys = [
        (item.response, item.ground_truth, item.verifier, json.dumps(item.options, sort_keys=True)) for item in requests
    ]
    first = dict(zip(reversed(keys), reversed(requests), strict=True))
    unique = list(dict.fromkeys(keys))
    found = dict(zip(unique, verify_many([first[key] for key in unique], workers=workers), strict=True))
    return [found[key] for key in keys]


def with_meta(problem: Problem, **values: Any) -> Problem:
    """The problem with further fields in `meta_json`."""
    merged = json.loads(problem.meta_json) | values
    return replace(problem, meta_json=json.dumps(merged, sort_keys=True, ensure_ascii=False))
