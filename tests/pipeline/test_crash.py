"""Killed at any moment, or out of disk: nothing half written is seen, and the same command gives the same bytes."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from pipeline.atomic import TEMPORARY_PREFIX
from pipeline.config import RecipeError, load
from pipeline.run import CurateConfig, curate

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
VERIGOLD = (sys.executable, "-c", "from verigold.cli import main; main()")
SLOW = (pytest.mark.slow, pytest.mark.timeout(1800))
MakeRecipe = Callable[..., Path]

PROGRAM = """
import json, os, random, signal, sys, time
from pathlib import Path
from rich.console import Console
import pipeline.run
import pipeline.stages.clean, pipeline.stages.dedupe, pipeline.stages.decontaminate, pipeline.stages.integers
from pipeline.config import load

pipeline.run.PART_ROWS = 16
pipeline.run.code_version = lambda _: "fixed: sources may be edited while tests run"


def run(recipe, out, workers):
    config = load(pipeline.run.CurateConfig, [Path(recipe)])
    pipeline.run.curate(config, Path(out), console=Console(quiet=True), workers=workers)


def start(recipe, out, workers):
    # A fork has everything imported, so that the moments fall into the work and not into the imports.
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        run(recipe, out, workers)
        os._exit(0)
    os.setpgid(pid, pid)
    return pid


def main():
    recipe, workers = sys.argv[1], int(sys.argv[2])
    for line in sys.stdin:
        out, delay = json.loads(line)
        pid = start(recipe, out, workers)
        if delay is not None:
            time.sleep(delay)
            os.killpg(pid, signal.SIGKILL)
        print(os.waitpid(pid, 0)[1], flush=True)


if __name__ == "__main__":
    main()
"""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that a reader may see and that must be byte-stable."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in (".work", "run.json", ".lock")
    }


def finished(out: Path) -> dict[str, int]:
    """Outputs that are done, with their time stamps: shards, and what is recorded in the work folder."""
    found = {str(path): path.stat().st_mtime_ns for path in (out / "data").glob("[!.]*.parquet")}
    for path in (out / ".work").rglob("[!.]*.*"):
        kind, _, part = path.stem.partition("-")
        record = {"kept": f"part-{part}.json", "drops": f"part-{part}.json", "verdict": "decided.json"}
        if path.with_name(record.get(kind, path.name)).is_file() and path.name != "finished.json":
            found[str(path)] = path.stat().st_mtime_ns
    return found


class Killer:
    """Starts the same command again and again and kills the whole process group after a delay."""

    def __init__(self, script: Path, recipe: Path, workers: int) -> None:
        script.write_text(PROGRAM)
        self._process = subprocess.Popen(
            [sys.executable, str(script), str(recipe), str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ENVIRONMENT,
            text=True,
        )

    def run(self, out: Path, delay_s: float | None = None) -> bool:
        """Whether the run was killed; False when it had ended before. Without a delay it is left to end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(out), delay_s]) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        assert status in (0, signal.SIGKILL)
        return status != 0

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(60) == 0


