"""Which engine a recipe asks for. No torch is imported before one is built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict

if TYPE_CHECKING:
    from engines.torch_engine import TorchEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """The table `engine` of a recipe.

    kind: `torch`, a model in this process.  model: Hugging Face model folder.
    device: `auto` is the GPU if there is one.  dtype: `auto` is float32 on the CPU, bfloat16 on a GPU.
    max_batch_tokens: bound on rows x (prompt + new tokens) of a batch, for memory.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    model: Path
    kind: Literal["torch"] = "torch"
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    max_batch_tokens: int = 16_384


def build_engine(config: EngineConfig) -> TorchEngine:
    """Raises EngineError (a ValueError) when the model folder cannot be used."""
    from engines.torch_engine import TorchEngine

    return TorchEngine.from_folder(
        config.model, device=config.device, dtype=config.dtype, max_batch_tokens=config.max_batch_tokens
    )
