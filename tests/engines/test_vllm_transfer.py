"""Weights by folder, against a control that only listens."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file

from engines.engine import EngineError
from engines.vllm_transfer import Control, FolderTransfer


class Listening:
    """Notes what the server would have read."""

    address = "http://server"

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.read: dict[str, torch.Tensor] = {}

    def post(self, _path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.folder = Path(body["kwargs"]["folder"])
        self.read = load_file(self.folder / "model.safetensors")
        return {"results": [{"refused": None}]}


def test_a_temporary_folder_goes_with_the_transfer() -> None:
    control = Listening()
    transfer = FolderTransfer(cast(Control, control), None)
    transfer([("a", torch.ones(3))])
    transfer([("a", torch.zeros(3))])
    assert control.folder is not None
    assert control.read["a"].tolist() == [0.0] * 3
    transfer.close()
    assert not control.folder.exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    transfer = FolderTransfer(cast(Control, Listening()), tmp_path / "weights")
    (tmp_path / "weights").rmdir()
    with pytest.raises(EngineError, match="cannot be written"):
        transfer([("a", torch.ones(3))])


def test_a_named_folder_stays(tmp_path: Path) -> None:
    control = Listening()
    transfer = FolderTransfer(cast(Control, control), tmp_path / "weights")
    transfer([("a", torch.ones(3))])
    transfer.close()
    assert control.folder == (tmp_path / "weights").resolve()
    assert [path.name for path in (tmp_path / "weights").iterdir()] == ["model.safetensors"]
