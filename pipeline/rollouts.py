"""Model samples of problems, drawn once: their store on disk and their verdicts.

A sample's key is (problem id, sampler digest, prompt digest, sample index). The sampler digest covers the model and how
it samples, the prompt digest the messages as they were asked, since a stage may rewrite a question and keep its id.
Every planned round is committed as one Parquet file, so a killed run loses at most one round and draws nothing twice
(of a round from a server not even that: its answers are stored as they come).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from engines.engine import Message
from pipeline.atomic import atomic_file, write_json
from pipeline.judging import Panel
from pipeline.problem import Problem
from pipeline.version import digest_of
from verifiers import Request, Verdict, verify_many
from verifiers.hybrid import Asked

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


def _among(ids: Iterable[str]) -> ds.Expression:
    """Rows of these problems; typed, for there may be none."""
    return ds.field("id").isin(pa.array(sorted(set(ids)), pa.string()))


@dataclass(frozen=True, slots=True)
class RolloutStore:
    """The folder `rollouts/` of a curated folder; readable while it grows, and by a trainer afterwards."""

    folder: Path

    def load(self, sampler_digest: str, ids: Iterable[str]) -> dict[Name, dict[int, Rollout]]:
        """All stored samples of these problems from one sampler, by name and sample index."""
        files = sorted(str(path) for path in self.folder.glob("samples-*.parquet"))
        if not files:
            return {}
        wanted = (ds.field("sampler_digest") == sampler_digest) & _among(ids)
        table = ds.dataset(files, schema=ROLLOUT_SCHEMA, format="parquet").to_table(filter=wanted)
        found: dict[Name, dict[int, Rollout]] = {}
        for row in table.to_pylist():
            rollout = _from_row(row)
            found.setdefault(rollout.name, {})[rollout.sample] = rollout
        return found

    def of_problems(self, ids: Iterable[str]) -> dict[str, list[Rollout]]:
        """All stored samples of these problems from any sampler, by problem id."""
        files = sorted(str(path) for path in self.folder.glob("samples-*.parquet"))
        wanted = _among(ids)
        found: dict[str, list[Rollout]] = {}
        for row in ds.dataset(files, schema=ROLLOUT_SCHEMA, format="parquet").to_table(filter=wanted).to_pylist():
            found.setdefault(row["id"], []).append(_from_row(row))
        return found

    def lengths(self, sampler_digest: str) -> dict[Name, dict[int, int]]:
        """Tokens of all samples of one sampler that have token ids and log-probabilities, by name and sample index."""
        files = sorted(str(path) for path in self.folder.glob("samples-*.parquet"))
        if not files:
            return {}
        ids = ds.field("token_ids")
        wanted = (ds.field("sampler_digest") == sampler_digest) & ids.is_valid() & ds.field("logprobs").is_valid()
        columns = {name: ds.field(name) for name in ("id", "prompt_digest", "sample")}
        columns["tokens"] = pc.list_value_length(ids)  # pyright: ignore[reportAttributeAccessIssue]
        table = ds.dataset(files, schema=ROLLOUT_SCHEMA, format="parquet").to_table(columns=columns, filter=wanted)
        found: dict[Name, dict[int, int]] = {}
        for row in table.to_pylist():
            found.setdefault((row["id"], row["prompt_digest"]), {})[row["sample"]] = row["tokens"]
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


def judge_digest(problem: Problem, panel: Panel | None = None) -> str:
    """Gold, verifier and options; with a judge behind the rules also who it is and what it is asked."""
    rules = [problem.ground_truth, problem.verifier, problem.verifier_options]
    return digest_of(rules if panel is None else [*rules, problem.question, panel.digest])


def request_for(problem: Problem, response: str) -> Request:
    """What the verifier is asked; the option `aliases` holds further accepted golds."""
    options = json.loads(problem.verifier_options)
    aliases = [gold for gold in options.pop("aliases", ()) if gold != problem.ground_truth]
    gold = (problem.ground_truth, *aliases) if aliases else problem.ground_truth
    return Request(response=response, ground_truth=gold, verifier=problem.verifier, options=options)


def judge(pairs: Sequence[tuple[Problem, Rollout]], panel: Panel | None = None) -> list[Rollout]:
    """The rollouts with verdicts against their problems' golds. panel: the judge behind the rules, if there is one."""
    if not pairs:
        return []
    return [
        replace(
            rollout,
            judged_by=judge_digest(problem, panel),
            status=str(verdict.status),
            reason=verdict.reason,
            extracted=verdict.extracted,
        )
        for (problem, rollout), verdict in zip(pairs, _verdicts(pairs, panel), strict=True)
    ]


