"""Answers that were paid for, by the digest of their request, in one SQLite file.

Every answer is one transaction in write-ahead mode: a process killed at any moment loses none that was put.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from engines.engine import EngineError

LOCK_WAIT_S = 60.0


class RequestCache(AbstractContextManager["RequestCache", None]):
    """Belongs to the thread that opens it. Only answers and digests are stored, neither prompts nor keys.

    path: None keeps nothing.  Raises EngineError for a file that is no such store.
    """

    def __init__(self, path: Path | None) -> None:
        self._connection: sqlite3.Connection | None = None
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=LOCK_WAIT_S)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE IF NOT EXISTS answers (digest TEXT PRIMARY KEY, answer TEXT NOT NULL)")
            connection.commit()
        except sqlite3.DatabaseError as error:
            connection.close()
            raise EngineError(f"{path}: the store of answers cannot be used ({error}); move it away") from None
        self._connection = connection

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()

    def get(self, digest: str) -> dict[str, Any] | None:
        if self._connection is None:
            return None
        row = self._connection.execute("SELECT answer FROM answers WHERE digest = ?", (digest,)).fetchone()
        return json.loads(row[0]) if row is not None else None

    def put(self, digest: str, answer: Mapping[str, Any]) -> None:
        if self._connection is None:
            return
        row = (digest, json.dumps(answer))
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", row)
