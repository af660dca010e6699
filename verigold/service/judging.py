"""The worker process of the service: rows in, a verdict a row out, each under its own CPU limit.

`python -P -m verigold.service.judging` is a child like `verifiers.workers`, whose process handling it shares. Verdicts
come one by one, so that when a row kills the child, the parent knows which one it was.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from verifiers.frames import read_frame, write_frame
from verifiers.registry import Request, opened, packed, packed_verdict, unpacked, verify
from verifiers.verdict import Status, Verdict, incorrect, undecided
from verifiers.workers import MEMORY_LIMIT_BYTES, Worker, WorkerFailure, isolated
from verigold.service.limits import ROW_CPU_S, ROW_WALL_S

MODULE = "verigold.service.judging"


# ---- parent --------------------------------------------------------------------------------------------------------


def judged(worker: Worker, requests: Sequence[Request]) -> Iterator[Verdict]:
    """Verdicts in order, as they come. Raises WorkerFailure at the first row that has none; the worker is then dead."""
    worker.send({"cpu_s": ROW_CPU_S, "rows": [packed(request) for request in requests]})
    for _ in requests:
        yield unpacked(worker.receive(ROW_WALL_S))


def after_failure(worker: Worker, request: Request, kind: str) -> Verdict:
    """The verdict of a row that killed its worker, from a fresh one: whose fault was it?

    With an empty response the ground truth alone is read. When that goes well, the response was too complex, which is
    incorrect; else the fault is ours. Raises WorkerFailure when the fresh worker died of something else.
    """
    if kind == "wall-limit":
        return undecided("worker-wall-limit")
    try:
        (alone,) = judged(worker, [replace(request, response="")])
    except WorkerFailure as failure:
        return undecided("gold-unparsable" if failure.kind == "cpu-limit" else f"worker-{failure.kind}")
    return alone if alone.status is Status.UNDECIDED else incorrect("response-too-complex", None)


# ---- child ---------------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answers requests on standard input until it ends or the parent is gone."""
    owner = os.getppid()
    requests, answers = isolated(MEMORY_LIMIT_BYTES)
    # an integral, so that the process for sympy is there before the first row that needs it
    verify(Request(response=r"\boxed{\int_0^1 x\,dx}", ground_truth=r"\frac{1}{2}"))
    write_frame(answers, {"ready": True})
    while (asked := read_frame(requests, None, owner)) is not None:
        for row in asked["rows"]:
            # user and system time of this row; no handler: the signal ends the process, also inside compiled code
            signal.setitimer(signal.ITIMER_PROF, asked["cpu_s"])
            answer = packed_verdict(_verdict(row))
            signal.setitimer(signal.ITIMER_PROF, 0)
            write_frame(answers, answer)


def _verdict(row: Sequence[Any]) -> Verdict:
    request = opened(row)
    try:
        return verify(request)
    except MemoryError:
        return incorrect("response-too-complex", None)
    except Exception as error:
        # verifiers do not raise for bad text; a mistake in one must not take the other rows of a batch with it
        return undecided("verifier-error", detail=f"{type(error).__name__}: {error}"[:200])


if __name__ == "__main__":
    serve()
