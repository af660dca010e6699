"""Files appear whole or not at all: write under a temporary name, flush, rename, flush the folder."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TEMPORARY_PREFIX = ".tmp-"


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on a clean exit it is flushed and renamed to `path`, else removed."""
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


def write_text(path: Path, text: str) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Byte-stable JSON: sorted keys, two spaces, Unicode kept, a final newline; nan and infinity are refused."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")
