"""Model samples of problems, drawn once: their store on disk and their verdicts.

A sample's key is (problem id, sampler digest, prompt digest, sample index). The sampler digest covers the model and how
it samples, the prompt digest the messages as they were asked, since a stage may rewrite a question and keep its id.
Every planned round is committed as one Parquet file, so a killed run loses at most one round and draws nothing twice
(of a round from a server not even that: its answers are stored as they come).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pipeline.atomic import atomic_file, write_json
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
        ("tokens", pa.int32()),
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
    token_ids, logprobs: as in `engines.engine.Completion`.  tokens: generated ones, as the server counts them where
        their ids are not known.
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
    tokens: int
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

    def of_problems(self, ids: Iterable[str]) -> dict[str, list[Rollout]]:
        """All stored samples of these problems from any sampler, by problem id."""
        files = sorted(str(path) for path in self.folder.glob("samples-*.parquet"))
        wanted = ds.field("id").isin(sorted(set(ids)))
        found: dict[str, list[Rollout]] = {}
        for row in ds.dataset(files, schema=ROLLOUT_SCHEMA, format="parquet").to_table(filter=wanted).to_pylist():
            found.setdefault(row["id"], []).append(_from_row(row))
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
    read: dict[str, Any] = {name: tuple(row[name]) for name in ("token_ids", "logprobs") if row[name] is not None}
    if row["tokens"] is None:  # a file from before the column
        read["tokens"] = len(row["token_ids"] or ())
    return Rollout(**{**row, **read})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    """The samples of one problem that curation drew from one sampler, in order of their index, judged by its gold.

    engine_digest: `Sampler.digest` of the engine that drew them. They are on-policy for a trainer whose engine has this
        digest before its first step, and then their log-probabilities are the behaviour policy's.
    temperature, max_tokens: how they were drawn.
    """

    problem: Problem
    engine_digest: str
    temperature: float
    max_tokens: int
    rollouts: tuple[Rollout, ...]


def stored_groups(
    folder: Path,
    problems: Sequence[Problem],
    *,
    engine_digest: str,
    temperature: float,
    max_tokens: int,
    samples: int,
) -> list[StoredGroup]:
    """Groups of `samples` rollouts from the folder `rollouts/` of a curated folder, for a trainer's first steps.

    problems: those that were kept; the groups come in their order. A problem has a group when the store holds at least
    `samples` rollouts with token ids and log-probabilities of the unchanged question (no instruction added, no answer
    begun), drawn by this engine at this temperature and length limit; their lowest indices are taken. Token ids start
    after the prompt, as the engine renders `[system,] user` messages. Verdicts are by the problems' present golds.
    An empty list when nothing fits: the trainer then samples as if there were no store.

    Bias: a curtailed stage stops by what it has seen, so which problems have many samples depends on their outcomes:
    ask for no more than its first look (`pipeline.sampling.ROUND`), or curate with `test = "fixed"`. The lowest indices
    of a problem were never chosen by a later look. That curation kept the problem at all is a choice like any other
    filter's: the trainer would have made it by its own first samples.
    """
    store = RolloutStore(folder)
    digests = [path.stem for path in sorted((folder / "samplers").glob("*.json"))
               if _drawn_so(path, engine_digest, temperature, max_tokens)]  # fmt: skip
    found: list[tuple[Problem, list[Rollout]]] = []
    known = [store.load(digest, (problem.id for problem in problems)) for digest in digests]
    for problem in problems:
        name = problem.id, digest_of(plain_messages(problem))
        for by_name in known:
            drawn = by_name.get(name, {})
            rollouts = [drawn[index] for index in range(samples) if index in drawn and drawn[index].logprobs]
            if len(rollouts) == samples and all(one.token_ids for one in rollouts):
                found.append((problem, rollouts))
                break
    judged = iter(judge([(problem, one) for problem, rollouts in found for one in rollouts]))
    return [
        StoredGroup(
            problem=problem,
            engine_digest=engine_digest,
            temperature=temperature,
            max_tokens=max_tokens,
            rollouts=tuple(next(judged) for _ in rollouts),
        )
        for problem, rollouts in found
    ]


def _drawn_so(path: Path, engine_digest: str, temperature: float, max_tokens: int) -> bool:
    said = json.loads(path.read_text(encoding="utf-8"))
    return (said["engine"], said["temperature"], said["max_tokens"]) == (engine_digest, temperature, max_tokens)


def plain_messages(problem: Problem) -> list[dict[str, str]]:
    """The prompt as the shards have it."""
    messages = [{"role": "user", "content": problem.question}]
    if problem.system_prompt is not None:
        messages.insert(0, {"role": "system", "content": problem.system_prompt})
    return messages
