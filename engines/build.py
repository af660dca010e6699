"""Which engine a recipe asks for. No torch and no HTTP client is imported before one is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Tag

if TYPE_CHECKING:
    from engines.engine import Sampler


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchConfig:
    """A model in this process.

    model: Hugging Face model folder.
    device: `auto` is the GPU if there is one.  dtype: `auto` is float32 on the CPU, bfloat16 on a GPU.
    max_batch_tokens: bound on rows x (prompt + new tokens) of a batch, for memory.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    model: Path
    kind: Literal["torch"] = "torch"
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    max_batch_tokens: int = 16_384

    @property
    def name(self) -> str:
        return self.model.name


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """A server that speaks OpenAI's protocol: vLLM, SGLang, llama.cpp, `python -m engines.server`, a paid service.

    base_url: up to and with `/v1`.  model: its name there.
    revision: your name for the served weights. Stored samples are reused by (base_url, model, revision), and a server
        does not tell when the weights behind a name change: change this then.
    api_key_env: environment variable that holds the key. The key itself stands in no recipe, manifest or log.
    api: `chat` sends messages; `completions` sends their texts, for base models without a chat template.
    concurrency: requests in flight.  timeout_s: of one request, all of it.  retries: after the first try, per request.
    logprobs: what the server returns: `raw` ones of the model (vLLM's default, OpenAI), which are those of the sampling
        distribution at temperature 0 or 1 only and are left out elsewhere; `processed` ones with the temperature
        applied; `none` does not ask, for servers that refuse the question.
    continues: whether the server goes on with a begun answer (vLLM and SGLang do); `answer_prefix` needs it.
    max_tokens_field: OpenAI's reasoning models want `max_completion_tokens`.
    extra_body: further fields of every request, e.g. {top_k = -1} or {return_token_ids = true} (vLLM).
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    kind: Literal["endpoint"]
    base_url: str
    model: str
    revision: str = ""
    api_key_env: str | None = None
    api: Literal["chat", "completions"] = "chat"
    concurrency: int = 8
    timeout_s: float = 600.0
    retries: int = 8
    logprobs: Literal["none", "raw", "processed"] = "raw"
    continues: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.model


def _class_name(value: Any) -> str:
    kind = value.get("kind", "torch") if isinstance(value, Mapping) else getattr(value, "kind", "torch")
    return "EndpointConfig" if kind == "endpoint" else "TorchConfig"


EngineConfig = Annotated[
    Annotated[TorchConfig, Tag("TorchConfig")] | Annotated[EndpointConfig, Tag("EndpointConfig")],
    Discriminator(_class_name),
]
"""The table `engine` of a recipe: `kind = "torch"` (the default) or `kind = "endpoint"`."""


def build_engine(config: TorchConfig | EndpointConfig, *, cache: Path | None = None) -> Sampler:
    """cache: file in which an endpoint's answers are kept, so that none is asked for twice; without it none is kept.

    Raises EngineError (a ValueError) when the model folder, address or key cannot be used.
    """
    if isinstance(config, EndpointConfig):
        from engines.endpoint import EndpointEngine

        return EndpointEngine(config, cache=cache)
    from engines.torch_engine import TorchEngine

    return TorchEngine.from_folder(
        config.model, device=config.device, dtype=config.dtype, max_batch_tokens=config.max_batch_tokens
    )
