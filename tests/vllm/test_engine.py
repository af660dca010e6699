"""vLLM in this process against transformers in float32, before and after its weights were replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from engines.build import VllmConfig, build_engine
from engines.engine import Completion, EngineError, PolicyEngine, Prompt, SamplingParams, Scorer
from engines.torch_engine import TorchEngine
from engines.vllm_engine import VllmEngine
from engines.weights import stored_weights, weights_digest
from tests.vllm.conftest import ENDS, QUESTIONS, moved
from trainer.groups import RunStoppedError
from trainer.policy import Policy
from trainer.probe import VLLM_FLOAT32, Probe
from trainer.sections import Optimiser
from trainer.warmstart import save

pytestmark = pytest.mark.skipif(find_spec("vllm") is None, reason="in an environment of its own: tests/vllm/run.sh")

PROMPTS: list[list[int]] = [[3 + (11 * i + 5 * j) % 380 for j in range(3 + i % 5)] for i in range(11)]
PARAMS = SamplingParams(n=4, max_tokens=24, seed=5, keys=tuple(f"p{i}" for i in range(11)))

Samples = dict[tuple[int, int], Completion]


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[VllmEngine]:
    built = build_engine(VllmConfig(kind="vllm", model=folder))
    assert isinstance(built, VllmEngine)
    yield built
    built.close()


@pytest.fixture
def reference(folder: Path, engine: VllmEngine) -> TorchEngine:
    """transformers in float32 at the engine's weights."""
    reference = TorchEngine.from_folder(folder, device="cpu")
    engine.load_weights(reference.model.named_parameters(), 0)
    return reference


def sample(engine: Any, prompts: Sequence[Prompt], params: SamplingParams) -> Samples:
    drawn = {(prompt, index): completion for prompt, index, completion in engine.generate(prompts, params)}
    assert len(drawn) == len(prompts) * params.n
    return drawn


def gaps(engine: VllmEngine, model: PreTrainedModel, params: SamplingParams) -> torch.Tensor:
    """|engine - model| of the log-probability of every sampled token."""
    found = []
    for (prompt, _), one in sample(engine, PROMPTS, params).items():
        assert one.token_ids is not None
        assert one.logprobs is not None
        with torch.no_grad():
            logits_TV = model(input_ids=torch.tensor([[*PROMPTS[prompt], *one.token_ids]])).logits[0]
        logps_TV = (logits_TV[len(PROMPTS[prompt]) - 1 : -1] / (params.temperature or 1.0)).log_softmax(-1)
        own_T = logps_TV.gather(1, torch.tensor(one.token_ids)[:, None])[:, 0]
        found.append((own_T - torch.tensor(one.logprobs)).abs())
    assert len({len(gap) for gap in found}) > 3, "rows must end at different times for this to mean something"
    return torch.cat(found)


def agree(engine: VllmEngine, model: PreTrainedModel, params: SamplingParams) -> bool:
    gap = gaps(engine, model, params)
    return bool(gap.max() < 5e-3 and gap.mean() < 1e-3)


def test_protocols(engine: VllmEngine) -> None:
    assert isinstance(engine, PolicyEngine)
    assert isinstance(engine, Scorer)


@pytest.mark.parametrize("temperature", [1.0, 0.6, 0.0])
def test_log_probabilities_before_and_after_an_update(
    engine: VllmEngine, reference: TorchEngine, temperature: float
) -> None:
    params = replace(PARAMS, temperature=temperature)
    assert agree(engine, reference.model, params)
    moved(reference.model, seed=1)
    assert not agree(engine, reference.model, params), "the update is to be seen"
    engine.load_weights(reference.model.named_parameters(), 7)
    assert agree(engine, reference.model, params)
    assert {one.version for one in sample(engine, PROMPTS, params).values()} == {7}


def test_the_engine_has_weights_of_its_own(engine: VllmEngine, reference: TorchEngine) -> None:
    before = sample(engine, PROMPTS, PARAMS)
    moved(reference.model, seed=2)
    assert sample(engine, PROMPTS, PARAMS) == before


def test_greedy_is_the_torch_engines(engine: VllmEngine, reference: TorchEngine) -> None:
    params = SamplingParams(temperature=0, max_tokens=16)
    ours, theirs = sample(engine, PROMPTS, params), sample(reference, PROMPTS, params)
    assert {place: one.token_ids for place, one in ours.items()} == {
        place: one.token_ids for place, one in theirs.items()
    }
    assert {place: one.text for place, one in ours.items()} == {place: one.text for place, one in theirs.items()}


