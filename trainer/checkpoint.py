"""The run folder and its checkpoints: whole or not at all, no pickle, and everything a resume needs.

A checkpoint holds weights, optimiser, schedule, prompt state, surplus groups, a batch that was drawn ahead, and
counters. There is no generator state: random numbers are keyed.
"""

from __future__ import annotations

import difflib
import json
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import transformers
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.atomic import atomic_folder, exclusive, is_foreign, remove_leftovers, write_json, write_text
from pipeline.config import RecipeError, dump
from trainer.asynchronous import filled_from_json, filled_to_json
from trainer.config import TrainConfig
from trainer.counts import Counts
from trainer.groups import Filled
from trainer.judged import ANSWERS_FILE
from trainer.policy import Policy
from trainer.ranks import like, whole
from trainer.rollout_group import Group, group_from_json, group_to_json
from trainer.update import Updater

ENDED = ("steps", "tokens", "no_signal")
"""Exit reasons after which the same command has nothing to do."""


@dataclass(slots=True, kw_only=True)
class State:
    """Counters of a run. version: of the policy, one more after each update. empty_steps: in a row.

    counts: where the groups went.
    pass_rates: of the groups of the last step, for the message when a run ends without a signal.
    best: value of the evaluation metric that best/ was chosen by.
    """

    step: int = 0
    version: int = 0
    generated_tokens: int = 0
    empty_steps: int = 0
    pass_rates: str = ""
    entropy_coef: float = 0.0
    entropy_active: bool = True
    wall_s: float = 0.0
    best: float | None = None
    prompts: dict[str, Any] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How a run ended. exit_reason: steps, tokens, no_signal; or why it was stopped. detail: one line on that.

    A run that used up its steps or tokens without a single update has stopped (`nothing_learned`), not succeeded.
    """

    steps: int
    generated_tokens: int
    exit_reason: str
    wall_s: float
    detail: str = ""

    @property
    def ended(self) -> bool:
        return self.exit_reason in ENDED


class RunFolder:
    """runs/<name>/: recipe, environment, metrics, rollouts/, checkpoints/, eval/, best/, final/ and summary."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics = path / "metrics.jsonl"
        self.rollouts = path / "rollouts"
        self.checkpoints = path / "checkpoints"
        self.final = path / "final"
        self.best = path / "best"
        self.eval = path / "eval"

    @classmethod
    def open(cls, path: Path, config: TrainConfig, *, fresh: bool) -> RunFolder:
        """Makes the folder, or takes up the run in it.

        Raises RecipeError when the folder holds a run of another recipe (with the difference) or something else.
        """
        folder, recipe = cls(path), dump(config)
        saved = path / "recipe.toml"
        if path.exists() and not path.is_dir():
            raise RecipeError(f"{path}: is a file; give a folder for --out")
        if is_foreign(path, "recipe.toml", before=ANSWERS_FILE):  # a judge is asked before the checks have passed
            raise RecipeError(f"{path}: the folder is not empty and holds no run; choose another --out")
        if fresh and saved.exists():
            with exclusive(path):
                shutil.rmtree(path)
        if saved.exists() and (before := saved.read_text(encoding="utf-8")) != recipe:
            raise RecipeError(f"{saved}: the recipe has changed:\n{_diff(before, recipe)}\nuse --fresh to start over")
        path.mkdir(parents=True, exist_ok=True)
        for part in (path, folder.checkpoints, folder.rollouts, folder.eval):
            remove_leftovers(part)
        return folder

    def keep_recipe(self, config: TrainConfig) -> None:
        """Written when the start-up checks have passed: a mistaken command leaves the folder free for the right one."""
        saved = self.path / "recipe.toml"
        if not saved.exists():
            write_text(saved, dump(config))

    def summary(self) -> RunSummary | None:
        path = self.path / "summary.json"
        return RunSummary(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None

    def forget_summary(self) -> None:
        """A stopped run that is tried again has not ended."""
        (self.path / "summary.json").unlink(missing_ok=True)

    def write_summary(self, summary: RunSummary) -> None:
        write_json(self.path / "summary.json", asdict(summary))

    def enforce_environment(self, now: dict[str, Any]) -> dict[str, Any]:
        """Writes what a resume must find again, or compares: bit-equality is claimed for the same machine kind only.

        The recorded thread count is returned for the caller to set. Raises RecipeError on any other difference.
        """
        path = self.path / "environment.json"
        if not path.exists():
            write_json(path, now)
            return now
        recorded = json.loads(path.read_text(encoding="utf-8"))
        for key, value in now.items():
            if key != "threads" and recorded.get(key) != value:
                raise RecipeError(
                    f"{path}: {key}: the run began with {recorded.get(key)!r}, now it is {value!r}; "
                    "go on in the old environment, or start over with --fresh"
                )
        return recorded

    def latest(self) -> Path | None:
        found = sorted(self.checkpoints.glob("step-*"))
        return found[-1] if found else None

    def drop_rollouts_after(self, step: int) -> None:
        for path in self.rollouts.glob("step-*.jsonl"):
            if int(path.stem.removeprefix("step-")) > step:
                path.unlink()


def environment(threads: int, device: str, **inputs: str) -> dict[str, Any]:
    """What decides whether the same recipe gives the same bits."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "device": device,
        "threads": threads,
        **inputs,
    }


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "this run", "now", lineterm="", n=0)
    return "\n".join(f"  {line}" for line in lines if not line.startswith("@@"))


def save(
    folder: RunFolder, state: State, updater: Updater, surplus: Sequence[Group], ahead: Filled | None, *, keep: int
) -> Path:
    """Writes checkpoints/step-NNNNN (the same step again changes nothing) and removes all but the last `keep`."""
    policy = updater.policy
    path = folder.checkpoints / f"step-{state.step:05d}"
    if policy.ranks.from_first(path.exists):
        return path
    weights, moments = _trained(policy), _moments(policy)  # of several ranks all have to gather, and the first writes
    if not policy.ranks.first:
        return path
    with atomic_folder(path) as temporary:
        safetensors.torch.save_file(weights, temporary / "model.safetensors")
        if updater.reference is not None:
            safetensors.torch.save_file(_live(updater.reference), temporary / "reference.safetensors")
        safetensors.torch.save_file(moments, temporary / "optimiser.safetensors")
        lines = [json.dumps(group_to_json(group)) for group in surplus]
        (temporary / "surplus.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        if ahead is not None:
            (temporary / "ahead.json").write_text(json.dumps(filled_to_json(ahead)) + "\n", encoding="utf-8")
        numbers = asdict(state) | {"updates": policy.updates}
        (temporary / "state.json").write_text(json.dumps(numbers, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    for old in sorted(folder.checkpoints.glob("step-*"))[:-keep]:
        shutil.rmtree(old)
    return path


def load(path: Path, updater: Updater) -> tuple[State, list[Group], Filled | None]:
    """Puts weights, reference, optimiser and schedule of a checkpoint in place; its counters, surplus groups and the
    batch that was drawn ahead."""
    policy = updater.policy
    numbers = json.loads((path / "state.json").read_text(encoding="utf-8"))
    policy.updates = numbers.pop("updates")
    counts = Counts(**numbers.pop("counts", {}))
    _fill(_live(policy.model, adapter=policy.adapter is not None), path / "model.safetensors")
    policy.synchronise()
    if updater.reference is not None:
        _fill(_live(updater.reference), path / "reference.safetensors")
    moments = safetensors.torch.load_file(path / "optimiser.safetensors")
    for name, parameter in zip(policy.names, policy.parameters, strict=True):
        if f"{name}.step" in moments:
            policy.optimiser.state[parameter] = {
                key: _like(moments[f"{name}.{key}"], parameter, key) for key in ("step", "exp_avg", "exp_avg_sq")
            }
    lines = (path / "surplus.jsonl").read_text(encoding="utf-8").splitlines()
    surplus = [group_from_json(json.loads(line)) for line in lines]
    ahead = path / "ahead.json"
    ready = filled_from_json(json.loads(ahead.read_text(encoding="utf-8"))) if ahead.exists() else None
    return State(**numbers, counts=counts), surplus, ready


def _live(model: PreTrainedModel, *, adapter: bool = False) -> dict[str, Tensor]:
    """Parameters (a tied one once) and buffers that are part of the model, by name; the live tensors.

    adapter: of a model that carries one, the adapter alone: the base never changes and lies where the recipe says.
    """
    if adapter:
        return {name: value.detach() for name, value in model.named_parameters() if value.requires_grad}
    persistent = model.state_dict().keys()
    named = {name: value.detach() for name, value in model.named_parameters()}
    return named | {name: value for name, value in model.named_buffers() if name in persistent}


def _trained(policy: Policy) -> dict[str, Tensor]:
    """What training changes, whole on every rank."""
    return {name: whole(value) for name, value in _live(policy.model, adapter=policy.adapter is not None).items()}


def _fill(weights: dict[str, Tensor], path: Path) -> None:
    stored = safetensors.torch.load_file(path)
    with torch.no_grad():
        for name, tensor in weights.items():
            tensor.copy_(like(stored[name], tensor))


def _moments(policy: Policy) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for name, parameter in zip(policy.names, policy.parameters, strict=True):
        for key, value in policy.optimiser.state.get(parameter, {}).items():
            found[f"{name}.{key}"] = whole(value).contiguous()
    return found


def _like(value: Tensor, parameter: Tensor, key: str) -> Tensor:
    return value if key == "step" else like(value, parameter)
