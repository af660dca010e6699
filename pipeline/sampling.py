"""How a stage asks its model, and the samples it gets: drawn once, by sample index, many problems together.

A recipe says how once, in the table `[sampling]`; the table `sampling` of a stage changes it for that stage.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from engines.build import EndpointConfig, EngineConfig, TorchConfig, VllmConfig, build_engine
from engines.engine import Completion, EngineError, Message, Sampler, SamplingParams
from pipeline.config import STRICT, Layer, RecipeError, build, dump
from pipeline.judging import JudgeConfig, Panel, open_panel
from pipeline.problem import Problem
from pipeline.rollouts import Name, Rollout, RolloutStore, judge, judge_digest, plain_messages
from pipeline.version import digest_of

V = TypeVar("V")

ROUND = 4
"""Samples drawn for every open problem before the verdicts are looked at: enough to keep the engine full."""

ANSWERS_FILE = "answers.sqlite"
"""In the folder of the rollouts: what a server answered, until the round that asked is stored and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """engine: the model that is asked.

    max_tokens: of a response.  instruction: appended to the question, after a line break.
    answer_prefix: how the answer has to begin, given to the model.
    judge: a model behind the rules of the verifiers (verifiers/README.md).
    """

    __pydantic_config__ = STRICT

    engine: EngineConfig
    judge: JudgeConfig | None = None
    temperature: float = 1.0
    max_tokens: int = 512
    instruction: str = ""
    answer_prefix: str = ""

    def __post_init__(self) -> None:
        if self.temperature < 0 or self.max_tokens < 1:
            raise RecipeError("sampling: temperature must be 0 or more and max_tokens 1 or more")

    def messages(self, problem: Problem) -> list[Message]:
        messages = plain_messages(problem)
        if self.instruction:
            messages[-1]["content"] += f"\n{self.instruction}"
        if self.answer_prefix:
            messages.append({"role": "assistant", "content": self.answer_prefix})
        return messages


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    files = sorted(path.iterdir()) if path.is_dir() else []
    return tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def open_sampler(config: EngineConfig, rollouts: Path) -> Sampler:
    """The engine of a recipe. Stages that name the same model share it; a changed model folder is loaded anew.

    Raises RecipeError when it cannot be built.
    """
    try:
        if isinstance(config, EndpointConfig) or (isinstance(config, VllmConfig) and config.base_url is not None):
            return build_engine(config, cache=rollouts / ANSWERS_FILE)
        return _open(config, () if config.model is None else _stamp(config.model))
    except EngineError as error:
        raise RecipeError(f"engine: {error}") from None


@lru_cache(maxsize=1)
def _open(config: TorchConfig | VllmConfig, _stamp_of_files: tuple[tuple[str, int, int], ...]) -> Sampler:
    return build_engine(config)


def _open_panel(config: JudgeConfig, seed: int, rollouts: Path) -> Panel:
    """Stages and batches that name the same judge share it; a changed model folder is loaded anew."""
    models = [engine.model for engine in (config.engine, config.second) if engine is not None]
    stamps = tuple(_stamp(model) for model in models if isinstance(model, Path))
    return _panel(dump(config), seed, rollouts / ANSWERS_FILE, stamps)


@lru_cache(maxsize=1)
def _panel(recipe: str, seed: int, cache: Path, _stamps: tuple[tuple[tuple[str, int, int], ...], ...]) -> Panel:
    """recipe: the JudgeConfig as TOML, for a table of it need not be hashable."""
    layer = Layer(name="judge", base=Path.cwd(), table=tomllib.loads(recipe))
    return open_panel(build(JudgeConfig, [layer]), seed=seed, cache=cache)


def spent_entry(stage: object, samples: int, generated_tokens: int) -> dict[str, Any]:
    """`sampling` of a manifest for one stage; with a judge the digests of its prompts."""
    judge = getattr(getattr(stage, "sampling", None), "judge", None)
    prompts = {"judge_prompts": judge.prompt_digests()} if isinstance(judge, JudgeConfig) else {}
    return {"samples": samples, "generated_tokens": generated_tokens, **prompts}


