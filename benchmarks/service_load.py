"""Many clients at `verigold serve` at once, with hanging rows among them: nothing lost, nothing late, memory flat.

    python benchmarks/service_load.py [--clients 200] [--verifications 20000] [--hanging 0.01] [--deadline 60] [--json]

A real service in a process of its own; every client posts its rows to /verify in batches of 1 to 32, one after the
other, and asks again when it is told to. Rows are real graded responses; of the hanging ones two thirds are sums that
use up a worker's CPU budget, the rest towers, nests and random hostile text. Memory is sampled every second: resident
memory of the service, proportional memory (PSS) of its workers. At the end the verdicts are compared with those of
`verify_many`. Exit 1 when a row is lost or late, a verdict differs, or memory grew by a tenth after the first half.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from verifiers import Request, verify_many
from verifiers.cases import read_rows
from verifiers.fuzzing import GOLDS, text
from verifiers.reward import reward

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "data" / "samples" / "graded_responses.jsonl.gz"
COMMAND = "from verigold.cli import main; main()"
LARGEST_BATCH = 32
GROWTH = 1.1
WAIT_S = 300.0


# ---- rows ----------------------------------------------------------------------------------------------------------


def hanging(source: random.Random) -> Request:
    """A row that costs a worker its CPU budget, or would if nothing else bounded it."""
    a, b = source.randrange(3, 9), source.randrange(2, 90)
    kinds = (
        (rf"\boxed{{\sum_{{k=1}}^{{\infty}}\frac{{\sin(k^2)}}{{k^{{{a}}}+\log(k+{b})}}}}", str(b)),
        (rf"\boxed{{\sum_{{n=2}}^\infty \frac{{1}}{{n(\ln n)^{{{a}}}}}}}", str(b)),
        (rf"\boxed{{{a}^{{{b}^{{9^{{9^{{9}}}}}}}}}}", str(b)),
        ("\\boxed{" + "{" * 100 * b + "3" + "}" * 100 * b + "}", "3"),
        (text(source), GOLDS[b % len(GOLDS)]),
    )
    response, gold = source.choices(kinds, (2, 2, 1, 0.5, 0.5))[0]
    return Request(response=response, ground_truth=gold)


def drawn(count: int, share: float, seed: int) -> list[Request]:
    source = random.Random(f"service load {seed}")
    real = [row.request() for row in read_rows(SAMPLE)]
    hostile = [hanging(source) for _ in range(round(count * share))]
    found = [*hostile, *(real[place % len(real)] for place in range(count - len(hostile)))]
    source.shuffle(found)
    return found


# ---- clients -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Seen:
    """verdicts: by place of the row.  latencies_s: from the last byte sent to the answer, one an answered request."""

    verdicts: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    latencies_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


class Sent:
    """When the last byte of a request went out: from then on the service's limit counts."""

    at: float

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        del info
        if event == "http11.send_request_body.complete":
            self.at = time.monotonic()


async def client(http: httpx.AsyncClient, name: int, places: list[int], rows: list[Request], seen: Seen) -> None:
    """Posts its rows in batches of random size until all are answered."""
    source = random.Random(name)
    while places:
        size = source.randint(1, LARGEST_BATCH)
        batch, places = places[:size], places[size:]
        body = json.dumps({"rows": [as_row(rows[place], place) for place in batch]})
        while True:
            sent = Sent()
            reply = await http.post(
                "/verify", content=body, headers={"X-Client": f"client {name}"}, extensions={"trace": sent.trace}
            )
            seen.statuses[reply.status_code] += 1
            if reply.status_code not in (429, 503):
                break
            await asyncio.sleep(float(reply.headers["Retry-After"]))
        seen.latencies_s.append(time.monotonic() - sent.at)
        for verdict in reply.json()["verdicts"]:
            seen.verdicts[verdict["id"]] = tuple(
                verdict[name] for name in ("status", "score", "reason", "extracted", "detail")
            )


def as_row(request: Request, place: int) -> dict[str, Any]:
    return {
        "id": place,
        "response": request.response,
        "ground_truth": request.ground_truth,
        "verifier": request.verifier,
        "verifier_options": dict(request.options),
    }


async def load(url: str, rows: list[Request], clients: int) -> Seen:
    seen = Seen()
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=WAIT_S) as http:
        shares = [list(range(name, len(rows), clients)) for name in range(clients)]
        await asyncio.gather(*(client(http, name, share, rows, seen) for name, share in enumerate(shares)))
    return seen


# ---- service -------------------------------------------------------------------------------------------------------


