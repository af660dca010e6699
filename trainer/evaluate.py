"""How good is a model: greedy, pass@1 at its own temperature, unbiased pass@k, with intervals over problems."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy import stats

from engines.engine import Completion, SamplingParams
from engines.torch_engine import TorchEngine
from pipeline.problem import Problem
from pipeline.progress import progress
from pipeline.rollouts import request_for
from trainer.majority import maj_at_k, votes
from trainer.sections import Template
from trainer.template import encode
from verifiers import verify_many
from verifiers.verdict import Status, Verdict

RESAMPLES = 2000
PROBLEMS_PER_CALL = 256
"""Problems sampled and verified together; bounds the memory, and is part of the fixed batch plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSettings:
    """samples: for pass@1 on all problems.  k_samples on the first k_problems: for pass@k.
    majority: maj@k of those problems, which compares their wrong answers with one another.

    temperature and max_tokens are the evaluation's own, whatever training sampled with.
    """

    samples: int = 4
    k_samples: int = 16
    k_problems: int = 256
    temperature: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    greedy: bool = True
    majority: bool = False
    verifier_workers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over problems with its 95 % bootstrap interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemResult:
    """greedy: right or not, None when it was not asked.  correct of samples: at the evaluation's temperature.

    votes: classes of their answers (majority.py), where majorities are asked for.  overlap: the shard marks the problem
    as an item of a benchmark with other numbers (decontaminate).
    """

    id: str
    greedy: bool | None
    correct: tuple[bool, ...]
    undecided: int
    votes: tuple[int, ...] = ()
    overlap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalResult:
    """The results of one model on one set of problems, problem by problem."""

    label: str
    model: str
    shards_digest: str
    settings: EvalSettings
    generated_tokens: int
    problems: tuple[ProblemResult, ...]

    def greedy_values(self) -> list[float]:
        return [float(result.greedy) for result in self.problems if result.greedy is not None]

    def pass_at_1_values(self) -> list[float]:
        """Per problem the share of its first `samples` that is right."""
        first = self.settings.samples
        return [float(np.mean(result.correct[:first])) for result in self.problems]

    def pass_at_k_values(self, k: int) -> list[float]:
        wide = [result.correct for result in self.problems if len(result.correct) >= max(k, self.settings.k_samples)]
        return [pass_at_k(len(correct), sum(correct), k) for correct in wide]

    def maj_at_k_values(self, k: int) -> list[float]:
        return [maj_at_k(result.votes, k) for result in self.problems if len(result.votes) >= max(k, 1)]

    def parts(self) -> dict[str, Any]:
        """pass@1 of the problems marked as overlapping with a benchmark and of the others; empty without a mark."""
        if not any(result.overlap for result in self.problems):
            return {}
        pairs = list(zip(self.problems, self.pass_at_1_values(), strict=True))
        found = {}
        for name, overlap in (("clean", False), ("overlapping", True)):
            rates = [rate for result, rate in pairs if result.overlap is overlap]
            if rates:
                found[name] = {"n": len(rates), "pass_at_1": asdict(interval(rates))}
        return found

    def to_json(self) -> dict[str, Any]:
        """The layout of eval/<label>.json."""
        ks = [k for k in (1, 2, 4, 8, 16, 32, 64) if k <= self.settings.k_samples and self.pass_at_k_values(k)]
        greedy = self.greedy_values()
        votes_ks = [k for k in (4, 8, 16, 32, 64) if k <= self.settings.k_samples and self.maj_at_k_values(k)]
        return {
            "label": self.label,
            "model": self.model,
            "shards_digest": self.shards_digest,
            "n": len(self.problems),
            "greedy": asdict(interval(greedy)) if greedy else None,
            "pass_at_1": asdict(interval(self.pass_at_1_values()))
            | {"samples": self.settings.samples, "standard_error": standard_error(self.pass_at_1_values())},
            "pass_at_k": {str(k): asdict(interval(self.pass_at_k_values(k))) for k in ks},
            "maj_at_k": {str(k): asdict(interval(self.maj_at_k_values(k))) for k in votes_ks},
            "parts": self.parts(),
            "pass_at_k_problems": len(self.pass_at_k_values(1)),
            "undecided": sum(result.undecided for result in self.problems),
            "generated_tokens": self.generated_tokens,
            "settings": {key: value for key, value in asdict(self.settings).items() if key != "verifier_workers"},
            "problems": [
                {
                    "id": result.id,
                    "greedy": result.greedy,
                    "pass_at_1": rate,
                    "correct": sum(result.correct),
                    "of": len(result.correct),
                    **({"votes": list(result.votes)} if result.votes else {}),
                    **({"overlap": True} if result.overlap else {}),
                }
                for result, rate in zip(self.problems, self.pass_at_1_values(), strict=True)
            ],
        }


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased: 1 - C(n-c, k) / C(n, k) for c right of n samples (arXiv 2107.03374). Raises ValueError for k > n."""
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(f"pass@{k} needs at least {k} samples and 0 <= c <= n (n = {n}, c = {c})")
    return 1.0 - comb(n - c, k) / comb(n, k)


def interval(values: Sequence[float]) -> Estimate:
    """Mean with percentile bootstrap over problems: the samples of one problem are not independent."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) < 2 or np.all(data == data[0]):
        mean = float(data.mean()) if len(data) else float("nan")
        return Estimate(estimate=mean, low=mean, high=mean)
    found = stats.bootstrap(
        (data,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    return Estimate(estimate=float(data.mean()), low=float(found.low), high=float(found.high))


def standard_error(values: Sequence[float]) -> float | None:
    """Of a mean over problems, each with its own share of right samples (avg@k); None for one problem alone."""
    return float(stats.sem(values)) if len(values) > 1 else None


def paired_difference(after: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Estimate]:
    """after - before of two results (`EvalResult.to_json`), problem by problem: pass@1, and greedy where both have it.

    Tighter than two intervals beside each other, for the same problems are hard for both models. Raises ValueError
    when the results are about different problems.
    """
    if after["shards_digest"] != before["shards_digest"] or after["n"] != before["n"]:
        raise ValueError("the two results are not about the same problems")
    pairs = list(zip(after["problems"], before["problems"], strict=True))
    found = {"pass_at_1": interval([one["pass_at_1"] - other["pass_at_1"] for one, other in pairs])}
    if all(one["greedy"] is not None and other["greedy"] is not None for one, other in pairs):
        found["greedy"] = interval([float(one["greedy"]) - float(other["greedy"]) for one, other in pairs])
    return found


def problems_digest(problems: Sequence[Problem]) -> str:
    """Names an evaluation set: its ids and golds, in order."""
    state = hashlib.blake2b(digest_size=16)
    for problem in problems:
        state.update(f"{problem.id}\x1f{problem.ground_truth}\x1e".encode("utf-8", "surrogatepass"))
    return state.hexdigest()


def evaluate(
    model: TorchEngine | Path,
    problems: Sequence[Problem],
    *,
    settings: EvalSettings,
    label: str,
    model_name: str | None = None,
    template: Template | None = None,
    console: Console | None = None,
) -> EvalResult:
    """Samples and verifies. An undecided answer counts as not right, and is counted. Raises ValueError for no problem.

    model: an engine, or the folder of a Hugging Face model.
    """
    if not problems:
        raise ValueError("no problems to evaluate on")
    engine = TorchEngine.from_folder(model) if isinstance(model, Path) else model
    name = model_name or (str(model) if isinstance(model, Path) else "live")
    run = _Evaluation(engine, settings, template or Template())
    results: list[ProblemResult] = []
    with progress(console or Console(quiet=True), f"evaluate {label}", len(problems), unit="problems") as advance:
        for start in range(0, len(problems), PROBLEMS_PER_CALL):
            chunk = problems[start : start + PROBLEMS_PER_CALL]
            wide = max(0, min(len(chunk), settings.k_problems - start))
            results += run.chunk(chunk, wide)
            advance(len(chunk))
    return EvalResult(
        label=label,
        model=name,
        shards_digest=problems_digest(problems),
        settings=settings,
        generated_tokens=run.generated_tokens,
        problems=tuple(results),
    )


class _Evaluation:
    """Engine and settings of one evaluation, and the tokens it has sampled."""

    def __init__(self, engine: TorchEngine, settings: EvalSettings, template: Template) -> None:
        self.engine = engine
        self.settings = settings
        self.template = template
        self.generated_tokens = 0

    def chunk(self, problems: Sequence[Problem], wide: int) -> list[ProblemResult]:
        """Results of some problems; the first `wide` of them get `k_samples` samples."""
        settings = self.settings
        greedy = self._verdicts(problems, n=1, first=0, temperature=0.0) if settings.greedy else []
        narrow = self._verdicts(problems, n=settings.samples, first=0, temperature=settings.temperature)
        more = max(0, settings.k_samples - settings.samples) if wide else 0
        extra = (
            self._verdicts(problems[:wide], n=more, first=settings.samples, temperature=settings.temperature)
            if more
            else []
        )
        sampled = [narrow[index] + (extra[index] if index < len(extra) else []) for index in range(len(problems))]
        cast = self._votes(problems[:wide], sampled[:wide])
        found = []
        for index, problem in enumerate(problems):
            statuses = [verdict.status for verdict in sampled[index]]
            asked = [verdict.status for verdict in greedy[index]] if greedy else []
            found.append(
                ProblemResult(
                    id=problem.id,
                    greedy=asked[0] is Status.CORRECT if asked else None,
                    correct=tuple(status is Status.CORRECT for status in statuses),
                    undecided=sum(status is Status.UNDECIDED for status in [*statuses, *asked]),
                    votes=cast[index] if index < len(cast) else (),
                    overlap="template_overlap" in json.loads(problem.meta_json),
                )
            )
        return found

    def _votes(self, problems: Sequence[Problem], verdicts: Sequence[Sequence[Verdict]]) -> list[tuple[int, ...]]:
        if not self.settings.majority:
            return []
        return votes(problems, verdicts, workers=self.settings.verifier_workers)

    def _verdicts(self, problems: Sequence[Problem], *, n: int, first: int, temperature: float) -> list[list[Verdict]]:
        params = SamplingParams(
            n=n,
            temperature=temperature,
            max_tokens=self.settings.max_tokens,
            seed=self.settings.seed,
            keys=tuple(f"eval:{problem.id}" for problem in problems),
            first_sample=first,
        )
        prompts = [encode(problem, self.template, self.engine.tokenizer) for problem in problems]
        completions: dict[tuple[int, int], Completion] = {}
        for place, sample, completion in self.engine.generate(prompts, params):
            completions[place, sample] = completion
            self.generated_tokens += len(completion.token_ids or ())
        order = [(place, sample) for place in range(len(problems)) for sample in range(first, first + n)]
        requests = [request_for(problems[place], completions[place, sample].text) for place, sample in order]
        verdicts = verify_many(requests, workers=self.settings.verifier_workers)
        return [list(verdicts[place * n : (place + 1) * n]) for place in range(len(problems))]
