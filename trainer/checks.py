"""Start-up checks: what would make a run wrong from its first step is found before it. Each comes from a public report
of another trainer (double BOS, wrong end tokens, prompts too long, golds no verifier accepts)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rich.console import Console
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from engines.kv_cache import is_plain
from pipeline.config import RecipeError
from pipeline.problem import Problem
from pipeline.rollouts import request_for
from trainer.prompts import Task
from trainer.sections import Optimiser, Sampling, Template
from trainer.template import check_question_survives, check_tokenizer, encode
from verifiers import check_gold, verify_many
from verifiers.audit import RowError, check_options
from verifiers.reward import parse_options
from verifiers.verdict import Status

KNOWN_WRONG = "\\boxed{-987654321}"
PROBES_PER_SOURCE = 8
ROUND_TRIPS = 1000
"""Prompts that are decoded again at the start."""


def make_tasks(
    problems: Sequence[Problem],
    template: Template,
    sampling: Sampling,
    tokenizer: PreTrainedTokenizerBase,
    end_ids: frozenset[int],
    console: Console,
) -> list[Task]:
    """Problems with their prompt ids; overlong prompts and repeated ids are dropped and counted, never truncated.

    Raises RecipeError when nothing is left or the tokenizer cannot be used.
    """
    if not problems:
        raise RecipeError("shards: no problems in there")
    check_tokenizer(tokenizer, (), end_ids)
    tasks = {problem.id: Task(problem=problem, prompt_ids=encode(problem, template, tokenizer)) for problem in problems}
    check_tokenizer(tokenizer, next(iter(tasks.values())).prompt_ids, end_ids)
    for problem in problems[:PROBES_PER_SOURCE]:
        check_question_survives(problem, template, tokenizer)
    _tell_lost_characters(list(tasks.values())[:ROUND_TRIPS], tokenizer, console)
    short = [task for task in tasks.values() if 0 < len(task.prompt_ids) <= sampling.max_prompt_tokens]
    overlong, repeated = len(tasks) - len(short), len(problems) - len(tasks)
    if overlong or repeated:
        console.print(
            f"prompts: {len(short):,} used; {overlong:,} longer than sampling.max_prompt_tokens = "
            f"{sampling.max_prompt_tokens} dropped; {repeated:,} repeated ids dropped"
        )
    if not short:
        raise RecipeError(f"sampling.max_prompt_tokens: all {len(tasks)} prompts are longer; raise it")
    return short


def _tell_lost_characters(tasks: Sequence[Task], tokenizer: PreTrainedTokenizerBase, console: Console) -> None:
    """Ids -> text must give the question back, spaces and compatibility forms of letters aside."""
    lost = [
        task.problem.id
        for task in tasks
        if _plain(task.problem.question) not in _plain(str(tokenizer.decode(list(task.prompt_ids))))
    ]
    if lost:
        console.print(
            f"note: the tokenizer loses characters of {len(lost):,} of {len(tasks):,} questions ({lost[0]} is one): "
            "the model does not see them"
        )


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())


def check_room(model: PreTrainedModel, tasks: Sequence[Task], sampling: Sampling, context: int | None = None) -> None:
    """Prompt and response together must fit into the positions the model has, and into an engine's own `context`,
    which would cut responses before their budget. Raises RecipeError."""
    positions = getattr(model.config, "max_position_embeddings", None)
    longest = max(len(task.prompt_ids) for task in tasks) + sampling.max_tokens
    if isinstance(positions, int) and longest > positions:
        raise RecipeError(
            f"sampling.max_tokens: the longest prompt and {sampling.max_tokens} tokens need {longest} positions, the "
            f"model has {positions}; lower sampling.max_tokens or sampling.max_prompt_tokens"
        )
    if context is not None and longest > context:
        raise RecipeError(
            f"engine.max_model_len: the longest prompt and sampling.max_tokens = {sampling.max_tokens} need {longest} "
            f"tokens (got {context}); raise it, or lower sampling.max_tokens or sampling.max_prompt_tokens"
        )


def check_packing(model: PreTrainedModel, settings: Optimiser) -> None:
    """Packed rows must not see one another and responses only their own prompt, so every layer has to obey an attention
    mask. Raises RecipeError."""
    obeys = is_plain(model.config) and model.config._attn_implementation in ("sdpa", "eager")
    asked = [name for name in ("packing", "share_prompts") if getattr(settings, name)]
    if asked and not obeys:
        raise RecipeError(
            f"optimiser.{asked[0]}: this model's layers do not all obey an attention mask (sliding windows, recurrence "
            "or another attention kernel), so rows would see one another; leave it out"
        )


def _check_options_of(problem: Problem) -> None:
    where = f"shards: row {problem.id}"
    try:
        options = parse_options(problem.verifier_options)
        check_options(problem.verifier, {key: options[key] for key in options if key != "aliases"}, where)
    except RowError as error:
        raise RecipeError(str(error)) from None
    except ValueError as error:
        raise RecipeError(f"{where}: verifier_options: {error}; curate again") from None


def _check_rubric(problem: Problem, *, judge: bool) -> None:
    if not judge:
        raise RecipeError(f"shards: row {problem.id}: the verifier 'rubric' needs a judge; add a table reward.judge")
    usable = check_gold(problem.ground_truth or "-", "rubric", parse_options(problem.verifier_options))
    if usable.status is not Status.CORRECT:
        raise RecipeError(f"shards: row {problem.id}: verifier_options: {usable.detail}; curate again")


def check_verifiers(tasks: Sequence[Task], workers: int | None, *, judge: bool = False) -> None:
    """For each data source the verifier must accept a known-right and not accept a known-wrong answer.

    A few golds a source are tried: one odd gold is the curation's business, a source without a good one is ours.
    judge: whether there is one, which rubrics need; they know no right answer that could be tried.
    Raises RecipeError, also for a row that names an unknown verifier or option.
    """
    by_source: dict[str, list[Problem]] = {}
    for task in tasks:
        _check_options_of(task.problem)
        if task.problem.verifier == "rubric":
            _check_rubric(task.problem, judge=judge)
            continue
        by_source.setdefault(task.problem.data_source, []).append(task.problem)
    for source, problems in sorted(by_source.items()):
        probes = problems[:PROBES_PER_SOURCE]
        right = verify_many(
            [request_for(problem, f"\\boxed{{{problem.ground_truth}}}") for problem in probes], workers=workers
        )
        wrong = verify_many([request_for(problem, KNOWN_WRONG) for problem in probes], workers=workers)
        if not any(verdict.status is Status.CORRECT for verdict in right):
            raise RecipeError(
                f"shards: data source '{source}': verifier '{probes[0].verifier}' does not accept the gold "
                f"{probes[0].ground_truth!r} itself ({right[0].reason}); give these rows another verifier"
            )
        if all(verdict.status is Status.CORRECT for verdict in wrong):
            raise RecipeError(
                f"shards: data source '{source}': verifier '{probes[0].verifier}' accepts the wrong answer "
                f"{KNOWN_WRONG} for {probes[0].ground_truth!r}; give these rows another verifier"
            )
