"""Other people's scorers as their users call them, each in killable children of the interpreter they are installed in.

math-verify sets alarms, verl's scorers start process pools, and both fail now and then, so none runs in this process.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from verifiers.frames import read_frame, write_frame
from verifiers.workers import Worker, isolated

MATH_VERIFY = "math-verify"
MEMORY_BYTES = 16 << 30
"""Of address space: torch, which verl imports, reserves much of it."""
SHORT = 200
"""A response so short and without a box is tried in a box too."""

Score = Callable[[str, str, str], bool | None]
"""(response, gold, source) -> right or wrong; None: the scorer declines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """package: what must be importable; install: the command that installs it; load: its scorer, in the child."""

    package: str
    install: str
    load: Callable[[], Score]


class PeerMissing(Exception):  # noqa: N818 - a state of the installation
    """The package of a peer is not installed or cannot be imported; the text says what to do."""


# ---- scorers: imported and run in the child only -------------------------------------------------------------------


def _math_verify() -> Score:
    from math_verify import parse, verify

    return lambda response, gold, _: bool(verify(parse(rf"\boxed{{{gold}}}"), parse(response)))


def _verl_default() -> Score:
    """By the source of the row, as verl chooses by `data_source`; it declines sources that it does not know."""
    from verl.utils.reward_score import default_compute_score  # pyright: ignore[reportMissingImports]

    def score(response: str, gold: str, source: str) -> bool | None:
        try:
            found = default_compute_score(source, response, gold)
        except NotImplementedError:
            return None
        return (found["score"] if isinstance(found, dict) else found) > 0

    return score


def _verl_math_verify() -> Score:
    from verl.utils.reward_score import math_verify  # pyright: ignore[reportMissingImports]

    return lambda response, gold, _: math_verify.compute_score(response, gold) > 0


def _verl_math_dapo() -> Score:
    from verl.utils.reward_score import math_dapo  # pyright: ignore[reportMissingImports]

    return lambda response, gold, _: bool(math_dapo.compute_score(response, gold)["acc"])


def _trl() -> Score:
    from trl.rewards import accuracy_reward  # pyright: ignore[reportMissingImports]

    def score(response: str, gold: str, _: str) -> bool | None:
        completion = [{"role": "assistant", "content": response}]
        found = accuracy_reward([completion], [rf"\boxed{{{gold}}}"])[0]
        return None if found is None else found > 0

    return score


PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        MATH_VERIFY: Peer(package="math_verify", install="pip install math-verify", load=_math_verify),
        "trl": Peer(package="trl", install="pip install trl", load=_trl),
        "verl": Peer(package="verl", install="pip install verl", load=_verl_default),
        "verl-math-dapo": Peer(package="verl", install="pip install verl", load=_verl_math_dapo),
        "verl-math-verify": Peer(package="verl", install="pip install verl", load=_verl_math_verify),
    }
)


def check_installed(name: str) -> None:
    """Raises PeerMissing when the package of this peer is not there. Imports nothing."""
    peer = PEERS[name]
    if importlib.util.find_spec(peer.package) is None:
        raise PeerMissing(
            f"{name}: the package {peer.package} is not installed for {sys.executable}; "
            f"install it there ({peer.install}), or leave this verifier out"
        )


def start(name: str) -> Worker:
    """A child that answers `{"golds", "response", "source"}` with `{"status", "reason"}`. Raises PeerMissing."""
    check_installed(name)
    worker = Worker("verifiers.peers", name)
    try:
        fault = worker.greet().get("fault")
    except (OSError, TimeoutError) as error:
        fault = f"{type(error).__name__}: {error}"
    if fault is not None:
        worker.kill()
        raise PeerMissing(
            f"{name}: {PEERS[name].package} is installed but cannot be used ({fault}); mend it, or leave it out"
        )
    return worker


# ---- child ---------------------------------------------------------------------------------------------------------


def judge(score: Score, golds: Sequence[str], response: str, source: str) -> Mapping[str, str]:
    """Any gold and, for a bare answer, either form of the response suffices."""
    forms = [response] if len(response) > SHORT or "boxed" in response else [response, rf"\boxed{{{response}}}"]
    declined = False
    try:
        for gold in golds:
            for form in forms:
                found = score(form, gold, source)
                declined = declined or found is None
                if found:
                    return {"status": "correct", "reason": "accepted"}
    except (Exception, SystemExit) as error:
        # errors of sympy and of their own time-outs pass through; their callers score them as wrong
        return {"status": "incorrect", "reason": f"error-{type(error).__name__}"}
    return {"status": "undecided", "reason": "declined"} if declined else {"status": "incorrect", "reason": "refused"}


def serve(name: str) -> None:
    """Answers requests on standard input until it ends or the parent is gone."""
    owner = os.getppid()
    requests, answers = isolated(MEMORY_BYTES)
    try:
        score = PEERS[name].load()
    except (Exception, SystemExit) as error:
        # whatever another package's import raises is told to the user in one line
        write_frame(answers, {"fault": f"{type(error).__name__}: {error}"[:300]})
        return
    judge(score, ["7"], r"\boxed{5 \text{ cm}}", "math")
    write_frame(answers, {"ready": True})
    while True:
        request = read_frame(requests, None, owner)
        if request is None:
            return
        write_frame(answers, judge(score, request["golds"], request["response"], request["source"]))


if __name__ == "__main__":
    serve(sys.argv[1])