@pytest.mark.parametrize(
    ("workers", "rows", "kills"),
    [
        (1, 40, 15),
        (2, 40, 5),
        pytest.param(2, 400, 20, marks=SLOW),
        pytest.param(7, 400, 20, marks=SLOW),
    ],
)
def test_sigkill_of_the_whole_tree_at_random_moments(
    recipe: MakeRecipe, tmp_path: Path, workers: int, rows: int, kills: int
) -> None:
    moments = random.Random(1000 * workers + kills)
    killer = Killer(tmp_path / "go.py", recipe(rows), workers)
    killer.run(tmp_path / "warm")
    began = time.monotonic()
    killer.run(tmp_path / "whole")
    whole_s = time.monotonic() - began
    whole = contents(tmp_path / "whole")
    killed, folders = 0, 1
    out = tmp_path / "killed1"
    while killed < kills:
        before = finished(out)
        ended = not killer.run(out, moments.uniform(0, whole_s))
        after = finished(out)
        assert {name: after.get(name) for name in before} == before
        killed += not ended
        if ended:
            assert contents(out) == whole
            folders += 1
            out = tmp_path / f"killed{folders}"
    before = finished(out)
    killer.run(out)
    killer.close()
    after = finished(out)
    assert {name: after.get(name) for name in before} == before
    assert contents(out) == whole
    assert not [found for found in out.rglob("*") if found.name.startswith(TEMPORARY_PREFIX)]


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def heed_interrupts() -> None:
    """Tests that run in the background inherit an ignored SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start_with_workers(recipe: Path, out: Path) -> tuple[subprocess.Popen[bytes], list[psutil.Process]]:
    """A run with two workers, once they are there, and all its child processes."""
    command = [*VERIGOLD, "curate", str(recipe), "--out", str(out), "--workers", "2"]
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=heed_interrupts
    )
    deadline = time.monotonic() + 100
    parent = psutil.Process(process.pid)
    while len(parent.children(recursive=True)) < 4 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    family = parent.children(recursive=True)
    assert len(family) >= 4
    return process, family


def test_workers_end_with_their_parent(recipe: MakeRecipe, tmp_path: Path) -> None:
    path = recipe(3000)
    blows = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
    for blow in blows:
        process, family = start_with_workers(path, tmp_path / blow.name)
        process.send_signal(blow)
        _, said = process.communicate(timeout=60)
        deadline = time.monotonic() + 60
        while alive(family) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not alive(family)
        if blow is not signal.SIGKILL:
            assert process.returncode == {signal.SIGTERM: 143, signal.SIGINT: 130}[blow]
            assert b"the same command goes on from here" in said
            assert b"Traceback" not in said
            assert b"resource_tracker" not in said


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """small_disk(size): a file system of its own with that much room; called again it gets the new size."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(size: str) -> Path:
        options = f"remount,size={size}" if os.path.ismount(place) else f"size={size}"
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True)
        if done.returncode:
            pytest.skip("may not mount a file system here")
        return place

    yield mount
    if os.path.ismount(place):
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def assert_nothing_half_written(out: Path) -> None:
    for path in out.rglob("*"):
        assert not path.name.startswith(TEMPORARY_PREFIX)
        if path.suffix == ".parquet":
            pq.read_metadata(path)
        if path.suffix == ".json":
            json.loads(path.read_text())


def test_a_full_disk_is_one_message_and_with_room_the_same_command_ends(
    recipe: MakeRecipe, tmp_path: Path, small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.run.PART_ROWS", 16)
    config = load(CurateConfig, [recipe()])
    curate(config, tmp_path / "whole", console=Console(quiet=True), workers=1)
    pages = sum(-(-path.stat().st_size // 4096) for path in (tmp_path / "whole").rglob("*") if path.is_file())
    out = small_disk("16k") / "out"
    stopped_at = set()
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        small_disk(f"{int(share * pages * 4)}k")
        with pytest.raises(RecipeError, match=r"disk.*: cannot be written: No space left.*same command") as caught:
            curate(config, out, console=Console(quiet=True), workers=1)
        stopped_at.add(str(caught.value).split(":")[0])
        assert_nothing_half_written(out)
    assert len(stopped_at) == 5
    small_disk("64m")
    curate(config, out, console=Console(quiet=True), workers=1)
    assert contents(out) == contents(tmp_path / "whole")


def test_a_limit_on_file_sizes_is_told_by_the_command(recipe: MakeRecipe, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*VERIGOLD, "curate", str(recipe(60)), "--out", str(out), "--workers", "1"]
    done = subprocess.run(
        command,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (7_000, 7_000)),
    )
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert ".parquet: cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert_nothing_half_written(out)
    assert subprocess.run(command, env=ENVIRONMENT, capture_output=True).returncode == 0
