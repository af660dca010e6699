"""Stages with a model in the loop, over a tiny model that has memorised what it answers.

1+1=?  always \\boxed{2}          2+3=?  half the time \\boxed{5}, otherwise \\boxed{6}
4+4=?  always \\boxed{9}          7+7=?  never ends          3+5=?  always 8, after a line of working; guesses 1
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from engines.build import EndpointConfig, TorchConfig
from engines.torch_engine import TorchEngine
from pipeline.collisions import collides, folder_collisions, measure, original_of
from pipeline.config import Layer, RecipeError, dump, load, parse_override, read_toml
from pipeline.decisions import (
    LABEL_RIGHT,
    LABEL_WRONG,
    decisions_path,
    read_decisions,
    read_suspects,
    write_decisions,
)
from pipeline.ledger import drops_table
from pipeline.problem import Problem
from pipeline.rollouts import (
    ROLLOUT_SCHEMA,
    Asking,
    Rollout,
    RolloutStore,
    judge,
    plain_messages,
    request_for,
    stored_groups,
    stored_lengths,
)
from pipeline.run import CurateConfig, curate
from pipeline.sampling import Draws, Sampling, open_sampler
from pipeline.shards import read_shards
from pipeline.stage import Context, Outcome
from pipeline.stage_presets import stage_preset_names, stage_presets_folder
from pipeline.stages.answerable import Answerable
from pipeline.stages.difficulty import KEEP, Difficulty, Tally, bucket, verdict
from pipeline.stages.guessable import Guessable
from pipeline.stages.integers import Integers
from pipeline.stages.suspects import Suspects
from pipeline.version import digest_of
from trainer.warmstart import Example, Schedule, build_tokenizer, finetune, new_model, save
from verigold.commands import audit
from verigold.report.curation import render
from verigold.report.sampling import read_tallies

ANSWERS = {
    "1+1=?": ["\\boxed{2}"],
    "2+3=?": ["\\boxed{5}", "\\boxed{6}"],
    "4+4=?": ["\\boxed{9}"],
    "7+7=?": ["1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1"],
    "3+5=?": ["3+5+0=8\n\\boxed{8}"] * 3 + ["\\boxed{1}"],
}
GOLDS = {"1+1=?": "2", "2+3=?": "5", "4+4=?": "8", "7+7=?": "14", "3+5=?": "8"}

Make = Callable[..., Problem]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer, model = build_tokenizer(), new_model(0, hidden=32, layers=1, heads=2, feed_forward=64)
    examples: list[Example] = []
    for question, answers in ANSWERS.items():
        for answer in (answers * 4)[:4]:
            end = [] if question == "7+7=?" else [2]
            examples.append((tokenizer.encode(f"{question}\n"), [*tokenizer.encode(answer), *end]))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    list(finetune(model, cycle([examples]), Schedule(learning_rate=1e-2, steps=250, warmup_steps=10)))
    torch.set_num_threads(threads)
    out = tmp_path_factory.mktemp("model") / "memory"
    save(model, tokenizer, out)
    return out


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def sampling(folder: Path) -> Sampling:
    return Sampling(engine=TorchConfig(model=folder, device="cpu"), max_tokens=12)


@pytest.fixture
def problems(make: Make) -> list[Problem]:
    return [make(question, gold, index) for index, (question, gold) in enumerate(GOLDS.items())]


def left(outcome: Outcome) -> dict[str, str]:
    """Question -> `keep` or reason."""
    kept = {problem.question: KEEP for problem in outcome.kept}
    return kept | {drop.question: drop.reason for drop in outcome.drops}


def stored(context: Context) -> list[dict[str, Any]]:
    files = sorted(context.rollouts.glob("samples-*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def test_difficulty_keeps_what_is_solved_sometimes(
    sampling: Sampling, problems: list[Problem], context: Context
) -> None:
    outcome = Difficulty(sampling=sampling, samples=8, high=0.9)(problems, context)
    assert left(outcome) == {
        "1+1=?": "too-easy",
        "2+3=?": KEEP,
        "4+4=?": "unsolved-at-n",
        "7+7=?": "truncated-at-n",
        "3+5=?": KEEP,
    }
    kinds = {drop.reason: drop.kind for drop in outcome.drops}
    assert kinds == {"too-easy": "dropped", "unsolved-at-n": "quarantined", "truncated-at-n": "quarantined"}
    evidence = next(drop.evidence for drop in outcome.drops if drop.question == "4+4=?")
    assert evidence["correct"] == 0
    assert evidence["most_common_answer"] == "9"
    assert evidence["attempts"] == evidence["most_common_times"] == 8
    kept = next(problem for problem in outcome.kept if problem.question == "2+3=?")
    (entry,) = kept.difficulty
    assert kept.pass_rate is not None
    assert entry.model == sampling.engine.name
    assert kept.pass_rate == entry.correct / entry.attempts
    assert 0 < entry.low < kept.pass_rate < entry.high < 1
    assert entry.bucket == bucket(kept.pass_rate)


def test_curtailed_decisions_are_those_of_a_fixed_n(
    sampling: Sampling, problems: list[Problem], context: Context, tmp_path: Path
) -> None:
    stage = Difficulty(sampling=sampling, samples=8)
    early = stage(problems, context)
    full = replace(stage, test="fixed")(problems, replace(context, rollouts=tmp_path / "other"))
    assert left(early) == left(full)
    assert full.samples == 8 * len(problems)
    assert early.samples < full.samples
    assert early.generated_tokens < full.generated_tokens


def test_samples_are_stored_and_never_drawn_twice(
    sampling: Sampling, problems: list[Problem], context: Context
) -> None:
    stage = Difficulty(sampling=sampling, samples=8)
    first = stage(problems, context)
    before = stored(context)
    assert len(before) == first.samples
    assert sum(len(row["token_ids"]) for row in before) == first.generated_tokens
    assert len({(row["id"], row["sample"]) for row in before}) == len(before)
    stamps = {file: file.stat().st_mtime_ns for file in context.rollouts.rglob("*.parquet")}
    assert stage(problems, context) == first
    assert {file: file.stat().st_mtime_ns for file in context.rollouts.rglob("*.parquet")} == stamps
    assert pq.read_schema(next(iter(stamps))).equals(ROLLOUT_SCHEMA)


def test_a_killed_run_draws_only_what_is_missing(
    sampling: Sampling, problems: list[Problem], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Difficulty(sampling=sampling, samples=8)
    sampler = open_sampler(sampling.engine, context.rollouts)
    drawn: list[int] = []
    original = type(sampler).generate

    def counted(self: Any, prompts: Any, params: Any) -> Any:
        for item in original(self, prompts, params):
            drawn.append(item[1])
            yield item

    monkeypatch.setattr(type(sampler), "generate", counted)
    first = stage(problems, context)
    every = len(drawn)
    (lost, *_) = sorted(context.rollouts.glob("samples-*.parquet"))
    rows = pq.read_table(lost).num_rows
    lost.unlink()
    drawn.clear()
    assert stage(problems, context) == first, "what was drawn before counts as well, so the manifest is the same"
    assert len(drawn) == rows < every
    assert len(stored(context)) == every


def test_answerable_and_difficulty_share_samples(sampling: Sampling, problems: list[Problem], context: Context) -> None:
    answerable = Answerable(sampling=sampling, samples=4)(problems, context)
    assert left(answerable)["1+1=?"] == "answered-already"
    assert {"2+3=?", "4+4=?", "7+7=?"} <= {problem.question for problem in answerable.kept}
    assert answerable.samples < 4 * len(problems), "one wrong answer ends it"
    difficulty = Difficulty(sampling=sampling, samples=8)(answerable.kept, context)
    rows = stored(context)
    assert len({(row["id"], row["sample"]) for row in rows}) == len(rows) == answerable.samples + difficulty.samples
    assert {row["stage"] for row in rows} == {"answerable", "difficulty"}
    other = Difficulty(sampling=replace(sampling, max_tokens=11), samples=8)(answerable.kept, context)
    assert other.samples > difficulty.samples, "other parameters are another sampler"


def test_answerable_by_a_pass_rate(sampling: Sampling, problems: list[Problem], context: Context) -> None:
    outcome = Answerable(sampling=sampling, samples=8, min_pass_rate=0.25)(problems, context)
    assert left(outcome)["2+3=?"] == "answered-already"
    assert left(outcome)["4+4=?"] == KEEP


def test_guessable_forces_the_answer_and_counts_tries(
    sampling: Sampling, problems: list[Problem], context: Context
) -> None:
    stage = Guessable(sampling=sampling, max_tokens=4, instruction="")
    outcome = stage(problems, context)
    assert left(outcome)["1+1=?"] == left(outcome)["2+3=?"] == "guessable"
    assert left(outcome)["3+5=?"] == left(outcome)["4+4=?"] == KEEP
    rows = stored(context)
    assert {row["prefix"] for row in rows} == {"\\boxed{"}
    assert all("=" not in row["text"] for row in rows)
    evidence = next(drop.evidence for drop in outcome.drops if drop.question == "2+3=?")
    assert 1 <= evidence["first_right"] <= evidence["tries"] < 8
    lenient = replace(stage, max_right=7)(problems, context)
    assert left(lenient)["2+3=?"] == KEEP
    assert left(lenient)["1+1=?"] == "guessable"


def test_a_rewritten_question_is_asked_anew_and_a_new_gold_judged_anew(
    sampling: Sampling, problems: list[Problem], context: Context
) -> None:
    stage = Difficulty(sampling=sampling, samples=4)
    problem = problems[2]
    assert left(stage([problem], context))["4+4=?"] == "unsolved-at-n"
    mended = replace(problem, ground_truth="9")
    outcome = stage([mended], context)
    assert left(outcome)["4+4=?"] == "too-easy"
    assert len(stored(context)) == 4, "the same samples"
    stage([replace(problem, question="1+1=?")], context)
    assert len(stored(context)) == 8, "the same id, another prompt"


def test_aliases_and_undecided_golds(sampling: Sampling, make: Make, context: Context) -> None:
    aliased = make("4+4=?", "8", 0, verifier_options=json.dumps({"aliases": ["8", "9"]}))
    assert request_for(aliased, "x").ground_truth == ("8", "9")
    unreadable = make("1+1=?", "", 1)
    outcome = Difficulty(sampling=sampling, samples=4)([aliased, unreadable], context)
    assert left(outcome) == {"4+4=?": "too-easy", "1+1=?": "undecided-at-n"}
    assert {drop.kind for drop in outcome.drops if drop.reason == "undecided-at-n"} == {"quarantined"}


def test_exact_duplicates_in_a_batch_share_their_samples(
    sampling: Sampling, problems: list[Problem], context: Context
) -> None:
    twin = replace(problems[1], source_row="s#99", index=99)
    outcome = Difficulty(sampling=sampling, samples=8)([problems[1], twin], context)
    assert {problem.source_row for problem in outcome.kept} == {problems[1].source_row, "s#99"}
    assert outcome.samples == len(stored(context)) <= 8


def tally(correct: int, wrong: int, undecided: int = 0) -> Tally:
    return Tally(correct=correct, wrong=wrong, undecided=undecided, truncated=0, truncated_wrong=0)


OUTCOMES = st.lists(st.sampled_from(["correct", "wrong", "undecided"]), min_size=1, max_size=12)


@given(OUTCOMES, st.sampled_from([(0.0, 1.0), (0.0, 0.8), (0.1, 0.9), (0.25, 0.5)]))
def test_a_certain_verdict_is_the_final_one(outcomes: list[str], window: tuple[float, float]) -> None:
    def after(count: int) -> str | None:
        seen = [outcomes[:count].count(name) for name in ("correct", "wrong", "undecided")]
        return verdict(tally(*seen), len(outcomes), *window)

    final = after(len(outcomes))
    assert final is not None
    decided = [outcome for outcome in outcomes if outcome != "undecided"]
    if decided:
        rate = decided.count("correct") / len(decided)
        unsolved = ("unsolved-at-n", "truncated-at-n", "too-hard")
        assert final == KEEP if window[0] < rate < window[1] else final != KEEP
        assert (final in unsolved) == (rate <= window[0])
    else:
        assert final == "undecided-at-n"
    earlier = [after(count) for count in range(len(outcomes))]
    assert {one for one in earlier if one is not None} <= {final}


@pytest.mark.parametrize(
    ("correct", "wrong", "expected"),
    [(1, 0, None), (1, 1, KEEP), (0, 7, None), (0, 8, "unsolved-at-n"), (8, 0, "too-easy")],
)
def test_verdicts_of_eight(correct: int, wrong: int, expected: str | None) -> None:
    assert verdict(tally(correct, wrong), 8, 0.0, 1.0) == expected


def test_buckets_are_symmetric() -> None:
    names = [bucket(k / 8) for k in range(9)]
    mirror = {"very-hard": "very-easy", "hard": "easy", "medium": "medium", "easy": "hard", "very-easy": "very-hard"}
    assert [mirror[name] for name in reversed(names)] == names
    assert names[0] == "very-hard"
    assert names[4] == "medium"


def rollout(sample: int, id_: str = "a", **changes: Any) -> Rollout:
    base = Rollout(
        id=id_,
        sampler_digest="s",
        prompt_digest="p",
        sample=sample,
        stage="test",
        prefix="",
        text="x½😀\n",
        token_ids=(1, 2),
        logprobs=(-0.5, -0.25),
        finish_reason="stop",
        tokens=2,
    )
    return replace(base, **changes)


def test_the_store_reads_what_it_wrote(tmp_path: Path) -> None:
    store = RolloutStore(tmp_path / "rollouts")
    assert store.load("s", ["a"]) == {}
    first = [rollout(0), rollout(1, token_ids=None, logprobs=None, extracted="5"), rollout(0, "b")]
    store.commit(first)
    store.commit([])
    store.commit([rollout(2), rollout(0, sampler_digest="other")])
    assert store.load("s", ["a"]) == {("a", "p"): {0: first[0], 1: first[1], 2: rollout(2)}}
    assert len(list((tmp_path / "rollouts").iterdir())) == 2
    store.commit(list(reversed(first)))
    assert len(list((tmp_path / "rollouts").iterdir())) == 2, "the same round replaces itself"


def test_gaps_are_filled_and_nothing_else(sampling: Sampling, problems: list[Problem], tmp_path: Path) -> None:
    whole = Draws.start("a", sampling, 0, tmp_path / "whole", problems)
    whole.ensure(problems, 5)
    holes = Draws.start("a", sampling, 0, tmp_path / "holes", problems)
    holes.store.commit([one for one in whole.of(problems[1], 5) if one.sample in (1, 2)])
    again = Draws.start("a", sampling, 0, tmp_path / "holes", problems)
    again.ensure(problems, 5)
    for problem in problems:
        assert [one.text for one in again.of(problem, 5)] == [one.text for one in whole.of(problem, 5)]


def test_a_missing_model_is_the_users_mistake(tmp_path: Path, problems: list[Problem], context: Context) -> None:
    with pytest.raises(RecipeError, match=r"engine: .*absent: no model there"):
        Difficulty(sampling=Sampling(engine=TorchConfig(model=tmp_path / "absent")))(problems, context)


def test_a_recipe_with_all_three_stages(folder: Path, tmp_path: Path, quiet: Console) -> None:
    rows = [{"question": question, "answer": gold} for question, gold in GOLDS.items()]
    (tmp_path / folder.name).symlink_to(folder)
    (tmp_path / "pool.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(
        f"""
