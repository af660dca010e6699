"""Small random models of several architectures, and the engine over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from transformers import GPT2Config, LlamaConfig, MistralConfig, PreTrainedConfig, PreTrainedModel, Qwen3Config
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from engines.torch_engine import TorchEngine
from trainer.warmstart import build_tokenizer

SMALL: dict[str, Any] = {
    "vocab_size": 392,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.3,
}
TINY: dict[str, Any] = SMALL | {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 256,
}
CONFIGS: dict[str, Callable[[], PreTrainedConfig]] = {
    "llama": lambda: LlamaConfig(**TINY, tie_word_embeddings=True),
    "qwen3": lambda: Qwen3Config(**TINY, head_dim=8),
    "mistral, sliding window": lambda: MistralConfig(**TINY, sliding_window=6),
    "gpt2": lambda: GPT2Config(**SMALL, n_embd=32, n_layer=2, n_head=4, n_positions=256),
}
"""Grouped heads, tied and untied embeddings, a cache that forgets, learned positions."""


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_model(name: str) -> PreTrainedModel:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIGS[name]()).eval()
    # Random weights seldom draw one given token; with many end tokens the rows end at different times.
    model.generation_config.eos_token_id = [2, *range(40, 70)]
    return model


@pytest.fixture(scope="module", params=list(CONFIGS))
def any_engine(request: pytest.FixtureRequest) -> TorchEngine:
    return TorchEngine(make_model(request.param), build_tokenizer())


@pytest.fixture
def engine() -> TorchEngine:
    """A fresh Llama, which a test may change."""
    return TorchEngine(make_model("llama"), build_tokenizer())
