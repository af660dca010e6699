"""uvicorn around the app: a bound socket, connections that cannot be held open by saying nothing, and a quiet end."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import Any

import h11
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from verigold.service.app import build
from verigold.service.limits import Limits
from verigold.service.work import Desk

_BACKLOG = 512
_LONGEST_HEAD = 32 << 10
_KEPT_ALIVE_S = 30
_AFTER_GRACE_S = 5


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError:
        found.close()
        raise
    return found


def serve(bound: socket.socket, limits: Limits, *, ready: Callable[[], None]) -> None:
    """Serves until SIGTERM or SIGINT; `ready` is called when the workers are warm and requests are taken."""
    # uvicorn sends itself the signal again when it is done, which must not be the end of this process by then
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        asyncio.run(_serve(bound, limits, ready))
    finally:
        signal.signal(signal.SIGTERM, before)


async def _serve(bound: socket.socket, limits: Limits, ready: Callable[[], None]) -> None:
    desk = Desk(limits)
    config = Config(
        build(desk),
        http=_protocol(limits),
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="error",
        backlog=_BACKLOG,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        timeout_keep_alive=_KEPT_ALIVE_S,
        timeout_graceful_shutdown=int(limits.grace_s) + _AFTER_GRACE_S,
        server_header=False,
    )
    await _Stopping(config, desk, ready).serve([bound])


class _Stopping(Server):
    """Tells the desk that the end has come before uvicorn waits for requests under way."""

    def __init__(self, config: Config, desk: Desk, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._desk = desk
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._desk.stop()
        await super().shutdown(sockets)


def _protocol(limits: Limits) -> type[H11Protocol]:
    class Impatient(H11Protocol):
        """A head must be there head_s after its first byte, or after the connection was made; an answer must have been
        taken unread_s after it was given; and no more connections are kept than the limit says."""

        head: asyncio.TimerHandle | None = None
        unread: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.max_connections:
                transport.abort()
            self._watch()

        def data_received(self, data: bytes) -> None:
            self.unread = _cancelled(self.unread)
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            _cancelled(self.unread)
            self.unread = self.loop.call_later(limits.unread_s, self._drop_unread)

        def connection_lost(self, exc: Exception | None) -> None:
            self.head, self.unread = _cancelled(self.head), _cancelled(self.unread)
            super().connection_lost(exc)

        def _watch(self) -> None:
            if self.conn.their_state is not h11.IDLE:
                self.head = _cancelled(self.head)
            elif self.head is None:
                self.head = self.loop.call_later(limits.head_s, self.transport.close)

        def _drop_unread(self) -> None:
            if self.transport.get_write_buffer_size():
                self.transport.abort()

    return Impatient


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
