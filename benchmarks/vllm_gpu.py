"""vLLM on GPUs, colocated and as a server: log-probabilities, weight updates, sleep and wake. Prints what it did.

    python benchmarks/vllm_gpu.py MODEL                # one GPU: the server shares it, weights by ipc
    python benchmarks/vllm_gpu.py MODEL --server-gpu 1 # the server on a GPU of its own, weights by nccl

MODEL is a Hugging Face model folder. Needs `pip install 'verigold[vllm]'` and a GPU; it has not been run on one yet.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from engines.build import VllmConfig, build_engine
from engines.engine import Message, SamplingParams
from engines.torch_engine import TorchEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engines.engine import PolicyEngine

PROMPTS = [f"What is {a} + {b}? Show your work." for a, b in ((3, 4), (17, 25), (120, 9), (64, 64))]
PARAMS = SamplingParams(n=8, max_tokens=64)
PORT, START_S = 8765, 900.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--share", type=float, default=0.3, help="of the GPU's memory for vLLM")
    parser.add_argument("--server-gpu", type=int, help="default: the trainer's, GPU 0")
    arguments = parser.parse_args()
    policy = TorchEngine.from_folder(arguments.model, device="cuda:0", dtype=arguments.dtype)
    config = VllmConfig(
        kind="vllm",
        model=arguments.model,
        dtype=arguments.dtype,
        gpu_memory_utilization=arguments.share,
        max_model_len=1024,
        sleep=True,
    )
    engine: Any = build_engine(config)
    told("colocated", "bytes free while awake", free_bytes())
    check("colocated", engine, policy)
    told("colocated", "bytes free while asleep", free_bytes())
    engine.close()
    backend = "ipc" if arguments.server_gpu in (None, 0) else "nccl"
    with served(arguments, backend):
        address = f"http://127.0.0.1:{PORT}/v1"
        server: Any = build_engine(
            VllmConfig(kind="vllm", model=arguments.model, base_url=address, weight_transfer=backend)
        )
        check(f"server, {backend}", server, policy)


def check(name: str, engine: PolicyEngine, policy: TorchEngine) -> None:
    """Compares before an update, with weights that have moved (the difference is to be seen), and after it."""
    engine.load_weights(policy.model.named_parameters(), 1)
    told(name, "at the same weights", gaps(engine, policy))
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(1.02)
    told(name, "stale", gaps(engine, policy))
    started = time.monotonic()
    engine.load_weights(policy.model.named_parameters(), 2)
    told(name, "seconds of the update", time.monotonic() - started)
    told(name, "after the update", gaps(engine, policy))


def gaps(engine: PolicyEngine, policy: TorchEngine) -> dict[str, Any]:
    """Mean and largest |engine - trainer| of the log-probabilities of sampled tokens."""
    prompts: list[list[Message]] = [[{"role": "user", "content": text}] for text in PROMPTS]
    found, versions, tokens = [], set(), 0
    for place, _, one in engine.generate(prompts, PARAMS):
        ids, prompt = one.token_ids or (), policy.encode(prompts[place])
        with torch.no_grad():
            logits_TV = policy.model(input_ids=torch.tensor([[*prompt, *ids]], device="cuda:0")).logits[0]
        logps_TV = logits_TV[len(prompt) - 1 : -1].float().log_softmax(-1).cpu()
        found.append((logps_TV.gather(1, torch.tensor(ids)[:, None])[:, 0] - torch.tensor(one.logprobs)).abs())
        versions.add(one.version)
        tokens += len(ids)
    gap = torch.cat(found)
    return {"mean": gap.mean().item(), "max": gap.max().item(), "tokens": tokens, "versions": sorted(versions)}


@contextmanager
def served(arguments: argparse.Namespace, backend: str) -> Iterator[None]:
    """`vllm serve`, as engines/README.md starts it."""
    command = [
        *("vllm", "serve", str(arguments.model), "--host", "127.0.0.1", "--port", str(PORT)),
        *("--dtype", arguments.dtype, "--max-model-len", "1024", "--gpu-memory-utilization", str(arguments.share)),
        *("--logprobs-mode", "processed_logprobs", "--weight-transfer-config", json.dumps({"backend": backend})),
    ]
    environment = os.environ | {
        "CUDA_VISIBLE_DEVICES": str(arguments.server_gpu or 0),
        "VLLM_SERVER_DEV_MODE": "1",
        "VLLM_ALLOW_INSECURE_SERIALIZATION": "1" if backend == "ipc" else "0",
    }
    process = subprocess.Popen(command, env=environment)
    try:
        end = time.monotonic() + START_S
        while process.poll() is None and time.monotonic() < end:
            try:
                httpx.get(f"http://127.0.0.1:{PORT}/health", timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(2)
        yield
    finally:
        process.terminate()
        process.wait()


def free_bytes() -> int:
    return torch.cuda.mem_get_info(0)[0]


def told(name: str, what: str, value: Any) -> None:
    print(json.dumps({"check": name, "what": what, "value": value}), flush=True)


if __name__ == "__main__":
    main()
