"""One batch ahead: the order of things, the bound on age, where every group went, and runs cut at any moment."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from torch import Tensor
from transformers import PreTrainedModel

from engines.engine import Completion, Prompt, SamplingParams
from engines.torch_engine import TorchEngine
from pipeline.config import dump
from pipeline.problem import Problem
from trainer.asynchronous import Ahead
from trainer.clock import Clock
from trainer.config import TrainConfig
from trainer.counts import Counts
from trainer.groups import Filled, GroupSource, RunStoppedError
from trainer.loop import train
from trainer.policy import load_model
from trainer.prompts import Draw, PromptStream, Task
from trainer.scorers import Scorer
from trainer.sections import GroupFilter, Reward, Sampling
from verifiers.verdict import Verdict, correct, incorrect, undecided

Recipe = Callable[..., TrainConfig]
AHEAD = {"asynchronous": True, "filter": {"max_age": 2}}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rollouts(run: Path) -> list[Path]:
    return sorted((run / "rollouts").glob("*.jsonl"))


def assert_same_run(one: Path, other: Path) -> None:
    """Metrics but for times, every rollout, and every bit of the exported weights."""
    first, second = (
        [{key: value for key, value in row.items() if not key.startswith("time/")} for row in lines(metrics)]
        for metrics in (one / "metrics.jsonl", other / "metrics.jsonl")
    )
    assert first == second
    assert [path.read_bytes() for path in rollouts(one)] == [path.read_bytes() for path in rollouts(other)]
    weights = [safetensors.torch.load_file(folder / "final" / "model.safetensors") for folder in (one, other)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


class Recording(TorchEngine):
    """Writes down what it is asked for, by whom, and with which weights."""

    def __init__(self, *arguments: object, events: list[tuple[str, int, bool]]) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.events = events

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        super().load_weights(weights, version)
        self.events.append(("load", version, threading.current_thread() is threading.main_thread()))

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        if params.keys is not None and not params.keys[0].startswith("probe"):
            self.events.append(("draw", self.version, threading.current_thread() is threading.main_thread()))
        return super().generate(prompts, params)


def test_the_next_batch_is_drawn_with_the_weights_before_the_update(
    recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, int, bool]] = []

    def opened(config: TrainConfig, _model: PreTrainedModel) -> TorchEngine:
        return Recording(*load_model(config.model), events=events)

    monkeypatch.setattr("trainer.start.open_engine", opened)
    config = recipe(**AHEAD | {"filter": {"keep": "all", "max_age": 1}}, steps=4)
    assert train(config, tmp_path / "run", console=quiet, scorer=scorer).exit_reason == "steps"
    assert events == [
        ("load", 0, True),
        ("draw", 0, True),  # the first batch, which nothing can hide
        ("draw", 0, False),  # the second, while the first is trained on
        ("load", 1, True),
        ("draw", 1, False),
        ("load", 2, True),
        ("draw", 2, False),
    ]
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    assert [row["groups/age_max"] for row in rows] == [0, 1, 1, 1]
    assert all(0 <= row["time/overlap_share"] <= 1 for row in rows[1:])
    versions = [{sample["version"] for sample in lines(path)} for path in rollouts(tmp_path / "run")]
    assert versions == [{0}, {0}, {1}, {2}]


def test_it_learns_and_every_group_is_accounted_for(
    recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path
) -> None:
    config = recipe(**AHEAD, steps=20, sampling={"prompts": 6}, optimiser={"lr": 2e-2})
    train(config, tmp_path / "run", console=quiet, scorer=scorer)
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    first, last = (sum(row["reward/mean"] for row in part) / 4 for part in (rows[:4], rows[-4:]))
    assert first < 0.65
    assert last > 0.8
    assert max(row["groups/age_max"] or 0 for row in rows) == 2
    for row in rows:
        parts = sum(row[f"groups/{part}_total"] for part in ("trained", "stale", "filtered", "failed"))
        assert row["groups/produced_total"] == parts + row["groups/surplus"]
    assert rows[-1]["groups/filtered_total"] > 0
    assert all(row.get("mismatch/mean_abs", 1) > 1e-4 for row in rows[1:])  # a version older, and said so


class CutError(Exception):
    pass


class Cut:
    """Fails at one of its calls."""

    def __init__(self, scorer: Scorer, call: int, error: Exception) -> None:
        self.scorer = scorer
        self.left = call
        self.error = error

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return self.scorer(samples)


@pytest.mark.parametrize("call", [2, 6])
def test_a_failure_while_drawing_surfaces_and_a_resume_is_bit_exact(
    call: int, recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path
) -> None:
    config = recipe(**AHEAD, steps=6)
    train(config, tmp_path / "whole", console=quiet, scorer=scorer)
    with pytest.raises(CutError):
        train(config, tmp_path / "cut", console=quiet, scorer=Cut(scorer, call, CutError()))
    train(config, tmp_path / "cut", console=quiet, scorer=scorer)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_a_stop_while_drawing_is_the_runs_stop(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    stop = RunStoppedError("undecided", "the judge is dead")
    summary = train(recipe(**AHEAD, steps=6), tmp_path / "run", console=quiet, scorer=Cut(scorer, 3, stop))
    assert (summary.exit_reason, summary.detail) == ("undecided", "the judge is dead")


def test_the_batch_in_flight_is_in_the_checkpoint(
    recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path
) -> None:
    """Taken up at a checkpoint, the run trains on the batch that was drawn before it, not on a new one."""
    config = recipe(**AHEAD, steps=5, checkpoints={"every": 2, "keep": 9})
    train(config, tmp_path / "whole", console=quiet, scorer=scorer)
    names = sorted(path.name for path in (tmp_path / "whole" / "checkpoints").iterdir())
    assert [(tmp_path / "whole" / "checkpoints" / name / "ahead.json").exists() for name in names] == [
        True,
        True,
        False,  # after the last step nothing is drawn
    ]
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (tmp_path / "cut" / "summary.json").unlink()
    for name in names[1:]:
        shutil.rmtree(tmp_path / "cut" / "checkpoints" / name)
    train(config, tmp_path / "cut", console=quiet, scorer=scorer)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


KILL_SCRIPT = """
import signal
import sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background is born deaf to it
sys.path[:0] = [{root!r}, {here!r}]
from conftest import EvenScorer
from rich.console import Console
from trainer.config import load_recipe
from trainer.loop import train
train(load_recipe([Path({recipe!r})]), Path({out!r}), console=Console(quiet=True), scorer=EvenScorer())
"""


def test_an_interrupted_run_ends_as_if_nothing_had_happened(
    recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path
) -> None:
    """Killed, then interrupted, then taken up to its end."""
    config = recipe(**AHEAD, steps=7, checkpoints={"every": 2}, sampling={"prompts": 6, "samples": 6, "max_tokens": 24})
    train(config, tmp_path / "whole", console=quiet, scorer=scorer)
    path = tmp_path / "recipe.toml"
    path.write_text(dump(config), encoding="utf-8")
    here = Path(__file__).resolve().parent
    script = KILL_SCRIPT.format(
        root=str(here.parents[1]), here=str(here), recipe=str(path), out=str(tmp_path / "killed")
    )
    metrics = tmp_path / "killed" / "metrics.jsonl"
    for kind, step in ((signal.SIGKILL, 3), (signal.SIGINT, 5)):
        process = subprocess.Popen(
            [sys.executable, "-c", script], env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True
        )
        while process.poll() is None and not (metrics.exists() and len(metrics.read_text().splitlines()) >= step):
            time.sleep(0.01)
        process.send_signal(kind)
        _, errors = process.communicate()
        assert process.returncode != 0
        assert kind == signal.SIGKILL or "KeyboardInterrupt" in errors
    train(config, tmp_path / "killed", console=quiet, scorer=scorer)
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_a_batch_nobody_waits_for_is_given_up() -> None:
    """Closing waits for one completion of an engine that would go on for ever."""
    started = threading.Event()

    class Endless:
        digest = ""

        def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
            del prompts, params
            while True:
                started.set()
                time.sleep(0.001)
                yield 0, 0, Completion(text="", token_ids=(), logprobs=(), finish_reason="stop")

    ahead = Ahead()
    sampler = ahead.guard(Endless())

    def draw() -> Filled:
        list(sampler.generate([[1]], SamplingParams()))
        raise AssertionError

    ahead.begin(draw)
    with pytest.raises(RuntimeError, match="has not been taken"):
        ahead.begin(draw)
    assert started.wait(60)
    ahead.close()
    assert not any(thread.name.startswith("drawing") for thread in threading.enumerate())


class LateEngine:
    """A server on a simulated clock: rollouts take a while each, and weights that were sent arrive a while later, so
    that a slow rollout is of weights that the trainer has long left behind."""

    digest = "late"

    def __init__(self, seed: int, delay: float) -> None:
        self.random = random.Random(seed)
        self.delay = delay
        self.now = 0.0
        self.sent = [(0.0, 0)]

    def send(self, version: int) -> None:
        self.sent.append((self.now + self.random.uniform(0, self.delay), version))

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        for place in range(len(prompts)):
            version = max(version for arrives, version in self.sent if arrives <= self.now)
            for sample in range(params.n):
                yield (
                    place,
                    sample,
                    Completion(text="", token_ids=(1,), logprobs=(0.0,), finish_reason="stop", version=version),
                )
            self.now += self.random.expovariate(1.0)


class Mixed:
    """Groups of every kind: mixed, constant, and now and then not one verdict."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        kinds = {draw.key: self.random.choice(("mixed", "mixed", "right", "dead")) for draw, _, _ in samples}
        return [self._one(kinds[draw.key], sample) for draw, sample, _ in samples]

    def _one(self, kind: str, sample: int) -> Verdict:
        if kind == "dead":
            return undecided("judge-dead")
        return incorrect("x", None) if kind == "mixed" and sample == 0 else correct("x", None)


