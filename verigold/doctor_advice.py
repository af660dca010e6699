"""What to do about the numbers of `verigold doctor`: pure rules, each with its threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

LEAST_PASS = 0.01
"""Below it a group of 8 has a right sample less than once in 13."""
MOST_PASS = 0.95
HIGH_PASS = 0.8
LEAST_MIXED = 0.05
LOW_MIXED = 0.3
MOST_TRUNCATED = 0.5
HIGH_TRUNCATED = 0.1
MOST_UNDECIDED = 0.05
HIGH_UNDECIDED = 0.01
MOST_NO_ANSWER = 0.5
MOST_NEXT_TURN = 0.1
NEVER_STOPS = 0.98

Measured = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """kind: stop (do not train as it is), change (better first), good.  found: the number.  remedy: what to do."""

    kind: Literal["stop", "change", "good"]
    code: str
    found: str
    remedy: str


def advise(measured: Measured) -> list[Advice]:
    """All advice, the reasons to stop first; one that says good when there is no other."""
    rules: tuple[Callable[[Measured], Iterator[Advice]], ...] = (_undecided, _ending, _answer, _level)
    found = [advice for rule in rules for advice in rule(measured)]
    found.sort(key=lambda one: one.kind != "stop")
    return found or [_good(measured)]


def should_stop(advice: list[Advice]) -> bool:
    return any(one.kind == "stop" for one in advice)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _undecided(measured: Measured) -> Iterator[Advice]:
    share = measured["undecided"] or 0.0
    if share > HIGH_UNDECIDED:
        yield Advice(
            kind="stop" if share > MOST_UNDECIDED else "change",
            code="undecided",
            found=f"{_percent(share)} of the samples could not be judged.",
            remedy="That is the fault of golds or verifiers, not of the model: curate with [stages.clean], and look at "
            "the reasons below.",
        )


def _ending(measured: Measured) -> Iterator[Advice]:
    """Samples that are cut off: too small a budget, or a model that does not stop."""
    truncated, budget = measured["truncated"] or 0.0, measured["settings"]["max_tokens"]
    next_turn = measured["next_turn"] or 0.0
    if next_turn > MOST_NEXT_TURN:
        yield Advice(
            kind="stop",
            code="next-turn",
            found=f"{_percent(next_turn)} of the samples go on into a turn that is not the model's.",
            remedy="The end token of the chat template is missing among eos_token_id of generation_config.json, or the "
            "template is not the one the model was trained with.",
        )
    if truncated > NEVER_STOPS:
        yield Advice(
            kind="stop",
            code="never-stops",
            found=f"{_percent(truncated)} of the samples did not end within {budget} tokens.",
            remedy="Either the budget is far too small (try --max-tokens four times as large), or the model does not "
            "write its end token: check the chat template and eos_token_id, or warm-start it.",
        )
    elif truncated > HIGH_TRUNCATED:
        yield Advice(
            kind="stop" if truncated > MOST_TRUNCATED else "change",
            code="truncated",
            found=f"{_percent(truncated)} of the samples were cut off at {budget} tokens.",
            remedy="Give a larger budget (--max-tokens here, sampling.max_tokens in training): what is cut off teaches "
            "brevity, not the task.",
        )


def _answer(measured: Measured) -> Iterator[Advice]:
    share = measured["no_answer"] or 0.0
    if share > MOST_NO_ANSWER:
        yield Advice(
            kind="stop",
            code="no-answer",
            found=f"{_percent(share)} of the samples end without an answer that can be found.",
            remedy="Say in the instruction how the answer is to be given, or warm-start the model on some solutions.",
        )


def _level(measured: Measured) -> Iterator[Advice]:
    rate, mixed = measured["pass_at_1"]["estimate"], measured["mixed"]["estimate"]
    size = measured["settings"]["group_size"]
    if rate < LEAST_PASS:
        yield Advice(
            kind="stop",
            code="too-hard",
            found=f"pass@1 is {_percent(rate)}, below 1 %.",
            remedy="Warm-start the model on some solutions, or take an easier bucket (difficulty of the curated rows): "
            "without right samples there is nothing to reinforce.",
        )
    elif rate > MOST_PASS:
        yield Advice(
            kind="stop",
            code="too-easy",
            found=f"pass@1 is {_percent(rate)}.",
            remedy="The model can do this already: take harder problems (a higher bucket, or [stages.difficulty] with "
            "high below 1).",
        )
    elif mixed < LEAST_MIXED:
        yield Advice(
            kind="stop",
            code="few-mixed",
            found=f"Only {_percent(mixed)} of the groups of {size} have a right and a wrong sample.",
            remedy="Problems are either always or never solved: curate with [stages.difficulty], which keeps those "
            "between, or take another set.",
        )
    elif rate > HIGH_PASS or mixed < LOW_MIXED:
        yield Advice(
            kind="change",
            code="low-yield",
            found=f"{_percent(mixed)} of the groups of {size} teach something at pass@1 {_percent(rate)}.",
            remedy="Training works, at a price: curate with [stages.difficulty] first, so that the rollouts go to "
            "problems that are solved sometimes.",
        )


def _good(measured: Measured) -> Advice:
    mixed, size = measured["mixed"]["estimate"], measured["settings"]["group_size"]
    return Advice(
        kind="good",
        code="train",
        found=f"{_percent(mixed)} of the groups of {size} have a right and a wrong sample.",
        remedy="Train; with dynamic sampling that is the share of the groups that are kept.",
    )
