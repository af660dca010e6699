"""A real vLLM server: pass rates for a curation, and weights that a trainer sends there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from engines.build import VllmConfig, build_engine
from engines.engine import EngineError, PolicyEngine, Prompt, SamplingParams, Scorer
from engines.torch_engine import TorchEngine
from engines.vllm_server import VllmServerEngine
from engines.vllm_transfer import Control
from pipeline.shards import read_shards
from tests.vllm.conftest import ANSWERS, QUESTIONS, ROOT, moved
from trainer.groups import RunStoppedError
from trainer.policy import Policy
from trainer.probe import VLLM_FLOAT32, Probe
from trainer.sections import Optimiser

pytestmark = pytest.mark.skipif(find_spec("vllm") is None, reason="in an environment of its own: tests/vllm/run.sh")

PROMPTS: list[Prompt] = [[{"role": "user", "content": question}] for question in QUESTIONS]
PARAMS = SamplingParams(n=4, max_tokens=8, seed=3)


@pytest.fixture
def reference(guesser: Path) -> TorchEngine:
    return TorchEngine.from_folder(guesser, device="cpu")


@pytest.fixture
def engine(server: VllmConfig, guesser: Path) -> Iterator[VllmServerEngine]:
    """The server as a policy engine, at the guesser's weights."""
    built = build_engine(replace(server, model=guesser))
    assert isinstance(built, VllmServerEngine)
    yield built
    built.load_weights(TorchEngine.from_folder(guesser, device="cpu").model.named_parameters(), 0)


def gaps(engine: VllmServerEngine, reference: TorchEngine, params: SamplingParams) -> torch.Tensor:
    found = []
    for place, _, one in engine.generate(PROMPTS, params):
        assert one.token_ids is not None
        assert one.logprobs is not None
        prompt = reference.encode(PROMPTS[place])
        with torch.no_grad():
            logits_TV = reference.model(input_ids=torch.tensor([[*prompt, *one.token_ids]])).logits[0]
        logps_TV = (logits_TV[len(prompt) - 1 : -1] / params.temperature).log_softmax(-1)
        found.append(logps_TV.gather(1, torch.tensor(one.token_ids)[:, None])[:, 0] - torch.tensor(one.logprobs))
    return torch.cat(found).abs()


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_log_probabilities_before_and_after_an_update(
    engine: VllmServerEngine, reference: TorchEngine, temperature: float
) -> None:
    assert isinstance(engine, PolicyEngine)
    params = replace(PARAMS, temperature=temperature)
    gap = gaps(engine, reference, params)
    assert gap.max() < 5e-3
    assert gap.mean() < 1e-3
    moved(reference.model, seed=1)
    assert gaps(engine, reference, params).max() > 5e-3
    digest = engine.digest
    engine.load_weights(reference.model.named_parameters(), 4)
    gap = gaps(engine, reference, params)
    assert gap.max() < 5e-3
    assert gap.mean() < 1e-3
    assert {one.version for _, _, one in engine.generate(PROMPTS, params)} == {4}
    assert engine.digest != digest, "answers that were stored are those of the old weights"
    assert Control(engine.config).get("weight_info") == {"weight_version": "4"}


def test_samples_repeat_and_end(engine: VllmServerEngine) -> None:
    def drawn(params: SamplingParams) -> dict[tuple[int, int], tuple[str, tuple[int, ...] | None]]:
        return {(place, sample): (one.text, one.token_ids) for place, sample, one in engine.generate(PROMPTS, params)}

    base = drawn(PARAMS)
    assert drawn(PARAMS) == base
    assert drawn(replace(PARAMS, seed=4)) != base
    later = drawn(replace(PARAMS, n=2, first_sample=2))
    assert later == {place: one for place, one in base.items() if place[1] >= 2}
    right = [(text, ids) for text, ids in base.values() if text in ANSWERS]
    assert len(right) > 12
    assert all(ids is not None and len(ids) == 2 and ids[-1] == 2 for _, ids in right), "the end token is among the ids"