[[sources]]
name = "pool"
path = "pool.jsonl"
question = "question"
answer = "answer"
[sampling]
engine = {{model = "{folder.name}"}}
max_tokens = 12
[stages.guessable]
max_right = 6
max_tokens = 4
instruction = ""
[stages.answerable]
[stages.difficulty]
sampling = {{temperature = 0.99}}
""",
        encoding="utf-8",
    )
    config = CurateConfig.from_layers([read_toml(tmp_path / "recipe.toml")])
    manifest = curate(config, tmp_path / "out", console=quiet, workers=1)
    assert manifest["rows_in"] == 5
    assert manifest["dropped"]["guessable"] == {"guessable": 1}
    assert manifest["quarantined"]["difficulty"] == {"unsolved-at-n": 1, "truncated-at-n": 1}
    assert set(manifest["sampling"]) == {"guessable", "answerable", "difficulty"}
    assert manifest["sampling"]["guessable"]["samples"] == 8 + 4 * 4, "one is right 7 times, four cannot be any more"
    again = curate(config, tmp_path / "out", console=quiet, workers=1)
    assert again == manifest
    text = (tmp_path / "recipe.toml").read_text(encoding="utf-8")
    for good, bad, message in (
        ("max_tokens = 12", "max_token = 12", "sampling.max_token: unknown key; did you mean 'max_tokens'"),
        (
            "{temperature",
            "{temprature",
            "stages.difficulty.sampling.temprature: unknown key; did you mean 'temperature'",
        ),
        ("{model", "{modle", "sampling.engine.modle: unknown key; did you mean 'model'"),
        ("{model", "{kind = 'x', model", "sampling.engine.kind"),
        ("max_right = 6", "max_right = 6\npreset = 'kimi'", "unknown preset 'kimi'; did you mean 'kimi-guess'"),
        ("max_right = 6", "max_right = 6\npreset = 'prime'", "'prime' is a preset of stages.difficulty"),
    ):
        (tmp_path / "changed.toml").write_text(text.replace(good, bad, 1), encoding="utf-8")
        with pytest.raises(RecipeError) as caught:
            CurateConfig.from_layers([read_toml(tmp_path / "changed.toml")])
        assert message in str(caught.value)
        assert str(caught.value).startswith(str(tmp_path / "changed.toml"))


def test_the_name_of_a_served_model_is_no_path(tmp_path: Path) -> None:
    source = {"name": "s", "path": "x", "question": "q", "answer": "a"}
    served = {"kind": "endpoint", "base_url": "http://h/v1", "model": "org/name"}
    table = {"sources": [source], "sampling": {"engine": served}, "stages": {"difficulty": {}}}
    layers = [Layer(name="recipe", base=tmp_path, table=table)]

    def engine(*overrides: str) -> Any:
        config = CurateConfig.from_layers([*layers, *map(parse_override, overrides)])
        ((_, stage),) = config.build_stages()
        return stage.sampling.engine

    assert engine() == EndpointConfig(kind="endpoint", base_url="http://h/v1", model="org/name")
    assert engine("sampling.engine.model=other").model == "other", "a layer that does not repeat the kind"
    assert engine("stages.difficulty.sampling.engine.concurrency=2").concurrency == 2
    with pytest.raises(RecipeError, match=r"sampling\.engine\.base_ulr: unknown key; did you mean 'base_url'"):
        engine("sampling.engine.base_ulr=x")


@pytest.mark.parametrize("name", stage_preset_names())
def test_presets_build_their_stage(name: str, tmp_path: Path) -> None:
    path = stage_presets_folder() / f"{name}.toml"
    assert path.read_text(encoding="utf-8").startswith("# ")
    ((stage, table),) = read_toml(path).table.items()
    assert table
    text = f'[sampling]\nengine = {{model = "m"}}\n[stages.{stage}]\npreset = "{name}"\n'
    (tmp_path / "recipe.toml").write_text("[[sources]]\nname='s'\npath='x'\nquestion='q'\nanswer='a'\n" + text)
    config = CurateConfig.from_layers([read_toml(tmp_path / "recipe.toml")])
    ((_, built),) = config.build_stages()
    assert {key: getattr(built, key) for key in table} == table
    assert built.sampling.engine.model == tmp_path / "m"
    (tmp_path / "resolved.toml").write_text(dump(config), encoding="utf-8")
    assert load(CurateConfig, [tmp_path / "resolved.toml"]) == config


def decisions_of(preset: str, attempts: int) -> list[int]:
    """Numbers of right samples of `attempts` with which a problem stays."""
    (table,) = read_toml(stage_presets_folder() / f"{preset}.toml").table.values()
    stage = Difficulty(sampling=Sampling(engine=TorchConfig(model=Path("m"))), **table)
    assert stage.samples == attempts
    low = -1.0 if stage.keep_unsolved else stage.low
    right = range(attempts + 1)
    return [k for k in right if verdict(tally(k, attempts - k), attempts, low, stage.high) == KEEP]


def test_presets_keep_what_their_sources_say() -> None:
    assert decisions_of("prime", 4) == [1, 2, 3]
    assert decisions_of("skywork-or1", 16) == list(range(1, 16))
    assert decisions_of("polaris", 8) == list(range(8))
    assert decisions_of("polaris-between-stages", 16) == list(range(15))
    assert decisions_of("open-reasoner-zero", 64) == [0, 1, 2, 3]
    assert decisions_of("magistral", 16) == list(range(1, 16))
    assert decisions_of("reinforce-rej", 4) == [1, 2, 3]


def test_closed_book_drops_what_is_right_once(sampling: Sampling, problems: list[Problem], context: Context) -> None:
    outcome = Answerable(sampling=sampling, samples=10, min_pass_rate=0.1)(problems, context)
    found = left(outcome)
    assert found["1+1=?"] == found["2+3=?"] == found["3+5=?"] == "answered-already"
    assert found["4+4=?"] == found["7+7=?"] == KEEP
    right = {drop.question: drop.evidence["samples"] for drop in outcome.drops}
    assert right["1+1=?"] <= 2, "one right answer is enough"


def test_bayes_stops_early_and_sets_the_hopeless_aside(
    sampling: Sampling, problems: list[Problem], context: Context
) -> None:
    stage = Difficulty(sampling=sampling, samples=32, low=1 / 16, high=15 / 16, test="bayes")
    outcome = stage(problems, context)
    found = left(outcome)
    assert found["2+3=?"] == KEEP
    assert found["4+4=?"] == "too-hard"
    assert {drop.kind for drop in outcome.drops if drop.reason == "too-hard"} == {"quarantined"}
    assert outcome.samples < 0.8 * 32 * len(problems)


SUSPECTS: dict[str, Any] = {"min_agreement": 0.05, "min_majorities": 2}


def test_suspects_need_a_sampler_that_is_good_enough(
    sampling: Sampling, problems: list[Problem], context: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = replace(context, console=Console(width=500))
    unsure = Suspects(sampling=sampling)(problems, shown)
    assert {problem.question for problem in unsure.kept} == set(GOLDS)
    assert "cannot tell whether 1 labels are wrong, all are kept" in capsys.readouterr().out
    outcome = Suspects(sampling=sampling, **SUSPECTS)(problems, context)
    assert left(outcome) == dict.fromkeys(GOLDS, KEEP) | {"4+4=?": "label-suspect"}
    (suspect,) = outcome.drops
    assert suspect.kind == "quarantined"
    assert suspect.evidence["majority_answer"] == "9"
    assert 12 <= suspect.evidence["majority_times"] <= suspect.evidence["samples"] <= 16
    assert suspect.evidence["agreement"]["majorities"] >= 2
    assert unsure.samples < 16 * len(problems), "no firm majority any more: stopped"
    assert outcome.samples == unsure.samples, "nothing was drawn twice"


def test_decisions_on_suspects_are_written_back_and_used(
    sampling: Sampling,
    problems: list[Problem],
    context: Context,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Suspects(sampling=sampling, **SUSPECTS)
    quarantine = tmp_path / "suspects.parquet"
    pq.write_table(drops_table(stage(problems, context).drops), quarantine)
    for typed, decision, expected in (("q", None, "label-suspect"), ("y", LABEL_RIGHT, KEEP)):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{typed}\n"))
        result = CliRunner().invoke(
            audit_app(), [str(quarantine), "--out", str(tmp_path), "--label"], input=f"{typed}\n"
        )
        assert result.exit_code == 0, result.output
        path = decisions_path(quarantine)
        assert path.exists() == (decision is not None)
        used = replace(stage, decisions=path if path.exists() else None)
        assert left(used(problems, context))["4+4=?"] == expected
    assert "1 decisions (1 labels right, 0 wrong)" in result.output
    assert read_suspects(quarantine)[0].answer == "9"
    key = read_suspects(quarantine)[0].key
    write_decisions(path, read_suspects(quarantine), {key: LABEL_WRONG})
    assert read_decisions(path) == {key: LABEL_WRONG}
    assert left(replace(stage, decisions=path)(problems, context))["4+4=?"] == "label-wrong"
    mended = [replace(problem, ground_truth="9") if problem.question == "4+4=?" else problem for problem in problems]
    assert left(replace(stage, decisions=path)(mended, context))["4+4=?"] == KEEP
    path.write_text('{"id": 1}\n', encoding="utf-8")
    with pytest.raises(RecipeError, match="not a file of decisions"):
        replace(stage, decisions=path)(problems, context)


def audit_app() -> typer.Typer:
    app = typer.Typer()
    app.command()(audit.command)
    return app


def test_stored_rollouts_are_a_trainers_first_groups(
    sampling: Sampling, problems: list[Problem], context: Context
) -> None:
    kept = list(Difficulty(sampling=sampling, samples=8, test="fixed")(problems, context).kept)
    Difficulty(sampling=replace(sampling, instruction="Think."), samples=8)(problems, context)
    Difficulty(sampling=replace(sampling, temperature=0.5), samples=8, test="fixed")(problems, context)
    engine = open_sampler(sampling.engine, context.rollouts)
    assert isinstance(engine, TorchEngine)
    asked = Asking(engine_digest=engine.digest, temperature=1.0, max_tokens=12, messages=plain_messages)
    groups = stored_groups(context.rollouts, kept, asked, samples=8)
    assert list(groups) == [problem.id for problem in kept]
    for problem in kept:
        rollouts = groups[problem.id]
        assert [one.sample for one in rollouts] == list(range(8))
        assert problem.pass_rate == sum(one.correct for one in rollouts) / 8
        prompt = engine.encode([{"role": "user", "content": problem.question}])
        for one in rollouts:
            assert one.token_ids is not None
            assert one.logprobs is not None
            logits = engine.model(input_ids=torch.tensor([[*prompt, *one.token_ids]])).logits[0, len(prompt) - 1 : -1]
            expected = logits.log_softmax(-1).gather(1, torch.tensor(one.token_ids)[:, None])[:, 0]
            assert torch.allclose(torch.tensor(one.logprobs), expected, atol=1e-4), "of the policy that drew them"
    lengths = {id_: [one.tokens for one in rollouts] for id_, rollouts in groups.items()}
    assert stored_lengths(context.rollouts, kept, asked) == lengths
    for other in (replace(asked, engine_digest="other"), replace(asked, max_tokens=13)):
        assert stored_groups(context.rollouts, kept, other, samples=8) == {}
        assert stored_lengths(context.rollouts, kept, other) == {}
    assert stored_groups(context.rollouts, kept, asked, samples=9) == {}
    assert stored_groups(context.rollouts / "absent", kept, asked, samples=8) == {}
    mended = replace(kept[0], ground_truth="77")
    (rollouts,) = stored_groups(context.rollouts, [mended], asked, samples=8).values()
    assert not any(one.correct for one in judge([(mended, one) for one in rollouts])), "judged by the present gold"


def rewritten(problem: Problem, context: Context) -> Problem:
    (row,) = Integers()([problem], context).kept
    return row


def wrong(answer: str, sample: int = 0) -> Rollout:
    return rollout(sample, extracted=answer, status="incorrect")


def test_collisions_of_wrong_answers_with_the_integer(make: Make, context: Context) -> None:
    original = make("What is the probability?", "\\frac{3}{8}")
    row = rewritten(original, context)
    assert (row.integer_form, row.ground_truth) == ("F1", "11")
    assert collides(original, row, "5/6") is True
    assert collides(original, row, "\\frac{5}{8}") is False
    assert collides(original, row, "11") is None, "no fraction: not an answer of this form"
    assert collides(original, row, "no answer at all") is None
    whole = make("How many?", "12", 1)
    right = replace(wrong("5/6", 3), status="correct")
    drawn = [wrong("5/6"), wrong("\\frac{1}{8}", 1), wrong("x", 2), right, replace(wrong("5/6", 4), status="undecided")]
    found = measure([(original, row, drawn), (whole, rewritten(whole, context), [wrong("5/6")])])
    assert (found.wrong, found.unformed, found.collided, found.rows) == (3, 1, 1, (original.id,))
    assert found.low < found.rate == 1 / 3 < found.high
    assert measure([]).rate == 0


def test_collisions_and_the_curve_of_a_folder(folder: Path, tmp_path: Path, quiet: Console) -> None:
    fractions = dict.fromkeys(("4+4=?", "2+3=?"), "\\frac{1}{8}")
    rows = [{"question": question, "answer": gold} for question, gold in (GOLDS | fractions).items()] * 5
    (tmp_path / "pool.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    table = {
        "sources": [{"name": "pool", "path": "pool.jsonl", "question": "question", "answer": "answer"}],
        "sampling": {"engine": {"model": str(folder)}, "max_tokens": 12},
        "stages": {"difficulty": {"samples": 4, "keep_unsolved": True}, "integers": {}},
    }
    config = CurateConfig.from_layers([Layer(name="recipe", base=tmp_path, table=table)])
    curate(config, tmp_path / "out", console=quiet, workers=1)
    found = folder_collisions(tmp_path / "out")
    assert found.wrong > 0
    assert (found.collided, found.unformed) == (0, found.wrong), "the model writes integers, never a fraction"
    (row, *_) = [problem for problem in read_shards(tmp_path / "out") if problem.integer_form == "F1"]
    assert original_of(row).question in fractions
    page = render(tmp_path / "out")
    assert "were put into the same form" in page
    assert "Error of keeping or dropping a problem against samples" in page
    assert len(read_tallies(tmp_path / "out")) == len(rows)


def test_guesses_are_tried_on_the_rewritten_question(sampling: Sampling, make: Make, context: Context) -> None:
    row = rewritten(make("1+1=?", "\\frac{1}{2}"), context)
    outcome = Guessable(sampling=sampling, tries=4, max_tokens=4, instruction="")([row], context)
    assert not outcome.drops
    store = RolloutStore(context.rollouts)
    digest = next((context.rollouts / "samplers").iterdir()).stem
    (name,) = store.load(digest, [row.id])
    asked = replace(sampling, instruction="", answer_prefix="\\boxed{").messages(row)
    assert "Find" in asked[0]["content"]
    assert name == (row.id, digest_of(asked))
