"""Can this model learn from these problems? Its pass rates on a sample of them, before any training is paid for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from typing import Any

from rich.console import Console

from engines.engine import Completion, Message, Sampler, SamplingParams
from pipeline.problem import Problem
from pipeline.progress import progress
from pipeline.rollouts import request_for
from pipeline.shards import order_key
from verifiers import Status, verify_many
from verifiers.verdict import Verdict

SCHEMA_VERSION = 1
PROBLEMS_A_CALL = 64
"""Problems sampled together; bounds the memory."""
RESPONSE_SHOWN = 600
EXAMPLES = 6
_NEXT_TURN = re.compile(
    r"<\|(?:im_start|user|assistant|system|start_header_id)\|?>|<start_of_turn>|\[INST\]"
    r"|^[ \t]{0,3}(?:user|human|assistant|question|problem)[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
"""The beginning of a turn that is not the model's to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorSettings:
    """samples a problem; groups are of `group_size` <= samples.  instruction: appended to the question as it is."""

    problems: int = 64
    samples: int = 8
    group_size: int = 8
    temperature: float = 1.0
    max_tokens: int = 512
    instruction: str = ""
    system: str | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One sample of one problem. kept: the text's end is enough to read; the whole is not stored."""

    status: str
    reason: str
    truncated: bool
    tokens: int
    next_turn: bool
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A problem with its samples."""

    id: str
    data_source: str
    question: str
    ground_truth: str
    samples: tuple[Seen, ...]

    @property
    def decided(self) -> int:
        return sum(one.status != Status.UNDECIDED for one in self.samples)

    @property
    def correct(self) -> int:
        return sum(one.status == Status.CORRECT for one in self.samples)


def draw(problems: Sequence[Problem], settings: DoctorSettings) -> list[Problem]:
    """The sample: the first by a hash of seed and id, so that the order of the shards does not matter."""
    ordered = sorted(problems, key=lambda one: (order_key(settings.seed, one.id), one.source_row))
    return ordered[: settings.problems]


def examine(sampler: Sampler, problems: Sequence[Problem], settings: DoctorSettings, *, console: Console) -> list[Case]:
    """Samples and verdicts of these problems. Raises EngineError when the model cannot be asked."""
    cases: list[Case] = []
    with progress(console, "doctor", len(problems) * settings.samples, unit="samples") as advance:
        for start in range(0, len(problems), PROBLEMS_A_CALL):
            chunk = problems[start : start + PROBLEMS_A_CALL]
            params = SamplingParams(
                n=settings.samples,
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                seed=settings.seed,
                keys=tuple(f"doctor:{problem.id}" for problem in chunk),
            )
            drawn: dict[tuple[int, int], Completion] = {}
            for place, sample, completion in sampler.generate([_messages(one, settings) for one in chunk], params):
                drawn[place, sample] = completion
                advance(1)
            cases += _judged(chunk, drawn, settings.samples)
    return cases


def _messages(problem: Problem, settings: DoctorSettings) -> list[Message]:
    system = problem.system_prompt if problem.system_prompt is not None else settings.system
    turns: list[Message] = [{"role": "user", "content": problem.question + settings.instruction}]
    if system is not None:
        turns.insert(0, {"role": "system", "content": system})
    return turns


def _judged(problems: Sequence[Problem], drawn: Mapping[tuple[int, int], Completion], samples: int) -> list[Case]:
    order = [(place, sample) for place in range(len(problems)) for sample in range(samples)]
    verdicts = verify_many([request_for(problems[place], drawn[place, sample].text) for place, sample in order])
    seen = [_seen(drawn[key], verdict) for key, verdict in zip(order, verdicts, strict=True)]
    return [
        Case(
            id=problem.id,
            data_source=problem.data_source,
            question=problem.question,
            ground_truth=problem.ground_truth,
            samples=tuple(seen[place * samples : (place + 1) * samples]),
        )
        for place, problem in enumerate(problems)
    ]


def _seen(completion: Completion, verdict: Verdict) -> Seen:
    return Seen(
        status=verdict.status.value,
        reason=verdict.reason,
        truncated=completion.finish_reason == "length",
        tokens=completion.tokens,
        next_turn=_NEXT_TURN.search(completion.text) is not None,
        response=completion.text[-RESPONSE_SHOWN:],
    )


# ---- numbers -------------------------------------------------------------------------------------------------------


def mixed_probability(decided: int, correct: int, group_size: int) -> float:
    """Probability that a group drawn from these samples without replacement has a right and a wrong one.

    Unbiased for a group of fresh samples. With fewer decided samples than the group has, it is about all of them.
    """
    size = min(group_size, decided)
    if size < 2:
        return 0.0
    same = comb(correct, size) + comb(decided - correct, size)
    return 1.0 - same / comb(decided, size)


def measure(cases: Sequence[Case], settings: DoctorSettings) -> dict[str, Any]:
    """What the samples say, as JSON; shares are of samples, intervals 95 % by bootstrap over problems."""
    from trainer.evaluate import interval

    rated = [case for case in cases if case.decided]
    seen = [one for case in cases for one in case.samples]
    rates = [case.correct / case.decided for case in rated]
    mixed = [mixed_probability(case.decided, case.correct, settings.group_size) for case in rated]
    share = asdict(interval(mixed))
    tokens = sum(one.tokens for one in seen)
    return {
        "schema_version": SCHEMA_VERSION,
        "settings": asdict(settings),
        "problems": len(cases),
        "samples": len(seen),
        "generated_tokens": tokens,
        "histogram": _histogram(rates, settings.samples),
        "pass_at_1": asdict(interval(rates)),
        "unsolved": sum(rate == 0 for rate in rates),
        "always_solved": sum(rate == 1 for rate in rates),
        "mixed": share,
        "groups_drawn_per_kept": _inverse(share["estimate"]),
        "rollouts_per_kept": _scaled(_inverse(share["estimate"]), settings.group_size),
        "tokens_per_kept": _scaled(_inverse(share["estimate"]), settings.group_size * tokens / max(1, len(seen))),
        "undecided": _share(one.status == Status.UNDECIDED for one in seen),
        "truncated": _share(one.truncated for one in seen),
        "correct_truncated": _share(one.truncated for one in seen if one.status == Status.CORRECT),
        "no_answer": _share(one.reason in ("no-answer", "empty-box") and not one.truncated for one in seen),
        "next_turn": _share(one.next_turn for one in seen),
        "reasons": dict(Counter(f"{one.status}: {one.reason}" for one in seen).most_common()),
        "by_source": _by_source(rated, settings.group_size),
        "examples": _examples(cases),
    }


def _histogram(rates: Sequence[float], samples: int) -> list[dict[str, Any]]:
    """Problems by pass rate, in steps of 1 / samples (at most 8 steps)."""
    steps = min(samples, 8)
    counts = Counter(round(rate * steps) for rate in rates)
    return [{"rate": step / steps, "problems": counts[step]} for step in range(steps + 1)]


def _share(flags: Any) -> float | None:
    """Share of true ones; None of nothing."""
    found = list(flags)
    return sum(found) / len(found) if found else None


def _inverse(value: float) -> float | None:
    return 1 / value if value > 0 else None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _by_source(rated: Sequence[Case], group_size: int) -> dict[str, dict[str, float]]:
    found: dict[str, list[Case]] = {}
    for case in rated:
        found.setdefault(case.data_source, []).append(case)
    return {
        name: {
            "problems": len(cases),
            "pass_at_1": sum(case.correct / case.decided for case in cases) / len(cases),
            "mixed": sum(mixed_probability(one.decided, one.correct, group_size) for one in cases) / len(cases),
        }
        for name, cases in sorted(found.items())
    }


def _examples(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """The first sample of some problems, one of each reason before a reason comes again."""
    by_reason: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        first = case.samples[0]
        shown = {"question": case.question[:RESPONSE_SHOWN], "ground_truth": case.ground_truth[:200], **asdict(first)}
        by_reason.setdefault(f"{first.status}: {first.reason}", []).append(shown)
    found: list[dict[str, Any]] = []
    while len(found) < EXAMPLES and any(by_reason.values()):
        found += [waiting.pop(0) for waiting in by_reason.values() if waiting]
    return found[:EXAMPLES]
