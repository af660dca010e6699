"""Exports: every layout carries what its reward function needs, which scores as the row's verifier does."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.config import RecipeError
from pipeline.export import export, reward_source
from pipeline.exports import AS_THEY_ARE, FORMATS
from pipeline.exports.label import label
from pipeline.problem import Problem, from_row, problem_id
from pipeline.shards import write_problems

ROWS = (
    ("math", "What is 7 + 5?", "12", "{}"),
    ("math", "Half?", "\\frac{1}{2}", "{}"),
    ("math", "On which day did 2020 begin?", "2020-01-01", "{}"),
    ("math", "Leading zeros?", "007", "{}"),
    ("qa", "Capital of France?", "Paris", '{"aliases": ["City of Light"]}'),
)


def problem(place: int, verifier: str, question: str, gold: str, options: str) -> Problem:
    return Problem(
        id=problem_id(question, gold),
        data_source=f"{verifier}_set",
        source_row=f"{verifier}_set#{place}",
        index=place,
        question=question,
        ground_truth=gold,
        original_answer=gold,
        license="MIT",
        verifier=verifier,
        verifier_options=options,
        system_prompt="Answer briefly." if place == 0 else None,
    )


REWARDS = Path(__file__).resolve().parents[2] / "pipeline" / "exports" / "rewards"
PROBLEMS = [problem(place, *row) for place, row in enumerate(ROWS)]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    write_problems(folder, PROBLEMS, rows_per_shard=2)
    return folder


def judged_fields(name: str, row: dict) -> tuple[str, str, str]:
    """(gold, verifier, options) as the layout's reward function finds them."""
    if name == "prime-rl":
        info = json.loads(row["info"])
        return row["answer"], info["verifier"], info["verifier_options"]
    if name == "slime":
        return row["label"], row["metadata"]["verifier"], row["metadata"]["verifier_options"]
    if name == "verl-default":
        return row["reward_model"]["ground_truth"], row["verifier"], row["verifier_options"]
    fields = json.loads(row["label"])
    return fields["ground_truth"], fields["verifier"], fields["verifier_options"]


def asked(name: str, row: dict) -> str:
    return row["input"] if name == "nemo-rl" else row["prompt"][-1]["content"]


@pytest.mark.parametrize("name", FORMATS)
def test_round_trip(name: str, shards: Path, tmp_path: Path) -> None:
    found = export(shards, name, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "train.parquet")
    assert table.schema.equals(FORMATS[name].schema)
    rows = table.to_pylist()
    assert found.written == {"train": len(rows)}
    assert found.left_out == {"train": len(PROBLEMS) - len(rows)}
    carried = {one.ground_truth: one for one in PROBLEMS if FORMATS[name].row(one) is not None}
    assert {judged_fields(name, row)[0] for row in rows} == set(carried)
    for row in rows:
        gold, verifier, options = judged_fields(name, row)
        one = carried[gold]
        assert (verifier, options) == (one.verifier, one.verifier_options)
        assert one.question in asked(name, row)
        assert ("Answer briefly." in json.dumps(row)) == (one.system_prompt is not None)


def test_only_the_layout_for_verls_own_scorer_leaves_rows_out() -> None:
    lossy = {name for name, form in FORMATS.items() if any(form.row(one) is None for one in PROBLEMS)}
    assert lossy == {"verl-default"} == {name for name, form in FORMATS.items() if form.lost}
    row = FORMATS["verl-default"].row(PROBLEMS[0])
    assert row is not None
    assert from_row(row) == replace(PROBLEMS[0], data_source="math_dapo")


@given(gold=st.text(st.characters(exclude_categories=("Cs",)), max_size=20), question=st.text(max_size=20))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_label_holds_any_gold(gold: str, question: str) -> None:
    one = replace(PROBLEMS[0], ground_truth=gold, question=question)
    assert json.loads(label(one))["ground_truth"] == gold


