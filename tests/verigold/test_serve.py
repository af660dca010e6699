"""verigold serve: a real server with real workers, its clients' shapes, hostile bodies, overload, and its end."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import RecipeError
from verifiers import Request, Status, verify_many
from verifiers.reward import reward
from verifiers.verdict import Verdict, correct
from verigold.commands.serve import command
from verigold.service import bodies, judging, lanes
from verigold.service.errors import Refusal
from verigold.service.lanes import Lane
from verigold.service.limits import Limits
from verigold.service.queue import LEAD_S, ROWS_A_TURN, SLOW_ROW_S, Batch, FairQueue

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
WAIT_S = 120.0
HALF = {"response": "\\boxed{0.5}", "ground_truth": "\\frac{1}{2}"}
WRONG = {"response": "\\boxed{0.6}", "ground_truth": "\\frac{1}{2}"}
NO_GOLD = {"response": "\\boxed{0.5}", "ground_truth": ""}


def endless(number: int) -> dict[str, str]:
    """Uses up the CPU budget of the process for sympy."""
    return {"response": rf"\boxed{{\sum_{{n=2}}^\infty \frac{{1}}{{n(\ln n)^{{{number + 3}}}}}}}", "ground_truth": "7"}


@dataclass(frozen=True, slots=True)
class Service:
    process: subprocess.Popen[str]
    url: str

    def post(self, path: str, value: Any, client: str = "") -> httpx.Response:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return httpx.post(f"{self.url}{path}", content=body, headers={"X-Client": client}, timeout=WAIT_S)

    def verdicts(self, rows: Sequence[dict[str, Any]], client: str = "") -> list[dict[str, Any]]:
        reply = self.post("/verify", {"rows": rows}, client)
        assert reply.status_code == 200, reply.text
        return reply.json()["verdicts"]

    def socket(self) -> socket.socket:
        port = int(self.url.rpartition(":")[2])
        return socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)

    def workers(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def metric(self, name: str) -> float:
        lines = httpx.get(f"{self.url}/metrics", timeout=WAIT_S).text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


@contextmanager
def started(program: str, *arguments: str) -> Iterator[Service]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM + program, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), process.communicate(timeout=10)[1]
        yield Service(process, url)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=WAIT_S)


def with_limits(**limits: Any) -> str:
    return (
        "from verigold.service.limits import Limits; from verigold.service.server import listen, serve; "
        "bound = listen('127.0.0.1', 0); "
        f"serve(bound, Limits(**{limits!r}), "
        "ready=lambda: print(f'http://127.0.0.1:{bound.getsockname()[1]}', flush=True))"
    )


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    limits = {"workers": 2, "max_rows": 64, "max_chars": 20_000, "max_body_bytes": 1 << 20, "queued_rows": 128}
    with started(with_limits(**limits, held_bytes=2 << 20, body_s=60.0)) as found:
        yield found


@pytest.fixture(scope="module")
def hasty() -> Iterator[Service]:
    """Nothing may take long here."""
    with started(with_limits(workers=1, deadline_s=1.0, body_s=2.0, head_s=0.5, unread_s=0.5, grace_s=0.5)) as found:
        yield found


@contextmanager
def suspended(service: Service) -> Iterator[None]:
    """No row is judged in here."""
    children = service.workers()
    for child in children:
        child.suspend()
    try:
        yield
    finally:
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.resume()


def in_background(call: Callable[[], Any]) -> queue.Queue[Any]:
    found: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=lambda: found.put(call()), daemon=True).start()
    return found


def eventually(told: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_S
    while not told():
        assert time.monotonic() < until
        time.sleep(0.05)


# ---- shapes --------------------------------------------------------------------------------------------------------

ROWS: tuple[dict[str, Any], ...] = (
    HALF,
    WRONG,
    NO_GOLD,
    {"response": "no idea", "ground_truth": "7", "id": "a"},
    {"response": "\\boxed{9.81}", "ground_truth": "9.8", "verifier_options": {"rel_tol": 0.01, "abs_tol": None}},
    {"response": "Paris, France", "ground_truth": ["Paris", "City of Light"], "verifier": "qa", "id": 7},
    {"response": "It is B.", "ground_truth": "B", "verifier": "choice"},
    {"response": "Lyon", "ground_truth": "Paris", "verifier": "qa", "verifier_options": '{"aliases": ["Lyon"]}'},
    {"response": "<think>x</think>\\boxed{1}", "ground_truth": "", "verifier": "format"},
    {"response": "\\boxed{7\ud800}", "ground_truth": "7"},
    {"response": "答案是 \U0001d7d5。\x00", "ground_truth": "7"},
    {"response": "\\boxed{9^{9^{9^{9}}}}", "ground_truth": "7"},
    endless(0),
)


def test_verdicts_are_those_of_verify_many(service: Service) -> None:
    requests = [bodies.rows({"rows": [row]}, Limits())[0].request for row in ROWS]
    found = service.verdicts(ROWS)
    for row, one, expected in zip(ROWS, found, verify_many(requests), strict=True):
        assert one == {
            "id": row.get("id"),
            "status": expected.status.value,
            "score": reward(expected),
            "reason": expected.reason,
            "extracted": expected.extracted,
            "detail": expected.detail,
        }
    assert {one["status"] for one in found} == {"correct", "incorrect", "undecided"}


def test_rewards_say_what_is_undecided(service: Service) -> None:
    reply = service.post("/reward", {"rows": [HALF, WRONG, {**NO_GOLD, "id": 3}]}).json()
    assert reply == {
        "ids": [None, None, 3],
        "rewards": [1.0, 0.0, None],
        "undecided": [False, False, True],
        "reasons": ["exact", "different", "gold-empty"],
    }


def test_openrlhf_gets_numbers_and_a_log(service: Service) -> None:
    label = json.dumps({"ground_truth": "B", "verifier": "choice", "verifier_options": "{}"})
    asked = {
        "query": ["What is 1? The answer is 2.<|end|>", "Which? \\boxed{B}", "Why?", "{x} \\boxed{\\{1\\}}"],
        "prompts": ["What is 1? The answer is", "Which?", "", "{x} "],
        "labels": ["1", label, "", "{1}"],
    }
    reply = service.post("/reward/openrlhf", asked)
    assert reply.json()["rewards"] == reply.json()["scores"] == [0.0, 1.0, 0.0, 1.0]
    assert reply.json()["extra_logs"] == {"undecided": [0.0, 0.0, 1.0, 0.0]}


def test_slime_gets_a_number(service: Service) -> None:
    chat = [{"role": "user", "content": "What is 1/2?"}]
    for response, label, wanted in (("\\boxed{.5}", "0.5", 1.0), ("\\boxed{.6}", "0.5", 0.0), ("\\boxed{1}", "", 0.0)):
        reply = service.post("/reward/slime", {"prompt": chat, "response": response, "label": label})
        assert (reply.status_code, reply.json()) == (200, wanted)
        assert reply.headers["content-type"] == "application/json"


def test_the_number_for_undecided_is_the_one_that_was_asked_for() -> None:
    from verigold.service.replies import openrlhf_reply, slime_reply

    rows = bodies.slime_rows({"prompt": "", "response": "", "label": ""}, Limits())
    verdict = verify_many([rows[0].request])
    assert verdict[0].status is Status.UNDECIDED
    assert slime_reply(rows, verdict, Limits(undecided=-0.5)) == -0.5
    assert openrlhf_reply(rows, verdict, Limits(undecided=-0.5))["rewards"] == [-0.5]


# ---- hostile bodies ------------------------------------------------------------------------------------------------


def row_with(**fields: Any) -> bytes:
    return json.dumps({"rows": [HALF, HALF | fields]}).encode()


HOSTILE: dict[str, tuple[bytes, int, str, int | None]] = {
    "empty": (b"", 400, "not-json", None),
    "no JSON": (b"rows=1", 400, "not-json", None),
    "cut": (b'{"rows": [{"response": "a', 400, "not-json", None),
    "not UTF-8": (b'{"rows": "\xff\xfe"}', 400, "not-utf8", None),
    "UTF-16": (json.dumps({"rows": [HALF]}).encode("utf-16"), 400, "not-utf8", None),
    "NaN": (b'{"rows": NaN}', 400, "not-json", None),
    "infinite number": (b'{"rows": [1e999]}', 400, "not-json", None),
    "huge integer": (b'{"rows": [' + b"9" * 10_000 + b"]}", 400, "not-json", None),
    "deep": (b"[" * 200_000, 400, "not-json", None),
    "deep and closed": (b'{"rows": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400, "not-json", None),
    "too large": (b" " * (1 << 21), 413, "body-too-large", None),
    "a list": (b"[]", 422, "body-invalid", None),
    "no rows": (b"{}", 422, "body-invalid", None),
    "rows are null": (b'{"rows": null}', 422, "body-invalid", None),
    "rows are empty": (b'{"rows": []}', 422, "body-invalid", None),
    "too many rows": (json.dumps({"rows": [HALF] * 65}).encode(), 413, "too-many-rows", 64),
    "row is a text": (json.dumps({"rows": [HALF, "x"]}).encode(), 422, "row-invalid", 1),
    "no ground truth": (json.dumps({"rows": [HALF, {"response": "x"}]}).encode(), 422, "row-invalid", 1),
    "unknown field": (row_with(responce="x"), 422, "row-invalid", 1),
    "response is a number": (row_with(response=7), 422, "row-invalid", 1),
    "response is too long": (row_with(response="x" * 20_001), 422, "row-too-long", 1),
    "gold is too long": (row_with(ground_truth=["7", "x" * 20_001]), 422, "row-too-long", 1),
    "gold is null": (row_with(ground_truth=None), 422, "row-invalid", 1),
    "gold is an empty list": (row_with(ground_truth=[]), 422, "row-invalid", 1),
    "gold is a list of numbers": (row_with(ground_truth=[7]), 422, "row-invalid", 1),
    "id is too long": (row_with(id="x" * 20_001), 422, "row-too-long", 1),
    "id is a truth value": (row_with(id=True), 422, "row-invalid", 1),
    "unknown verifier": (row_with(verifier="nath"), 422, "row-invalid", 1),
    "verifier is a list": (row_with(verifier=["math"]), 422, "row-invalid", 1),
    "unknown option": (row_with(verifier_options={"tolerance": 1}), 422, "row-invalid", 1),
    "option of a wrong type": (row_with(verifier_options={"rel_tol": "1"}), 422, "row-invalid", 1),
    "option out of its values": (
        row_with(verifier="format", verifier_options={"layout": "letter"}),
        422,
        "row-invalid",
        1,
    ),
    "options are no JSON": (row_with(verifier_options="{"), 422, "row-invalid", 1),
    "options are a list": (row_with(verifier_options=[1]), 422, "row-invalid", 1),
    "options are deep": (row_with(verifier_options='{"a":' * 400 + "1" + "}" * 400), 422, "row-invalid", 1),
    "aliases are numbers": (row_with(verifier_options={"aliases": [1]}), 422, "row-invalid", 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_refused_with_its_row(service: Service, name: str) -> None:
    body, status, code, row = HOSTILE[name]
    reply = service.post("/verify", body)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["row"]) == (status, code, row)
    assert 0 < len(error["message"]) < 500
    assert error["message"].isprintable()


def test_hostile_labels_of_trainers(service: Service) -> None:
    asked = {"query": ["a", "b"], "prompts": ["a", "b"], "labels": ["1", "2"]}
    for column in ("query", "prompts", "labels"):
        for values in (None, [1, 2], ["a"], {"a": 1}):
            assert service.post("/reward/openrlhf", asked | {column: values}).status_code == 422
    assert service.post("/reward/openrlhf", {"query": ["a"]}).status_code == 422
    for label in (None, 7, ["7"]):
        assert service.post("/reward/slime", {"prompt": "", "response": "", "label": label}).status_code == 422
    broken = '{"ground_truth": "7", "verifier": "nath"}'
    reply = service.post("/reward/slime", {"prompt": "", "response": "", "label": broken})
    assert (reply.status_code, reply.json()["error"]["row"]) == (422, 0)


def test_other_paths_and_methods(service: Service) -> None:
    assert httpx.get(f"{service.url}/nothing").json()["error"]["code"] == "no-such-path"
    assert httpx.get(f"{service.url}/verify").status_code == 405
    assert httpx.post(f"{service.url}/health").json()["error"]["code"] == "wrong-method"


def refused(call: Callable[[], Any]) -> Any:
    """What the call returns, or the status of its refusal."""
    try:
        return call()
    except Refusal as refusal:
        return refusal.status


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
fields = st.dictionaries(
    st.sampled_from(
        [
            "rows",
            "response",
            "ground_truth",
            "verifier",
            "verifier_options",
            "id",
            "query",
            "prompts",
            "labels",
            "label",
        ]
    ),
    values | st.lists(st.text(max_size=3), max_size=3) | st.sampled_from(["math", "qa", '{"ground_truth": 1}']),
)


@given(values | fields | st.fixed_dictionaries({"rows": st.lists(fields, max_size=3)}))
def test_whatever_is_posted_becomes_rows_or_a_refusal(value: Any) -> None:
    for shape in (bodies.rows, bodies.openrlhf_rows, bodies.slime_rows):
        found = refused(lambda shape=shape: shape(value, Limits()))
        assert found in (413, 422) or all(isinstance(row.request.response, str) for row in found)


@given(st.binary() | st.text().map(str.encode))
def test_whatever_the_bytes_they_are_json_or_refused(body: bytes) -> None:
    found = refused(lambda: [bodies.parsed(body)])
    assert found == 400 or found == [json.loads(body)]


# ---- connections ---------------------------------------------------------------------------------------------------

HEAD = b"POST /verify HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"


def answered(sent: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    found = b""
    while part := sent.recv(1 << 16):
        found += part
    return found


@pytest.mark.parametrize("start", [b"", b"POST /verify HT", HEAD])
def test_a_head_that_does_not_end_is_cut_off(hasty: Service, start: bytes) -> None:
    with hasty.socket() as sent:
        sent.sendall(start)
        assert answered(sent) == b""


def test_a_body_that_does_not_end_is_answered_and_cut_off(hasty: Service) -> None:
    with hasty.socket() as sent:
        sent.sendall(HEAD + b'\r\n{"rows": ')
        assert b"408 Request Timeout" in answered(sent)
    with hasty.socket() as sent:
        sent.sendall(HEAD + b"\r\n{")
    assert httpx.get(f"{hasty.url}/health").json()["status"] == "ok"


def test_an_answer_that_nobody_takes_is_dropped(hasty: Service) -> None:
    """Six megabytes are more than the kernel keeps for a client that does not read."""
    body = json.dumps({"rows": [HALF | {"id": "x" * 1_000_000}] * 6}).encode()
    with socket.socket() as sent:
        sent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sent.connect(("127.0.0.1", int(hasty.url.rpartition(":")[2])))
        ours = sent.getsockname()[1]
        server = psutil.Process(hasty.process.pid)

        def kept() -> bool:
            return any(one.raddr and one.raddr.port == ours for one in server.net_connections("tcp"))

        sent.sendall(b"POST /reward HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert kept()
        eventually(lambda: not kept())
    assert hasty.metric("verigold_held_bytes ") == 0


def test_what_is_not_http_is_refused(hasty: Service) -> None:
    for start in (b"\x16\x03\x01\r\n\r\n", b"POST /verify HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"A" * 40_000):
        with hasty.socket() as sent:
            sent.sendall(start)
            assert b" 400 " in answered(sent).split(b"\r\n")[0]


def test_bodies_under_way_may_not_hold_too_much(service: Service) -> None:
    """Two and a bit of the largest body at once; more are told to come again."""
    length = 1_000_000
    head = f"POST /verify HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()
    waiting = [service.socket() for _ in range(2)]
    for one in waiting:
        one.sendall(head + b" " * (length - 1))
    eventually(lambda: service.metric("verigold_held_bytes ") > 1_900_000)
    reply = service.post("/verify", b" " * length)
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "queue-full")
    assert int(reply.headers["retry-after"]) > 0
    for one in waiting:
        one.close()
    eventually(lambda: service.metric("verigold_held_bytes ") == 0)


# ---- overload ------------------------------------------------------------------------------------------------------


def test_a_full_queue_says_when_to_come_again(service: Service) -> None:
    batch = {"rows": [HALF] * 64}
    with suspended(service):
        first = in_background(lambda: service.post("/verify", batch, "a"))
        eventually(lambda: service.metric("verigold_queued_rows") > 0)
        own = service.post("/verify", batch, "a")
        second = in_background(lambda: service.post("/verify", batch, "b"))
        eventually(lambda: service.metric("verigold_queued_rows") > 64)
        other = service.post("/verify", batch, "c")
    assert (own.status_code, other.status_code) == (429, 503)
    for refused in (own, other):
        assert refused.json()["error"]["code"] == "queue-full"
        assert int(refused.headers["retry-after"]) > 0
    for reply in (first.get(timeout=WAIT_S), second.get(timeout=WAIT_S)):
        assert [one["status"] for one in reply.json()["verdicts"]] == ["correct"] * 64


def test_rows_of_a_client_that_hangs_up_are_forgotten(service: Service) -> None:
    body = json.dumps({"rows": [HALF] * 64}).encode()
    with suspended(service):
        with service.socket() as sent:
            sent.sendall(b"POST /verify HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            eventually(lambda: service.metric("verigold_queued_rows") > 0)
        eventually(lambda: service.metric("verigold_queued_rows") == 0)
    assert service.verdicts([HALF])[0]["status"] == "correct"


def test_a_hanging_batch_does_not_block_another_client(service: Service) -> None:
    hanging = in_background(lambda: service.verdicts([endless(number) for number in range(4)], "slow"))
    eventually(lambda: service.metric("verigold_held_bytes ") > 0)
    quick = service.verdicts([HALF] * 32, "quick")
    assert hanging.empty()
    assert [one["status"] for one in quick] == ["correct"] * 32
    assert {one["reason"] for one in hanging.get(timeout=WAIT_S)} == {"response-too-complex"}


def test_a_killed_worker_costs_no_row(service: Service) -> None:
    before = service.metric("verigold_workers_started_total")
    with suspended(service):
        found = in_background(lambda: service.verdicts([HALF, WRONG] * 16))
        eventually(lambda: service.metric("verigold_queued_rows") > 0)
        for child in psutil.Process(service.process.pid).children():
            child.kill()
    statuses = [one["status"] for one in found.get(timeout=WAIT_S)]
    assert statuses == ["correct", "incorrect"] * 16
    assert service.metric("verigold_workers_started_total") > before


def test_rows_that_were_not_judged_in_time_are_undecided(hasty: Service) -> None:
    with suspended(hasty):
        late = hasty.verdicts([HALF, WRONG])
        learned = hasty.post("/reward/slime", {"prompt": "", "response": "\\boxed{1}", "label": "1"})
    assert {(one["status"], one["score"], one["reason"]) for one in late} == {("undecided", None, "service-deadline")}
    assert (learned.status_code, learned.json()["error"]["code"]) == (503, "service-deadline")
    assert int(learned.headers["retry-after"]) > 0


def test_metrics_count_what_was_judged(service: Service) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    before = service.metric('verigold_rows_total{status="undecided"}')
    service.verdicts([NO_GOLD, NO_GOLD, HALF])
    assert service.metric('verigold_rows_total{status="undecided"}') == before + 2
    text = httpx.get(f"{service.url}/metrics").text
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {"verigold_requests", "verigold_rows", "verigold_row_seconds", "verigold_memory_bytes"} <= names


# ---- the end -------------------------------------------------------------------------------------------------------


def test_after_a_sigterm_requests_under_way_finish_and_nothing_is_left() -> None:
    with started("from verigold.cli import main; main()", "serve", "--port", "0", "--workers", "1") as service:
        children = service.workers()
        found = in_background(lambda: service.verdicts([HALF] * 500 + [endless(0)]))
        eventually(lambda: service.metric("verigold_queued_rows") > 0 or not found.empty())
        service.process.send_signal(signal.SIGTERM)
        verdicts = found.get(timeout=WAIT_S)
        assert [one["status"] for one in verdicts] == ["correct"] * 500 + ["incorrect"]
        assert service.process.wait(WAIT_S) == 0
        with pytest.raises(ConnectionRefusedError):
            service.socket()
        assert psutil.wait_procs(children, timeout=30)[1] == []
        assert "serve: ended" in service.process.communicate()[1]


def test_what_does_not_finish_after_a_sigterm_is_told() -> None:
    with started(with_limits(workers=1, grace_s=0.5)) as service, suspended(service):
        found = in_background(lambda: service.post("/reward", {"rows": [HALF]}))
        eventually(lambda: service.metric("verigold_held_bytes ") > 0)
        service.process.send_signal(signal.SIGTERM)
        reply = found.get(timeout=WAIT_S)
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "stopping")
        assert service.process.wait(WAIT_S) == 0


def test_mistakes_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RecipeError, match=f"--port {port}"):
            command(port=port)
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"queue": 100, "max_rows": 51}, "--queue 100"),
        ({"verifier": "nath"}, "did you mean 'math'"),
        ({"undecided": float("nan")}, "--undecided nan"),
        ({"deadline": float("inf")}, "--deadline inf"),
    ]
    for mistake, told in mistakes:
        with pytest.raises(RecipeError, match=told):
            command(port=0, **mistake)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "verigold.service.server", raising=False)
    with pytest.raises(RecipeError, match=r"verigold\[serve\]"):
        command(port=0)


# ---- lanes ---------------------------------------------------------------------------------------------------------


def judged_by_a_lane(requests: Sequence[Request]) -> tuple[list[Verdict | None], list[str]]:
    """Verdicts of one lane, and why it started processes."""
    found: list[Verdict | None] = [None] * len(requests)
    why: list[str] = []
    missing = threading.Semaphore(0)

    def settle(place: int, verdict: Verdict) -> None:
        found[place] = verdict
        missing.release()

    shared = FairQueue(workers=1, rows=1_000)
    lane = Lane(shared, started=why.append, row_s=lambda _: None)
    try:
        shared.put(Batch("a", requests, settle))
        assert all(missing.acquire(timeout=WAIT_S) for _ in requests)
    finally:
        shared.close()
        lane.stop()
    return found, why


def test_a_row_that_kills_its_worker_is_too_complex_and_the_others_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "ROW_CPU_S", 0.02)
    half = Request(response=HALF["response"], ground_truth=HALF["ground_truth"])
    heavy = Request(response="\\boxed{" + "(" * 60_000 + "7" + ")" * 60_000 + "}" + "x {1}" * 100_000, ground_truth="7")
    heavy_gold = Request(
        response="7", ground_truth=tuple(f"alias {n} of {n}" * 9 for n in range(20_000)), verifier="qa"
    )
    found, why = judged_by_a_lane([half, heavy, half, heavy_gold, half])
    assert [None if one is None else (one.status.value, one.reason) for one in found] == [
        ("correct", "exact"),
        ("incorrect", "response-too-complex"),
        ("correct", "exact"),
        ("undecided", "gold-unparsable"),
        ("correct", "exact"),
    ]
    assert set(why) == {"start", "cpu-limit"}


def test_workers_are_replaced_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "RECYCLED_AFTER", ROWS_A_TURN)
    half = Request(response=HALF["response"], ground_truth=HALF["ground_truth"])
    found, why = judged_by_a_lane([half] * (3 * ROWS_A_TURN))
    assert [one.status for one in found if one] == [Status.CORRECT] * len(found)
    assert why == ["start", "recycled"]


# ---- turns ---------------------------------------------------------------------------------------------------------


def batch(client: str, rows: int) -> Batch:
    return Batch(client, [Request(response="", ground_truth="7")] * rows, lambda *_: None)


def test_one_client_never_holds_all_workers() -> None:
    shared = FairQueue(workers=3, rows=1_000)
    shared.put(batch("a", 500))
    held = [shared.take(), shared.take()]
    shared.put(batch("b", 1))
    third = shared.take()
    assert [turn.batch.client for turn in (*held, third) if turn] == ["a", "a", "b"]


def test_who_has_used_least_goes_next() -> None:
    shared = FairQueue(workers=2, rows=1_000)
    for name in ("a", "b"):
        shared.put(batch(name, 400))
    used = {"a": 0, "b": 0}
    for _ in range(40):
        turn = shared.take()
        assert turn is not None
        used[turn.batch.client] += 1
        shared.finish(turn, 0.03 if turn.batch.client == "a" else 0.01)
    assert 2.5 < used["b"] / used["a"] < 3.5


def test_slow_rows_come_in_smaller_turns_and_cannot_starve_their_client() -> None:
    shared = FairQueue(workers=2, rows=10_000)
    shared.put(batch("slow", 100))
    sizes, newcomers = [], 0
    while len(sizes) < 5:
        shared.put(batch(f"new {newcomers}", 1))
        newcomers += 1
        turn = shared.take()
        assert turn is not None
        if turn.batch.client == "slow":
            sizes.append(len(turn.places))
        shared.finish(turn, 1_000 * SLOW_ROW_S if turn.batch.client == "slow" else 0.01)
    assert sizes == [8, 4, 2, 1, 1]
    assert newcomers < 8 * len(sizes) * LEAD_S / 0.01


def test_what_has_waited_for_long_goes_before_what_is_newer() -> None:
    shared = FairQueue(workers=4, rows=1_000, old_s=0.0)
    for name in ("first", "second"):
        shared.put(batch(name, 100))
    turn = shared.take()
    assert turn is not None
    shared.finish(turn, 50.0)
    turns = [shared.take() for _ in range(3)]
    assert [turn.batch.client for turn in turns if turn] == ["first", "second", "second"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 30)), max_size=12), st.randoms(use_true_random=False))
def test_every_row_is_judged_once_whatever_fails(puts: list[tuple[str, int]], source: Any) -> None:
    """Turns that leave rows behind, and batches that are dropped in between."""
    shared = FairQueue(workers=3, rows=10_000)
    batches = [batch(name, rows) for name, rows in puts]
    judged: dict[int, list[int]] = {id(one): [] for one in batches}
    for one in batches:
        shared.put(one)
    dropped = {id(one) for one in batches if source.random() < 0.2}
    for one in batches:
        if id(one) in dropped:
            shared.drop(one)
    while shared.rows:
        turn = shared.take()
        assert turn is not None
        done = source.randint(0, len(turn.places))
        judged[id(turn.batch)] += turn.places[:done]
        shared.finish(turn, source.random(), turn.places[done:])
    for one in batches:
        wanted = [] if id(one) in dropped else list(range(len(one.requests)))
        assert sorted(judged[id(one)]) == wanted


def test_a_closed_queue_takes_nothing_and_gives_nothing() -> None:
    shared = FairQueue(workers=1, rows=10)
    shared.put(batch("a", 3))
    shared.close()
    assert shared.take() is None
    with pytest.raises(Refusal) as refusal:
        shared.put(batch("a", 1))
    assert refusal.value.status == 503


def test_a_verdict_that_comes_after_all_is_no_harm() -> None:
    """A batch that is dropped while a worker has its rows gets them settled, and keeps nothing in the queue."""
    settled: list[int] = []
    shared = FairQueue(workers=1, rows=20)
    one = Batch("a", [Request(response="", ground_truth="7")] * 9, lambda place, _: settled.append(place))
    shared.put(one)
    turn = shared.take()
    assert turn is not None
    shared.drop(one)
    for place in turn.places[:-1]:
        one.settle(place, correct("exact", "7"))
    shared.finish(turn, 0.1, turn.places[-1:])
    assert (settled, shared.rows) == (list(turn.places[:-1]), 0)


def test_default_workers_leave_one_for_others() -> None:
    assert Limits().workers == (os.cpu_count() or 1) + 1