def _verdicts(pairs: Sequence[tuple[Problem, Rollout]], panel: Panel | None) -> Sequence[Verdict]:
    requests = [request_for(problem, rollout.prefix + rollout.text) for problem, rollout in pairs]
    if panel is None:
        return verify_many(requests)
    asked = [
        Asked(request=request, question=problem.question, cut=rollout.truncated)
        for request, (problem, rollout) in zip(requests, pairs, strict=True)
    ]
    return panel(asked).verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a trainer asks its engine, and so which stored samples are its own.

    engine_digest: `Sampler.digest` of the engine: samples of this digest are on-policy for a trainer before its first
        step, and their log-probabilities are the behaviour policy's.
    messages: of a problem, as the engine gets them.
    """

    engine_digest: str
    temperature: float
    max_tokens: int
    messages: Callable[[Problem], Sequence[Message]]

    def name(self, problem: Problem) -> Name:
        return problem.id, digest_of(self.messages(problem))

    def fits(self, settings: Mapping[str, object]) -> bool:
        own = self.engine_digest, self.temperature, self.max_tokens
        return own == (settings["engine"], settings["temperature"], settings["max_tokens"])


def sampler_settings(folder: Path) -> dict[str, dict[str, Any]]:
    """What the sampler digests in the folder `rollouts/` stand for: model, engine, temperature, max_tokens, seed."""
    paths = sorted((folder / "samplers").glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def stored_groups(
    folder: Path, problems: Sequence[Problem], asking: Asking, *, samples: int
) -> dict[str, tuple[Rollout, ...]]:
    """Groups of `samples` rollouts from the folder `rollouts/` of a curated folder, by problem id.

    A problem has a group when the store holds at least `samples` rollouts with token ids and log-probabilities that
    were asked for as `asking` says; their lowest indices are taken. Token ids start after the prompt. Verdicts are
    those of their time: judge them again by the present golds (`judge`, or a trainer's own scorer).
    An empty dict when nothing fits.

    Bias: a stage that stops by what it has seen draws more of some problems than of others, so which of them have many
    samples depends on their outcomes. The groups are an honest choice only where every problem that was sampled at
    all has `samples` of them (`stored_lengths` tells). The lowest indices of a problem were never chosen by a later
    look. That curation kept the problem at all is a choice like any other filter's: the trainer would have made it by
    its own first samples.
    """
    store = RolloutStore(folder)
    found: dict[str, tuple[Rollout, ...]] = {}
    for digest, settings in sampler_settings(folder).items():
        known = store.load(digest, (problem.id for problem in problems)) if asking.fits(settings) else {}
        for problem in problems:
            drawn = known.get(asking.name(problem), {})
            rollouts = [drawn[index] for index in range(samples) if index in drawn and drawn[index].logprobs]
            if problem.id not in found and len(rollouts) == samples and all(one.token_ids for one in rollouts):
                found[problem.id] = tuple(rollouts)
    return found


def stored_lengths(folder: Path, problems: Sequence[Problem], asking: Asking) -> dict[str, list[int]]:
    """Tokens of the stored samples 0, 1, ... up to the first gap, of every problem that has any, by problem id.

    Those that `stored_groups` would take; of several samplers that fit (other seeds) the one with the longest run.
    """
    names = {asking.name(problem) for problem in problems}
    found: dict[str, list[int]] = {}
    for digest, settings in sampler_settings(folder).items():
        lengths = RolloutStore(folder).lengths(digest) if asking.fits(settings) else {}
        for name in sorted(names & lengths.keys()):
            run = list(takewhile(lambda one: one > 0, (lengths[name].get(at, 0) for at in count())))
            found[name[0]] = max(found.get(name[0], []), run, key=len)
    return found


def plain_messages(problem: Problem) -> list[Message]:
    """The prompt as the shards have it."""
    messages = [Message(role="user", content=problem.question)]
    if problem.system_prompt is not None:
        messages.insert(0, Message(role="system", content=problem.system_prompt))
    return messages