def test_the_same_bytes_twice_and_nothing_left_behind(shards: Path, tmp_path: Path) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    export(shards, "slime", tmp_path / "one")
    export(shards, "slime", tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert set(files(tmp_path / "one")) == {"train.parquet", "reward.py", "export.json"}


def test_refusals(shards: Path, tmp_path: Path) -> None:
    for name in AS_THEY_ARE:
        with pytest.raises(RecipeError, match="as they are"):
            export(shards, name, tmp_path / "none")
    with pytest.raises(RecipeError, match="known: openrlhf"):
        export(shards, "other", tmp_path / "none")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(RecipeError, match="--out"):
        export(shards, "slime", tmp_path / "full")
    assert not (tmp_path / "none").exists()


def test_slime_reads_its_file_with_pandas_without_changing_a_label(shards: Path, tmp_path: Path) -> None:
    """slime.utils.data.read_file: pandas with Arrow types, a dictionary a row."""
    export(shards, "slime", tmp_path)
    frame = pd.read_parquet(tmp_path / "train.parquet", dtype_backend="pyarrow")
    rows = [row.to_dict() for _, row in frame.iterrows()]
    assert {row["label"] for row in rows} == {one.ground_truth for one in PROBLEMS}
    assert all(isinstance(row["metadata"], dict) and isinstance(next(iter(row["prompt"])), dict) for row in rows)


def test_load_dataset_infers_nothing(shards: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    export(shards, "nemo-rl", tmp_path / "out")
    data: Any = load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert {row["output"] for row in data} == {one.ground_truth for one in PROBLEMS}


# ---- reward functions ----------------------------------------------------------------------------------------------


def module(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(REWARDS / f"{name}.py.txt")))


RESPONSES = ((lambda gold: f"So \\boxed{{{gold}}}.", 1.0), (lambda _: "no idea", 0.0))


def test_openrlhf_reward() -> None:
    reward = module("openrlhf").reward_func
    prompts = [f"<|user|>{one.question}<|assistant|>" for one in PROBLEMS]
    labels = [label(one) for one in PROBLEMS]
    for response, wanted in RESPONSES:
        queries = [f"{text}{response(one.ground_truth)}</s>" for text, one in zip(prompts, PROBLEMS, strict=True)]
        assert reward(queries, prompts, labels)["rewards"].tolist() == [wanted] * len(PROBLEMS)
    broken = reward(["x \\boxed{1}"], ["x "], [label(replace(PROBLEMS[0], ground_truth=""))])
    assert (broken["scores"].tolist(), broken["extra_logs"]["undecided"].tolist()) == ([0.0], [1.0])


def test_slime_reward_takes_an_undecided_sample_out_of_the_loss() -> None:
    reward = module("slime").custom_rm

    def sample(one: Problem, response: str) -> SimpleNamespace:
        row = FORMATS["slime"].row(one)
        assert row is not None
        fields = {"label": row["label"], "metadata": row["metadata"], "remove_sample": False}
        return SimpleNamespace(response=response, **fields)

    for response, wanted in RESPONSES:
        batch = [sample(one, response(one.ground_truth)) for one in PROBLEMS]
        assert asyncio.run(reward(None, batch)) == [wanted] * len(PROBLEMS)
        assert not any(one.remove_sample for one in batch)
    broken = sample(replace(PROBLEMS[0], ground_truth=""), "\\boxed{1}")
    assert asyncio.run(reward(None, broken)) == 0.0
    assert broken.remove_sample


def test_prime_rl_reward_asks_a_worker_of_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIGOLD_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    made = module("prime_rl")
    worker = made.Worker()
    try:
        for response, wanted in RESPONSES:
            for one in PROBLEMS:
                row = FORMATS["prime-rl"].row(one)
                assert row is not None
                chat = [{"role": "assistant", "content": response(one.ground_truth)}]
                status, score = made.judge(worker, chat, row["answer"], row["info"])
                assert (status, score) == ("correct" if wanted else "incorrect", wanted)
        info = json.dumps({"verifier": "math", "verifier_options": "{}"})
        assert made.judge(worker, "\\boxed{1}", "", info) == ["undecided", None]
    finally:
        worker.process.kill()
        worker.process.wait()


def test_nemo_rl_environment_compiles_and_reads_the_label() -> None:
    """NeMo-RL itself needs a cluster; what can be tried without it is that the file parses and the label is whole."""
    compile(reward_source("nemo_rl"), "nemo_rl.py.txt", "exec")
    row = FORMATS["nemo-rl"].row(PROBLEMS[4])
    assert row is not None
    assert json.loads(row["label"])["verifier"] == "qa"