def test_choices_score_as_in_the_torch_engine(engine: VllmEngine, reference: TorchEngine) -> None:
    choices = ["7", "12", " yes", "\\boxed{3}"]
    prompts: list[Prompt] = [*PROMPTS, [{"role": "user", "content": "1+2=?"}]]
    ours = torch.tensor(engine.choice_logprobs(prompts, choices))
    assert torch.allclose(ours, torch.tensor(reference.choice_logprobs(prompts, choices)), atol=5e-3)
    with pytest.raises(EngineError, match="empty choice"):
        engine.choice_logprobs(prompts, ["a", ""])
    with pytest.raises(EngineError, match="context 256"):
        engine.choice_logprobs([[5] * 255], ["7"])


@pytest.mark.usefixtures("reference")
def test_every_end_token_ends(engine: VllmEngine) -> None:
    assert engine.end_ids == set(ENDS)
    drawn = sample(engine, PROMPTS, PARAMS)
    last = {one.token_ids[-1] for one in drawn.values() if one.token_ids and one.finish_reason == "stop"}
    assert len(last) > 3
    assert {one.finish_reason for one in drawn.values()} == {"stop", "length"}
    for one in drawn.values():
        ids, stopped = one.token_ids, one.finish_reason == "stop"
        assert ids
        assert (ids[-1] in engine.end_ids) == stopped
        assert not set(ids[:-1]) & engine.end_ids
        assert stopped or len(ids) == PARAMS.max_tokens
        assert one.text == engine.tokenizer.decode(list(ids[:-1] if stopped else ids), skip_special_tokens=True)


@pytest.mark.usefixtures("reference")
def test_seed_key_and_index_fix_a_draw(engine: VllmEngine) -> None:
    base = sample(engine, PROMPTS, PARAMS)
    ids = {place: one.token_ids for place, one in base.items()}
    assert sample(engine, PROMPTS, PARAMS) == base
    assert sample(engine, PROMPTS, replace(PARAMS, seed=6)) != base
    assert PARAMS.keys is not None
    alone = sample(engine, [PROMPTS[7]], replace(PARAMS, keys=(PARAMS.keys[7],)))
    assert all(one.token_ids == ids[7, index] for (_, index), one in alone.items())
    later = {(p, s): one for p, s, one in engine.generate(PROMPTS, replace(PARAMS, n=2, first_sample=2))}
    assert set(later) == {(p, s) for p in range(len(PROMPTS)) for s in (2, 3)}
    assert all(one.token_ids == ids[place] for place, one in later.items())


@pytest.mark.usefixtures("reference")
def test_the_context_bounds_a_completion(engine: VllmEngine) -> None:
    drawn = sample(engine, [[5] * 256, [6] * 254], SamplingParams(n=2, max_tokens=9))
    assert all(drawn[0, index].token_ids == () and drawn[0, index].finish_reason == "length" for index in (0, 1))
    assert all(len(drawn[1, index].token_ids or ()) <= 2 for index in (0, 1))


Change = Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]
NORM = "model.norm.weight"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own | {"model.extra.weight": own[NORM]}, "model.extra.weight.*no such weight"),
        (lambda own: own | {NORM: own[NORM][:-1]}, "expected shape"),
        (lambda own: {name: own[name] for name in own if name != NORM}, "left out 1 weights, model.norm.weight"),
    ],
)
def test_refused_updates_leave_the_old_weights(
    engine: VllmEngine, reference: TorchEngine, change: Change, message: str
) -> None:
    before, digest = sample(engine, PROMPTS, PARAMS), engine.digest
    moved(reference.model, seed=3)
    with pytest.raises(EngineError, match=message):
        engine.load_weights(change(dict(reference.model.named_parameters())).items(), 9)
    assert engine.version == 0
    assert engine.digest == digest
    assert sample(engine, PROMPTS, PARAMS) == before


