"""Demonstrations beside the policy's samples: loaded, judged and counted; a group they make informative; whole runs."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.torch
import torch
from rich.console import Console
from transformers import PreTrainedTokenizerBase

from engines.build import TorchConfig
from engines.engine import Completion
from pipeline import addition
from pipeline.config import RecipeError
from pipeline.problem import Problem
from pipeline.sampling import Draws, Sampling
from pipeline.shards import shard_paths, write_problems
from trainer.batch import rows_of
from trainer.checkpoint import RunFolder
from trainer.clock import Clock
from trainer.config import TrainConfig
from trainer.demonstrations import DemonstrationPool, open_demonstrations
from trainer.loop import train
from trainer.prompts import Draw, PromptStream, Task
from trainer.rollout_group import Group, Sample, group_from_json, group_to_json
from trainer.scorers import Scorer, VerifierScorer
from trainer.sections import PromptRules, Template
from trainer.start import start
from trainer.template import encode, encode_response, end_of_turn
from trainer.warmstart import build_tokenizer, new_model, save
from verifiers.verdict import Verdict, correct

Recipe = Callable[..., TrainConfig]
EOS = 2
ENDS = frozenset({EOS})


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return build_tokenizer()


@pytest.fixture(scope="module")
def hopeless() -> list[Problem]:
    """Additions whose boxed sum a random model does not hit in its whole life."""
    return [addition.to_problem(30 + place, 47 - place, place, "pool") for place in range(6)]


@pytest.fixture
def pool_of(hopeless: list[Problem], tmp_path: Path) -> Path:
    write_problems(tmp_path / "hopeless", hopeless)
    return tmp_path / "hopeless"


def boxed(problem: Problem) -> str:
    return f"\\boxed{{{problem.ground_truth}}}"


def write(path: Path, rows: Sequence[Any]) -> Path:
    text = "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def metrics(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in row.items() if not key.startswith("time/")} for row in rows]


def rollouts(folder: Path) -> list[dict[str, Any]]:
    paths = sorted((folder / "rollouts").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def loaded(
    config: TrainConfig, problems: Sequence[Problem], tokenizer: PreTrainedTokenizerBase, console: Console | None = None
) -> DemonstrationPool:
    tasks = [Task(problem=one, prompt_ids=encode(one, config.template, tokenizer)) for one in problems]
    pool = open_demonstrations(
        config, tasks, tokenizer, ENDS, VerifierScorer(1), Console(quiet=True) if console is None else console
    )
    assert pool is not None
    return pool


def test_hopeless_prompts_teach_luffy_what_they_do_not_teach_grpo(
    recipe: Recipe, hopeless: list[Problem], pool_of: Path, quiet: Console, tmp_path: Path
) -> None:
    """No sample is ever right at first: plain sampling ends without a signal, one demonstration a group is learned."""
    save(new_model(0, hidden=64, layers=1, heads=2, feed_forward=128), build_tokenizer(), tmp_path / "model")
    changes: dict[str, Any] = {
        "shards": str(pool_of),
        "model": str(tmp_path / "model"),
        "steps": 100,
        "sampling": {"prompts": 4, "samples": 3, "max_tokens": 8},
        "optimiser": {"lr": 5e-3, "minibatches": 1},
        "filter": {"keep": "informative", "max_gen_batches": 1},
        "checkpoints": {"every": 100},
    }
    plain = train(recipe(algorithm="dr_grpo", **changes), tmp_path / "plain", console=quiet)
    assert (plain.exit_reason, plain.steps) == ("no_signal", 3)
    path = write(tmp_path / "right.jsonl", [{"question": one.question, "response": boxed(one)} for one in hopeless])
    config = recipe(algorithm="luffy", demonstrations={"path": str(path)}, **changes)
    summary = train(config, tmp_path / "run", console=quiet)
    rows = metrics(tmp_path / "run")
    first, last = rows[0], [row["reward/mean"] for row in rows[-10:]]
    assert summary.ended, "all steps, or earlier when everything is solved"
    assert (first["reward/mean"], first["groups/too_hard"], first["groups/kept"]) == (0.0, 4, 4)
    assert first["demonstrations/rows"] == 4
    assert first["demonstrations/logp"] < -5
    assert sum(last) / len(last) > 0.5
    assert max(row.get("mismatch/max_abs", 0.0) for row in rows) < 1e-4, "demonstrations are nobody's samples"
    written = [one for one in rollouts(tmp_path / "run") if one["step"] == 1]
    theirs = [one for one in written if one.get("demonstration")]
    assert [one["advantage"] for one in theirs] == pytest.approx([0.75] * 4)
    assert {one["advantage"] for one in written if not one.get("demonstration")} == {-0.25}
    assert first["generated_tokens"] == sum(one["tokens"] for one in written if not one.get("demonstration"))


def test_what_is_left_out_is_counted_with_its_reason(
    recipe: Recipe, problems: list[Problem], tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    a, b, c, d = problems[:4]
    rows = [
        {"id": a.id, "response": [boxed(a), boxed(a) + " ", boxed(a)]},
        {"question": f" {b.question}", "response": "\\boxed{-1}"},
        {"question": c.question, "response": "1" * 30 + boxed(c)},
        {"question": d.question, "response": "</s>" + boxed(d)},
        {"question": "unheard of", "response": "\\boxed{1}"},
        {"question": d.question, "response": None},
        {"question": ["no text"], "id": {"no": "text"}, "response": 5},
        "{not json\n",
        "[1]\n",
    ]
    path = write(tmp_path / "shown.jsonl.gz", rows)
    config = recipe(algorithm="luffy", sampling={"max_tokens": 12}, demonstrations={"path": str(path)})
    console = Console(width=400, record=True, quiet=False, file=(tmp_path / "out").open("w"))
    pool = loaded(config, problems, tokenizer, console)
    assert {key: [trace.text for trace in traces] for key, traces in pool.traces.items()} == {
        a.id: [boxed(a), boxed(a) + " "]
    }
    wrong = {reason: count for reason, count in pool.dropped.items() if reason.startswith("incorrect (")}
    assert list(wrong.values()) == [1]
    assert pool.dropped == wrong | {
        "longer than sampling.max_tokens": 1,
        "end token inside": 1,
        "other problem": 1,
        "no response": 2,
        "not-json": 1,
        "wrong-type": 1,
    }
    assert "demonstrations: 2 for 1 of 50 prompts; left out: " in console.export_text()


class Telling(VerifierScorer):
    """Counts what it judged, for the metrics of a step."""

    judged = 0

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        self.judged += len(samples)
        return super().__call__(samples)

    def take(self) -> dict[str, float]:
        judged, self.judged = self.judged, 0
        return {"judged": float(judged)}


def test_demonstrations_are_not_told_among_the_samples(
    recipe: Recipe, problems: list[Problem], tokenizer: PreTrainedTokenizerBase, tmp_path: Path, quiet: Console
) -> None:
    """They are judged at every start, so a resumed run would tell other numbers of its first step."""
    path = write(tmp_path / "right.jsonl", [{"id": problems[0].id, "response": boxed(problems[0])}])
    config, scorer = recipe(algorithm="luffy", demonstrations={"path": str(path)}), Telling(1)
    task = Task(problem=problems[0], prompt_ids=encode(problems[0], config.template, tokenizer))
    assert open_demonstrations(config, [task], tokenizer, ENDS, scorer, quiet) is not None
    assert scorer.take() == {"judged": 0.0}


def test_shards_with_solutions_of_their_own(
    recipe: Recipe, hopeless: list[Problem], pool_of: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    """What curation writes there, the boxed gold, shows no work; a worked solution does."""
    config = recipe(algorithm="luffy", shards=str(pool_of), sampling={"max_tokens": 40})
    with pytest.raises(RecipeError, match=r"none for any of the 6 prompts; left out: solution is only the answer 6"):
        loaded(config, hopeless, tokenizer)
    (path,) = shard_paths(pool_of)
    table = pq.read_table(path)
    numbers = {problem.id: (30 + problem.index, 47 - problem.index) for problem in hopeless}
    worked = [addition.worked(*numbers[id_]) for id_ in table["id"].to_pylist()]
    column = table.schema.get_field_index("solution")
    pq.write_table(table.set_column(column, "solution", pa.array(worked)), path)
    pool = loaded(config, hopeless, tokenizer)
    assert pool.problems == {problem.id for problem in hopeless}
    assert sorted(trace.text for traces in pool.traces.values() for trace in traces) == sorted(worked)


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        ([], {}, "none for any of the 50 prompts"),
        ([{"question": "q", "answer": "a"}], {}, "no row has a text in the field 'response'"),
        (None, {}, "no file there"),
        ([{"question": "q", "answer": "a"}], {"response": "answer"}, "left out: other problem 1"),
    ],
)
def test_mistakes_are_told(
    rows: list[Any] | None, settings: dict[str, Any], message: str, recipe: Recipe, problems: list[Problem],
    tokenizer: PreTrainedTokenizerBase, tmp_path: Path,
) -> None:  # fmt: skip
    path = tmp_path / "shown.jsonl"
    if rows is not None:
        write(path, rows)
    with pytest.raises(RecipeError, match=message):
        loaded(recipe(algorithm="luffy", demonstrations={"path": str(path)} | settings), problems, tokenizer)


def test_a_response_is_encoded_as_the_policy_writes_it(
    tokenizer: PreTrainedTokenizerBase, problems: list[Problem]
) -> None:
    problem = problems[0]
    prompt = encode(problem, Template(), tokenizer)
    ids = encode_response(problem, Template(), tokenizer, boxed(problem), ENDS)
    assert ids[-1] == EOS
    assert tokenizer.decode(list(prompt + ids)) == f"{problem.question}\n{boxed(problem)}</s>"
    thinking = build_tokenizer()
    thinking.chat_template = (
        "{%- for message in messages -%}{{ message['content'] }}<s>{%- endfor -%}"
        "{%- if add_generation_prompt -%}{{ '\\n<think>\\n' }}{%- endif -%}"
    )
    both = frozenset({1, EOS})
    assert end_of_turn(thinking, both) == 1, "the end token that this template writes"
    assert end_of_turn(thinking, ENDS) == EOS
    once = encode_response(problem, Template(), thinking, "<think>\n1</think>2", both)
    assert once == encode_response(problem, Template(), thinking, "1</think>2", both)
    written = str(thinking.decode(list(encode(problem, Template(), thinking) + once)))
    assert written.endswith("<think>\n1</think>2<s>")


def sample(score: float | None, tokens: int = 2) -> Sample:
    return Sample(response="", token_ids=(7,) * tokens, logprobs=(-1.0,) * tokens, finish_reason="stop", status="",
                  reason="", score=score, reward=score)  # fmt: skip


def group(*scores: float | None, shown: int = 1) -> Group:
    right = replace(sample(1.0, tokens=3), logprobs=())
    return Group(
        key="0:a",
        problem_id="a",
        question="",
        ground_truth="",
        prompt_ids=(5,),
        samples=tuple(map(sample, scores)),
        version=0,
        demonstrations=(right,) * shown,
    )


@pytest.mark.parametrize(
    ("scores", "alone", "beside"),
    [
        ((0.0, 0.0), False, True),
        ((0.0, None), False, True),
        ((1.0, 1.0), False, False),
        ((1.0, 0.0), True, True),
        ((None, None), False, False),
    ],
)
def test_which_rows_make_a_group_informative(scores: tuple[float | None, ...], alone: bool, beside: bool) -> None:
    """The decided samples and the demonstrations together; without a decided sample nothing."""
    assert group(*scores, shown=0).informative == alone
    assert group(*scores).informative == beside
    assert group(*scores, shown=2).informative == beside


def test_a_group_keeps_its_demonstrations_apart() -> None:
    one = group(0.0, 1.0)
    assert (one.scores, one.tokens, len(one.rows)) == ([0.0, 1.0], 4, 3)
    value = json.loads(json.dumps(group_to_json(one)))
    assert group_from_json(value) == one
    del value["demonstrations"]
    assert group_from_json(value) == replace(one, demonstrations=())
    rows = rows_of([one, group(0.0, shown=0)], version=0)
    assert rows.demonstration_B.tolist() == [False, False, True, False]
    assert rows.mask_BT.sum(1).tolist() == [2, 2, 3, 2]
    assert rows.sampled_BT.sum(1).tolist() == [2, 2, 0, 2]
    assert rows.logp_rollout_BT.sum(1).tolist() == [-2.0, -2.0, 0.0, -2.0]


def test_visits_take_turns_with_more_demonstrations_than_places(
    recipe: Recipe, problems: list[Problem], tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    one = problems[0]
    texts = [boxed(one), "=" + boxed(one), "=" * 3 + boxed(one)]
    path = write(tmp_path / "three.jsonl", [{"id": one.id, "response": texts}])
    config = recipe(algorithm="luffy", sampling={"max_tokens": 20}, demonstrations={"path": str(path), "samples": 2})
    pool = loaded(config, problems, tokenizer)
    draws = [Draw(task=Task(problem=one, prompt_ids=(1,)), epoch=epoch) for epoch in range(30)]
    chosen = [tuple(sample.response for sample in pool.of(draw, 20)) for draw in draws]
    assert all(len(set(two)) == 2 for two in chosen)
    assert {text for two in chosen for text in two} == set(texts)
    assert chosen == [tuple(sample.response for sample in pool.of(draw, 20)) for draw in draws]
    shortest = min(len(trace.token_ids) for trace in pool.traces[one.id])
    assert [len(sample.token_ids) for sample in pool.of(draws[0], shortest)] == [shortest], "a stage's smaller budget"
    assert pool.of(Draw(task=Task(problem=problems[1], prompt_ids=(1,)), epoch=0), 20) == ()


def test_prompts_with_a_demonstration_are_not_hopeless(problems: list[Problem]) -> None:
    """Skip rules look at what a group with its demonstration would teach."""

    def drawn(shown: frozenset[str]) -> list[str]:
        tasks = [Task(problem=problem, prompt_ids=(1,)) for problem in problems]
        stream = PromptStream(tasks, seed=1, rules=PromptRules(skip="greso", prior=True))
        stream.demonstrated = shown
        for _ in range(4):
            visits = [replace(group(0.0, 0.0, shown=0), problem_id=draw.task.problem.id) for draw in stream.draw(50)]
            stream.observe(visits)
            stream.adapt(visits)
        return [draw.task.problem.id for draw in stream.draw(200)]

    half = frozenset(problem.id for problem in problems[:25])
    assert sum(one in half for one in drawn(half)) > 0.8 * 200
    assert 0.3 * 200 < sum(one in half for one in drawn(frozenset())) < 0.7 * 200


@pytest.fixture
def shown(problems: list[Problem], tmp_path: Path) -> Path:
    """Right ones for half of the prompts, two each."""
    rows = [{"question": one.question, "response": [boxed(one), "=" + boxed(one)]} for one in problems[::2]]
    return write(tmp_path / "shown.jsonl", rows)


def test_a_cut_run_repeats_itself_and_needs_the_same_demonstrations(
    recipe: Recipe, quiet: Console, shown: Path, tmp_path: Path
) -> None:
    """With surplus groups that carry theirs, minibatches and a correction; half of the prompts have none."""
    config = recipe(
        algorithm="luffy",
        steps=5,
        sampling={"prompts": 5, "samples": 3, "max_tokens": 10},
        filter={"keep": "informative"},
        correction={"name": "tis"},
        demonstrations={"path": str(shown)},
        checkpoints={"every": 1, "keep": 9},
    )
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    train(config, whole, console=quiet)
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "final")
    (cut / "summary.json").unlink()
    for path in sorted((cut / "checkpoints").iterdir())[2:]:
        shutil.rmtree(path)
    surplus = (cut / "checkpoints" / "step-00002" / "surplus.jsonl").read_text(encoding="utf-8")
    assert any(json.loads(line)["demonstrations"] for line in surplus.splitlines())
    again = shutil.copytree(cut, tmp_path / "again")
    train(config, cut, console=quiet)
    assert metrics(cut) == metrics(whole)
    assert rollouts(cut) == rollouts(whole)
    ours, theirs = (safetensors.torch.load_file(run / "final" / "model.safetensors") for run in (whole, cut))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    lines = shown.read_text(encoding="utf-8").splitlines()
    write(shown, [line + "\n" for line in lines[1:]])
    with pytest.raises(RecipeError, match="demonstrations_digest"):
        train(config, again, console=quiet)


def test_prompts_without_one_train_as_without_the_file(
    recipe: Recipe, scorer: Scorer, quiet: Console, problems: list[Problem], shown: Path, tmp_path: Path
) -> None:
    """The same visits and the same samples; only groups of prompts that have one carry it."""

    class Half:
        """Demonstrations are right; samples as the other scorer says."""

        def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
            if all(completion.logprobs is None for _, _, completion in samples):
                return [correct("shown", None) for _ in samples]
            return scorer(samples)

    base: dict[str, Any] = {"sampling": {"prompts": 12, "samples": 3, "max_tokens": 10}, "filter": {"keep": "all"}}

    def groups(**changes: Any) -> list[Group]:
        config = recipe(**base, **changes)
        run = start(config, RunFolder.open(tmp_path / str(len(changes)), config, fresh=False), quiet, Half())
        return run.source.fill(0, Clock()).kept

    plain = groups(algorithm="dr_grpo")
    mixed = groups(algorithm="luffy", demonstrations={"path": str(shown)})
    assert [replace(one, demonstrations=()) for one in mixed] == plain
    have = {problem.id for problem in problems[::2]}
    assert all((one.problem_id in have) >= bool(one.demonstrations) for one in mixed)
    assert any(one.demonstrations for one in mixed)
    assert any(not one.demonstrations for one in mixed)


def test_stored_samples_of_first_visits_get_theirs_too(
    recipe: Recipe, quiet: Console, model_folder: Path, problems: list[Problem], shown: Path, tmp_path: Path
) -> None:
    sampling = Sampling(engine=TorchConfig(model=model_folder), max_tokens=10)
    Draws.start("difficulty", sampling, 0, tmp_path / "curated" / "rollouts", problems).ensure(problems, 3)
    config = recipe(
        algorithm="luffy",
        steps=1,
        sampling={"prompts": 8, "samples": 3, "max_tokens": 10, "reuse": str(tmp_path / "curated")},
        demonstrations={"path": str(shown)},
    )
    train(config, tmp_path / "run", console=quiet)
    (row,) = metrics(tmp_path / "run")
    assert (row["groups/reused"], row["generated_tokens"]) == (8, 0)
    assert row["demonstrations/rows"] > 0
    assert row["mismatch/max_abs"] < 1e-4
