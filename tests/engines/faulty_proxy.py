"""A proxy before a model server that fails on purpose, and counts what it delivered."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

FAULTS = ("500", "429", "drop", "hang", "half", "html")
"""Error, too many requests, connection closed unanswered, no answer for `hang_s`, half an answer, a page of text."""


class FaultyProxy(ThreadingHTTPServer):
    """Every `every`-th request fails, in the order of `faults`; the others are answered by the server at `target`.

    delivered: how often each request (by its body) was computed and sent to a client that was still there.
    hold_after: so many requests are forwarded; later ones wait for `release`, as if the model took long.
    """

    daemon_threads = True

    def __init__(self, target: str, *, every: int = 0, faults: Sequence[str] = FAULTS, hang_s: float = 30.0) -> None:
        super().__init__(("127.0.0.1", 0), _Proxy)
        self.target = urlsplit(target)
        self.every, self.faults, self.hang_s = every, faults, hang_s
        self.requests = self.forwarded = 0
        self.injected: Counter[str] = Counter()
        self.delivered: Counter[str] = Counter()
        self.seen_headers: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = 0
        self.hold_after: int | None = None
        self.held = threading.Event()
        self.release = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *_: Any) -> None:
        """Silent: killed clients are what it is for."""

    def fault(self) -> str | None:
        with self.lock:
            self.requests += 1
            if not self.every or self.requests % self.every:
                return None
            kind = self.faults[(self.requests // self.every) % len(self.faults)]
            self.injected[kind] += 1
            return kind

    def wait_while_held(self) -> None:
        with self.lock:
            holding = self.hold_after is not None and self.forwarded >= self.hold_after
            self.forwarded += not holding
        if holding:
            self.held.set()
            self.release.wait(120)


class _Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        with self.server.lock:
            self.server.in_flight += 1
            self.server.most_in_flight = max(self.server.most_in_flight, self.server.in_flight)
            self.server.seen_headers.append(dict(self.headers.items()))
        try:
            self._serve(body)
        except ConnectionError:
            self.close_connection = True
        finally:
            with self.server.lock:
                self.server.in_flight -= 1

    def _serve(self, body: bytes) -> None:
        fault = self.server.fault()
        if fault == "hang":
            with self._not_counted():
                self.server.release.wait(self.server.hang_s)
        if fault in ("drop", "hang"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "500":
            self._send(500, b'{"error": "on purpose"}')
        elif fault == "429":
            self._send(429, b"", {"Retry-After": "0.05"})
        elif fault == "html":
            self._send(200, b"<html>try later</html>")
        elif fault == "half":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"choices": [')
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._forward(body)

    @contextmanager
    def _not_counted(self) -> Iterator[None]:
        """The client has given up long before a hang ends."""
        with self.server.lock:
            self.server.in_flight -= 1
        try:
            yield
        finally:
            with self.server.lock:
                self.server.in_flight += 1

    def _forward(self, body: bytes) -> None:
        self.server.wait_while_held()
        if self._client_left():
            self.close_connection = True
            return
        upstream = HTTPConnection(self.server.target.hostname or "", self.server.target.port, timeout=120)
        upstream.request("POST", self.path, body, {"Content-Type": "application/json"})
        reply = upstream.getresponse()
        data = reply.read()
        upstream.close()
        with self.server.lock:
            self.server.delivered[json.dumps(json.loads(body), sort_keys=True)] += reply.status == 200
        self._send(reply.status, data)

    def _client_left(self) -> bool:
        """A server that computes for nobody would be paid for nothing; vLLM aborts as well."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Silent."""