def simulated(seed: int, *, max_age: int, delay: float, problems: Sequence[Problem], steps: int = 12) -> Counts:
    """A run's schedule without a model; the counts at its end. Checks the laws at every step."""
    engine, version, counts = LateEngine(seed, delay), 0, Counts()
    source = GroupSource(
        stream=PromptStream([Task(problem=problem, prompt_ids=(5,)) for problem in problems], seed=seed),
        sampler=engine,
        scorer=Mixed(seed),
        sampling=Sampling(prompts=4, samples=2, max_tokens=1),
        rules=GroupFilter(max_age=max_age, max_gen_batches=3),
        reward=Reward(max_undecided_share=1.0),
        seed=seed,
        ahead=1,
    )
    ahead = source.fill(version, Clock())
    for _ in range(steps):
        taken, ahead = ahead, source.fill(version, Clock())  # drawn while the batch taken is trained on
        assert all(version - group.version <= max_age for group in taken.kept)
        trained = engine.random.random() < 0.8 and bool(taken.kept)
        counts.add(taken, trained=trained)
        gone = counts.trained + counts.stale + counts.filtered + counts.failed
        assert counts.produced == gone + len(taken.surplus)
        if trained:
            version += 1
            engine.now += engine.random.expovariate(0.3)
            engine.send(version)
    return counts


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), max_age=st.integers(1, 4), delay=st.sampled_from([0.0, 5.0, 50.0]))
def test_no_rollout_is_trained_on_beyond_the_bound_and_the_counts_add_up(
    seed: int, max_age: int, delay: float, problems: list[Problem]
) -> None:
    simulated(seed, max_age=max_age, delay=delay, problems=problems)


def test_the_bound_of_two_versions_is_what_drops_slow_rollouts(problems: list[Problem]) -> None:
    """Without it the same rollouts would have reached the trainer: the law above is not empty."""
    bounded = [simulated(seed, max_age=2, delay=50.0, problems=problems) for seed in range(20)]
    free = [simulated(seed, max_age=99, delay=50.0, problems=problems) for seed in range(20)]
    assert sum(counts.stale for counts in bounded) > 100
    assert sum(counts.stale for counts in free) == 0
    assert all(counts.trained > 0 and counts.filtered > 0 and counts.failed > 0 for counts in free)