@pytest.mark.usefixtures("reference")
def test_no_update_while_completions_are_drawn(engine: VllmEngine, reference: TorchEngine) -> None:
    before = sample(engine, PROMPTS, PARAMS)
    drawing = engine.generate(PROMPTS, PARAMS)
    next(drawing)
    with pytest.raises(EngineError, match="while completions are drawn"):
        engine.load_weights(reference.model.named_parameters(), 1)
    del drawing  # which closes it
    engine.load_weights(reference.model.named_parameters(), 0)
    assert sample(engine, PROMPTS, PARAMS) == before, "what was given up is gone"


def test_two_draws_at_once(engine: VllmEngine, reference: TorchEngine) -> None:
    engine.load_weights(reference.model.named_parameters(), 0)
    alone = sample(engine, PROMPTS, PARAMS)
    one, other = engine.generate(PROMPTS, PARAMS), engine.generate(PROMPTS, PARAMS)
    mixed = list(zip(one, other, strict=True))
    for drawn in zip(*mixed, strict=True):
        assert {(p, s): c.token_ids for p, s, c in drawn} == {place: c.token_ids for place, c in alone.items()}


def test_the_digest_names_the_weights(engine: VllmEngine, reference: TorchEngine, folder: Path, tmp_path: Path) -> None:
    first = engine.digest
    moved(reference.model, seed=4)
    engine.load_weights(reference.model.named_parameters(), 1)
    assert engine.digest != first
    save(reference.model, reference.tokenizer, tmp_path / "moved")  # pyright: ignore[reportArgumentType]
    tied = bool(reference.model.config.tie_word_embeddings)
    stored = [weights_digest(stored_weights(path), torch.float32, tied=tied) for path in (folder, tmp_path / "moved")]
    assert stored[0] != stored[1]
    assert engine._weights == stored[1]
    engine.load_weights(stored_weights(folder), 2)
    assert engine.digest == first


@pytest.fixture
def policy(reference: TorchEngine) -> Policy:
    return Policy(reference.model, reference.tokenizer, Optimiser(), 1.0)


def probe_of(engine: VllmEngine, policy: Policy) -> Probe:
    return Probe(engine, policy, [tuple(prompt) for prompt in PROMPTS], VLLM_FLOAT32, seed=0)


def test_a_skipped_update_is_caught(engine: VllmEngine, policy: Policy) -> None:
    probe = probe_of(engine, policy)
    assert probe.check(0) < 5e-3
    for size in (2e-2, 1e-5):  # a large step shows in the log-probabilities, a small one in answers that never move
        moved(policy.model, seed=5, size=size)
        engine.version += 1  # as an engine does that takes no weights
        with pytest.raises(RunStoppedError, match="engine"):
            probe.check(engine.version)
        engine.load_weights(policy.model.named_parameters(), engine.version + 1)
        probe.check(engine.version)


def test_a_tied_head_left_stale_is_caught(engine: VllmEngine, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    if not policy.model.config.tie_word_embeddings:
        pytest.skip("only a tied head is left behind")
    probe = probe_of(engine, policy)
    probe.check(0)
    moved(policy.model, seed=6)
    monkeypatch.setattr(engine, "_on_cpu", False)  # the head is mended on the CPU only
    engine.load_weights(policy.model.named_parameters(), 1)
    with pytest.raises(RunStoppedError, match="a tied head left behind"):
        probe.check(1)
    monkeypatch.undo()
    engine.load_weights(policy.model.named_parameters(), 2)
    probe.check(2)


def test_messages_and_pass_rates(guesser: Path) -> None:
    engine = build_engine(VllmConfig(kind="vllm", model=guesser))
    assert isinstance(engine, VllmEngine)
    prompts: list[Prompt] = [[{"role": "user", "content": question}] for question in QUESTIONS]
    texts = [one.text for one in sample(engine, prompts, SamplingParams(n=64, max_tokens=8)).values()]
    assert 0.35 < texts.count("7") / len(texts) < 0.65
    assert texts.count("7") + texts.count("8") > 0.9 * len(texts)
    engine.close()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (VllmConfig(kind="vllm"), "name a model folder"),
        (VllmConfig(kind="vllm", model=Path("absent")), "no model there"),
    ],
)
def test_what_cannot_be_built(config: VllmConfig, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        build_engine(config)


def test_sleep_needs_a_gpu(folder: Path) -> None:
    with pytest.raises(EngineError, match="runs on the CPU here"):
        build_engine(VllmConfig(kind="vllm", model=folder, sleep=True))
