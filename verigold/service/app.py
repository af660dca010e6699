"""The paths of the service. Every answer but /metrics is JSON in ASCII; every refusal has the form of errors.py."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from verifiers.verdict import Verdict
from verigold.service import bodies, replies
from verigold.service.errors import Refusal
from verigold.service.limits import Limits
from verigold.service.work import Desk

_DRAINED = 8
"""How many times the largest body is read and thrown away, so that a client that sends too much gets its answer."""
_LONGEST_NAME = 100
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a path takes and answers."""

    rows: Callable[[Any, Limits], list[bodies.Row]]
    reply: Callable[[Sequence[bodies.Row], Sequence[Verdict | None], Limits], Any]


SHAPES: Mapping[str, Shape] = {
    "/verify": Shape(bodies.rows, replies.verify_reply),
    "/reward": Shape(bodies.rows, replies.reward_reply),
    "/reward/openrlhf": Shape(bodies.openrlhf_rows, replies.openrlhf_reply),
    "/reward/slime": Shape(bodies.slime_rows, replies.slime_reply),
}


def build(desk: Desk) -> Starlette:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await desk.open()
        yield
        await desk.close()

    app = Starlette(
        routes=[
            *(Route(path, _post(desk, path, shape), methods=["POST"]) for path, shape in SHAPES.items()),
            Route("/health", _health(desk)),
            Route("/metrics", _metrics(desk)),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _no_such_path, Exception: _our_mistake},
    )
    app.router.redirect_slashes = False
    return app


# ---- posts ---------------------------------------------------------------------------------------------------------


def _post(desk: Desk, path: str, shape: Shape) -> Callable[[Request], Any]:
    async def serve(request: Request) -> Response:
        try:
            with desk.holding() as add:
                response = await _answer(desk, path, shape, request, add)
        except Refusal as refusal:
            response = _json(refusal.to_json(), refusal.status, refusal.headers())
        except ClientDisconnect:
            response = Response(status_code=499)
        desk.metrics.requests.labels(path, response.status_code).inc()
        return response

    return serve


async def _answer(desk: Desk, path: str, shape: Shape, request: Request, add: Callable[[int], None]) -> Response:
    """Raises Refusal, and ClientDisconnect in the middle of a body."""
    try:
        body = await desk.until(_body(request, desk.limits, add), desk.limits.body_s)
    except TimeoutError:
        raise Refusal(408, "body-late", f"the body was not there after {desk.limits.body_s:g} s", close=True) from None
    begun = time.monotonic()
    rows = shape.rows(bodies.parsed(body), desk.limits)
    del body
    found = await desk.verdicts(_client(request), [row.request for row in rows], lambda: _hung_up(request))
    for verdict in found:
        if verdict is not None:
            desk.metrics.rows.labels(verdict.status.value).inc()
    desk.metrics.request_s.labels(path).observe(time.monotonic() - begun)
    return _json(shape.reply(rows, found, desk.limits))


async def _body(request: Request, limits: Limits, add: Callable[[int], None]) -> bytes:
    """Raises Refusal (413) for a body that is too large, after reading and forgetting what is sent."""
    body = bytearray()
    total = 0
    async for chunk in request.stream():
        total += len(chunk)
        if total > _DRAINED * limits.max_body_bytes:
            break
        if total <= limits.max_body_bytes:
            add(len(chunk))
            body += chunk
    if total > limits.max_body_bytes:
        message = f"the body is larger than {limits.max_body_bytes:,} bytes"
        raise Refusal(413, "body-too-large", message, close=True)
    return bytes(body)


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _client(request: Request) -> str:
    """Who shares turns: the name a client gives itself, else its connection."""
    named = request.headers.get("x-client", "")[:_LONGEST_NAME]
    return named or (f"{request.client.host}:{request.client.port}" if request.client else OTHER)


# ---- the rest ------------------------------------------------------------------------------------------------------


def _health(desk: Desk) -> Callable[[Request], Any]:
    async def health(_: Request) -> Response:
        alive = sum(lane.alive for lane in desk.lanes)
        status = "stopping" if desk.stopping else ("ok" if alive == desk.limits.workers else "degraded")
        told = {"status": status, "workers": alive, "queued_rows": desk.queue.rows}
        return _json(told, 200 if status == "ok" else 503)

    return health


def _metrics(desk: Desk) -> Callable[[Request], Any]:
    async def metrics(_: Request) -> Response:
        return Response(desk.metrics.text(), media_type="text/plain; version=0.0.4")

    return metrics


async def _no_such_path(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = ", ".join((*SHAPES, "/health", "/metrics"))
    if error.status_code == 405:
        refusal = Refusal(405, "wrong-method", "rows are posted; /health and /metrics are read")
    else:
        refusal = Refusal(404, "no-such-path", f"there are: {known}")
    return _json(refusal.to_json(), refusal.status, dict(error.headers or {}))


async def _our_mistake(_: Request, error: Exception) -> Response:
    refusal = Refusal(500, "internal", type(error).__name__)
    return _json(refusal.to_json(), refusal.status)


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """ASCII, so that half of a surrogate pair in a text goes back as it came."""
    data = json.dumps(value, allow_nan=False).encode("ascii")
    return Response(data, status, headers=headers, media_type="application/json")