class Memory:
    """Samples (seconds, service MB, workers MB, processes) of a process and all below it until it is stopped."""

    def __init__(self, process_id: int) -> None:
        self.samples: list[tuple[float, float, float, int]] = []
        self._process = psutil.Process(process_id)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        begun = time.monotonic()
        while not self._stop.wait(1.0):
            children = self._process.children(recursive=True)
            total = 0
            for child in children:
                try:
                    total += child.memory_full_info().pss
                except psutil.Error:
                    continue
            own = self._process.memory_info().rss
            self.samples.append((time.monotonic() - begun, own / 1e6, total / 1e6, len(children)))

    def quarters(self) -> list[dict[str, float]]:
        """The medians of four equal parts of the run."""
        step = max(1, -(-len(self.samples) // 4))
        parts = [self.samples[start : start + step] for start in range(0, len(self.samples), step)]
        names = ("until_s", "service_mb", "workers_mb", "processes")
        return [
            {"until_s": part[-1][0], **{name: median(one[at] for one in part) for at, name in enumerate(names) if at}}
            for part in parts
        ]


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    rows = drawn(arguments.verifications, arguments.hanging, arguments.seed)
    command = [sys.executable, "-c", COMMAND, "serve", "--port", "0", "--deadline", str(arguments.deadline)]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
    assert service.stdout is not None
    try:
        url = service.stdout.readline().strip()
        memory = Memory(service.pid)
        begun = time.monotonic()
        seen = asyncio.run(load(url, rows, arguments.clients))
        wall_s = time.monotonic() - begun
        memory.stop()
        counted = httpx.get(f"{url}/metrics", timeout=WAIT_S).text
    finally:
        service.send_signal(signal.SIGTERM)
        ended = service.wait(60)
    begun = time.monotonic()
    expected = verify_many(rows, workers=psutil.cpu_count())
    alone_s = time.monotonic() - begun
    differ = sum(
        seen.verdicts.get(place) != (one.status.value, reward(one), one.reason, one.extracted, one.detail)
        for place, one in enumerate(expected)
    )
    return {
        "clients": arguments.clients,
        "verifications": len(rows),
        "hanging": round(len(rows) * arguments.hanging),
        "too_complex": sum(verdict[2] == "response-too-complex" for verdict in seen.verdicts.values()),
        "undecided": sum(verdict[0] == "undecided" for verdict in seen.verdicts.values()),
        "lost": len(rows) - len(seen.verdicts),
        "late": sum(one > arguments.deadline for one in seen.latencies_s),
        "differ_from_verify_many": differ,
        "requests": len(seen.latencies_s),
        "statuses": dict(seen.statuses),
        "latency_s": {"median": median(seen.latencies_s), "p99": quantiles(seen.latencies_s, n=100)[-1]}
        | {"slowest": max(seen.latencies_s), "limit": arguments.deadline},
        "wall_s": wall_s,
        "verify_many_wall_s": alone_s,
        "exit_code": ended,
        "workers_started": started(counted),
        "memory": memory.quarters(),
    }


def started(metrics: str) -> dict[str, int]:
    """Worker processes by reason, from the service's own metrics."""
    found = {}
    for line in metrics.splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith("verigold_workers_started_total"):
            found[name.split('"')[1]] = round(float(value))
    return found


# ---- output --------------------------------------------------------------------------------------------------------


def grew(quarters: list[dict[str, float]]) -> bool:
    """Against the second quarter: in the first, workers are still being started."""
    totals = [one["service_mb"] + one["workers_mb"] for one in quarters]
    return len(totals) > 2 and max(totals[2:]) > GROWTH * totals[1]


def shown(found: dict[str, Any]) -> None:
    console = Console(highlight=False)
    table = Table("measure", "value", title="verigold serve under load")
    for name, value in found.items():
        if name != "memory":
            table.add_row(name, f"{value:.1f}" if isinstance(value, float) else str(value))
    console.print(table)
    memory = Table("until", "service MB", "workers MB (PSS)", "processes", title="memory, medians of quarters")
    for one in found["memory"]:
        memory.add_row(
            f"{one['until_s']:.0f} s", f"{one['service_mb']:.0f}", f"{one['workers_mb']:.0f}", f"{one['processes']:.0f}"
        )
    console.print(memory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--verifications", type=int, default=20_000)
    parser.add_argument("--hanging", type=float, default=0.01, help="share of hanging rows")
    parser.add_argument("--deadline", type=float, default=60.0, help="limit of the service in seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = measured(arguments)
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        shown(found)
    failed = found["lost"] or found["late"] or found["differ_from_verify_many"] or grew(found["memory"])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
