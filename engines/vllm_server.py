"""A running vLLM server (`vllm serve`) as sampler, scorer and policy engine.

Samples come through the endpoint engine. Weights go there by vLLM's routes for reinforcement learning, which the server
offers with VLLM_SERVER_DEV_MODE=1 only; engines/README.md has the commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from engines.build import EndpointConfig, VllmConfig
from engines.endpoint import EndpointEngine, Usage
from engines.engine import Completion, EngineError, Message, Prompt, SamplingParams
from engines.vllm_engine import Model
from engines.vllm_transfer import Control, Transfer, open_transfer
from engines.weights import weights_digest, whole_update
from engines.wire import ids_scoring_call, read_prompt_logprobs

PLAIN_SAMPLING = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "return_token_ids": True}
"""Sent with every request: a server may have other defaults, from the model's generation config."""


class VllmServerEngine:
    """Sampler over a vLLM server; with `model`, the folder of the served weights, also a policy engine.

    The server must report processed log-probabilities (`--logprobs-mode processed_logprobs`).
    """

    def __init__(self, config: VllmConfig, *, cache: Path | None = None) -> None:
        """Raises EngineError when the address, key or model folder cannot be used, or no server answers."""
        assert config.base_url is not None
        self.config = config
        self.version = 0
        self._cache = cache
        self._control = Control(config)
        self._model = Model.read(config.model) if config.model is not None else None
        self._name = config.served_model or self._control.served_model()
        self._broken: str | None = None
        self._endpoint = self._endpoint_of(config.revision)

    @cached_property
    def _transfer(self) -> Transfer:
        return open_transfer(self._control, self.config)

    def _endpoint_of(self, revision: str) -> EndpointEngine:
        config = self.config
        assert config.base_url is not None
        ends = {"stop_token_ids": sorted(self._model.end_ids)} if self._model is not None else {}
        return EndpointEngine(
            EndpointConfig(
                kind="endpoint",
                base_url=config.base_url,
                model=self._name,
                revision=revision,
                api_key_env=config.api_key_env,
                concurrency=config.concurrency,
                timeout_s=config.timeout_s,
                retries=config.retries,
                logprobs="processed",
                continues=True,
                extra_body={**PLAIN_SAMPLING, **ends},
            ),
            cache=self._cache,
        )

    @property
    def digest(self) -> str:
        """As the endpoint engine's; after an update it also names the weights that were sent."""
        return self._endpoint.digest

    @property
    def usage(self) -> Usage:
        return self._endpoint.usage

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        """As `EndpointEngine.generate`, with the version of the weights on every completion."""
        if self._broken is not None:
            raise EngineError(self._broken)
        version = self.version
        for place, sample, completion in self._endpoint.generate(prompts, params):
            yield place, sample, replace(completion, version=version)

    def choice_logprobs(self, prompts: Sequence[Prompt], choices: Sequence[str]) -> list[list[float]]:
        """For each prompt the summed log-probability, at temperature 1, of the tokens of each choice after it.

        The server renders messages by its chat template, and tokenises choices by themselves. Raises EngineError for
        an empty choice.
        """
        endings = [self._tokens({"prompt": choice, "add_special_tokens": False}) for choice in choices]
        if not all(endings):
            raise EngineError("an empty choice has no probability; give at least one character")
        encoded = [self._encoded(prompt) for prompt in prompts]
        rows = [[ids_scoring_call(self._endpoint.config, [*ids, *ending]) for ending in endings] for ids in encoded]
        calls = {call.digest: call for row in rows for call in row}
        kept = dict(self._endpoint.answers(calls, lambda _, reply: read_prompt_logprobs(reply)))
        return [
            [
                self._score(kept[call.digest]["prompt_logprobs"], ending)
                for call, ending in zip(row, endings, strict=True)
            ]
            for row in rows
        ]

    def _score(self, logprobs: list[float | None], ending: list[int]) -> float:
        values = [value for value in logprobs[-len(ending) :] if value is not None]
        if len(values) < len(ending):
            raise EngineError(f"{self._control.address}: prompt and choice do not fit into the model's context")
        return sum(values)

    def _encoded(self, prompt: Prompt) -> list[int]:
        if not prompt:
            raise EngineError("an empty prompt cannot be continued; give at least one token or message")
        if isinstance(prompt[0], int):
            return list(cast(Sequence[int], prompt))
        messages = list(cast(Sequence[Message], prompt))
        begun = messages.pop()["content"] if messages[-1]["role"] == "assistant" else ""
        ids = self._tokens({"messages": messages, "add_generation_prompt": True})
        return [*ids, *(self._tokens({"prompt": begun, "add_special_tokens": False}) if begun else [])]

    def _tokens(self, asked: dict[str, Any]) -> list[int]:
        return [int(token) for token in self._control.post("tokenize", {"model": self._name, **asked})["tokens"]]

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Replaces all weights of the server, by their Hugging Face names; it takes no requests meanwhile.

        Raises EngineError for an unknown name or another shape, when one was left out, and when the server refuses.
        After a refusal in the middle of an update nothing is sampled any more.
        """
        model = self._model
        if model is None:
            raise EngineError("weights are checked against the served model; name its folder (model)")
        given = whole_update(weights, model.shapes, tied=model.tied, version=version)
        self._broken = f"{self.config.base_url}: update {version} of the weights failed; start the server again"
        self._control.post("pause", params={"mode": "wait"})
        try:
            self._transfer(given)
            self._control.post("reset_prefix_cache")
            self._control.post("update_weight_version", {"new_version": str(version)})
        finally:
            self._control.post("resume")
        self._broken = None
        self.version = version
        self._endpoint = self._endpoint_of(weights_digest(given, torch.float32, tied=model.tied))

    def close(self) -> None:
        """Gives back what lay between here and the server; the server itself goes on."""
        self._broken = "the engine was closed"
        if "_transfer" in vars(self):  # opened by the first update
            self._transfer.close()
        self._control.close()
