"""Any server that speaks OpenAI's protocol as a sampler and scorer: concurrent, patient, and never paying twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from engines.build import EndpointConfig
from engines.engine import Completion, EngineError, Message, Prompt, SamplingParams
from engines.http_calls import Caller, PromptTooLongError, as_they_finish
from engines.request_cache import RequestCache
from engines.wire import (
    Call,
    completion,
    ending_logprob,
    full_prompt,
    plain_text,
    read_echo,
    read_reply,
    sampling_call,
    scoring_call,
)

SAMPLING_SCHEME = "endpoint-1"
"""Part of the digest: change it when the same recipe would ask the server something else."""

Answer = tuple[str, dict[str, Any]]
"""Digest of the call, and what is kept of the reply."""


@dataclass(slots=True)
class Usage:
    """What an engine was asked so far. answered: by the server.  reused: from the store.  retries: failed tries.

    Tokens are those of the answers from the server, as it counts them.
    """

    answered: int = 0
    reused: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0


class EndpointEngine:
    """Sampler and scorer over an OpenAI-compatible server.

    Every sample is one request with a seed of its own, from (params.seed, prompt key, sample index). An answer is
    stored the moment it has arrived, so a killed run asks again only what was still unanswered.
    """

    def __init__(self, config: EndpointConfig, *, cache: Path | None = None) -> None:
        """Raises EngineError for an address that is none or carries a secret, and for a key that is missing."""
        check_address(config.base_url)
        if config.concurrency < 1 or config.retries < 0 or config.timeout_s <= 0:
            raise EngineError("concurrency must be 1 or more, retries 0 or more and timeout_s above 0")
        self.config = config
        self.usage = Usage()
        self._cache = cache
        self._caller = Caller(config, read_key(config.api_key_env))

    @property
    def digest(self) -> str:
        """32 hex digits of address, name, revision and what is asked; a server does not name its weights."""
        config = self.config
        shaping = [SAMPLING_SCHEME, config.base_url, config.model, config.revision, config.api, config.extra_body]
        return hashlib.blake2b(json.dumps(shaping, sort_keys=True).encode(), digest_size=16).hexdigest()

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        """Yields (prompt index, sample index, completion): the stored ones, then the others as they arrive.

        Raises EngineError when the server refuses, or does not answer within the retries.
        """
        keys = params.keys_of(len(prompts))
        calls: dict[str, Call] = {}
        places: dict[str, list[tuple[int, int]]] = {}
        for place, (prompt, key) in enumerate(zip(prompts, keys, strict=True)):
            for sample in params.samples:
                call = sampling_call(self.config, prompt, params, key, sample)
                calls[call.digest] = call
                places.setdefault(call.digest, []).append((place, sample))
        for digest, kept in self.answers(calls, lambda call, reply: read_reply(self.config, call.path, reply)):
            drawn = completion(self.config, kept, params.temperature)
            yield from ((place, sample, drawn) for place, sample in places[digest])

    def choice_logprobs(self, prompts: Sequence[Prompt], choices: Sequence[str]) -> list[list[float]]:
        """For each prompt the summed log-probability, at temperature 1, of the tokens of each choice after it.

        Asks for the echo of prompt and choice, which completion servers for open models give (vLLM, SGLang, llama.cpp).
        Raises EngineError for an empty choice, for token ids, and for `api = "chat"`: chat servers do not echo.
        """
        if not all(choices):
            raise EngineError("an empty choice has no probability; give at least one character")
        if self.config.api != "completions":
            raise EngineError('a chat server does not score given text; set api = "completions"')
        texts = [self._as_text(prompt) for prompt in prompts]
        calls = [[scoring_call(self.config, text + choice) for choice in choices] for text in texts]
        by_digest = {call.digest: call for row in calls for call in row}
        kept = dict(self.answers(by_digest, lambda _, reply: read_echo(reply)))
        return [
            [self._score(kept[call.digest], text, choice) for call, choice in zip(row, choices, strict=True)]
            for row, text in zip(calls, texts, strict=True)
        ]

    def _score(self, kept: Mapping[str, Any], text: str, choice: str) -> float:
        value = ending_logprob(kept, len(text), len(text) + len(choice))
        if value is None:
            raise EngineError(
                f"{self.config.base_url}: no log-probabilities came back for a prompt with the choice {choice!r}; "
                "it is longer than the model's context, or the server does not echo"
            )
        return value

    def _as_text(self, prompt: Prompt) -> str:
        if not prompt or isinstance(prompt[0], int):
            raise EngineError("an endpoint scores messages, not token ids")
        return plain_text(cast(Sequence[Message], prompt))

    def answers(self, calls: dict[str, Call], read: Callable[[Call, Any], dict[str, Any]]) -> Iterator[Answer]:
        """One answer for every call: what is stored of it, else what `read` makes of the reply."""
        missing: list[Call] = []
        with RequestCache(self._cache) as cache:
            for digest, call in calls.items():
                kept = cache.get(digest)
                if kept is None:
                    missing.append(call)
                else:
                    self.usage.reused += 1
                    yield digest, kept
        if missing:

            async def ask(emit: Callable[[Answer], None]) -> None:
                await self._ask(missing, read, emit)

            yield from as_they_finish(ask)

    async def _ask(
        self,
        calls: Sequence[Call],
        read: Callable[[Call, Any], dict[str, Any]],
        emit: Callable[[Answer], None],
    ) -> None:
        with RequestCache(self._cache) as cache:
            async with self._caller.client() as client:

                async def answer(call: Call) -> None:
                    try:
                        kept = await self._caller.post(client, call, lambda reply: read(call, reply))
                    except PromptTooLongError:
                        kept = full_prompt()
                    cache.put(call.digest, kept)
                    self.usage.answered += 1
                    self.usage.retries = self._caller.retries
                    self.usage.prompt_tokens += kept["prompt_tokens"]
                    self.usage.generated_tokens += kept["tokens"]
                    emit((call.digest, kept))

                await self._caller.each(calls, answer)


def check_address(base_url: str) -> None:
    """Raises EngineError unless it is a plain HTTP address; one with a secret would stand in manifests."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EngineError(f"base_url {base_url!r} is no address; give e.g. http://localhost:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EngineError("base_url: name no user, password or query there; put the key in the variable api_key_env")


def read_key(variable: str | None) -> str | None:
    """The key in an environment variable. Raises EngineError when it is unset or can be no HTTP header."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise EngineError(f"the environment variable {variable} (api_key_env) is not set; put the key there")
    if not key.isascii() or not key.isprintable():
        raise EngineError(f"the environment variable {variable} (api_key_env) holds what can be no key")
    return key
