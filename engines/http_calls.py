"""Calls to a server: so many at once, each tried again with growing pauses until it is answered."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from queue import SimpleQueue
from typing import Any, TypeVar

import httpx

from engines.build import EndpointConfig
from engines.engine import EngineError
from engines.wire import Call

T = TypeVar("T")

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
FIRST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_ASKED_PAUSE_S = 0.5, 30.0, 300.0
SHOWN_ERROR = 300
_NEVER_WORKS = ("insufficient_quota", "billing")
_PROMPT_TOO_LONG = ("context_length_exceeded", "maximum context length", "context length", "too many tokens")


class PromptTooLongError(Exception):
    """The prompt leaves the model no room."""


@dataclass(frozen=True, slots=True)
class _Again:
    """A try that failed in a way that may pass. wait_s: what the server asked for."""

    reason: str
    wait_s: float | None = None


class Caller:
    """Answers of one server. key: sent as bearer token, and blotted out wherever an error would show it."""

    def __init__(self, config: EndpointConfig, key: str | None) -> None:
        self.config = config
        self.retries = 0
        self._key = key
        self._not_before = 0.0
        self._stopping = False

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=self.config.concurrency)
        base = self.config.base_url.rstrip("/") + "/"
        async with httpx.AsyncClient(base_url=base, headers=headers, limits=limits, timeout=None) as client:
            yield client

    async def each(self, calls: Iterable[T], answer: Callable[[T], Awaitable[None]]) -> None:
        """`answer` for every call, `concurrency` at a time.

        After a failure nothing new is asked, but what is under way may still be answered, for it may be paid.
        """
        waiting = iter(calls)
        failures: list[EngineError] = []
        self._stopping = False

        async def work() -> None:
            for call in waiting:
                try:
                    await answer(call)
                except EngineError as error:
                    self._stopping = True
                    failures.append(error)
                if self._stopping:
                    return

        await asyncio.gather(*(work() for _ in range(self.config.concurrency)))
        if failures:
            raise failures[0]

    async def post(self, client: httpx.AsyncClient, call: Call, read: Callable[[Any], T]) -> T:
        """What `read` makes of the reply; a reply on which it raises ValueError counts as a failed try.

        Pauses: what a 429 asks for (all calls heed it), else doubling from half a second with full jitter.
        Raises EngineError when the server refuses or the tries are used up, PromptTooLongError for an overlong prompt.
        """
        for attempt in range(self.config.retries + 1):
            await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            outcome = await self._try(client, call, read)
            if not isinstance(outcome, _Again):
                return outcome
            if attempt == self.config.retries or self._stopping:
                raise EngineError(self._text(f"gave up after {attempt + 1} tries ({outcome.reason})"))
            self.retries += 1
            if outcome.wait_s is not None:
                self._not_before = max(self._not_before, time.monotonic() + outcome.wait_s)
            else:
                await asyncio.sleep(random.random() * min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempt))
        raise AssertionError("unreachable: the last try returns or raises")

    async def _try(self, client: httpx.AsyncClient, call: Call, read: Callable[[Any], T]) -> T | _Again:
        headers = {"Idempotency-Key": call.digest}  # a gateway that knows it charges a repeated call once
        try:
            async with asyncio.timeout(self.config.timeout_s):
                reply = await client.post(call.path, json=call.body, headers=headers)
        except TimeoutError:
            return _Again(f"no answer within {self.config.timeout_s:g} s")
        except httpx.RequestError as error:
            return _Again(f"{type(error).__name__} {error}".strip())
        if reply.status_code != 200:
            return self._refused(reply)
        try:
            return read(json.loads(reply.content))
        except ValueError as error:
            return _Again(str(error))

    def _refused(self, reply: httpx.Response) -> _Again:
        said = " ".join(reply.text.split())[:SHOWN_ERROR]
        if reply.status_code in (400, 413, 422) and any(mark in said.lower() for mark in _PROMPT_TOO_LONG):
            raise PromptTooLongError
        never = reply.status_code == 429 and any(mark in said for mark in _NEVER_WORKS)
        if reply.status_code in RETRIED and not never:
            return _Again(f"status {reply.status_code}", asked_pause(reply.headers.get("retry-after")))
        raise EngineError(self._text(f"status {reply.status_code}: {said or 'no reason given'}"))

    def _text(self, what: str) -> str:
        shown = what.replace(self._key, "***") if self._key else what
        return f"{self.config.base_url}, model {self.config.model}: {shown}; what was answered is kept"


def asked_pause(value: str | None) -> float | None:
    """Seconds of a Retry-After header: a number, or a date; bounded. None when there is no readable one."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(0.0, seconds), LONGEST_ASKED_PAUSE_S) if seconds == seconds else None


def as_they_finish(main: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]]) -> Iterator[T]:
    """What `main(emit)` emits, while it runs in an event loop of its own thread; a caller may have a loop already.

    Closing the iterator cancels `main`. What it raises is raised here.
    """
    found: SimpleQueue[tuple[T] | None] = SimpleQueue()
    begun: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = SimpleQueue()

    async def whole() -> None:
        begun.put((asyncio.get_running_loop(), asyncio.current_task()))
        try:
            await main(lambda value: found.put((value,)))
        finally:
            found.put(None)

    with ThreadPoolExecutor(1, thread_name_prefix="endpoint") as pool:
        future = pool.submit(lambda: asyncio.run(whole()))
        loop, task = begun.get()
        try:
            while (item := found.get()) is not None:
                yield item[0]
            future.result()
        finally:
            if task is not None and not future.done():
                with suppress(RuntimeError):  # the loop ended in between
                    loop.call_soon_threadsafe(task.cancel)
