"""What runs inside vLLM's workers after its weights were replaced, and the worker that a server needs for it.

vllm serve FOLDER --worker-extension-cls engines.vllm_worker.FolderUpdates
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from engines.weights import SINGLE_FILE


def mend_heads(model: nn.Module) -> None:
    """On the CPU: makes output heads compute with their new weights.

    vLLM packs a copy of each weight for oneDNN when it loads it. Replacing the weights packs those of the layers anew,
    but not that of a head tied to the input embedding, which goes on with the old ones (seen in vLLM 0.32).
    """
    from vllm.model_executor.layers.utils import (  # pyright: ignore[reportMissingImports]
        dispatch_cpu_unquantized_gemm,
    )
    from vllm.model_executor.layers.vocab_parallel_embedding import (  # pyright: ignore[reportMissingImports]
        VocabParallelEmbedding,
    )

    for module in model.modules():
        if isinstance(module, VocabParallelEmbedding) and hasattr(module, "cpu_linear"):
            dispatch_cpu_unquantized_gemm(module, remove_weight=False)


class FolderUpdates:
    """Extension of a server's workers: takes all weights from a model folder."""

    model_runner: Any
    reload_weights: Any

    def load_from_folder(self, folder: str) -> dict[str, str | None]:
        """Called by name over HTTP. `refused`: why nothing was loaded, if so.

        vLLM checks names and shapes; that all weights are there is checked by whoever writes them.
        """
        from vllm.platforms import current_platform  # pyright: ignore[reportMissingImports]

        if not (Path(folder) / SINGLE_FILE).is_file():  # an error here would end the server
            return {"refused": f"the server sees no {SINGLE_FILE} in {folder}"}
        self.reload_weights(weights_path=folder)
        if current_platform.is_cpu():
            mend_heads(self.model_runner.get_model())
        return {"refused": None}
