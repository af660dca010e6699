"""A name for everything in a model that shapes its samples."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

SAMPLING_SCHEME = "torch-1"
"""Part of the digest: change it when the same weights and seed would draw other samples."""


def model_digest(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, end_ids: frozenset[int]) -> str:
    """32 hex digits of weights, tokenizer, chat template, end tokens and number type."""
    state = hashlib.blake2b(digest_size=16)
    settings = {
        "scheme": SAMPLING_SCHEME,
        "model": model.config.model_type,
        "dtype": str(model.dtype),
        **tokenizer_settings(tokenizer, end_ids),
    }
    state.update(json.dumps(settings, sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        state.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        state.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return state.hexdigest()


def tokenizer_settings(tokenizer: PreTrainedTokenizerBase, end_ids: frozenset[int]) -> dict[str, Any]:
    """What of a tokenizer shapes samples, as JSON values."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return {
        "end_ids": sorted(end_ids),
        "chat_template": tokenizer.chat_template,
        "tokenizer": backend.to_str() if backend is not None else sorted(tokenizer.get_vocab().items()),
    }
