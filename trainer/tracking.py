"""metrics.jsonl, always: one object a step, flushed. Trackers are optional, and none of them can stop a run."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from pipeline.atomic import write_text
from pipeline.config import RecipeError


class Tracker(Protocol):
    """Something that shows metrics elsewhere."""

    def log(self, metrics: Mapping[str, float], step: int) -> None: ...


class MetricsLog:
    """Appends to metrics.jsonl; after a kill it is cut back to the steps that the checkpoint has."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def truncate(self, step: int) -> None:
        """Keeps the lines of steps 1 to `step`."""
        if not self.path.exists():
            return
        kept = [line for line in self.path.read_text(encoding="utf-8").splitlines() if _step(line, step + 1) <= step]
        write_text(self.path, "".join(line + "\n" for line in kept))

    def append(self, metrics: Mapping[str, Any]) -> None:
        finite = {key: _finite(value) for key, value in metrics.items()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(finite, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _step(line: str, otherwise: int) -> int:
    """A half-written last line counts as `otherwise`."""
    try:
        return int(json.loads(line)["step"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return otherwise


class _Tensorboard:
    def __init__(self, folder: Path, _name: str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder / "tensorboard"))

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        for key, value in metrics.items():
            self._writer.add_scalar(key, value, step)
        self._writer.flush()


class _Run:
    """wandb and trackio have the same interface."""

    def __init__(self, module: str, folder: Path, name: str) -> None:
        import importlib

        self._module = importlib.import_module(module)
        self._module.init(project="verigold", name=name, dir=str(folder)) if module == "wandb" else self._module.init(
            project="verigold", name=name
        )

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self._module.log(dict(metrics), step=step)


def open_trackers(names: Sequence[str], folder: Path) -> list[Tracker]:
    """Raises RecipeError when a tracker's package is not installed."""
    trackers: list[Tracker] = []
    for name in names:
        try:
            trackers.append(
                _Tensorboard(folder, folder.name) if name == "tensorboard" else _Run(name, folder, folder.name)
            )
        except ImportError:
            raise RecipeError(f"trackers: {name} is not installed; `pip install {name}` or leave it out") from None
    return trackers


class Fenced:
    """Trackers behind a fence: the first failure of one is told once, then the run goes on without it."""

    def __init__(self, trackers: Sequence[Tracker], console: Console) -> None:
        self._trackers = list(trackers)
        self._console = console

    def log(self, metrics: Mapping[str, Any], step: int) -> None:
        numbers = {key: float(value) for key, value in metrics.items() if isinstance(value, int | float)}
        for tracker in list(self._trackers):
            try:
                tracker.log(numbers, step)
            except Exception as error:  # whatever a tracker's server or library does must not end a training run
                self._trackers.remove(tracker)
                self._console.print(f"tracker {type(tracker).__name__} is off: {error}")
