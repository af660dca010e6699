"""Solutions by somebody else that join the groups of their prompts (LUFFY, arXiv 2504.14945).

They are read once, encoded as the policy would have written them, and judged by what judges the samples; only right
ones that fit the response budget stay, every other one is counted with its reason. A prompt without a demonstration
trains without one.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from rich.console import Console
from transformers import PreTrainedTokenizerBase

from engines.engine import Completion
from pipeline.config import RecipeError
from pipeline.readers import read_file
from pipeline.shards import shard_paths
from trainer.prompts import Draw, Task
from trainer.rewards import outcome
from trainer.rollout_group import Sample
from trainer.scorers import Scorer, Telling
from trainer.template import encode_response
from verifiers.verdict import Status, Verdict

if TYPE_CHECKING:
    from trainer.config import TrainConfig
    from trainer.sections import Reward

Text = tuple[str, str]
"""Problem id and a response to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One demonstration. token_ids: an array of C ints, for a pool holds many long ones."""

    text: str
    token_ids: array[int]
    reason: str
    score: float
    reward: float

    @property
    def sample(self) -> Sample:
        """Its row of a group; no log-probabilities, for no policy sampled it."""
        return Sample(
            response=self.text,
            token_ids=tuple(self.token_ids),
            logprobs=(),
            finish_reason="stop",
            status=str(Status.CORRECT),
            reason=self.reason,
            score=self.score,
            reward=self.reward,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DemonstrationPool:
    """traces: by problem id.  samples: of a group.  dropped: texts by the reason why they are not in the pool."""

    traces: Mapping[str, tuple[Trace, ...]]
    samples: int
    seed: int
    dropped: Mapping[str, int]

    @property
    def problems(self) -> frozenset[str]:
        return frozenset(self.traces)

    def of(self, draw: Draw, budget: int) -> tuple[Sample, ...]:
        """`samples` of the prompt's demonstrations that are no longer than `budget` tokens; of more than that many a
        choice keyed by the visit, so that later visits see others."""
        fitting = [trace for trace in self.traces.get(draw.task.problem.id, ()) if len(trace.token_ids) <= budget]
        order = sorted(range(len(fitting)), key=lambda place: self._key(draw, place))
        return tuple(fitting[place].sample for place in order[: self.samples])

    def _key(self, draw: Draw, place: int) -> bytes:
        key = f"demonstration:{self.seed}:{draw.key}:{place}"
        return hashlib.blake2b(key.encode(), digest_size=8).digest()

    def digest(self) -> str:
        """Of all token ids; a resumed run must find it again."""
        found = hashlib.blake2b(digest_size=16)
        for problem_id, traces in sorted(self.traces.items()):
            for trace in traces:
                found.update(f"{problem_id}:{len(trace.token_ids)}:".encode())
                found.update(trace.token_ids.tobytes())
        return found.hexdigest()


def open_demonstrations(
    config: TrainConfig,
    tasks: Sequence[Task],
    tokenizer: PreTrainedTokenizerBase,
    end_ids: frozenset[int],
    scorer: Scorer,
    console: Console,
) -> DemonstrationPool | None:
    """What `demonstrations` names, checked and counted on the console; None without it.

    Raises RecipeError when no prompt is left with one.
    """
    settings = config.demonstrations
    if settings is None:
        return None
    dropped: Counter[str] = Counter()
    by_id = {task.problem.id: task for task in tasks}
    if settings.path is None:
        where, texts = f"{config.shards}: solution", _of_shards(config.shards, by_id, dropped)
    else:
        where, texts = str(settings.path), _of_file(settings.path, settings.response, tasks, dropped)
    found: list[tuple[Task, str, tuple[int, ...]]] = []
    for problem_id, text in dict.fromkeys(texts):
        task = by_id[problem_id]
        ids = encode_response(task.problem, config.template, tokenizer, text, end_ids)
        if len(ids) > config.sampling.max_tokens:
            dropped["longer than sampling.max_tokens"] += 1
        elif end_ids & set(ids[:-1]):
            dropped["end token inside"] += 1
        else:
            found.append((task, text, ids))
    traces = _right(found, scorer, config.reward, dropped)
    listed = ", ".join(f"{reason} {count:,}" for reason, count in dropped.most_common()) or "none"
    if not traces:
        raise RecipeError(
            f"demonstrations: {where}: none for any of the {len(tasks):,} prompts; left out: {listed}; "
            "give right worked solutions of these problems (demonstrations.path; by `id` or `question`)"
        )
    console.print(
        f"demonstrations: {sum(map(len, traces.values())):,} for {len(traces):,} of {len(tasks):,} prompts; left out: "
        f"{listed}"
    )
    return DemonstrationPool(traces=traces, samples=settings.samples, seed=config.seed, dropped=dict(dropped))


def _right(
    found: Sequence[tuple[Task, str, tuple[int, ...]]], scorer: Scorer, reward: Reward, dropped: Counter[str]
) -> dict[str, tuple[Trace, ...]]:
    """Those that the scorer accepts, by problem id. Their reward is their outcome: no length term is added."""
    places: Counter[str] = Counter()
    asked: list[tuple[Draw, int, Completion]] = []
    for task, text, ids in found:
        place, places[task.problem.id] = places[task.problem.id], places[task.problem.id] + 1
        written = Completion(text=text, token_ids=ids, logprobs=None, finish_reason="stop")
        asked.append((Draw(task=task, epoch=0), place, written))
    traces: dict[str, tuple[Trace, ...]] = {}
    verdicts = scorer(asked) if asked else []
    if isinstance(scorer, Telling):
        scorer.take()  # a step's numbers are of its samples alone, and a resumed run judges these once more
    for (task, text, ids), verdict in zip(found, verdicts, strict=True):
        if verdict.status is not Status.CORRECT:
            dropped[f"{verdict.status} ({verdict.reason})"] += 1
            continue
        trace = _trace(text, ids, verdict, reward)
        traces[task.problem.id] = (*traces.get(task.problem.id, ()), trace)
    return traces


def _trace(text: str, ids: tuple[int, ...], verdict: Verdict, reward: Reward) -> Trace:
    return Trace(
        text=text,
        token_ids=array("i", ids),
        reason=verdict.reason,
        score=verdict.score,
        reward=outcome(verdict, reward),
    )


def _of_shards(folder: Path, by_id: Mapping[str, Task], dropped: Counter[str]) -> Iterator[Text]:
    """The column `solution`, in the order of the shards. Curated folders hold the boxed gold there, which shows no
    work: such a row is no demonstration."""
    for path in shard_paths(folder):
        for row in pq.read_table(path, columns=["id", "solution"]).to_pylist():
            text = row["solution"] or ""
            if row["id"] not in by_id:
                continue
            if _only_the_answer(text, by_id[row["id"]].problem.ground_truth):
                dropped["solution is only the answer"] += 1
            else:
                yield row["id"], text


def _only_the_answer(text: str, gold: str) -> bool:
    bare = text.strip().strip("$").strip()
    if bare.startswith("\\boxed{") and bare.endswith("}"):
        inside = bare.removeprefix("\\boxed{")[:-1]
        return "\n" not in inside and "\\boxed" not in inside
    return bare in ("", gold.strip())


def _of_file(path: Path, field: str, tasks: Sequence[Task], dropped: Counter[str]) -> Iterator[Text]:
    """Rows matched by `id`, else by `question`. Raises RecipeError when no row has the field."""
    if not path.is_file():
        raise RecipeError(f"demonstrations.path: {path}: no file there; give JSON Lines, JSON, CSV or Parquet")
    by_question: dict[str, list[str]] = {}
    for task in tasks:
        by_question.setdefault(task.problem.question.strip(), []).append(task.problem.id)
    ids, rows, with_field = {task.problem.id for task in tasks}, 0, 0
    for raw in read_file(path):
        rows += 1
        if raw.row is None:
            dropped[raw.reason] += 1
            continue
        texts = _responses(raw.row.get(field))
        with_field += bool(texts)
        named, question = _text(raw.row.get("id")), _text(raw.row.get("question"))
        owners = [named] if named in ids else by_question.get(question, [])
        if not texts or not owners:
            dropped["other problem" if texts else f"no {field}"] += 1
            continue
        yield from ((owner, text) for owner in owners for text in texts)
    if rows and not with_field:
        raise RecipeError(
            f"demonstrations.response: {path}: no row has a text in the field '{field}'; name the field that does"
        )


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _responses(value: object) -> list[str]:
    """One text, or those of a list; anything else is no response."""
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]
