"""Whole runs on a tiny real model: environments that give no signal, resume after kills, changed recipes."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import safetensors.torch
import torch
from rich.console import Console

from engines.engine import Completion
from pipeline.config import RecipeError, dump
from trainer.config import TrainConfig
from trainer.loop import train
from trainer.prompts import Draw
from trainer.scorers import Scorer
from verifiers import Request
from verifiers.verdict import Verdict, correct, incorrect, undecided

Recipe = Callable[..., TrainConfig]
ROOT = Path(__file__).resolve().parents[2]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if not key.startswith("time/")} for row in rows]


def prompts_by_step(folder: Path) -> list[list[str]]:
    return [[row["group"] for row in lines(path)] for path in sorted((folder / "rollouts").glob("*.jsonl"))]


class Always:
    """The same verdict for everything, or for everything but some problems."""

    def __init__(self, verdict: Verdict, informative: Sequence[str] = ()) -> None:
        self.verdict = verdict
        self.informative = set(informative)

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        return [self._one(draw, sample) for draw, sample, _ in samples]

    def _one(self, draw: Draw, sample: int) -> Verdict:
        if draw.task.problem.id in self.informative:
            return correct("half", None) if sample % 2 else incorrect("half", None)
        return self.verdict


def test_learns_what_is_rewarded(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    config = recipe(steps=24, sampling={"prompts": 8}, filter={"keep": "all"}, optimiser={"lr": 2e-2})
    summary = train(config, tmp_path / "run", console=quiet, scorer=scorer)
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    assert summary.exit_reason == "steps"
    assert [row["step"] for row in rows] == list(range(1, 25))
    first, last = (sum(row["reward/mean"] for row in part) / 4 for part in (rows[:4], rows[-4:]))
    assert first < 0.65
    assert last > 0.8
    assert rows[0]["mismatch/max_abs"] < 1e-4
    assert rows[0]["groups/rollouts_per_kept"] == pytest.approx(4 / rows[0]["groups/kept_share"])
    assert abs(rows[0]["kl/old_new"]) < 1e-2
    assert (tmp_path / "run" / "final" / "model.safetensors").is_file()
    samples = lines(tmp_path / "run" / "rollouts" / "step-00001.jsonl")
    assert len(samples) == 8 * 4
    assert {"step", "id", "group", "sample", "response", "status", "reward", "advantage", "version"} <= samples[
        0
    ].keys()


@pytest.mark.parametrize("verdict", [correct("always", None), incorrect("hedged", None)])
@pytest.mark.parametrize("policy", ["train", "replace", "skip", "error"])
def test_constant_reward_ends(verdict: Verdict, policy: str, recipe: Recipe, quiet: Console, tmp_path: Path) -> None:
    config = recipe(steps=50, filter={"max_gen_batches": 2, "max_empty_steps": 2, "on_exhausted": policy})
    summary = train(config, tmp_path / "run", console=quiet, scorer=Always(verdict))
    assert summary.exit_reason == ("exhausted" if policy == "error" else "no_signal")
    assert "all right" in summary.detail
    if policy != "error":
        rows = lines(tmp_path / "run" / "metrics.jsonl")
        assert len(rows) == 2
        assert all(row["groups/drawn"] == 8 and row["version"] == 0 for row in rows)
        assert summary.steps == 2
        assert {row["reward/hedged_share"] for row in rows} == {float(verdict.reason == "hedged")}
        assert {row["groups/rollouts_per_kept"] for row in rows} == {None}


def test_a_run_without_signal_that_was_killed_before_its_summary_ends_the_same(
    recipe: Recipe, quiet: Console, tmp_path: Path
) -> None:
    config = recipe(steps=50, filter={"max_gen_batches": 1, "max_empty_steps": 3})
    first = train(config, tmp_path / "run", console=quiet, scorer=Always(incorrect("hard", None)))
    before = lines(tmp_path / "run" / "metrics.jsonl")
    (tmp_path / "run" / "summary.json").unlink()
    second = train(config, tmp_path / "run", console=quiet, scorer=Always(incorrect("hard", None)))
    assert (second.exit_reason, second.steps, second.detail) == (first.exit_reason, 3, first.detail)
    assert lines(tmp_path / "run" / "metrics.jsonl") == before


def test_nothing_but_undecided_stops(recipe: Recipe, quiet: Console, tmp_path: Path) -> None:
    summary = train(recipe(), tmp_path / "run", console=quiet, scorer=Always(undecided("gold-unparsable")))
    assert summary.exit_reason == "undecided"
    assert "gold-unparsable" in summary.detail
    assert not (tmp_path / "run" / "final").exists()


def test_one_informative_prompt_in_fifty(recipe: Recipe, problems: list[Any], quiet: Console, tmp_path: Path) -> None:
    scorer = Always(incorrect("hard", None), [problems[7].id])
    config = recipe(steps=6, filter={"max_gen_batches": 3, "max_empty_steps": 20})
    summary = train(config, tmp_path / "run", console=quiet, scorer=scorer)
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    assert summary.exit_reason == "steps"
    assert all(row["groups/rounds"] == 3 for row in rows)
    visits = [group for step in prompts_by_step(tmp_path / "run") for group in step if problems[7].id in group]
    trained = sum(row["groups/kept"] for row in rows)
    assert trained == len(set(visits)) >= 1
    assert rows[-1]["version"] == sum(row["groups/kept"] > 0 for row in rows)


@pytest.mark.parametrize(("policy", "ends"), [("replace", "steps"), ("skip", "no_signal"), ("error", "exhausted")])
def test_one_informative_prompt_in_fifty_under_the_other_policies(
    policy: str, ends: str, recipe: Recipe, problems: list[Any], quiet: Console, tmp_path: Path
) -> None:
    """A whole epoch a step finds the prompt once: copies fill the batch, or the run ends and says why."""
    scorer = Always(incorrect("hard", None), [problems[7].id])
    config = recipe(steps=4, filter={"max_gen_batches": 13, "max_empty_steps": 2, "on_exhausted": policy})
    summary = train(config, tmp_path / "run", console=quiet, scorer=scorer)
    assert summary.exit_reason == ends
    rows = lines(tmp_path / "run" / "metrics.jsonl") if ends != "exhausted" else []
    assert all(row["groups/drawn"] <= 52 and row["groups/rounds"] == 13 for row in rows)
    if policy == "replace":
        assert {row["groups/kept"] for row in rows} == {4}
        assert all(row["groups/copies"] >= 2 for row in rows)
    else:
        assert "mixed 1" in summary.detail or "mixed 2" in summary.detail
        assert (summary.steps, len(rows)) == ((2, 2) if policy == "skip" else (0, 0))


def test_skip_keeps_what_was_accepted(recipe: Recipe, problems: list[Any], quiet: Console, tmp_path: Path) -> None:
    """With `skip` accepted groups wait until the batch is full; none is lost."""
    scorer = Always(incorrect("hard", None), [problem.id for problem in problems[::10]])
    config = recipe(steps=9, filter={"max_gen_batches": 1, "max_empty_steps": 20, "on_exhausted": "skip"})
    train(config, tmp_path / "run", console=quiet, scorer=scorer)
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    accepted = round(sum(row["groups/kept_share"] * row["groups/drawn"] for row in rows))
    assert {row["groups/kept"] for row in rows} <= {0, 4}
    assert accepted == sum(row["groups/kept"] for row in rows) + rows[-1]["groups/surplus"]


def test_undecided_rows_are_absent_from_the_update(recipe: Recipe, quiet: Console, tmp_path: Path) -> None:
    class Some(Always):
        def _one(self, draw: Draw, sample: int) -> Verdict:
            del draw
            return undecided("judge-dead") if sample == 0 else correct("x", None) if sample == 1 else self.verdict

    config = recipe(steps=1, reward={"max_undecided_share": 0.5})
    train(config, tmp_path / "run", console=quiet, scorer=Some(incorrect("x", None)))
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    assert rows[0]["reward/undecided_share"] == 0.25
    assert rows[0]["reward/mean"] == pytest.approx(1 / 3)
    sampled = lines(tmp_path / "run" / "rollouts" / "step-00001.jsonl")
    assert all((row["advantage"] is None) == (row["status"] == "undecided") for row in sampled)


def test_random_rewards_need_no_verifier(recipe: Recipe, quiet: Console, tmp_path: Path) -> None:
    config = recipe(steps=1, reward={"kind": "random"})
    train(config, tmp_path / "run", console=quiet)
    sampled = lines(tmp_path / "run" / "rollouts" / "step-00001.jsonl")
    assert {row["reason"] for row in sampled} == {"random"}
    assert {row["status"] for row in sampled} == {"correct", "incorrect"}
    assert "random-reward control" in (tmp_path / "run" / "final" / "README.md").read_text(encoding="utf-8")


def test_resume_is_bit_exact(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    """A run cut after a checkpoint and taken up gives the same metrics, prompts and weights as one in one go."""
    config = recipe(steps=6, checkpoints={"every": 2})
    train(config, tmp_path / "whole", console=quiet, scorer=scorer)

    class CutError(Exception):
        pass

    class CutScorer:
        calls = 0

        def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
            self.calls += 1
            if self.calls == 6:
                raise CutError
            return scorer(samples)

    with pytest.raises(CutError):
        train(config, tmp_path / "cut", console=quiet, scorer=CutScorer())
    train(config, tmp_path / "cut", console=quiet, scorer=scorer)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_resume_is_bit_exact_in_stages_and_with_a_greedy_baseline(
    recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path
) -> None:
    sampling = {"prompts": 4, "samples": 3, "max_tokens": 6, "stages": [{"until_step": 3, "max_tokens": 3}]}
    config = recipe(algorithm="remax", steps=5, sampling=sampling, reward={"length": {"name": "kimi"}})
    whole = train(config, tmp_path / "whole", console=quiet, scorer=scorer)
    for name in ("step-00004", "step-00005"):
        shutil.copytree(tmp_path / "whole", tmp_path / "cut", dirs_exist_ok=True)
        (tmp_path / "cut" / "summary.json").unlink()
        shutil.rmtree(tmp_path / "cut" / "checkpoints" / name, ignore_errors=True)
        assert train(config, tmp_path / "cut", console=quiet, scorer=scorer).steps == whole.steps
        assert_same_run(tmp_path / "whole", tmp_path / "cut")


def assert_same_run(one: Path, other: Path) -> None:
    assert without_times(lines(one / "metrics.jsonl")) == without_times(lines(other / "metrics.jsonl"))
    assert prompts_by_step(one) == prompts_by_step(other)
    weights = [safetensors.torch.load_file(folder / "final" / "model.safetensors") for folder in (one, other)]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


KILL_SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = [{root!r}, {here!r}]
import safetensors.torch
from conftest import EvenScorer
from rich.console import Console
from trainer.config import load_recipe
from trainer.loop import train

save, left = safetensors.torch.save_file, [int(sys.argv[1])]

def torn(tensors, path):
    save(tensors, path)
    left[0] -= 1
    if left[0] == 0:
        os.truncate(path, Path(path).stat().st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)

safetensors.torch.save_file = torn
with open({log!r}, "a", buffering=1) as log:
    train(load_recipe([Path({recipe!r})]), Path({out!r}), console=Console(file=log, width=300), scorer=EvenScorer())
"""
"""Trains; with an argument above 0 it dies in that file of its checkpoints' tensors, of which half is written."""


