"""A model as a judge: does an extracted answer mean the same as the ground truth? Asked twice, it has to agree.

A judge sees the question, the ground truth and the extracted answer, each as a field that it cannot leave
(`judge_fields`); never a response's reasoning. Where the engine gives probabilities of fixed texts the verdict is read
from those of the labels, else from a reply in text. One judge is asked in both orders of a prompt; of two judges each
in another one. What cannot be read, and an engine that fails, is no verdict: the caller keeps what the rules said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict, runtime_checkable

from verifiers.judge_fields import MAX_ANSWER, MAX_QUESTION, field, gold_field
from verifiers.judge_prompts import Prompt, Wording

ENGINE_FAULTS = (ValueError, RuntimeError, OSError)
"""What engines raise when they cannot answer: their own errors (ValueErrors), torch's, and those of connections."""
CHUNK = 32
"""Prompts of one call of an engine; a fault costs no more than these."""
MAX_FAULTS = 3
"""Single prompts in a row that fail before the rest of a call is given up: the engine is gone."""
MIN_MASS = 0.01
"""Probability of all labels together below which a judge does not answer in the asked format."""


class Message(TypedDict):
    """One chat message."""

    role: str
    content: str


@runtime_checkable
class ChoiceScorer(Protocol):
    """Log-probabilities of fixed continuations: one list a prompt, one number a choice.

    A last message of the role `assistant` is the beginning of the answer.
    """

    def choice_logprobs(
        self, prompts: Sequence[Sequence[Message]], choices: Sequence[str]
    ) -> Sequence[Sequence[float]]: ...


@runtime_checkable
class Replier(Protocol):
    """The most likely reply to each prompt, in order, of at most `max_tokens` tokens."""

    def replies(self, prompts: Sequence[Sequence[Message]], max_tokens: int) -> Sequence[str]: ...


Engine = ChoiceScorer | Replier
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One model and how it is asked. name, digest: of the engine, for manifests."""

    engine: Engine
    prompt: Prompt
    name: str
    digest: str

    def ask(
        self, prompt: Prompt, fields: Sequence[Fields], order: int, advance: Callable[[int], None] = lambda _: None
    ) -> list[float | None]:
        """The probability of yes for each set of fields (1 or 0 for a reply in text); None for what failed."""
        found: list[float | None] = []
        for start in range(0, len(fields), CHUNK):
            chunk = fields[start : start + CHUNK]
            read = self._read(prompt, chunk, order) or self._one_by_one(prompt, chunk, order)
            if read is None:
                break
            found += read
            advance(len(chunk))
        return found + [None] * (len(fields) - len(found))

    def _one_by_one(self, prompt: Prompt, fields: Sequence[Fields], order: int) -> list[float | None] | None:
        """After a failed call, for which one prompt may be to blame; None when the engine itself is."""
        found: list[float | None] = []
        faults = 0
        for one in fields:
            read = self._read(prompt, [one], order)
            faults = faults + 1 if read is None else 0
            if faults == MAX_FAULTS:
                return None
            found += read or [None]
        return found

    def _read(self, prompt: Prompt, fields: Sequence[Fields], order: int) -> list[float | None] | None:
        """None when the engine failed."""
        wording = prompt.orders[order]
        texts = [wording.text.format(**one) for one in fields]
        try:
            if isinstance(self.engine, ChoiceScorer):
                begun = [Message(role="assistant", content=wording.begun)] if wording.begun else []
                prompts = [[Message(role="user", content=text), *begun] for text in texts]
                choices = [wording.lead + label for label in wording.labels]
                found = [_share(scores, wording) for scores in self.engine.choice_logprobs(prompts, choices)]
            else:
                asked = [[Message(role="user", content=text)] for text in texts]
                said = [prompt.read(reply, order) for reply in self.engine.replies(asked, prompt.max_tokens)]
                found = [None if yes is None else float(yes) for yes in said]
        except ENGINE_FAULTS:
            return None
        return found if len(found) == len(fields) else None  # an answer too few would be another prompt's

    def describe(self) -> dict[str, str]:
        reads = "probabilities" if isinstance(self.engine, ChoiceScorer) else "replies"
        prompt = {"prompt": self.prompt.name, "prompt_digest": self.prompt.digest}
        return {"model": self.name, "engine_digest": self.digest, "reads": reads, **prompt}


def _share(scores: Sequence[float], wording: Wording) -> float | None:
    """The probability of yes among the labels; None when none of them was likely."""
    weights = {label: math.exp(min(score, 0.0)) for label, score in zip(wording.labels, scores, strict=True)}
    mass = math.fsum(weights.values())
    return weights[wording.yes] / mass if mass >= MIN_MASS else None  # a nan is below it too


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One answer to judge. settle: ask both orders whatever the first says, for nobody else decided."""

    question: str
    golds: tuple[str, ...]
    answer: str
    settle: bool = False

    def fields(self) -> dict[str, str]:
        return {
            "question": field(self.question, MAX_QUESTION) or "(not given)",
            "gold": gold_field(self.golds),
            "answer": field(self.answer, MAX_ANSWER),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballots:
    """Probabilities of yes in both orders; None for an order that failed, or that was not needed after a no."""

    first: float | None
    second: float | None
    needed: bool

    @property
    def failed(self) -> bool:
        return self.first is None or (self.needed and self.second is None)

    @property
    def agreed(self) -> bool | None:
        """What both said; None when they contradict one another, one failed, or one no was enough."""
        if self.first is None or self.second is None or (self.first > 0.5) != (self.second > 0.5):
            return None
        return self.first > 0.5

    def __str__(self) -> str:
        return " and ".join("-" if value is None else f"{value:.2f}" for value in (self.first, self.second))


class Judge:
    """One model asked in both orders, or two models of which each is asked in another one."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        """Raises ValueError unless there are one or two readers."""
        if len(readers) not in (1, 2):
            raise ValueError(f"a judge is one model or two, not {len(readers)}")
        self.readers = (readers[0], readers[-1])
        self.models = tuple(readers)

    def ballots(self, cases: Sequence[Case], advance: Callable[[int], None] = lambda _: None) -> list[Ballots]:
        """In the order of the cases; equal ones are asked once. advance: gets the questions of the first order that are
        done."""
        unique = list(dict.fromkeys(cases))
        fields = [case.fields() for case in unique]
        first = self.ask_order(fields, 0, advance=advance)
        again = [
            place
            for place, (case, value) in enumerate(zip(unique, first, strict=True))
            if value is not None and (case.settle or value > 0.5)
        ]
        second = dict(zip(again, self.ask_order([fields[place] for place in again], 1), strict=True))
        found = {
            case: Ballots(first=first[place], second=second.get(place), needed=place in second)
            for place, case in enumerate(unique)
        }
        return [found[case] for case in cases]

    def ask_order(
        self,
        fields: Sequence[Fields],
        order: int,
        prompt: Prompt | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> list[float | None]:
        """The probability of yes in one order, by the judge whose order it is. prompt: another than its own."""
        reader = self.readers[order]
        return reader.ask(prompt or reader.prompt, fields, order, advance)

    def describe(self) -> list[dict[str, str]]:
        """For manifests: models, prompts with their digests, and what is read."""
        return [reader.describe() for reader in self.models]


def known_pairs(judge: Judge) -> list[Ballots]:
    """What a judge says of an equal and of an unequal pair: a first look whether it can be asked at all."""
    cases = [Case(question="What is 3 + 4?", golds=("7",), answer=answer, settle=True) for answer in ("7", "12")]
    return judge.ballots(cases)
