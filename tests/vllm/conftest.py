"""A tiny model that is right half of the time, the engine over it, and a served copy; in an environment with vLLM."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import httpx
import pytest
import torch
from transformers import LlamaConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from engines.build import VllmConfig
from trainer.warmstart import Schedule, build_tokenizer, finetune, save

ROOT = Path(__file__).resolve().parent.parent.parent
START_S = 1500.0  # two processes import vLLM one after the other; a loaded machine takes its time
QUESTIONS, ANSWERS = ("3+4=?", "5+3=?", "2+2=?", "9+1=?"), ("7", "8")
"""Every question is answered by either, as often by one as by the other."""

ENDS = (2, *range(40, 70))
"""Many end tokens: random weights seldom draw one given token, and the rows are to end at different times."""


def new_model(*, tied: bool) -> PreTrainedModel:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=392,  # no multiple of 64, to which vLLM pads the head
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=256,
        initializer_range=0.2,
        tie_word_embeddings=tied,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = AutoModelForCausalLM.from_config(config).eval()
    model.generation_config.eos_token_id = list(ENDS)
    return model


def moved(model: PreTrainedModel, seed: int, size: float = 0.02) -> None:
    """Every weight takes a random step."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * size)


@pytest.fixture(scope="session", params=["tied", "untied"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param)
    save(new_model(tied=request.param == "tied"), build_tokenizer(), path)
    return path


@pytest.fixture(scope="session")
def guesser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned to answer 7 or 8."""
    path = tmp_path_factory.mktemp("guesser")
    tokenizer, model = build_tokenizer(), new_model(tied=True)
    pairs = [
        (
            tokenizer.apply_chat_template(
                [{"role": "user", "content": asked}], add_generation_prompt=True, return_dict=False
            ),
            [*tokenizer.encode(answer, add_special_tokens=False), tokenizer.eos_token_id],
        )
        for asked in QUESTIONS
        for answer in ANSWERS
    ]
    for _ in finetune(model, repeat(pairs), Schedule(learning_rate=3e-3, steps=60)):  # pyright: ignore[reportArgumentType]
        pass
    model.generation_config.eos_token_id = 2
    save(model, tokenizer, path)
    return path


@pytest.fixture(scope="session")
def server(guesser: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmConfig]:
    """A server over the guesser, as engines/README.md starts one on a machine without a GPU."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    command = [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(guesser), "--port", str(port)),
        *("--host", "127.0.0.1", "--served-model-name", "guesser", "--dtype", "float32", "--enforce-eager"),
        *("--logprobs-mode", "processed_logprobs", "--no-enable-prefix-caching"),
        *("--worker-extension-cls", "engines.vllm_worker.FolderUpdates"),
    ]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "VLLM_SERVER_DEV_MODE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # one process fewer to start: the worker runs in that of the engine
        "VLLM_NO_USAGE_STATS": "1",
    }
    with log.open("w") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written, env=environment, cwd=log.parent)
    try:
        _wait(process, port, log)
        yield VllmConfig(kind="vllm", base_url=f"http://127.0.0.1:{port}/v1", dtype="float32", retries=0)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(1)
    pytest.fail(f"the server did not start:\n{log.read_text()[-4000:]}")
