"""Judges for tests: real implementations of the protocols whose answers are known beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from trainer.warmstart import build_tokenizer, new_model, save
from verifiers.judge import Judge, Message, Reader
from verifiers.judge_prompts import INSTRUCT, RUBRIC, Prompt

Says = Callable[[str, int], bool | None]
"""(prompt, order) -> yes, no, or nothing that can be read."""


def order_of(text: str, prompt: Prompt) -> tuple[int, Prompt]:
    """Which of the wordings a text was made from, by what stands before its first field."""
    for known in (prompt, RUBRIC):
        for order, wording in enumerate(known.orders):
            parts = [part.split("}", 1)[-1] for part in wording.text.split("{")]
            if all(part in text for part in parts):
                return order, known
    raise AssertionError("no wording of the prompt")


class Scoring:
    """Gives the label that means what `says` says all of the probability."""

    def __init__(self, says: Says, prompt: Prompt = INSTRUCT) -> None:
        self.says = says
        self.prompt = prompt
        self.asked: list[str] = []

    def choice_logprobs(self, prompts: Sequence[Sequence[Message]], choices: Sequence[str]) -> list[list[float]]:
        return [self._scores(messages[0]["content"], choices) for messages in prompts]

    def _scores(self, text: str, choices: Sequence[str]) -> list[float]:
        self.asked.append(text)
        order, prompt = order_of(text, self.prompt)
        wording = prompt.orders[order]
        said = self.says(text, order)
        if said is None:
            return [-50.0] * len(choices)
        likely = wording.yes if said else next(label for label in wording.labels if label != wording.yes)
        return [math.log(0.9) if choice == wording.lead + likely else math.log(0.01) for choice in choices]


def judge_of(engine: object, prompt: Prompt = INSTRUCT) -> Judge:
    return Judge([Reader(engine=engine, prompt=prompt, name="test", digest="0")])  # pyright: ignore[reportArgumentType]


def yes_to_all() -> Judge:
    """The worst case: whatever it is asked, it says that the answer is right."""
    return judge_of(Scoring(lambda *_: True))


def save_tiny_judge(folder: Path) -> Path:
    """A random Llama that knows two letters: whatever it is asked, A or B is likely, and which depends on the text."""
    model, tokenizer = new_model(0, hidden=16, layers=1, heads=2, feed_forward=32), build_tokenizer()
    first, second = (tokenizer.encode(letter, add_special_tokens=False)[-1] for letter in "AB")
    with torch.no_grad():
        direction = torch.linspace(-1, 1, 16)
        weights = model.model.embed_tokens.weight
        weights[first], weights[second] = 4 * direction, -4 * direction
    save(model, tokenizer, folder)
    return folder
