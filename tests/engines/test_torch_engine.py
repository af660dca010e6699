"""The torch engine against transformers' own forward and generate."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from engines.build import TorchConfig, build_engine
from engines.engine import Completion, EngineError, Message, PolicyEngine, Prompt, SamplingParams, Scorer
from engines.kv_cache import GrowingLayer, new_cache, take_rows
from engines.torch_engine import TorchEngine
from trainer.warmstart import build_tokenizer, new_model, save

PROMPTS: list[list[int]] = [[3 + (11 * i + 5 * j) % 380 for j in range(3 + i % 5)] for i in range(11)]
PARAMS = SamplingParams(n=4, max_tokens=24, seed=5, keys=tuple(f"p{i}" for i in range(11)))

Samples = dict[tuple[int, int], Completion]


def sample(engine: TorchEngine, prompts: list[list[int]], params: SamplingParams) -> Samples:
    drawn = {(prompt, index): completion for prompt, index, completion in engine.generate(prompts, params)}
    assert len(drawn) == len(prompts) * params.n
    return drawn


def ids(completion: Completion) -> tuple[int, ...]:
    assert completion.token_ids is not None
    return completion.token_ids


def forward_logps(engine: TorchEngine, prompt: list[int], new: tuple[int, ...], temperature: float) -> torch.Tensor:
    with torch.no_grad():
        logits = engine.model(input_ids=torch.tensor([[*prompt, *new]]), use_cache=False).logits[0]
    logps = (logits[len(prompt) - 1 : -1] / temperature).log_softmax(-1)
    return logps.gather(1, torch.tensor(new)[:, None])[:, 0]


def test_protocols(engine: TorchEngine) -> None:
    assert isinstance(engine, PolicyEngine)
    assert isinstance(engine, Scorer)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_logprobs_equal_the_models_own_forward(any_engine: TorchEngine, temperature: float) -> None:
    drawn = sample(any_engine, PROMPTS, replace(PARAMS, temperature=temperature))
    lengths = {len(ids(completion)) for completion in drawn.values()}
    assert len(lengths) > 3, "rows must leave the batch at different times for this test to mean something"
    for (prompt, _), completion in drawn.items():
        expected = forward_logps(any_engine, PROMPTS[prompt], ids(completion), temperature)
        assert torch.allclose(torch.tensor(completion.logprobs), expected, atol=1e-4)


def test_greedy_equals_generate(any_engine: TorchEngine) -> None:
    drawn = sample(any_engine, PROMPTS, SamplingParams(temperature=0, max_tokens=16))
    for index, prompt in enumerate(PROMPTS):
        model: Any = any_engine.model
        out = model.generate(
            input_ids=torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            do_sample=False,
            max_new_tokens=16,
            pad_token_id=0,
        )
        assert list(ids(drawn[index, 0])) == out[0, len(prompt) :].tolist()


def test_a_completion_does_not_depend_on_its_batch(any_engine: TorchEngine) -> None:
    together = sample(any_engine, PROMPTS, PARAMS)
    assert PARAMS.keys is not None
    for index in (0, 7):
        alone = sample(any_engine, [PROMPTS[index]], replace(PARAMS, keys=(PARAMS.keys[index],)))
        assert all(ids(alone[0, s]) == ids(together[index, s]) for s in range(4))
    small = TorchEngine(any_engine.model, any_engine.tokenizer, max_batch_tokens=450)
    assert {place: ids(one) for place, one in sample(small, PROMPTS, PARAMS).items()} == {
        place: ids(one) for place, one in together.items()
    }


def test_later_samples_continue_the_stream(engine: TorchEngine) -> None:
    together = sample(engine, PROMPTS, PARAMS)
    later = {(p, s): c for p, s, c in engine.generate(PROMPTS, replace(PARAMS, n=2, first_sample=2))}
    assert set(later) == {(p, s) for p in range(len(PROMPTS)) for s in (2, 3)}
    assert all(ids(one) == ids(together[place]) for place, one in later.items())


def test_seed_and_key_change_the_draw(engine: TorchEngine) -> None:
    base = sample(engine, PROMPTS, PARAMS)
    assert sample(engine, PROMPTS, PARAMS) == base
    assert sample(engine, PROMPTS, replace(PARAMS, seed=6)) != base
    assert sample(engine, PROMPTS, replace(PARAMS, keys=tuple(f"q{i}" for i in range(11)))) != base


def test_finish_reasons_and_text(engine: TorchEngine) -> None:
    drawn = sample(engine, PROMPTS, PARAMS)
    assert {one.finish_reason for one in drawn.values()} == {"stop", "length"}
    for one in drawn.values():
        stopped = one.finish_reason == "stop"
        assert (ids(one)[-1] in engine.end_ids) == stopped
        assert not set(ids(one)[:-1]) & engine.end_ids
        assert stopped or len(ids(one)) == PARAMS.max_tokens
        body = ids(one)[:-1] if stopped else ids(one)
        assert one.text == engine.tokenizer.decode(list(body), skip_special_tokens=True)
        assert "</s>" not in one.text


def test_every_end_token_ends(engine: TorchEngine) -> None:
    model: Any = engine.model
    assert engine.end_ids == {2, *range(40, 70)}
    model.generation_config.eos_token_id = 7
    assert TorchEngine(engine.model, engine.tokenizer).end_ids == {2, 7}


def test_messages_go_through_the_chat_template(engine: TorchEngine) -> None:
    plain = engine.tokenizer.encode("1+2=?\n", add_special_tokens=False)
    asked: list[Message] = [{"role": "user", "content": "1+2=?"}]
    begun: list[Message] = [*asked, {"role": "assistant", "content": "\\boxed{"}]
    assert engine.encode(asked) == plain
    assert engine.encode(begun) == [*plain, *engine.tokenizer.encode("\\boxed{", add_special_tokens=False)]
    engine.tokenizer.chat_template = None
    with pytest.raises(EngineError, match="no chat template"):
        engine.encode(asked)


@pytest.mark.parametrize("prompt", [[], [{"role": "user", "content": ""}]])
def test_an_empty_prompt_is_refused(engine: TorchEngine, prompt: Prompt) -> None:
    engine.tokenizer.chat_template = "{{ messages[0]['content'] }}"
    with pytest.raises(EngineError, match="empty prompt"):
        list(engine.generate([prompt], SamplingParams()))


def test_wrong_parameters_are_refused(engine: TorchEngine) -> None:
    for wrong in ({"n": 0}, {"max_tokens": 0}, {"temperature": -1.0}, {"keys": ("a",)}):
        with pytest.raises(EngineError):
            list(engine.generate(PROMPTS, replace(PARAMS, **wrong)))


def test_the_context_ends_completions(any_engine: TorchEngine) -> None:
    prompts = [[5 + i % 300 for i in range(length)] for length in (256, 250, 4, 300)]
    params = SamplingParams(n=2, max_tokens=20, keys=("a", "b", "c", "d"))
    drawn = sample(any_engine, prompts, params)
    for prompt, room in ((0, 0), (1, 6), (2, 20), (3, 0)):
        for index in range(2):
            completion = drawn[prompt, index]
            assert len(ids(completion)) <= room
            assert completion.finish_reason == "stop" or len(ids(completion)) == room
    alone = sample(any_engine, prompts[1:2], replace(params, keys=("b",)))
    assert ids(alone[0, 0]) == ids(drawn[1, 0])


def test_no_prompts_no_completions(engine: TorchEngine) -> None:
    assert list(engine.generate([], SamplingParams())) == []


def test_choice_logprobs(any_engine: TorchEngine) -> None:
    choices = ["4", "12", "the answer is 7"]
    scores = any_engine.choice_logprobs(PROMPTS[:5], choices)
    for prompt, row in zip(PROMPTS[:5], scores, strict=True):
        for choice, score in zip(choices, row, strict=True):
            new = tuple(any_engine.tokenizer.encode(choice, add_special_tokens=False))
            assert score == pytest.approx(forward_logps(any_engine, prompt, new, 1.0).sum().item(), abs=1e-3)
    with pytest.raises(EngineError, match="empty choice"):
        any_engine.choice_logprobs(PROMPTS[:1], [""])


def test_loaded_weights_are_sampled_from(engine: TorchEngine) -> None:
    before, digest = sample(engine, PROMPTS, PARAMS), engine.digest
    other = TorchEngine(deepcopy(engine.model), engine.tokenizer)
    with torch.no_grad():
        for value in other.model.parameters():
            value.mul_(1.5)
    weights = [(name, value.detach()) for name, value in other.model.named_parameters()]
    engine.load_weights(weights, 7)
    after = sample(engine, PROMPTS, PARAMS)
    assert after != before
    assert {one.version for one in after.values()} == {7}
    assert {place: ids(one) for place, one in after.items()} == {
        place: ids(one) for place, one in sample(other, PROMPTS, PARAMS).items()
    }
    assert engine.digest == other.digest != digest


def test_a_partial_or_wrong_update_is_refused(engine: TorchEngine) -> None:
    weights = list(engine.model.state_dict().items())
    with pytest.raises(EngineError, match="left out"):
        engine.load_weights([pair for pair in weights if "norm" not in pair[0]], 1)
    with pytest.raises(EngineError, match="no such weight"):
        engine.load_weights([("nothing", torch.zeros(1))], 1)
    with pytest.raises(EngineError, match="expected shape"):
        engine.load_weights([(weights[0][0], torch.zeros(1))], 1)
    assert engine.version == 0
    engine.load_weights([pair for pair in weights if pair[0] != "lm_head.weight"], 1)
    assert engine.version == 1, "a tied head comes with its embedding"


def test_a_live_module_is_shared_not_copied(engine: TorchEngine) -> None:
    module = engine.model
    digest = engine.digest
    pointers = [value.data_ptr() for value in module.parameters()]
    with torch.no_grad():
        next(module.parameters()).add_(0.5)
    engine.load_weights(module.state_dict().items(), 3)
    assert [value.data_ptr() for value in module.parameters()] == pointers
    assert engine.version == 3
    assert engine.digest != digest


def test_training_goes_on_around_sampling(engine: TorchEngine) -> None:
    engine.model.train()
    for _ in engine.generate(PROMPTS, PARAMS):
        assert engine.model.training
        assert torch.is_grad_enabled()
    loss = engine.model(input_ids=torch.tensor([PROMPTS[4]])).logits.sum()
    loss.backward()
    assert all(value.grad is not None for value in engine.model.parameters())


def test_the_digest_follows_content(tmp_path: Path) -> None:
    save(new_model(0, hidden=32, layers=1, heads=2, feed_forward=48), build_tokenizer(), tmp_path / "a")
    save(new_model(1, hidden=32, layers=1, heads=2, feed_forward=48), build_tokenizer(), tmp_path / "b")
    one, again, other = (TorchEngine.from_folder(tmp_path / name) for name in ("a", "a", "b"))
    assert one.digest == again.digest != other.digest
    again.tokenizer.chat_template = "{{ messages }}"
    assert TorchEngine(again.model, again.tokenizer).digest != one.digest


def test_build_from_a_recipe(tmp_path: Path) -> None:
    save(new_model(0, hidden=32, layers=1, heads=2, feed_forward=48), build_tokenizer(), tmp_path / "model")
    engine = build_engine(TorchConfig(model=tmp_path / "model", device="cpu", max_batch_tokens=512))
    assert isinstance(engine, TorchEngine)
    assert engine.max_batch_tokens == 512
    assert engine.model.dtype == torch.float32
    assert not engine.model.training
    with pytest.raises(EngineError, match="no model there"):
        build_engine(TorchConfig(model=tmp_path / "absent"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    broken = tmp_path / "broken"
    with pytest.raises(EngineError) as caught:
        build_engine(TorchConfig(model=broken))
    assert str(caught.value).startswith(f"{broken}: the model cannot be loaded (Unrecognized model in {broken}")
    assert str(caught.value).endswith("); give a Hugging Face model folder")
    assert "\n" not in str(caught.value)
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(EngineError) as caught:
        build_engine(TorchConfig(model=tmp_path / "model"))
    assert "\n" not in str(caught.value)


def test_the_cache_grows_and_keeps_rows(engine: TorchEngine) -> None:
    cache = new_cache(engine.model.config)
    torch.manual_seed(0)
    pieces = [torch.randn(3, 2, length, 8) for length in (5, 1, 90, 1, 70)]
    keys = values = torch.empty(0)
    for piece in pieces:
        keys, values = cache.update(piece, piece + 1, 0)
    assert torch.equal(keys, torch.cat(pieces, dim=2))
    assert torch.equal(values, keys + 1)
    rows = torch.tensor([2, 0, 0])
    take_rows(cache, rows)
    assert cache.get_seq_length() == 167
    assert isinstance(layer := cache.layers[0], GrowingLayer)
    assert torch.equal(layer.keys, keys[rows])