def test_a_skipped_update_is_caught(engine: VllmServerEngine, reference: TorchEngine) -> None:
    policy = Policy(reference.model, reference.tokenizer, Optimiser(), 1.0)
    prompts = [tuple(reference.encode(prompt)) for prompt in PROMPTS]
    probe = Probe(engine, policy, prompts, VLLM_FLOAT32, seed=0)
    engine.load_weights(policy.model.named_parameters(), 1)
    probe.check(1)
    moved(policy.model, seed=2)
    engine.version = 2
    with pytest.raises(RunStoppedError, match="after version 2 was sent"):
        probe.check(2)


def test_choices_score_as_in_the_torch_engine(server: VllmConfig, reference: TorchEngine) -> None:
    engine = build_engine(server)
    assert isinstance(engine, Scorer)
    prompts: list[Prompt] = [
        *PROMPTS,
        [5, 6, 7],
        [{"role": "user", "content": "1+2=?"}, {"role": "assistant", "content": "It is "}],
    ]
    choices = ["7", "12", " no"]
    ours = torch.tensor(engine.choice_logprobs(prompts, choices))
    assert torch.allclose(ours, torch.tensor(reference.choice_logprobs(prompts, choices)), atol=5e-3)
    with pytest.raises(EngineError, match="empty choice"):
        engine.choice_logprobs(PROMPTS, [""])


def test_what_cannot_be_done_is_said(server: VllmConfig, guesser: Path, reference: TorchEngine) -> None:
    weights = dict(reference.model.named_parameters())
    plain = build_engine(server)
    assert isinstance(plain, VllmServerEngine)
    with pytest.raises(EngineError, match=r"name its folder \(model\)"):
        plain.load_weights(weights.items(), 1)
    engine = build_engine(replace(server, model=guesser, weight_transfer="nccl"))
    assert isinstance(engine, VllmServerEngine)
    with pytest.raises(EngineError, match=r"left out 1 weights, model\.norm\.weight"):
        engine.load_weights([pair for pair in weights.items() if pair[0] != "model.norm.weight"], 1)
    with pytest.raises(EngineError, match="is on the CPU, and nccl sends from a GPU"):
        engine.load_weights(weights.items(), 1)
    with pytest.raises(EngineError, match="the weights failed"):
        next(engine.generate(PROMPTS, PARAMS))
    asked = {"method": "load_from_folder", "kwargs": {"folder": "/absent"}}
    (told,) = Control(server).post("collective_rpc", asked)["results"]
    assert told["refused"] == "the server sees no model.safetensors in /absent"
    assert len(list(plain.generate(PROMPTS, PARAMS))) == 16, "the server is none the worse"
    with pytest.raises(EngineError, match="does the server run"):
        build_engine(replace(server, base_url="http://127.0.0.1:9/v1"))


def test_curate_takes_pass_rates_from_it(server: VllmConfig, tmp_path: Path) -> None:
    golds = ("7", "8", "7", "10")
    rows = [{"question": asked, "answer": gold} for asked, gold in zip(QUESTIONS, golds, strict=True)]
    (tmp_path / "pool.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(
        f"""
[[sources]]
name = "pool"
path = "pool.jsonl"
question = "question"
answer = "answer"
[sampling]
engine = {{kind = "vllm", base_url = "{server.base_url}"}}
max_tokens = 8
[stages.difficulty]
samples = 16
""",
        encoding="utf-8",
    )
    command = [sys.executable, "-c", "from verigold.cli import main; main()", "curate", "recipe.toml", "--out", "out"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["quarantined"]["difficulty"] == {"unsolved-at-n": 1}, "the model never says 10"
    problems = read_shards(tmp_path / "out")
    assert {problem.question for problem in problems} == set(QUESTIONS[:3])
    assert all(0 < (problem.pass_rate or 0) < 1 for problem in problems)
    drawn = manifest["sampling"]["difficulty"]
    assert 16 <= drawn["samples"] <= 64
    assert drawn["generated_tokens"] >= 2 * drawn["samples"] * 0.9, "a digit and the end token, nearly always"
