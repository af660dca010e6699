"""The quick start: raw rows -> curated shards -> verified rewards -> a trained policy -> a report.

Every step is recorded when it is finished; the same command again does only what is missing.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from pipeline.atomic import write_json, write_text
from pipeline.config import STRICT, RecipeError, dump, load
from pipeline.problem import Problem

STEPS_FOLDER = ".steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickstartConfig:
    """What the quick start runs.

    curate_real, curate_pool, train: recipes.  graded_responses: labelled model outputs, JSON Lines.
    pool_problems: size of the embedded pool before its defects are taken out.
    heldout_problems: evaluated greedily and with `samples` at T = 1; `pass_at_k_problems` of them with
    `pass_at_k_samples`.
    """

    __pydantic_config__ = STRICT
    curate_real: Path
    graded_responses: Path
    curate_pool: Path
    train: Path
    seed: int = 0
    pool_problems: int = 400
    heldout_problems: int = 1024
    samples: int = 4
    pass_at_k_problems: int = 256
    pass_at_k_samples: int = 16
    max_generated_tokens: int = 200_000
    eval_every_steps: int = 5
    transcripts: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Which steps of one output folder are finished, under which key, and how long they took."""

    root: Path
    console: Console

    def once(self, name: str, key: Mapping[str, Any], outputs: Sequence[str], make: Callable[[], None]) -> None:
        """Runs `make` unless it was finished before under the same key and its outputs are there."""
        marker = self.root / STEPS_FOLDER / f"{name}.json"
        digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()
        done = json.loads(marker.read_text(encoding="utf-8")) if marker.exists() else {}
        if done.get("key") == digest and all((self.root / output).exists() for output in outputs):
            self.console.print(f"{name}: done before")
            return
        self.console.print(f"{name}: started")
        started = time.monotonic()
        make()
        write_json(marker, {"key": digest, "wall_s": round(time.monotonic() - started, 3)})

    def wall_s(self) -> float:
        """Seconds spent in all finished steps, over all runs of the command."""
        markers = sorted((self.root / STEPS_FOLDER).glob("*.json"))
        return round(sum(json.loads(marker.read_text(encoding="utf-8"))["wall_s"] for marker in markers), 1)


def load_config(paths: Sequence[Path], overrides: Sequence[str]) -> QuickstartConfig:
    config = load(QuickstartConfig, paths, overrides)
    for path in (config.curate_real, config.graded_responses, config.curate_pool, config.train):
        if not path.is_file():
            raise RecipeError(f"{path}: no such file; the quick start's recipe names it")
    return config


def run(config: QuickstartConfig, root: Path, console: Console, *, fresh: bool = False) -> dict[str, Any]:
    """The whole job; returns the summary that it also writes to `root/summary.json`."""
    if fresh and (root / STEPS_FOLDER).is_dir():
        shutil.rmtree(root)
    root.mkdir(parents=True, exist_ok=True)
    steps = Steps(root=root, console=console)
    code = {"recipe": dump(config), "files": [_digest(path) for path in _inputs(config)]}
    steps.once("curate-real", code, ["real/manifest.json"], lambda: _curate_real(config, root, console))
    steps.once("audit", code, ["audit/audit.json", "audit/report.html"], lambda: _audit(config, root))
    steps.once("base", code, ["base/config.json"], lambda: _base(config, root, console))
    steps.once("curate-pool", code, ["pool/manifest.json"], lambda: _curate_pool(config, root, console))
    for name in ("dapo", "control"):
        steps.once(
            f"train-{name}", code, [f"runs/{name}/final"], lambda name=name: _train(config, root, name, console)
        )
    for name, model in _models(root).items():
        steps.once(
            f"eval-{name}",
            code,
            [f"eval/{name}.json"],
            lambda name=name, model=model: _evaluate(config, root, name, model, console),
        )
    steps.once("transcripts", code, ["transcripts.json"], lambda: _transcripts(config, root))
    steps.once("report", code, ["summary.json", "report.html", "picture.svg"], lambda: _report(root, steps))
    return json.loads((root / "summary.json").read_text(encoding="utf-8"))


def _inputs(config: QuickstartConfig) -> list[Path]:
    return [config.curate_real, config.graded_responses, config.curate_pool, config.train]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _models(root: Path) -> dict[str, Path]:
    return {"base": root / "base", "dapo": root / "runs/dapo/final", "control": root / "runs/control/final"}
