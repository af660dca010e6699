"""Model samples of problems, drawn once: a store on disk, and the drawing that fills it.

A sample's key is (problem id, sampler digest, prompt digest, sample index). The sampler digest covers the model and how
it samples, the prompt digest the messages as they were asked, since a stage may rewrite a question and keep its id.
Every planned round is committed as one Parquet file, so a killed run loses at most one round and draws nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from engines.build import EngineConfig, build_engine
from engines.engine import Completion, EngineError, Message, Sampler, SamplingParams
from pipeline.atomic import atomic_file, write_json
from pipeline.config import RecipeError
from pipeline.problem import Problem
from pipeline.version import digest_of
from verifiers import Request, verify_many

ROLLOUT_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("sampler_digest", pa.string()),
        ("prompt_digest", pa.string()),
        ("sample", pa.int32()),
        ("stage", pa.string()),
        ("prefix", pa.string()),
        ("text", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("logprobs", pa.list_(pa.float32())),
        ("finish_reason", pa.string()),
        ("judged_by", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("extracted", pa.string()),
    ]
)
"""Columns of `rollouts/*.parquet`. `rollouts/samplers/DIGEST.json` says what a sampler digest stands for."""


Name = tuple[str, str]
"""Problem id and prompt digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One sample with its verdict.

    stage: who drew it.  prefix: the beginning of the answer that was given to the model, not part of `text`.
    token_ids, logprobs: as in `engines.engine.Completion`.
    judged_by: digest of gold, verifier and options; a verdict under another one is not reused.
    status, reason, extracted: as in `verifiers.verdict.Verdict`.
    """

    id: str
    sampler_digest: str
    prompt_digest: str
    sample: int
    stage: str
    prefix: str
    text: str
    token_ids: tuple[int, ...] | None
    logprobs: tuple[float, ...] | None
    finish_reason: str
    judged_by: str = ""
    status: str = ""
    reason: str = ""
    extracted: str | None = None

    @property
    def name(self) -> Name:
        return self.id, self.prompt_digest

    @property
    def correct(self) -> bool:
        return self.status == "correct"

    @property
    def decided(self) -> bool:
        return self.status != "undecided"

    @property
    def truncated(self) -> bool:
        return self.finish_reason == "length"


@dataclass(frozen=True, slots=True)
class RolloutStore:
    """The folder `rollouts/` of a curated folder; readable while it grows, and by a trainer afterwards."""

    folder: Path

    def load(self, sampler_digest: str, ids: Iterable[str]) -> dict[Name, dict[int, Rollout]]:
        """All stored samples of these problems from one sampler, by name and sample index."""
        files = sorted(str(path) for path in self.folder.glob("samples-*.parquet"))
        if not files:
            return {}
        wanted = (ds.field("sampler_digest") == sampler_digest) & ds.field("id").isin(sorted(set(ids)))
        table = ds.dataset(files, schema=ROLLOUT_SCHEMA, format="parquet").to_table(filter=wanted)
        found: dict[Name, dict[int, Rollout]] = {}
        for row in table.to_pylist():
            rollout = _from_row(row)
            found.setdefault(rollout.name, {})[rollout.sample] = rollout
        return found

    def commit(self, rollouts: Sequence[Rollout]) -> None:
        """One file, named by the keys of its samples, so that the same round again replaces itself."""
        ordered = sorted(rollouts, key=lambda one: (one.id, one.sampler_digest, one.prompt_digest, one.sample))
        if not ordered:
            return
        name = digest_of([[one.id, one.sampler_digest, one.prompt_digest, one.sample] for one in ordered])
        rows = [{column: getattr(one, column) for column in ROLLOUT_SCHEMA.names} for one in ordered]
        with atomic_file(self.folder / f"samples-{name}.parquet") as temporary:
            pq.write_table(pa.Table.from_pylist(rows, schema=ROLLOUT_SCHEMA), temporary, compression="zstd")

    def describe(self, sampler_digest: str, settings: Mapping[str, object]) -> None:
        path = self.folder / "samplers" / f"{sampler_digest}.json"
        if not path.exists():
            write_json(path, settings)


def _from_row(row: dict[str, Any]) -> Rollout:
    lists = {name: tuple(row[name]) for name in ("token_ids", "logprobs") if row[name] is not None}
    return Rollout(**{**row, **lists})


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    files = sorted(path.iterdir()) if path.is_dir() else []
    return tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def open_sampler(config: EngineConfig) -> Sampler:
    """The engine of a recipe. Stages that name the same model share it; a changed model folder is loaded anew.

    Raises RecipeError when it cannot be built.
    """
    try:
        return _open(config, _stamp(config.model))
    except EngineError as error:
        raise RecipeError(f"engine: {error}") from None


@lru_cache(maxsize=1)
def _open(config: EngineConfig, _stamp_of_files: tuple[tuple[str, int, int], ...]) -> Sampler:
    return build_engine(config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a stage asks its model.

    instruction: appended to the question, after a line break.  prefix: how the answer has to begin, given to the model.
    """

    model: str
    temperature: float
    max_tokens: int
    seed: int
    instruction: str = ""
    prefix: str = ""

    def messages(self, problem: Problem) -> list[Message]:
        question = f"{problem.question}\n{self.instruction}" if self.instruction else problem.question
        messages: list[Message] = [{"role": "user", "content": question}]
        if problem.system_prompt is not None:
            messages.insert(0, {"role": "system", "content": problem.system_prompt})
        if self.prefix:
            messages.append({"role": "assistant", "content": self.prefix})
        return messages


