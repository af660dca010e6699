"""The quick start's frame: finished steps stay, another recipe is refused, the splits are disjoint."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from pipeline.addition import assert_disjoint, problems
from pipeline.bundled import recipe
from pipeline.config import RecipeError
from trainer.warmstart import questions
from verigold import quickstart
from verigold.quickstart import Steps, load_config


def default_config(*overrides: str) -> quickstart.QuickstartConfig:
    return load_config([recipe("quickstart/default")], list(overrides))


def test_a_step_runs_once_and_again_when_its_key_or_output_is_gone(tmp_path: Path) -> None:
    steps, calls = Steps(root=tmp_path, console=Console(quiet=True)), []

    def make() -> None:
        calls.append(1)
        (tmp_path / "out.txt").write_text("x")

    for _ in range(2):
        steps.once("one", {"seed": 0}, ["out.txt"], make)
    assert len(calls) == 1
    steps.once("one", {"seed": 1}, ["out.txt"], make)
    assert len(calls) == 2
    (tmp_path / "out.txt").unlink()
    steps.once("one", {"seed": 1}, ["out.txt"], make)
    assert len(calls) == 3


def test_a_failed_step_is_not_recorded(tmp_path: Path) -> None:
    steps = Steps(root=tmp_path, console=Console(quiet=True))

    def fail() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        steps.once("bad", {}, [], fail)
    assert steps.wall_s() == 0


def test_a_folder_begun_with_another_recipe_is_refused_with_the_difference(tmp_path: Path) -> None:
    quickstart._same_recipe(default_config(), tmp_path)
    quickstart._same_recipe(default_config(), tmp_path)
    with pytest.raises(RecipeError, match=r"-seed = 0\n  \+seed = 1"):
        quickstart._same_recipe(default_config("seed=1"), tmp_path)


def test_a_recipe_that_names_a_missing_file_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"nowhere\.toml: no such file"):
        default_config("curate_real=nowhere.toml")


def test_warm_start_and_held_out_problems_share_no_question() -> None:
    heldout = {problem.question for problem in problems(1024, 0, split="held-out")}
    assert len(heldout) == 1024
    assert_disjoint(warm_start=questions(0), heldout=heldout)


def test_a_shared_question_is_found_in_either_order() -> None:
    with pytest.raises(AssertionError, match="is also in"):
        assert_disjoint(one=["12+34=?"], two=["34 + 12 = ?"])


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    for fresh in (False, True):
        with pytest.raises(RecipeError, match="holds other files"):
            quickstart.run(default_config(), tmp_path, Console(quiet=True), fresh=fresh)
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_training_children_end_with_their_parent(blow: signal.Signals, tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib; from verigold import quickstart\n"
        "from pipeline.bundled import recipe; from rich.console import Console\n"
        "from pipeline.executor import bind_to_parent\n"
        "def slow(config, root, name, quiet):\n"
        "    bind_to_parent()\n"
        "    (root / f'{name}.started').touch()\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    quickstart._train_child = slow\n"
        "    config = quickstart.load_config([recipe('quickstart/default')], [])\n"
        "    print('started', flush=True)\n"
        "    quickstart._train_both(config, pathlib.Path(sys.argv[1]), Console(quiet=True))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(program)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    parent = subprocess.Popen(
        [sys.executable, script, tmp_path],
        stdout=subprocess.PIPE,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background inherit it ignored
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"started\n"
    while len(list(tmp_path.glob("*.started"))) < 2:
        time.sleep(0.05)
    children = psutil.Process(parent.pid).children(recursive=True)
    assert len(children) >= 2
    parent.send_signal(blow)
    assert parent.wait(timeout=30) != 0
    parent.stdout.close()
    assert psutil.wait_procs(children, timeout=30)[1] == []
