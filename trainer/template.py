"""Problems -> messages -> token ids, by the model's own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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
    return _ids(_prompt_text(problem, template, tokenizer), tokenizer)


def _prompt_text(problem: Problem, template: Template, tokenizer: PreTrainedTokenizerBase) -> str:
    turns = messages(problem, template)
    conversation = [{"role": turn["role"], "content": turn["content"]} for turn in turns]
    return str(tokenizer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False))


def _ids(text: str, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    return tuple(cast(Sequence[int], tokenizer(text, add_special_tokens=False)["input_ids"]))


def check_question_survives(problem: Problem, template: Template, tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuses a chat template whose prompt does not hold the question as it stands in the row."""
    if problem.question.strip() not in _prompt_text(problem, template, tokenizer):
        raise RecipeError(
            f"model: its chat template does not write the question of problem {problem.id} as it is "
            f"({problem.question.strip()[:60]!r}); mend chat_template.jinja"
        )


def encode_response(
    problem: Problem, template: Template, tokenizer: PreTrainedTokenizerBase, text: str, end_ids: frozenset[int]
) -> tuple[int, ...]:
    """Ids of a response that somebody wrote, as the policy would have sampled them: after the prompt, end token last.

    Prompt and response are encoded together where that leaves the prompt's ids alone (some tokenizers put a space
    before any text that begins). A tag with which the prompt ends already (`<think>`) is not written twice.
    """
    prompt = _prompt_text(problem, template, tokenizer)
    opening = prompt.rstrip().rpartition("\n")[2]
    if opening.startswith("<") and opening.endswith(">") and text.lstrip().startswith(opening):
        text = text.lstrip().removeprefix(opening).lstrip("\n")
    before, whole = _ids(prompt, tokenizer), _ids(prompt + text, tokenizer)
    together = whole[: len(before)] == before
    return (*(whole[len(before) :] if together else _ids(text, tokenizer)), end_of_turn(tokenizer, end_ids))


def end_of_turn(tokenizer: PreTrainedTokenizerBase, end_ids: frozenset[int]) -> int:
    """The end token that the template writes after an assistant's turn; where it writes none, the tokenizer's own."""
    turns = [{"role": "user", "content": "1"}, {"role": "assistant", "content": "1"}]
    written = _ids(str(tokenizer.apply_chat_template(turns, tokenize=False)), tokenizer)
    last = [token for token in written if token in end_ids][-1:]
    own = tokenizer.eos_token_id
    return last[0] if last else own if isinstance(own, int) and own in end_ids else min(end_ids)


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, prompt_ids: Sequence[int], end_ids: frozenset[int]) -> None:
    """Refuses a tokenizer without template or end token and a prompt with one BOS after another.

    BOS further on is a template's own: ChatML's `<|im_start|>` opens every turn and is BOS of some models.
    """
    if tokenizer.chat_template is None:
        raise RecipeError("model: its tokenizer has no chat template; use a model folder with chat_template.jinja")
    if not end_ids:
        raise RecipeError("model: neither generation config nor tokenizer names an end token; add eos_token_id")
    bos = tokenizer.bos_token_id
    if isinstance(bos, int) and bos not in end_ids and (bos, bos) in pairwise(prompt_ids):
        raise RecipeError("model: its chat template writes the BOS token twice in a row; mend chat_template.jinja")
