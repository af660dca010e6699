"""A vLLM server's routes beside sampling, and the ways in which weights reach it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import httpx
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from engines.build import VllmConfig
from engines.endpoint import check_address, read_key
from engines.engine import EngineError
from engines.weights import SINGLE_FILE

Named = list[tuple[str, Tensor]]

DEV_MODE = "start the server with VLLM_SERVER_DEV_MODE=1"
EXTENSION = "--worker-extension-cls engines.vllm_worker.FolderUpdates"
SHOWN_ERROR = 300


class Control:
    """One request at a time to the server's own routes."""

    def __init__(self, config: VllmConfig) -> None:
        """Raises EngineError for an address or a key that cannot be used."""
        assert config.base_url is not None
        check_address(config.base_url)
        self.address = config.base_url.rstrip("/").removesuffix("/v1")
        key = read_key(config.api_key_env)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(base_url=self.address + "/", headers=headers, timeout=config.timeout_s)

    def close(self) -> None:
        self._client.close()

    def served_model(self) -> str:
        try:
            return str(self.get("v1/models")["data"][0]["id"])
        except (KeyError, IndexError, TypeError):
            raise EngineError(f"{self.address}: names no model; set served_model") from None

    def get(self, path: str) -> Any:
        return self._asked("GET", path)

    def post(self, path: str, body: Any = None, *, params: dict[str, str] | None = None) -> Any:
        return self._asked("POST", path, json=body, params=params)

    def _asked(self, method: str, path: str, **sent: Any) -> Any:
        """The reply's JSON. Raises EngineError when there is none, or another status than 200."""
        try:
            reply = self._client.request(method, path, **sent)
        except httpx.HTTPError as error:
            raise EngineError(f"{self.address}/{path}: {type(error).__name__} {error}; does the server run?") from None
        if reply.status_code == 404:
            raise EngineError(f"{self.address}/{path}: the server has no such route; {DEV_MODE}")
        if reply.status_code != 200:
            said = " ".join(reply.text.split())[:SHOWN_ERROR]
            raise EngineError(f"{self.address}/{path}: status {reply.status_code}: {said or 'no reason given'}")
        return reply.json() if reply.content else None


class Transfer(Protocol):
    """Brings weights to the server's workers. Raises EngineError when they did not all arrive."""

    def __call__(self, weights: Named, /) -> None: ...

    def close(self) -> None: ...


def open_transfer(control: Control, config: VllmConfig) -> Transfer:
    if config.weight_transfer == "folder":
        return FolderTransfer(control, config.weights_folder)
    return DeviceTransfer(control, config)


class FolderTransfer:
    """Writes the weights to a folder that the server reads: works everywhere, as fast as that folder's disk."""

    def __init__(self, control: Control, folder: Path | None) -> None:
        """folder: one that both sides see under this path; None is a temporary one, for a server on this machine."""
        self._control = control
        self._temporary = TemporaryDirectory(prefix="verigold-weights-") if folder is None else None
        self._folder = Path(self._temporary.name if self._temporary is not None else folder or ".").resolve()
        self._folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, weights: Named) -> None:
        part = self._folder / "part"
        try:
            save_file({name: tensor.contiguous().cpu() for name, tensor in weights}, part, metadata={"format": "pt"})
            os.replace(part, self._folder / SINGLE_FILE)
        except (OSError, SafetensorError) as error:
            raise EngineError(f"weights_folder: {self._folder}: cannot be written ({error})") from error
        asked = {"method": "load_from_folder", "kwargs": {"folder": str(self._folder)}}
        try:
            told = self._control.post("collective_rpc", asked)["results"]
        except EngineError as error:
            raise EngineError(f"{error} (weights by folder need a server that was started with {EXTENSION})") from None
        if refused := [one["refused"] for one in told if one["refused"]]:
            raise EngineError(f"{self._control.address}: {refused[0]}; set weights_folder to one that both sides see")

    def close(self) -> None:
        """A temporary folder, as large as the model, goes; a named one stays."""
        if self._temporary is not None:
            self._temporary.cleanup()


class DeviceTransfer:
    """vLLM's weight transfer: nccl between GPUs, ipc within one. The trainer's environment needs vLLM, too.

    The server is started with --weight-transfer-config '{"backend": "nccl"}' (or "ipc", for which it also wants
    VLLM_ALLOW_INSECURE_SERIALIZATION=1).
    """

    def __init__(self, control: Control, config: VllmConfig) -> None:
        self._control = control
        self._config = config
        self._source = Source()
        self._sender: Any = None

    def __call__(self, weights: Named) -> None:
        elsewhere = next((name for name, tensor in weights if not tensor.is_cuda), None)
        if elsewhere is not None:
            raise EngineError(f"{elsewhere} is on the CPU, and {self._config.weight_transfer} sends from a GPU")
        self._source.weights = weights
        try:
            if self._sender is None:
                self._sender = self._open()
            self._sender.send_weights()
        except (OSError, RuntimeError, ValueError) as error:  # those of requests are OSErrors
            raise EngineError(f"{self._control.address}: the weights did not arrive ({error})") from error
        finally:
            self._source.weights = []

    def close(self) -> None:
        """Lets go of the connection between the GPUs."""
        self._sender = None

    def _open(self) -> Any:
        from vllm.distributed.weight_transfer.clients import (  # pyright: ignore[reportMissingImports]
            HTTPVLLMWeightSyncClient,
        )
        from vllm.distributed.weight_transfer.factory import (  # pyright: ignore[reportMissingImports]
            WeightTransferTrainerFactory,
        )

        client = HTTPVLLMWeightSyncClient(self._control.address, timeout=self._config.timeout_s)
        return WeightTransferTrainerFactory.trainer_init(self._settings(), client=client, source=self._source)

    def _settings(self) -> Any:
        if self._config.weight_transfer == "ipc":
            from vllm.distributed.weight_transfer.ipc_engine import (  # pyright: ignore[reportMissingImports]
                IPCTrainerInitInfo,
            )

            return IPCTrainerInitInfo(rank=0)
        from vllm.distributed.weight_transfer.nccl_engine import (  # pyright: ignore[reportMissingImports]
            NCCLTrainerInitInfo,
        )

        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        return NCCLTrainerInitInfo(
            rank=0,
            master_address=self._config.transfer_address,
            master_port=port,
            world_size=1 + int(self._control.get("get_world_size")["world_size"]),
        )


class Source:
    """The weights of the present update, in the shape of vLLM's WeightSource."""

    def __init__(self) -> None:
        self.weights: Named = []

    def metadata(self) -> list[Any]:
        from vllm.distributed.weight_transfer.base import ParamMeta  # pyright: ignore[reportMissingImports]

        return [ParamMeta(name, tensor.dtype, tuple(tensor.shape)) for name, tensor in self.weights]

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        return iter(self.weights)
