"""The real PromptDataset of OpenRLHF reads the export, and its executor gets rewards from our function and service."""

from __future__ import annotations

import asyncio
import importlib
import json
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
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


# ---- verigold serve ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reward_url() -> Iterator[str]:
    """What `--reward.remote_url` is given."""
    program = [sys.executable, "-c", "from verigold.cli import main; main()"]
    arguments = ["serve", "--port", "0", "--workers", "1", "--undecided", "-0.25", "--quiet"]
    service = subprocess.Popen([*program, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert service.stdout is not None
        yield f"{service.stdout.readline().strip()}/reward/openrlhf"
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0
    finally:
        service.kill()


class Engine:
    """Stands in for vLLM: says this, whatever it is asked."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens

    async def generate(self, prompt: list[int], params: Any, multi_modal_data: Any = None) -> Any:
        del prompt, params, multi_modal_data
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=self.tokens, finish_reason="stop", logprobs=None)])


def executed(url: str, model: Path, prompt: str, label: str, response: str) -> dict[str, Any]:
    """One rollout by OpenRLHF's own executor, which posts the decoded tokens and reads the answer."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    executor = importlib.import_module("openrlhf.utils.agent").SingleTurnAgentExecutor([url])
    said = Engine(tokenizer.encode(response, add_special_tokens=False))
    params = SimpleNamespace(max_tokens=64, logprobs=None)
    return asyncio.run(executor.execute(prompt, label, params, 512, tokenizer, said))


def test_its_executor_gets_rewards_from_the_service(reward_url: str, folder: Path, model: Path) -> None:
    import torch

    _, texts, labels, _ = zip(*prompts(folder, model), strict=True)
    for text, label in zip(texts, labels, strict=True):
        for response, wanted in ((f"\\boxed{{{json.loads(label)['ground_truth']}}}<|end|>", 1.0), ("no idea", 0.0)):
            found = executed(reward_url, model, text, label, response)
            assert (found["reward"], found["scores"]) == ([wanted], [wanted])
            assert found["extra_logs"] == {"undecided": [0.0]}
            assert torch.tensor([found["reward"]]).numel() == 1


def test_a_plain_label_is_the_ground_truth_and_undecided_is_the_stated_number(reward_url: str, model: Path) -> None:
    assert executed(reward_url, model, "What is 1 + 1?", "2", "It is 2.")["reward"] == [1.0]
    unusable = executed(reward_url, model, "What is 1 + 1?", "\\frac{1}{", "It is 2.")
    assert (unusable["reward"], unusable["extra_logs"]) == ([-0.25], {"undecided": [1.0]})


def test_a_batch_keeps_its_order(reward_url: str) -> None:
    executor = importlib.import_module("openrlhf.utils.agent").SingleTurnAgentExecutor([reward_url, reward_url])
    queries = [f"{number} is {number % 3}" for number in range(40)]
    texts = [f"{number} is" for number in range(40)]
    shards = asyncio.run(executor._fetch_rewards_via_http(queries, texts, ["1"] * 40))
    rewards = [reward for shard in shards for reward in shard["rewards"]]
    assert rewards == [float(number % 3 == 1) for number in range(40)]
