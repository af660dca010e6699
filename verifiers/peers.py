"""math-verify as its users call it, in killable child processes: its time-outs use SIGALRM and fail now and then."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verifiers.workers import Worker, _read, _write

MATH_VERIFY = "math-verify"
MEMORY_BYTES = 4 << 30
SHORT = 200
"""A response so short and without a box is tried in a box too."""


class PeerWorker(Worker):
    """A child that answers `{"golds", "response"}` with `{"status", "reason"}`."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "verifiers.peers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        self.ready = False


def judge(golds: list[str], response: str) -> Mapping[str, Any]:
    """The gold in a box, the response as it is. Runs in a child's main thread only: math-verify sets alarms."""
    from math_verify import parse, verify

    forms = [response] if len(response) > SHORT or "boxed" in response else [response, rf"\boxed{{{response}}}"]
    try:
        parsed = [parse(form) for form in forms]
        for gold in golds:
            target = parse(rf"\boxed{{{gold}}}")
            if any(verify(target, answer) for answer in parsed):
                return {"status": "correct", "reason": "math-verify"}
    except (Exception, SystemExit) as error:
        # it lets errors of sympy and its own time-outs through; its callers score them as wrong
        return {"status": "incorrect", "reason": f"error-{type(error).__name__}"}
    return {"status": "incorrect", "reason": "math-verify"}


def serve() -> None:
    """Answers requests on standard input until it ends or the parent is gone."""
    owner = os.getppid()
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    judge(["7"], r"\boxed{5 \text{ cm}}")
    _write(answers, {"ready": True})
    while True:
        request = _read(requests, None, owner)
        if request is None:
            return
        _write(answers, judge(request["golds"], request["response"]))


if __name__ == "__main__":
    serve()