@dataclass(slots=True, kw_only=True)
class Draws:
    """The samples of one batch of problems from one sampler, drawn as they are asked for."""

    stage: str
    sampler: Sampler
    asking: Asking
    store: RolloutStore
    digest: str
    _known: dict[Name, dict[int, Rollout]] = field(default_factory=dict)

    @classmethod
    def start(cls, stage: str, sampler: Sampler, asking: Asking, folder: Path, problems: Sequence[Problem]) -> Draws:
        """Reads what is stored for these problems."""
        store = RolloutStore(folder)
        settings = {
            "engine": sampler.digest,
            "temperature": asking.temperature,
            "max_tokens": asking.max_tokens,
            "seed": asking.seed,
        }
        digest = digest_of(settings)
        store.describe(digest, {"model": asking.model, **settings})
        known = store.load(digest, (problem.id for problem in problems))
        return cls(stage=stage, sampler=sampler, asking=asking, store=store, digest=digest, _known=known)

    def of(self, problem: Problem, count: int) -> list[Rollout]:
        """Samples 0 to count - 1, which must have been drawn."""
        known = self._known[self._name(problem)]
        return [known[sample] for sample in range(count)]

    def spent(self, problems: Sequence[Problem]) -> tuple[int, int]:
        """Samples and tokens that this stage drew for these problems, in this process or before it was killed."""
        names = {self._name(problem) for problem in problems}
        own = [one for name in names for one in self._known.get(name, {}).values() if one.stage == self.stage]
        return len(own), sum(len(one.token_ids or ()) for one in own)

    def ensure(self, problems: Sequence[Problem], count: int) -> None:
        """Afterwards samples 0 to count - 1 of every problem are stored, and judged by its present gold."""
        by_name = {self._name(problem): problem for problem in problems}
        fresh = self._draw(by_name, count)
        stale = [
            one
            for name, problem in by_name.items()
            for one in self._known.get(name, {}).values()
            if one.sample < count and one.judged_by != judge_digest(problem)
        ]
        judged = judge([(by_name[one.name], one) for one in (*fresh, *stale)])
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
                temperature=self.asking.temperature,
                max_tokens=self.asking.max_tokens,
                seed=self.asking.seed,
                keys=tuple(id_ for id_, _ in names),
            )
            prompts = [self.asking.messages(by_name[name]) for name in names]
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
            prefix=self.asking.prefix,
            text=completion.text,
            token_ids=completion.token_ids,
            logprobs=completion.logprobs,
            finish_reason=completion.finish_reason,
        )

    def _name(self, problem: Problem) -> Name:
        return problem.id, digest_of(self.asking.messages(problem))


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


def judge_digest(problem: Problem) -> str:
    return digest_of([problem.ground_truth, problem.verifier, problem.verifier_options])


def request_for(problem: Problem, response: str) -> Request:
    """What the verifier is asked; the option `aliases` holds further accepted golds."""
    options = json.loads(problem.verifier_options)
    aliases = [gold for gold in options.pop("aliases", ()) if gold != problem.ground_truth]
    gold = (problem.ground_truth, *aliases) if aliases else problem.ground_truth
    return Request(response=response, ground_truth=gold, verifier=problem.verifier, options=options)


def judge(pairs: Sequence[tuple[Problem, Rollout]]) -> list[Rollout]:
    """The rollouts with verdicts against their problems' golds."""
    if not pairs:
        return []
    verdicts = verify_many([request_for(problem, rollout.prefix + rollout.text) for problem, rollout in pairs])
    return [
        replace(
            rollout,
            judged_by=judge_digest(problem),
            status=str(verdict.status),
            reason=verdict.reason,
            extracted=verdict.extracted,
        )
        for (problem, rollout), verdict in zip(pairs, verdicts, strict=True)
    ]
