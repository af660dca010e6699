"""Who is judged next: rows of many clients, in turns, so that no client waits for another one's slow rows.

Fair queueing over worker seconds: the client with the fewest workers, then with the least used time, goes next. A
client that comes back starts at the common clock, which runs at each client's fair share, and cannot save up time; nor
can one slow row put its client behind newcomers for ever. A batch that has waited for half its time gets one worker
before all that is newer. One client never holds all workers, and whoever is slow gets its rows in smaller turns.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from verifiers.registry import Request
from verifiers.verdict import Verdict
from verigold.service.errors import full, stopping

ROWS_A_TURN = 8
CHARS_A_TURN = 64_000
SLOW_ROW_S = 0.05
LEAD_S = 0.1
"""How far slow rows can put a client's clock ahead of the common one."""


@dataclass(slots=True, eq=False)
class Batch:
    """The rows of one request. settle(place, verdict) is called from a worker's thread, once a row."""

    client: str
    requests: Sequence[Request]
    settle: Callable[[int, Verdict], object]
    waiting: deque[int] = field(init=False)
    dropped: bool = False
    born_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.requests)))


@dataclass(slots=True, eq=False)
class _Client:
    clock_s: float
    batches: deque[Batch] = field(default_factory=deque)
    turns: int = 0
    rows: int = 0
    rows_a_turn: int = ROWS_A_TURN


@dataclass(frozen=True, slots=True)
class Turn:
    """Rows of one batch that a worker takes at once."""

    batch: Batch
    places: Sequence[int]

    @property
    def requests(self) -> list[Request]:
        return [self.batch.requests[place] for place in self.places]


class FairQueue:
    """Shared by the server's thread, which puts and drops, and the workers' threads, which take and finish."""

    def __init__(self, *, workers: int, rows: int, old_s: float = 30.0) -> None:
        self.rows = 0
        self._old_s = old_s
        self._most_rows = rows
        self._most_turns = max(1, workers - 1)
        self._clients: dict[str, _Client] = {}
        self._clock_s = 0.0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, batch: Batch) -> None:
        """Raises Refusal: 429 when the client, 503 when the service has too many rows waiting or is stopping."""
        count = len(batch.requests)
        with self._changed:
            if self._closed:
                raise stopping()
            if self.rows + count > self._most_rows:
                raise full(f"{self.rows:,} rows are waiting already")
            client = self._clients.get(batch.client) or _Client(self._clock_s)
            if client.rows + count > self._most_rows // 2:
                raise full(f"this client has {client.rows:,} rows waiting already", status=429)
            self._clients[batch.client] = client
            client.batches.append(batch)
            client.rows += count
            self.rows += count
            self._changed.notify(count)

    def take(self) -> Turn | None:
        """Waits for rows; None when the queue is closed."""
        with self._changed:
            while not self._closed:
                ready = [one for one in self._clients.values() if one.batches and one.turns < self._most_turns]
                if ready:
                    now = time.monotonic()
                    return self._turn(min(ready, key=lambda one: self._rank(one, now)))
                self._changed.wait()
        return None

    def finish(self, turn: Turn, seconds: float, left: Sequence[int] = ()) -> None:
        """seconds: of a worker.  left: places that were not judged and go first next time."""
        batch = turn.batch
        with self._changed:
            client = self._clients[batch.client]
            client.turns -= 1
            slow = seconds > SLOW_ROW_S * max(1, len(turn.places) - len(left))
            client.rows_a_turn = max(1, client.rows_a_turn // 2) if slow else min(ROWS_A_TURN, 2 * client.rows_a_turn)
            self._clock_s += seconds / len(self._clients)
            client.clock_s = min(client.clock_s + seconds, self._clock_s + LEAD_S)
            if left and not batch.dropped:
                self._put_back(client, batch, left)
            self._forget(batch.client)
            self._changed.notify_all()

    def _put_back(self, client: _Client, batch: Batch, left: Sequence[int]) -> None:
        if not batch.waiting:
            client.batches.appendleft(batch)
        batch.waiting.extendleft(reversed(left))
        client.rows += len(left)
        self.rows += len(left)

    def drop(self, batch: Batch) -> None:
        """Forgets the rows of a batch that nobody waits for; those with a worker are judged all the same."""
        with self._changed:
            batch.dropped = True
            if batch.waiting:
                client = self._clients[batch.client]
                client.batches.remove(batch)
                client.rows -= len(batch.waiting)
                self.rows -= len(batch.waiting)
                batch.waiting.clear()
                self._forget(batch.client)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed

    def _rank(self, client: _Client, now: float) -> tuple[float, float, float]:
        """Lowest goes next."""
        born_s = client.batches[0].born_s
        if not client.turns and now - born_s > self._old_s:
            return 0, 0, born_s
        return 1, client.turns, client.clock_s

    def _turn(self, client: _Client) -> Turn:
        batch = client.batches.popleft()
        places: list[int] = []
        chars = 0
        while batch.waiting and len(places) < client.rows_a_turn and chars < CHARS_A_TURN:
            place = batch.waiting.popleft()
            chars += len(batch.requests[place].response)
            places.append(place)
        if batch.waiting:
            client.batches.append(batch)
        client.turns += 1
        client.rows -= len(places)
        self.rows -= len(places)
        return Turn(batch, places)

    def _forget(self, name: str) -> None:
        client = self._clients[name]
        if not client.batches and not client.turns:
            del self._clients[name]