class Killed:
    """A run in a process of its own that is started again and again."""

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        self.out, self.log = folder / "killed", folder / "log"
        path = folder / "recipe.toml"
        path.write_text(dump(config), encoding="utf-8")
        here = str(Path(__file__).parent)
        self.script = KILL_SCRIPT.format(
            root=str(ROOT), here=here, recipe=str(path), out=str(self.out), log=str(self.log)
        )
        self.log.touch()

    def start(self, killed_in_file: int = 0) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", self.script, str(killed_in_file)]
        return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})

    def steps(self) -> list[int]:
        """Steps that were finished by all processes so far, in order."""
        return [int(step) for step in re.findall(r"step +(\d+) +tokens", self.log.read_text(encoding="utf-8"))]

    def kill(self, steps: int, delay_s: float) -> int:
        """Starts a process, kills it so long after its `steps`-th step, and returns how many it finished."""
        before = len(self.steps())
        process = self.start()
        while process.poll() is None and len(self.steps()) < before + steps:
            time.sleep(0.01)
        time.sleep(delay_s)
        process.kill()
        assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
        return len(self.steps()) - before


def test_sigkill_and_the_same_command_again(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    config = recipe(steps=5, checkpoints={"every": 3}, sampling={"prompts": 6, "samples": 6, "max_tokens": 24})
    train(config, tmp_path / "whole", console=quiet, scorer=scorer)
    killed = Killed(config, tmp_path)
    assert killed.kill(4, 0.0) >= 4
    assert killed.start().wait() == 0
    assert killed.steps()[-2:] == [4, 5]
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_five_sigkills_in_twenty_steps(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    """Three at random moments, two in the middle of a save: the same prompts in every step, bit-equal weights, and no
    more steps replayed than the interval of the checkpoints."""
    every = 3
    config = recipe(steps=20, checkpoints={"every": every}, sampling={"prompts": 6, "samples": 6, "max_tokens": 24})
    train(config, tmp_path / "whole", console=quiet, scorer=scorer)
    killed, moments = Killed(config, tmp_path), Random(time.time_ns())
    metrics, checkpoints = killed.out / "metrics.jsonl", killed.out / "checkpoints"
    reached, starts = [0], list[int]()
    for kill in ("moment", "first file", "moment", "fourth file", "moment"):
        before = len(killed.steps())
        if kill == "moment":
            killed.kill(moments.randint(1, 3), moments.random() / 4)
        else:
            assert killed.start(1 if kill == "first file" else 4).wait() == -signal.SIGKILL
            (torn,) = checkpoints.glob(".tmp-*")
            assert {path.name for path in torn.iterdir()} >= {"model.safetensors"}, "killed while saving"
        starts.append(killed.steps()[before])
        reached.append(len(lines(metrics)))
        with metrics.open("a", encoding="utf-8") as file:
            file.write('{"step": 99, "reward/me')  # what a kill in the middle of a line leaves
    before = len(killed.steps())
    assert killed.start().wait() == 0
    starts.append(killed.steps()[before])
    replayed = [there - start + 1 for there, start in zip(reached, starts, strict=True)]
    assert all(0 <= count <= every for count in replayed), replayed
    assert sum(replayed) > 0
    assert not list(checkpoints.glob(".tmp-*"))
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_a_finished_run_is_left_alone(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    config = recipe(steps=2)
    first = train(config, tmp_path / "run", console=quiet, scorer=scorer)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    assert train(config, tmp_path / "run", console=quiet, scorer=scorer) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


def test_a_changed_recipe_is_refused(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    train(recipe(steps=1), tmp_path / "run", console=quiet, scorer=scorer)
    with pytest.raises(RecipeError, match=r"-steps = 1\n\s+\+steps = 2"):
        train(recipe(steps=2), tmp_path / "run", console=quiet, scorer=scorer)
    assert train(recipe(steps=2), tmp_path / "run", console=quiet, scorer=scorer, fresh=True).steps == 2
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("mine", encoding="utf-8")
    with pytest.raises(RecipeError, match="holds no run"):
        train(recipe(steps=1), foreign, console=quiet, scorer=scorer, fresh=True)
    assert (foreign / "thesis.tex").exists()


def test_another_environment_is_refused(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    config = recipe(steps=4)
    train(config, tmp_path / "run", console=quiet, scorer=scorer)
    (tmp_path / "run" / "summary.json").unlink()
    path = tmp_path / "run" / "environment.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(recorded | {"torch": "0.1"}), encoding="utf-8")
    with pytest.raises(RecipeError, match="torch"):
        train(config, tmp_path / "run", console=quiet, scorer=scorer)


def test_token_budget_ends_the_run(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    summary = train(recipe(steps=100, max_generated_tokens=300), tmp_path / "run", console=quiet, scorer=scorer)
    assert summary.exit_reason == "tokens"
    assert 300 <= summary.generated_tokens < 300 + 10 * 4 * 4 * 6


def test_metrics_hold_no_nan(recipe: Recipe, quiet: Console, tmp_path: Path) -> None:
    train(
        recipe(steps=2, filter={"max_gen_batches": 1}),
        tmp_path / "run",
        console=quiet,
        scorer=Always(correct("x", None)),
    )
    for row in lines(tmp_path / "run" / "metrics.jsonl"):
        assert all(not (isinstance(value, float) and math.isnan(value)) for value in row.values())


def test_a_run_that_learned_nothing_is_no_success(recipe: Recipe, quiet: Console, tmp_path: Path) -> None:
    for changes, what in (({"steps": 1}, "steps"), ({"max_generated_tokens": 10}, "tokens")):
        out = tmp_path / what
        summary = train(recipe(**changes), out, console=quiet, scorer=Always(incorrect("hard", None)))
        assert (summary.exit_reason, summary.ended, summary.steps) == ("nothing_learned", False, 1)
        assert f"all {what} are used up" in summary.detail
        assert "all wrong" in summary.detail
        assert not (out / "final").exists()


def test_the_best_evaluation_keeps_its_model(
    recipe: Recipe,
    scorer: Scorer,
    shards: Path,
    quiet: Console,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The evaluations see responses whose length is even as right; best/ is the model of the best of them, resumed or
    not, beside the last checkpoints."""

    def verify(requests: Sequence[Request], *, workers: int | None) -> list[Verdict]:
        del workers
        return [correct("x", None) if len(request.response) % 2 else incorrect("x", None) for request in requests]

    monkeypatch.setattr("trainer.evaluate.verify_many", verify)
    evaluation = {"every": 1, "shards": str(shards), "problems": 6, "max_tokens": 3}
    config = recipe(steps=3, evaluation=evaluation, checkpoints={"every": 2, "best": "pass_at_1"})
    train(config, tmp_path / "run", console=quiet, scorer=scorer)
    rates = [row["eval/pass_at_1"] for row in lines(tmp_path / "run" / "metrics.jsonl")]
    card = (tmp_path / "run" / "best" / "README.md").read_text(encoding="utf-8")
    assert f"Steps: {rates.index(max(rates)) + 1};" in card
    weights = (tmp_path / "run" / "best" / "model.safetensors").read_bytes()
    (tmp_path / "run" / "summary.json").unlink()
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00003")
    train(config, tmp_path / "run", console=quiet, scorer=scorer)
    assert (tmp_path / "run" / "best" / "model.safetensors").read_bytes() == weights
