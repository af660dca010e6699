"""The judge of a recipe: which engine, which prompt, and how much of what the rules refused it is asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines.build import EngineConfig, build_engine
from engines.engine import EngineError, Message, Sampler, SamplingParams, Scorer
from pipeline.config import STRICT, RecipeError
from pipeline.version import digest_of
from verifiers.hybrid import Asked, Hybrid, hybrid
from verifiers.judge import Judge, Reader, known_pairs
from verifiers.judge import Message as JudgeMessage
from verifiers.judge_prompts import PROMPTS, PromptName
from verifiers.registry import verify_many


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """engine: the judge.  prompt: how it is asked: `instruct` for any model that follows instructions, or the format
    of a published verifier.

    second, second_prompt: another model; each of the two is then asked in one order, and both have to agree.
    share: of the incorrect verdicts that a judge may turn; undecided ones are all judged.
    """

    __pydantic_config__ = STRICT

    engine: EngineConfig
    prompt: PromptName = "instruct"
    second: EngineConfig | None = None
    second_prompt: PromptName = "instruct"
    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise RecipeError(f"judge: share must be between 0 and 1, got {self.share}")

    def prompt_digests(self) -> dict[str, str]:
        """For manifests: what the names of the prompts stood for."""
        names = (self.prompt,) if self.second is None else (self.prompt, self.second_prompt)
        return {name: PROMPTS[name].digest for name in names}


class GreedyReplies:
    """A sampler as a judge reads it: its most likely reply, in text."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler

    def replies(self, prompts: Sequence[Sequence[JudgeMessage]], max_tokens: int) -> list[str]:
        params = SamplingParams(temperature=0.0, max_tokens=max_tokens)
        found = {place: completion.text for place, _, completion in self.sampler.generate(list(prompts), params)}
        return [found[place] for place in range(len(prompts))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A judge with its share and the seed that draws it: the hybrid verifier of a run."""

    judge: Judge
    share: float
    seed: int

    def __call__(
        self, asked: Sequence[Asked], *, workers: int | None = None, advance: Callable[[int], None] = lambda _: None
    ) -> Hybrid:
        """Rules first, then the judge. Never raises for bad text or a judge that fails."""
        rules = verify_many([one.request for one in asked], workers=workers)
        return hybrid(asked, rules, self.judge, share=self.share, seed=self.seed, advance=advance)

    @property
    def digest(self) -> str:
        """32 hex digits of `describe`: names whose verdicts these are."""
        return digest_of(self.describe())

    def describe(self) -> dict[str, Any]:
        """For manifests: whatever makes its verdicts differ."""
        return {"judges": self.judge.describe(), "share": self.share, "seed": self.seed}


def open_panel(config: JudgeConfig, *, seed: int, cache: Path | None = None) -> Panel:
    """Builds the engines and asks each a first question. cache: as in `build_engine`.

    Raises RecipeError for an engine that cannot be built, or that does not answer in the format of its prompt.
    """
    readers = [_reader(config.engine, config.prompt, cache)]
    if config.second is not None:
        readers.append(_reader(config.second, config.second_prompt, cache))
    return Panel(judge=Judge(readers), share=config.share, seed=seed)


def _reader(config: EngineConfig, prompt: PromptName, cache: Path | None) -> Reader:
    try:
        engine = build_engine(config, cache=cache)
        reads = engine if isinstance(engine, Scorer) and _scores(engine) else GreedyReplies(engine)
        if isinstance(reads, GreedyReplies):
            reads.replies([[JudgeMessage(role="user", content="Reply with one letter, A or B.")]], 1)
    except EngineError as error:
        raise RecipeError(f"judge: engine: {error}") from None
    reader = Reader(engine=reads, prompt=PROMPTS[prompt], name=config.name, digest=engine.digest)
    if all(ballots.failed for ballots in known_pairs(Judge([reader]))):
        raise RecipeError(
            f"judge: {config.name} does not answer in the format of the prompt '{prompt}'; "
            f"give another prompt ({', '.join(PROMPTS)}) or another model"
        )
    return reader


def _scores(engine: Scorer) -> bool:
    """Whether it gives probabilities of fixed texts: chat servers have the method and refuse."""
    try:
        engine.choice_logprobs([[Message(role="user", content="Reply with one letter, A or B.")]], ["A", "B"])
    except EngineError:
        return False
    return True
