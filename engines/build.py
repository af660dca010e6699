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


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmConfig:
    """vLLM: a model in this process (`model`), or a running `vllm serve` (`base_url`).

    In this process:
    model: Hugging Face model folder. A training recipe leaves it out: the policy's folder is filled in.
    dtype: `auto` is float32 on the CPU, bfloat16 on a GPU.  max_model_len: prompt and new tokens; default: the model's.
    max_num_seqs: sequences computed at once.
    gpu_memory_utilization: share of the GPU's memory for weights and cache (on a CPU the cache is cpu_cache_gib).
    tensor_parallel_size: GPUs that share one model; above 1 the weights cannot be replaced: use a server then.
    sleep: gives the GPU's memory back between two calls of `generate`, for a trainer on the same GPU.
    enforce_eager: no CUDA graphs: a faster start, slower sampling.

    A server:
    base_url: up to and with `/v1`.  served_model: its name there; default: the first that the server names.
    revision: your name for the served weights, as in EndpointConfig.
    api_key_env, concurrency, timeout_s, retries: as in EndpointConfig.
    weight_transfer: how a trainer's weights reach the server: `folder` writes a model folder that the server reads
        (`weights_folder`, which both see), `nccl` sends them between GPUs, `ipc` within one GPU.
    transfer_address: this machine's address for `nccl`, as the server sees it.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    kind: Literal["vllm"]
    model: Path | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    max_model_len: int | None = None
    max_num_seqs: int = 64
    gpu_memory_utilization: float = 0.9
    cpu_cache_gib: int = 1
    tensor_parallel_size: int = 1
    sleep: bool = False
    enforce_eager: bool = False
    base_url: str | None = None
    served_model: str | None = None
    revision: str = ""
    api_key_env: str | None = None
    concurrency: int = 64
    timeout_s: float = 600.0
    retries: int = 8
    weight_transfer: Literal["folder", "nccl", "ipc"] = "folder"
    weights_folder: Path | None = None
    transfer_address: str = "127.0.0.1"

    @property
    def name(self) -> str:
        if self.base_url is not None:
            return self.served_model or self.base_url
        return self.model.name if self.model is not None else "policy"


def _class_name(value: Any) -> str:
    kind = value.get("kind", "torch") if isinstance(value, Mapping) else getattr(value, "kind", "torch")
    return {"endpoint": "EndpointConfig", "vllm": "VllmConfig"}.get(str(kind), "TorchConfig")


EngineConfig = Annotated[
    Annotated[TorchConfig, Tag("TorchConfig")]
    | Annotated[EndpointConfig, Tag("EndpointConfig")]
    | Annotated[VllmConfig, Tag("VllmConfig")],
    Discriminator(_class_name),
]
"""The table `engine` of a recipe: `kind = "torch"` (the default), `"endpoint"` or `"vllm"`."""


def build_engine(config: TorchConfig | EndpointConfig | VllmConfig, *, cache: Path | None = None) -> Sampler:
    """cache: file in which a server's answers are kept, so that none is asked for twice; without it none is kept.

    Raises EngineError (a ValueError) when the model folder, address, key or package cannot be used.
    """
    if isinstance(config, EndpointConfig):
        from engines.endpoint import EndpointEngine

        return EndpointEngine(config, cache=cache)
    if isinstance(config, VllmConfig):
        if config.base_url is not None:
            from engines.vllm_server import VllmServerEngine

            return VllmServerEngine(config, cache=cache)
        from engines.vllm_engine import VllmEngine

        return VllmEngine(config)
    from engines.torch_engine import TorchEngine

    return TorchEngine.from_folder(
        config.model, device=config.device, dtype=config.dtype, max_batch_tokens=config.max_batch_tokens
    )
