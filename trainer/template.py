"""Problems -> messages -> token ids, by the model's own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from transformers import PreTrainedTokenizerBase

from engines.engine import Message
from pipeline.config import RecipeError
from pipeline.problem import Problem
from trainer.sections import Template


def messages(problem: Problem, template: Template) -> list[Message]:
    """The problem's own system prompt wins over the recipe's."""
    system = problem.system_prompt if problem.system_prompt is not None else template.system
    turns: list[Message] = [{"role": "user", "content": problem.question + template.suffix}]
    if system is not None:
        turns.insert(0, {"role": "system", "content": system})
    return turns


def encode(problem: Problem, template: Template, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Prompt ids. The template writes the special tokens, so the tokenizer adds none (a second BOS otherwise)."""
    turns = messages(problem, template)
    conversation = [{"role": turn["role"], "content": turn["content"]} for turn in turns]
    text = tokenizer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
    return tuple(cast(Sequence[int], tokenizer(str(text), add_special_tokens=False)["input_ids"]))


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, prompt_ids: Sequence[int], end_ids: frozenset[int]) -> None:
    """Refuses a tokenizer without template or end token and a prompt with more than one BOS."""
    if tokenizer.chat_template is None:
        raise RecipeError("model: its tokenizer has no chat template; use a model folder with chat_template.jinja")
    if not end_ids:
        raise RecipeError("model: neither generation config nor tokenizer names an end token; add eos_token_id")
    bos = tokenizer.bos_token_id
    if isinstance(bos, int) and bos not in end_ids and list(prompt_ids).count(bos) > 1:
        raise RecipeError("model: its chat template writes the BOS token more than once; mend chat_template.jinja")
