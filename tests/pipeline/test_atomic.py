"""A file or folder is there whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import atomic
from pipeline.config import RecipeError


def test_a_failure_leaves_the_old_file_and_no_leftover(tmp_path: Path) -> None:
    target = tmp_path / "value.json"
    atomic.write_json(target, {"a": 1})
    with pytest.raises(UnicodeEncodeError), atomic.atomic_file(target) as temporary:
        temporary.write_text("half\ud800", encoding="utf-8")
    assert target.read_text() == '{\n  "a": 1\n}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["value.json"]


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    for name in ("one", "two"):
        with atomic.atomic_folder(target) as temporary:
            (temporary / "inner").mkdir()
            (temporary / "inner" / name).write_text(name)
    assert [path.name for path in (target / "inner").iterdir()] == ["two"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_json_is_byte_stable_and_refuses_nan(tmp_path: Path) -> None:
    atomic.write_json(tmp_path / "a", {"b": 1, "a": "π"})
    atomic.write_json(tmp_path / "b", {"a": "π", "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        atomic.write_json(tmp_path / "c", float("nan"))
    assert not (tmp_path / "c").exists()


def test_a_killed_writer_leaves_only_what_can_be_swept(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib; from pipeline.atomic import atomic_file\n"
        "with atomic_file(pathlib.Path(sys.argv[1])) as t:\n"
        "    t.write_text('half'); print('writing', flush=True); time.sleep(60)\n"
    )
    root = Path(__file__).resolve().parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "x")], stdout=subprocess.PIPE, cwd=root, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "writing\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert not (tmp_path / "x").exists()
    atomic.remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_held_by_one_process_and_free_when_it_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib; from pipeline.atomic import exclusive\n"
        "with exclusive(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    root = Path(__file__).resolve().parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, cwd=root, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(RecipeError, match="another process works in this folder"), atomic.exclusive(tmp_path):
        pass
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    before = (tmp_path / atomic.LOCK_NAME).stat().st_mtime_ns
    with atomic.exclusive(tmp_path):
        pass
    assert (tmp_path / atomic.LOCK_NAME).stat().st_mtime_ns == before


def test_a_folder_with_other_files_is_foreign(tmp_path: Path) -> None:
    assert not atomic.is_foreign(tmp_path, "recipe.toml")
    with atomic.exclusive(tmp_path):
        assert not atomic.is_foreign(tmp_path, "recipe.toml")
    (tmp_path / "thesis.txt").write_text("mine")
    assert atomic.is_foreign(tmp_path, "recipe.toml")
    (tmp_path / "recipe.toml").write_text("")
    assert not atomic.is_foreign(tmp_path, "recipe.toml")
