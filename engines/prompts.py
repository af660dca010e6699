"""Prompts as token ids, and the tokens that end an answer: one reading for all engines with a tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from transformers import PreTrainedTokenizerBase

from engines.engine import EngineError, Message, Prompt


def prompt_ids(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    """Token ids of a prompt; chat messages go through the model's own chat template.

    Raises EngineError for an empty prompt, and for messages when the tokenizer has no chat template.
    """
    if prompt and isinstance(prompt[0], int):
        ids = list(cast(Sequence[int], prompt))
    elif prompt:
        ids = _render(tokenizer, cast(Sequence[Message], prompt))
    else:
        ids = []
    if not ids:
        raise EngineError("an empty prompt cannot be continued; give at least one token")
    return ids


def _render(tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message]) -> list[int]:
    if tokenizer.chat_template is None:
        raise EngineError("the tokenizer has no chat template; give token ids, or a model with a chat template")
    begun = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
    asked = messages[:-1] if begun else messages
    conversation = [{"role": message["role"], "content": message["content"]} for message in asked]
    rendered = tokenizer.apply_chat_template(conversation, add_generation_prompt=True, return_dict=False)
    return [*cast(list[int], rendered), *tokenizer.encode(begun, add_special_tokens=False)]


def end_token_ids(tokenizer: PreTrainedTokenizerBase, config: Any) -> frozenset[int]:
    """End tokens of the generation config (or of the model's, without one) and of the tokenizer.

    Chat models often name two.
    """
    named = [tokenizer.eos_token_id, config.eos_token_id]
    return frozenset(i for ids in named for i in (ids if isinstance(ids, list) else [ids]) if isinstance(i, int))
