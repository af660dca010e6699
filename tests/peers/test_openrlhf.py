"""The real PromptDataset of OpenRLHF reads the export, and its executor's way of calling a reward function works."""

from __future__ import annotations

import importlib
import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.export import export
from pipeline.problem import Problem

pytest.importorskip("openrlhf.datasets")


@pytest.fixture(scope="module")
def folder(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "openrlhf"
    export(shards, "openrlhf", out)
    return out


def prompts(folder: Path, model: Path) -> Any:
    loaded = importlib.import_module("openrlhf.datasets")
    reader = importlib.import_module("openrlhf.datasets.utils")
    from transformers import AutoTokenizer

    data = SimpleNamespace(input_key="prompt", label_key="label", apply_chat_template=True)
    strategy = SimpleNamespace(args=SimpleNamespace(data=data), is_rank_0=lambda: True, print=print)
    rows = reader.blending_datasets(str(folder / "train.parquet"), None, strategy)
    return loaded.PromptDataset(rows, AutoTokenizer.from_pretrained(model), strategy)


def test_prompts_and_labels(folder: Path, model: Path, problems: list[Problem]) -> None:
    found = prompts(folder, model)
    assert len(found) == len(problems)
    datasources, texts, labels, images = found.collate_fn([found[place] for place in range(len(found))])
    assert set(datasources) == {one.data_source for one in problems}
    assert all(any(one.question in text for text in texts) for one in problems)
    assert all(text.endswith("<|assistant|>") for text in texts)
    assert images == [None] * len(problems)
    assert len(set(labels)) == len(problems)


def test_the_reward_function_scores_what_the_executor_sends(folder: Path, model: Path) -> None:
    reward_func = runpy.run_path(str(folder / "reward.py"))["reward_func"]
    _, texts, labels, _ = zip(*prompts(folder, model), strict=True)
    right = [
        f"{text}\\boxed{{{json.loads(label)['ground_truth']}}}<|end|>"
        for text, label in zip(texts, labels, strict=True)
    ]
    for queries, wanted in ((right, 1.0), ([f"{text}no idea<|end|>" for text in texts], 0.0)):
        found = reward_func(queries, list(texts), list(labels))
        assert found["rewards"].tolist() == [wanted] * len(texts)
        assert found["extra_logs"]["undecided"].sum() == 0
