"""JSON values over pipes, each after its length in bytes (four bytes, big-endian): how parents and workers talk."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any

_HEADER = struct.Struct(">I")
_MAX_BYTES = 1 << 26
_PARENT_CHECK_S = 2.0


def write_frame(descriptor: int, value: Any) -> None:
    """Raises OSError when the other end is closed."""
    data = json.dumps(value).encode()
    view = memoryview(_HEADER.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int, deadline: float | None, owner: int | None = None) -> Any:
    """The next value; None at the end of the stream.

    deadline: on the clock of `time.monotonic`, None without one; TimeoutError after it. owner: None is returned also
    when this process is no longer the parent.
    """
    header = _read_exactly(descriptor, _HEADER.size, deadline, owner)
    if header is None:
        return None
    size = _HEADER.unpack(header)[0]
    if size > _MAX_BYTES:
        return None
    data = _read_exactly(descriptor, size, deadline, owner)
    return None if data is None else json.loads(data)


def _read_exactly(descriptor: int, count: int, deadline: float | None, owner: int | None) -> bytes | None:
    parts: list[bytes] = []
    while count:
        wait = _PARENT_CHECK_S if deadline is None else deadline - time.monotonic()
        if wait <= 0:
            raise TimeoutError
        if not select.select([descriptor], [], [], wait)[0]:
            if owner is not None and os.getppid() != owner:
                return None
            continue
        part = os.read(descriptor, min(count, 1 << 16))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
