"""Files appear whole or not at all: write under a temporary name, flush, rename, flush the folder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.config import RecipeError

TEMPORARY_PREFIX = ".tmp-"
LOCK_NAME = ".lock"
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""A full disk, a quota that is used up, a limit on the size of a file."""


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Raises RecipeError, which names `path`, when there is no room to write it."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        why = os.strerror(error.errno)
        raise RecipeError(
            f"{path}: cannot be written: {why}; make room there, then the same command goes on from here"
        ) from None


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on a clean exit it is flushed and renamed to `path`, else removed.

    Raises RecipeError when the disk is full.
    """
    with room_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, suffix=path.suffix, dir=path.parent)
        os.close(descriptor)
        temporary = Path(name)
        temporary.chmod(0o644)
        try:
            yield temporary
            _fsync(temporary)
            temporary.replace(path)
            _fsync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """As `atomic_file` for a whole folder; an existing folder at `path` is replaced."""
    with room_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=path.parent))
        temporary.chmod(0o755)
        try:
            yield temporary
            for file in sorted(temporary.rglob("*")):
                _fsync(file)
            _fsync(temporary)
            if path.exists():
                aside = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=path.parent))
                path.replace(aside / path.name)
                temporary.replace(path)
                shutil.rmtree(aside)
            else:
                temporary.replace(path)
            _fsync(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Deletes temporary files and folders that a killed process left directly in `folder`."""
    for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Holds `folder` for this process; the system lets go when the process ends, however it does.

    Raises RecipeError when another process holds it: two writers would spoil each other's files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RecipeError(f"{folder}: another process works in this folder; wait for it, or stop it") from None
    try:
        yield
    finally:
        os.close(descriptor)


def is_foreign(folder: Path, own: str, before: str | None = None) -> bool:
    """Whether the folder holds files, but not `own`, by which we know a folder of ours.

    before: beginning of the names of files of ours that may be there before `own` is.
    """
    if not folder.is_dir() or (folder / own).exists():
        return False
    names = [item.name for item in folder.iterdir()]
    return any(name != LOCK_NAME and (before is None or not name.startswith(before)) for name in names)


def write_text(path: Path, text: str) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Byte-stable JSON: sorted keys, two spaces, Unicode kept, a final newline; nan and infinity are refused."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")
