"""The endpoint against a real HTTP server over the torch engine, with and without faults between them."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

from engines.build import EndpointConfig, build_engine
from engines.endpoint import EndpointEngine
from engines.engine import Completion, EngineError, Message, Prompt, Sampler, SamplingParams, Scorer
from engines.http_calls import LONGEST_ASKED_PAUSE_S, asked_pause
from engines.server import ModelServer
from engines.torch_engine import TorchEngine
from engines.wire import ReplyError, completion, plain_text, read_reply
from tests.engines.faulty_proxy import FAULTS, FaultyProxy
from trainer.warmstart import build_tokenizer, new_model

PARAMS = SamplingParams(n=2, max_tokens=6, seed=3)
ROOT = Path(__file__).resolve().parent.parent.parent
KEY = "sk-not-to-be-shown"


def prompts(count: int) -> list[Prompt]:
    return [[Message(role="user", content=f"{index}+{index % 7}=?")] for index in range(count)]


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def local() -> TorchEngine:
    torch.set_num_threads(1)
    return TorchEngine(new_model(0, hidden=32, layers=1, heads=2, feed_forward=64), build_tokenizer())


@pytest.fixture(scope="module")
def server(local: TorchEngine) -> Iterator[ModelServer]:
    server = ModelServer(local, "tiny")
    with serving(server):
        yield server


MakeProxy = Callable[..., FaultyProxy]


@pytest.fixture
def make_proxy(server: ModelServer) -> Iterator[MakeProxy]:
    running: list[tuple[FaultyProxy, threading.Thread]] = []

    def make(**options: Any) -> FaultyProxy:
        proxy = FaultyProxy(server.url, **options)
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        running.append((proxy, thread))
        return proxy

    yield make
    for proxy, thread in running:
        proxy.release.set()
        proxy.shutdown()
        proxy.server_close()
        thread.join()


def config(url: str, **changes: Any) -> EndpointConfig:
    base = EndpointConfig(kind="endpoint", base_url=url, model="tiny", logprobs="processed")
    return replace(base, **{"extra_body": {"return_token_ids": True}, "timeout_s": 20.0, **changes})


def sample(engine: Sampler, asked: list[Prompt], params: SamplingParams = PARAMS) -> dict[tuple[int, int], Completion]:
    drawn = {(place, index): one for place, index, one in engine.generate(asked, params)}
    assert len(drawn) == len(asked) * params.n
    return drawn


def test_protocols(server: ModelServer) -> None:
    engine = build_engine(config(server.url))
    assert isinstance(engine, Sampler)
    assert isinstance(engine, Scorer)


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_samples_are_the_models_own(server: ModelServer, local: TorchEngine, api: str) -> None:
    engine = EndpointEngine(config(server.url, api=api))
    params = replace(PARAMS, temperature=0.7)
    drawn = sample(engine, prompts(3), params)
    for (place, _), one in drawn.items():
        assert one.token_ids is not None
        assert one.logprobs is not None
        ids = local.encode(prompts(3)[place])
        logits = local.model(input_ids=torch.tensor([[*ids, *one.token_ids]])).logits[0, len(ids) - 1 : -1]
        expected = (logits / 0.7).log_softmax(-1).gather(1, torch.tensor(one.token_ids)[:, None])[:, 0]
        assert torch.allclose(torch.tensor(one.logprobs), expected, atol=1e-4)
        assert one.tokens == len(one.token_ids)
    texts = [one.text for one in drawn.values()]
    assert len(set(texts)) > 3, "every sample has a seed of its own"
    assert sample(engine, prompts(3), params) == drawn, "the same seeds, the same samples"
    assert engine.usage.answered == 12
    assert engine.usage.generated_tokens == 2 * sum(one.tokens for one in drawn.values())


def test_draws_follow_the_key_and_the_index(server: ModelServer) -> None:
    engine = EndpointEngine(config(server.url))
    whole = sample(engine, prompts(2), replace(PARAMS, n=3, keys=("a", "b")))
    alone = sample(engine, prompts(2)[1:], replace(PARAMS, n=1, first_sample=2, keys=("b",)))
    assert alone[0, 2] == whole[1, 2]


def test_greedy_token_ids_and_begun_answers(server: ModelServer, local: TorchEngine) -> None:
    greedy = SamplingParams(temperature=0, max_tokens=6)
    begun: list[Prompt] = [[Message(role="user", content="1+1=?"), Message(role="assistant", content="\\boxed{")]]
    expected = sample(local, begun, greedy)
    for changes in ({"continues": True}, {"api": "completions"}):
        assert sample(EndpointEngine(config(server.url, **changes)), begun, greedy)[0, 0].text == expected[0, 0].text
    with pytest.raises(EngineError, match="continues = true"):
        sample(EndpointEngine(config(server.url)), begun, greedy)
    ids: list[Prompt] = [local.encode(begun[0])]
    assert sample(EndpointEngine(config(server.url)), ids, greedy)[0, 0].text == expected[0, 0].text


def test_scores_are_those_of_the_torch_engine(server: ModelServer, local: TorchEngine) -> None:
    engine = EndpointEngine(config(server.url, api="completions", extra_body={}))
    choices = ["12", "7", "\\boxed{3}"]
    scores = engine.choice_logprobs(prompts(3), choices)
    for row, expected in zip(scores, local.choice_logprobs(prompts(3), choices), strict=True):
        assert row == pytest.approx(expected, abs=1e-4)
    with pytest.raises(EngineError, match="chat server does not score"):
        EndpointEngine(config(server.url)).choice_logprobs(prompts(1), choices)


def test_faults_are_outlived_and_change_nothing(server: ModelServer, make_proxy: MakeProxy) -> None:
    proxy = make_proxy(every=3, hang_s=5.0)
    asked = prompts(20)
    engine = EndpointEngine(config(proxy.url, timeout_s=1.0, concurrency=4))
    assert sample(engine, asked) == sample(EndpointEngine(config(server.url)), asked)
    assert set(proxy.injected) == set(FAULTS)
    assert engine.usage.retries == sum(proxy.injected.values())
    assert set(proxy.delivered.values()) == {1}
    assert 1 < proxy.most_in_flight <= 4


def test_what_is_stored_is_not_asked_again(make_proxy: MakeProxy, tmp_path: Path) -> None:
    proxy = make_proxy()
    first = EndpointEngine(config(proxy.url), cache=tmp_path / "answers.sqlite")
    drawn = sample(first, prompts(5))
    again = EndpointEngine(config(proxy.url), cache=tmp_path / "answers.sqlite")
    assert sample(again, prompts(5)) == drawn
    assert (again.usage.reused, again.usage.answered) == (10, 0)
    more = sample(again, prompts(5), replace(PARAMS, n=3))
    assert {place: more[place] for place in drawn} == drawn
    assert sum(proxy.delivered.values()) == 15
    sample(EndpointEngine(config(proxy.url, revision="2"), cache=tmp_path / "answers.sqlite"), prompts(5))
    assert sum(proxy.delivered.values()) == 25, "other weights are other samples"
    assert first.digest != EndpointEngine(config(proxy.url, revision="2")).digest


def test_equal_calls_are_paid_once(make_proxy: MakeProxy) -> None:
    proxy = make_proxy()
    twice = [prompts(1)[0], prompts(1)[0]]
    drawn = sample(EndpointEngine(config(proxy.url)), twice, replace(PARAMS, keys=("same", "same")))
    assert drawn[0, 0] == drawn[1, 0]
    assert sum(proxy.delivered.values()) == 2


def test_a_server_that_stays_down_ends_the_run_and_keeps_what_came(
    server: ModelServer, make_proxy: MakeProxy, tmp_path: Path
) -> None:
    proxy = make_proxy()
    cache = tmp_path / "answers.sqlite"
    engine = EndpointEngine(config(proxy.url, retries=1, concurrency=2), cache=cache)
    drawing = iter(engine.generate(prompts(20), PARAMS))
    came = [next(drawing) for _ in range(5)]
    proxy.every, proxy.faults = 1, ("500",)
    with pytest.raises(EngineError, match=r"gave up after \d tries .*500.*what was answered is kept"):
        came += drawing
    assert 5 <= len(came) < 40
    again = EndpointEngine(config(proxy.url), cache=cache)
    proxy.every = 0
    assert sample(again, prompts(20)) == sample(EndpointEngine(config(server.url)), prompts(20))
    assert set(proxy.delivered.values()) == {1}


def test_refusals_stop_at_once_and_show_no_key(
    make_proxy: MakeProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TINY_KEY", KEY)
    proxy = make_proxy()
    keyed = config(proxy.url, api_key_env="TINY_KEY", extra_body={"strange": KEY})
    engine = EndpointEngine(keyed, cache=tmp_path / "answers.sqlite")
    with pytest.raises(EngineError, match=r"status 400: .*not supported: strange") as caught:
        sample(engine, prompts(1))
    assert KEY not in str(caught.value)
    assert proxy.requests <= 2, "not tried again"
    fine = EndpointEngine(replace(keyed, extra_body={}), cache=tmp_path / "answers.sqlite")
    sample(fine, prompts(1))
    assert {header.get("Authorization") for header in proxy.seen_headers} == {f"Bearer {KEY}"}
    for thing in (repr(fine), repr(fine.config), fine.digest):
        assert KEY not in thing
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_url": "localhost:8000"}, "no address"),
        ({"base_url": "http://me:secret@host/v1"}, "no user, password or query"),
        ({"base_url": "http://host/v1?api_key=secret"}, "no user, password or query"),
        ({"api_key_env": "ABSENT_KEY"}, "ABSENT_KEY .* is not set"),
        ({"api_key_env": "BAD_KEY"}, "holds what can be no key"),
        ({"concurrency": 0}, "concurrency must be 1 or more"),
    ],
)
def test_mistakes_are_told_without_secrets(
    changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAD_KEY", "two\nlines")
    with pytest.raises(EngineError, match=message) as caught:
        EndpointEngine(config("http://localhost/v1", **changes))
    assert "secret" not in str(caught.value)
    assert "lines" not in str(caught.value)


def test_a_prompt_beyond_the_context_gives_an_empty_truncated_sample(server: ModelServer) -> None:
    long: list[Prompt] = [[Message(role="user", content="1+" * 5000)], prompts(1)[0]]
    drawn = sample(EndpointEngine(config(server.url)), long, replace(PARAMS, n=1))
    assert (drawn[0, 0].text, drawn[0, 0].finish_reason, drawn[0, 0].tokens) == ("", "length", 0)
    assert drawn[1, 0].tokens > 0


def test_inside_a_running_event_loop(server: ModelServer) -> None:
    async def notebook() -> int:
        return len(sample(EndpointEngine(config(server.url)), prompts(2)))

    assert asyncio.run(notebook()) == 4


def test_a_caller_may_stop_in_the_middle(server: ModelServer) -> None:
    threads = threading.active_count()
    drawing = iter(EndpointEngine(config(server.url, concurrency=2)).generate(prompts(30), PARAMS))
    next(drawing)
    drawing.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 20
    while any(thread.name.startswith("endpoint") for thread in threading.enumerate()):
        assert time.monotonic() < deadline, f"threads left: {threading.active_count() - threads}"
        time.sleep(0.01)


def test_a_spoilt_store_is_told(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(EngineError, match="store of answers cannot be used"):
        sample(EndpointEngine(config(server.url), cache=tmp_path / "answers.sqlite"), prompts(1))


def chat(content: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop", **more}]}


def test_replies_of_other_servers() -> None:
    raw = config("http://h/v1", logprobs="raw")
    told = {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1.5}]}
    kept = read_reply(raw, "chat/completions", chat("ab", logprobs=told))
    assert completion(raw, kept, 1.0).logprobs == (-0.5, -1.5)
    assert completion(raw, kept, 0.0).logprobs == (-0.5, -1.5)
    assert completion(raw, kept, 0.6).logprobs is None, "those of the model are not those of the sampler"
    assert completion(replace(raw, logprobs="processed"), kept, 0.6).logprobs == (-0.5, -1.5)
    mismatched = completion(raw, kept | {"token_ids": [1]}, 1.0)
    assert (mismatched.token_ids, mismatched.logprobs) == (None, None)
    hidden = read_reply(raw, "chat/completions", chat(None, finish_reason="length"))
    assert (hidden["text"], hidden["finish_reason"]) == ("", "length")
    assert read_reply(raw, "chat/completions", chat("x\ud800"))["text"] == "x?"
    assert (
        read_reply(raw, "chat/completions", chat("x", logprobs={"content": [{"logprob": math.nan}]}))["logprobs"]
        is None
    )
    for bad in ({}, [], None, "x", {"choices": []}, {"choices": [{"text": "x"}]}, {"choices": [{"message": None}]}):
        with pytest.raises(ReplyError):
            read_reply(raw, "chat/completions", bad)


def test_plain_text_of_messages() -> None:
    system, user = Message(role="system", content="Think.\n"), Message(role="user", content="1+1=?")
    assert plain_text([system, user, Message(role="assistant", content="\\boxed{")]) == "Think.\n1+1=?\n\\boxed{"
    assert plain_text([user]) == "1+1=?\n"


def test_asked_pauses() -> None:
    assert asked_pause("1.5") == 1.5
    assert asked_pause("99999") == LONGEST_ASKED_PAUSE_S
    assert asked_pause("-3") == asked_pause("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert asked_pause(None) is asked_pause("soon") is asked_pause("nan") is None


RECIPE = """
[[sources]]
name = "sums"
path = "sums.jsonl"
question = "question"
answer = "answer"
[sampling]
engine = {{kind = "endpoint", base_url = "{url}", model = "tiny", api_key_env = "TINY_KEY", timeout_s = 10.0}}
max_tokens = 3
[stages.answerable]
samples = 1
"""
CURATE = """
from pathlib import Path
from pipeline.config import load
from pipeline.progress import stderr_console
from pipeline.run import CurateConfig, curate
curate(load(CurateConfig, [Path("recipe.toml")]), Path("out"), console=stderr_console(quiet=False), workers=1)
"""


def curate(folder: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"TINY_KEY": KEY, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CURATE]
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> str:
    out, err = process.communicate(timeout=1800)
    assert process.returncode == 0, err.decode()
    return (out + err).decode()


def answered(folder: Path) -> int:
    with sqlite3.connect(folder / "out" / "rollouts" / "answers.sqlite", timeout=60) as connection:
        return connection.execute("SELECT COUNT(*) FROM answers").fetchone()[0]


def manifest(folder: Path) -> bytes:
    return (folder / "out" / "manifest.json").read_bytes()


def killed_in_the_middle(count: int, server: ModelServer, make_proxy: MakeProxy, tmp_path: Path) -> FaultyProxy:
    """Curates `count` rows over the faulty proxy, is killed when half are answered, runs again; checks all."""
    rows = [{"question": f"{index}+{index % 13}=?", "answer": str(index + index % 13)} for index in range(count)]
    proxy = make_proxy(every=10, hang_s=60.0)
    for name, url in (("killed", proxy.url), ("whole", server.url)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sums.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (tmp_path / name / "recipe.toml").write_text(RECIPE.format(url=url))
    proxy.hold_after = count // 2
    first = curate(tmp_path / "killed")
    while not proxy.held.wait(0.05):
        assert first.poll() is None, finish(first)
    while answered(tmp_path / "killed") < count // 2:
        assert first.poll() is None
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    proxy.hold_after = None
    proxy.release.set()
    assert first.returncode == -signal.SIGKILL
    proxy.release.clear()
    shown = finish(curate(tmp_path / "killed"))
    finish(curate(tmp_path / "whole"))
    assert len(proxy.delivered) == count == answered(tmp_path / "killed")
    assert set(proxy.delivered.values()) == {1}, "no sample was paid twice"
    assert set(proxy.injected) == set(FAULTS)
    assert 4 < proxy.most_in_flight <= 8
    texts = [sampled(tmp_path / name) for name in ("killed", "whole")]
    assert texts[0] == texts[1]
    assert len(texts[0]) == count
    assert KEY not in shown
    for file in (tmp_path / "killed" / "out").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()
    return proxy


def sampled(folder: Path) -> dict[str, tuple[str, str, str]]:
    import pyarrow.parquet as pq

    files = sorted((folder / "out" / "rollouts").glob("samples-*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return {f"{row['id']} {row['sample']}": (row["text"], row["status"], row["finish_reason"]) for row in rows}


def test_killed_in_the_middle_nothing_is_paid_twice(server: ModelServer, make_proxy: MakeProxy, tmp_path: Path) -> None:
    killed_in_the_middle(150, server, make_proxy, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_thousand_prompts(server: ModelServer, make_proxy: MakeProxy, tmp_path: Path) -> None:
    proxy = killed_in_the_middle(2000, server, make_proxy, tmp_path)
    print(f"\n{proxy.requests} requests, failures injected: {dict(proxy.injected)}")
