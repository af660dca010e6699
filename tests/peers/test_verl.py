"""The real RLHFDataset, reward-function loader and reward manager of verl take the shards and our compute_score."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from pipeline.export import export
from pipeline.problem import Problem

pytest.importorskip("verl")


def peer(name: str) -> Any:
    """A module that only the peer's environment has."""
    return importlib.import_module(name)


REWARD = Path(__file__).resolve().parents[2] / "verifiers" / "reward.py"


def dataset(files: list[Path], model: Path, cache: Path) -> Any:
    from transformers import AutoTokenizer

    settings = {"cache_dir": str(cache), "filter_overlong_prompts_workers": 1, "max_prompt_length": 512}
    names = [str(file) for file in files]
    return peer("verl.utils.dataset").RLHFDataset(
        names, AutoTokenizer.from_pretrained(model), peer("omegaconf").OmegaConf.create(settings)
    )


def test_every_row_is_there_with_its_gold(shards: Path, model: Path, problems: list[Problem], tmp_path: Path) -> None:
    found = dataset(sorted((shards / "data").glob("*.parquet")), model, tmp_path)
    assert len(found) == len(problems)
    rows = {row["extra_info"]["source_row"]: row for row in (found[place] for place in range(len(found)))}
    for one in problems:
        row = rows[one.source_row]
        assert row["reward_model"]["ground_truth"] == one.ground_truth
        assert row["raw_prompt"][-1] == {"role": "user", "content": one.question}
        assert (row["raw_prompt"][0]["role"] == "system") == (one.system_prompt is not None)


def test_rows_are_collated(shards: Path, model: Path, problems: list[Problem], tmp_path: Path) -> None:

    found = dataset(sorted((shards / "data").glob("*.parquet")), model, tmp_path)
    batch = peer("verl").DataProto.from_single_dict(
        peer("verl.utils.dataset.rl_dataset").collate_fn([found[place] for place in range(len(found))])
    )
    assert len(batch) == len(problems)
    assert set(batch.non_tensor_batch["data_source"]) == {one.data_source for one in problems}


def test_verl_loads_our_reward_function_and_its_manager_calls_it(shards: Path, model: Path, tmp_path: Path) -> None:
    import asyncio

    score = peer("verl.utils.import_utils").load_extern_object(module_path=str(REWARD), object_name="compute_score")
    found = dataset(sorted((shards / "data").glob("*.parquet")), model, tmp_path)
    rows = [found[place] for place in range(len(found))]
    for right in (True, False):
        results = asyncio.run(managed(score, model, rows, right))
        assert [result["reward_score"] for result in results] == [float(right)] * len(rows)
        assert {tuple(result["reward_extra_info"]) for result in results} == {
            ("score", "correct", "undecided", "reason", "extracted")
        }


async def managed(score: Any, model: Path, rows: list[dict], right: bool) -> list[dict]:
    """What verl's reward manager says of a right or a wrong response to every row."""
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    manager = peer("verl.experimental.reward_loop.reward_manager.naive").NaiveRewardManager(
        peer("omegaconf").OmegaConf.create({}), tokenizer, score
    )
    found = []
    for row in rows:
        gold = row["reward_model"]["ground_truth"]
        ids = tokenizer(f"\\boxed{{{gold}}}" if right else "no idea", return_tensors="pt")["input_ids"]
        item = peer("verl").DataProto.from_single_dict(peer("verl.utils.dataset.rl_dataset").collate_fn([row]))
        item.batch = peer("tensordict").TensorDict(
            {"responses": ids, "attention_mask": torch.ones_like(ids)}, batch_size=1
        )
        found.append(await manager.run_single(item))
    return found


def test_the_export_for_its_own_scorer(shards: Path, model: Path, tmp_path: Path) -> None:

    written = export(shards, "verl-default", tmp_path / "out")
    assert (written.written, written.left_out) == ({"train": 1}, {"train": 4})
    found = dataset([tmp_path / "out" / "train.parquet"], model, tmp_path)
    gold = found[0]["reward_model"]["ground_truth"]
    for response, wanted in ((f"Answer: {gold}", True), (f"Answer: {gold}1", False)):
        assert (
            peer("verl.utils.reward_score").default_compute_score(found[0]["data_source"], response, gold)["acc"]
            is wanted
        )
