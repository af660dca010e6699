"""Shards, a tokenizer and a tiny model for peers; runs in environments that hold a peer and the bare project."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.problem import Problem, problem_id
from pipeline.shards import write_problems

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ROWS = (
    ("math", "What is 7 + 5?", "12", "{}"),
    ("math", "Write one half as a fraction.", "\\frac{1}{2}", "{}"),
    ("math", "On which day did 2020 begin?", "2020-01-01", "{}"),
    ("qa", "What is the capital of France?", "Paris", '{"aliases": ["City of Light"]}'),
    ("choice", "Which is prime? A) 4 B) 7", "B", "{}"),
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


@pytest.fixture(scope="session")
def problems() -> list[Problem]:
    return [problem(place, *row) for place, row in enumerate(ROWS)]


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory, problems: list[Problem]) -> Path:
    """Two shards, so that concatenation is part of what is tried."""
    folder = tmp_path_factory.mktemp("shards")
    write_problems(folder, problems, rows_per_shard=3)
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two small layers over bytes, with a chat template."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<pad>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", *letters]
    inner = Tokenizer(models.BPE({word: place for place, word in enumerate(words)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(words[:5])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<|end|>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