@dataclass(slots=True, kw_only=True)
class Draws:
    """The samples of one batch of problems from one sampler, drawn as they are asked for."""

    stage: str
    sampler: Sampler
    sampling: Sampling
    seed: int
    store: RolloutStore
    digest: str
    panel: Panel | None = None
    _known: dict[Name, dict[int, Rollout]] = field(default_factory=dict)

    @classmethod
    def start(cls, stage: str, sampling: Sampling, seed: int, folder: Path, problems: Sequence[Problem]) -> Draws:
        """Opens the sampler and reads what is stored of it for these problems. Raises RecipeError."""
        store = RolloutStore(folder)
        sampler = open_sampler(sampling.engine, folder)
        settings = {
            "engine": sampler.digest,
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
        }
        digest = digest_of(settings)
        store.describe(digest, {"model": sampling.engine.name, **settings})
        known = store.load(digest, (problem.id for problem in problems))
        panel = None if sampling.judge is None else _open_panel(sampling.judge, seed, folder)
        return cls(
            stage=stage,
            sampler=sampler,
            sampling=sampling,
            seed=seed,
            store=store,
            digest=digest,
            panel=panel,
            _known=known,
        )

    def of(self, problem: Problem, count: int) -> list[Rollout]:
        """Samples 0 to count - 1, which must have been drawn."""
        known = self._known[self._name(problem)]
        return [known[sample] for sample in range(count)]

    def settle(
        self, problems: Sequence[Problem], looks: Sequence[int], verdict: Callable[[Sequence[Rollout]], V | None]
    ) -> dict[str, tuple[V, list[Rollout]]]:
        """Verdict and the samples it rests on, by source row; sampling stops at the first look with a verdict.

        A look is a number of samples of each problem that is still open, the same for all of them: decisions go by
        sample index, never by which answer came first, or short answers would bias the stop. The last look must decide.
        """
        settled: dict[str, tuple[V, list[Rollout]]] = {}
        open_ = list(problems)
        for count in looks:
            self.ensure(open_, count)
            for problem in open_:
                rollouts = self.of(problem, count)
                found = verdict(rollouts)
                if found is not None:
                    settled[problem.source_row] = (found, rollouts)
            open_ = [problem for problem in open_ if problem.source_row not in settled]
        assert not open_, f"stage {self.stage}: no verdict after the last look"
        return settled

    def spent(self, problems: Sequence[Problem]) -> tuple[int, int]:
        """Samples and tokens that this stage drew for these problems, in this process or before it was killed."""
        names = {self._name(problem) for problem in problems}
        own = [one for name in names for one in self._known.get(name, {}).values() if one.stage == self.stage]
        return len(own), sum(one.tokens for one in own)

    def ensure(self, problems: Sequence[Problem], count: int) -> None:
        """Afterwards samples 0 to count - 1 of every problem are stored, and judged by its present gold."""
        by_name = {self._name(problem): problem for problem in problems}
        fresh = self._draw(by_name, count)
        stale = [
            one
            for name, problem in by_name.items()
            for one in self._known.get(name, {}).values()
            if one.sample < count and one.judged_by != judge_digest(problem, self.panel)
        ]
        judged = judge([(by_name[one.name], one) for one in (*fresh, *stale)], self.panel)
        for one in judged:
            self._known.setdefault(one.name, {})[one.sample] = one
        self.store.commit(judged[: len(fresh)])

    def _draw(self, by_name: Mapping[Name, Problem], count: int) -> list[Rollout]:
        """The missing samples, as few calls of the engine as there are different ranges missing."""
        runs: dict[tuple[int, int], list[Name]] = {}
        for name in by_name:
            for run in _gaps(self._known.get(name, {}), count):
                runs.setdefault(run, []).append(name)
        fresh: list[Rollout] = []
        for (first, n), names in sorted(runs.items()):
            params = SamplingParams(
                n=n,
                first_sample=first,
                temperature=self.sampling.temperature,
                max_tokens=self.sampling.max_tokens,
                seed=self.seed,
                keys=tuple(id_ for id_, _ in names),
            )
            prompts = [self.sampling.messages(by_name[name]) for name in names]
            try:
                drawn = list(self.sampler.generate(prompts, params))
            except EngineError as error:
                raise RecipeError(f"stages.{self.stage}: {error}") from None
            fresh += [self._rollout(names[place], sample, completion) for place, sample, completion in drawn]
        return fresh

    def _rollout(self, name: Name, sample: int, completion: Completion) -> Rollout:
        return Rollout(
            id=name[0],
            sampler_digest=self.digest,
            prompt_digest=name[1],
            sample=sample,
            stage=self.stage,
            prefix=self.sampling.answer_prefix,
            text=completion.text,
            token_ids=completion.token_ids,
            logprobs=completion.logprobs,
            finish_reason=completion.finish_reason,
            tokens=completion.tokens,
        )

    def _name(self, problem: Problem) -> Name:
        return problem.id, digest_of(self.sampling.messages(problem))


def rounds(samples: int) -> list[int]:
    """Numbers of samples after which a stage looks: every ROUND, and all."""
    return [*range(ROUND, samples, ROUND), samples]


def _gaps(known: Mapping[int, Rollout], count: int) -> list[tuple[int, int]]:
    """Runs (first, length) of sample indices below count that are not known."""
    runs: list[tuple[int, int]] = []
    for sample in range(count):
        if sample in known:
            continue
        if runs and sum(runs[-1]) == sample:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((sample, 1))
    return runs
