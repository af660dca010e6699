"""Verdicts to scalar rewards: the functions that trainers call.

verl: `custom_reward_function.path=.../verifiers/reward.py custom_reward_function.name=compute_score`.
TRL: `GRPOTrainer(reward_funcs=[verifiers.reward.trl_reward])`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from verifiers.registry import VERIFIERS, Request, verify, verify_many
from verifiers.verdict import Status, Verdict


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str | Sequence[str],
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, float | int | str]:
    """The reward of one response in verl's form; the keys are the same for every sample.

    The verifier and its options come from `extra_info` (keys `verifier`, `verifier_options` as JSON or a mapping),
    else from keyword arguments of the same names, else `math` without options. verl has no notion of undecided: such
    a sample scores 0.0 and carries undecided = 1, so that a filter can leave it out. Bad text never raises; an unknown
    verifier or option does, for it is a mistake of the recipe.
    """
    del data_source
    info = extra_info or {}
    name = str(info.get("verifier") or kwargs.get("verifier") or "math")
    options = parse_options(info.get("verifier_options") or kwargs.get("verifier_options"))
    verdict = verify(request(solution_str, ground_truth, name, options))
    return {
        "score": 0.0 if verdict.status is Status.UNDECIDED else verdict.score,
        "correct": int(verdict.status is Status.CORRECT),
        "undecided": int(verdict.status is Status.UNDECIDED),
        "reason": verdict.reason,
        "extracted": (verdict.extracted or "")[:200],
    }


def trl_reward(completions: Sequence[Any], **columns: Any) -> list[float | None]:
    """Rewards of a batch in TRL's form; None where the verdict is undecided, so that TRL leaves the sample out.

    completions: strings, or lists of chat messages of which the last one is read. Ground truths come from the columns
    `reward_model` (a struct with `ground_truth`), `ground_truth` or `solution`, the verifier from `verifier` and
    `verifier_options`. Raises KeyError when no column holds ground truths.
    """
    golds = _golds(columns, len(completions))
    names = columns.get("verifier") or ["math"] * len(completions)
    options = columns.get("verifier_options") or [None] * len(completions)
    requests = [
        request(completion_text(completion), gold, str(name or "math"), parse_options(option))
        for completion, gold, name, option in zip(completions, golds, names, options, strict=True)
    ]
    return [reward(verdict) for verdict in verify_many(requests)]


def reward(verdict: Verdict) -> float | None:
    return None if verdict.status is Status.UNDECIDED else verdict.score


def request(response: str, ground_truth: str | Sequence[str], name: str, options: Mapping[str, Any]) -> Request:
    """`aliases` among the options are further accepted ground truths."""
    if name not in VERIFIERS:
        raise KeyError(f"unknown verifier {name!r}; known: {', '.join(sorted(VERIFIERS))}")
    own = dict(options)
    aliases = own.pop("aliases", ())
    golds = (ground_truth,) if isinstance(ground_truth, str) else tuple(map(str, ground_truth))
    golds += tuple(alias for alias in aliases if alias not in golds)
    return Request(response=response, ground_truth=golds[0] if len(golds) == 1 else golds, verifier=name, options=own)


def parse_options(value: Any) -> dict[str, Any]:
    """Options as a mapping: from a mapping, a JSON object, or nothing. Raises ValueError otherwise."""
    if value is None or value == "":
        return {}
    parsed = json.loads(value) if isinstance(value, str) else value
    if not isinstance(parsed, Mapping):
        raise ValueError(f"verifier_options must be a JSON object, got {value!r}")
    return {key: item for key, item in parsed.items() if item is not None}


def completion_text(completion: Any) -> str:
    """A string as it is; of chat messages the content of the last one."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and completion and isinstance(completion[-1], Mapping):
        content = completion[-1].get("content")
        return content if isinstance(content, str) else ""
    return ""


def _golds(columns: Mapping[str, Any], count: int) -> list[str | Sequence[str]]:
    if columns.get("reward_model") is not None:
        return [entry["ground_truth"] for entry in columns["reward_model"]]
    for name in ("ground_truth", "solution"):
        if columns.get(name) is not None:
            return list(columns[name])
    raise KeyError(f"no column reward_model, ground_truth or solution for {count} completions; have {sorted(columns)}")


def soft_overlong(length: int, max_tokens: int, cache_tokens: int) -> float:
    """The soft overlong penalty of DAPO (arXiv:2503.14476, equation 13), in [-1, 0].

    0 up to max_tokens - cache_tokens tokens, then falling linearly to -1 at max_tokens, -1 beyond. Raises ValueError
    when cache_tokens is not in 1..max_tokens.
    """
    if not 0 < cache_tokens <= max_tokens:
        raise ValueError(f"cache_tokens must be in 1..max_tokens, got {cache_tokens} of {max_tokens}")
    over = length - (max_tokens - cache_tokens)
    return 0.0 if over <= 0 else -min(1.0, over / cache_tokens)
