"""Engines with weights of their own: what recipes may ask for, what is sent, and that a lost update is noticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from rich.console import Console
from torch import Tensor
from transformers import PreTrainedModel

from engines.engine import Completion, EngineError, Prompt, SamplingParams
from engines.torch_engine import TorchEngine
from pipeline.config import Layer, RecipeError, dump
from trainer.config import TrainConfig, from_layers
from trainer.groups import RunStoppedError
from trainer.loop import train
from trainer.lora import add_adapter, merged_weights
from trainer.policy import Policy, load_model
from trainer.probe import TORCH_FLOAT32, Probe
from trainer.refusals import check_ranks, notes
from trainer.scorers import Scorer
from trainer.sections import Lora, Optimiser, TorchCopy
from trainer.weights import Weights

Recipe = Callable[..., TrainConfig]
COPY = {"kind": "torch"}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def weights(run: Path) -> dict[str, Tensor]:
    return safetensors.torch.load_file(run / "final" / "model.safetensors")


def test_an_engine_of_its_own_draws_what_the_policys_module_draws(
    recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path
) -> None:
    """In float32 the copy has the policy's weights to the last bit, so the whole run is the same."""
    train(recipe(), tmp_path / "own", console=quiet, scorer=scorer)
    train(recipe(engine=COPY), tmp_path / "copy", console=quiet, scorer=scorer)
    one, other = weights(tmp_path / "own"), weights(tmp_path / "copy")
    assert all(torch.equal(one[name], other[name]) for name in one)
    rows = lines(tmp_path / "copy" / "metrics.jsonl")
    assert all(row["probe/max_abs"] < 1e-4 and row["mismatch/max_abs"] < 1e-4 for row in rows)
    assert all(0 <= row["mismatch/k3"] < 1e-6 and row["mismatch/effective_samples"] > 0.999 for row in rows)


def test_an_adapter_is_sent_merged(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    config = recipe(engine=COPY, lora={"rank": 4, "alpha": 8}, optimiser={"lr": 3e-2})
    assert train(config, tmp_path / "run", console=quiet, scorer=scorer).exit_reason == "steps"
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    assert rows[-1]["version"] == 4
    assert all(row["probe/max_abs"] < 1e-4 for row in rows)


def test_merged_weights_have_the_bases_names_and_the_adapted_outputs(model_folder: Path) -> None:
    pytest.importorskip("peft")
    plain, _ = load_model(model_folder)
    adapted, _ = load_model(model_folder)
    add_adapter(adapted, Lora(rank=4), seed=1)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if "lora_B" in name:
                value.copy_(torch.linspace(-0.2, 0.2, value.numel()).view_as(value))
    merged = dict(merged_weights(adapted))
    assert merged.keys() == dict(plain.named_parameters()).keys()
    ids = torch.tensor([[5, 6, 7, 8]])
    before = plain(ids).logits
    plain.load_state_dict(merged, strict=False)  # a tied head has one name here and two there
    torch.testing.assert_close(plain(ids).logits, adapted(ids).logits, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(plain(ids).logits, before, atol=1e-3)


class Forgetful(TorchEngine):
    """Drops every third update: as if it had come, or keeping its old version."""

    stamps = True
    loads = 0

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        self.loads += 1
        if self.loads % 3:
            super().load_weights(weights, version)
        elif self.stamps:
            self.version = version


class Warm(TorchEngine):
    """Samples at another temperature than it was asked for."""

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        return super().generate(prompts, replace(params, temperature=1.2 * params.temperature))


class Down(TorchEngine):
    """A server that no longer answers."""

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        if prompts and params.n:
            raise EngineError("http://engine/v1: no answer after 8 retries")
        return super().generate(prompts, params)


def opened(kind: type[TorchEngine], **changes: Any) -> Callable[[TrainConfig, PreTrainedModel], TorchEngine]:
    def make(config: TrainConfig, _model: PreTrainedModel) -> TorchEngine:
        assert isinstance(config.engine, TorchCopy)
        model, tokenizer = load_model(config.model)
        engine = kind(model, tokenizer)
        for name, value in changes.items():
            setattr(engine, name, value)
        return engine

    return make


@pytest.mark.parametrize(
    ("lr", "stamps", "told"),
    [
        (1e-2, True, "engine and trainer differ"),
        (1e-6, True, "to the last bit"),  # the step is smaller than what two implementations differ by
        (1e-2, False, "answers with version 1"),
    ],
)
def test_a_dropped_update_is_noticed(
    lr: float,
    stamps: bool,
    told: str,
    recipe: Recipe,
    scorer: Scorer,
    quiet: Console,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trainer.start.open_engine", opened(Forgetful, stamps=stamps))
    config = recipe(engine=COPY, optimiser={"lr": lr, "warmup_steps": 1}, steps=6)
    summary = train(config, tmp_path / "run", console=quiet, scorer=scorer)
    assert summary.exit_reason == "engine"
    assert told in summary.detail
    assert "version 2" in summary.detail
    assert summary.steps == 2
    assert not (tmp_path / "run" / "final").exists()


class Deaf(TorchEngine):
    """Takes the first weights and no later ones."""

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        if version == 0:
            super().load_weights(weights, version)
        self.version = version


def test_steps_too_small_to_tell_add_up(model_folder: Path) -> None:
    model, tokenizer = load_model(model_folder)
    policy = Policy(model, tokenizer, Optimiser(), 1.0)
    engine = Deaf(load_model(model_folder)[0], tokenizer)
    probe = Probe(engine, policy, [(5, 6, 7)], TORCH_FLOAT32, seed=0)
    weights = Weights(policy, engine, probe, own=False)
    weights.bring(0)

    def small_steps() -> None:
        for version in range(1, 40):
            with torch.no_grad():
                for value in policy.parameters:
                    value.mul_(1 + 2e-6)
            weights.bring(version)

    with pytest.raises(RunStoppedError, match="to the last bit"):
        small_steps()
    assert engine.version > 2, "the first steps moved less than the tolerance"


@pytest.mark.parametrize(("kind", "told"), [(Warm, "after version 0 was sent"), (Down, "no answer after 8 retries")])
def test_an_engine_that_cannot_be_trusted_stops_the_run_before_its_first_step(
    kind: type[TorchEngine],
    told: str,
    recipe: Recipe,
    scorer: Scorer,
    quiet: Console,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trainer.start.open_engine", opened(kind))
    summary = train(recipe(engine=COPY), tmp_path / "run", console=quiet, scorer=scorer)
    assert (summary.exit_reason, summary.steps) == ("engine", 0)
    assert told in summary.detail


def test_a_coarser_copy_has_a_wider_tolerance(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    config = recipe(engine={"kind": "torch", "dtype": "bfloat16"}, steps=2, correction={"name": "tis"})
    assert train(config, tmp_path / "run", console=quiet, scorer=scorer).exit_reason == "steps"
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    assert all(1e-5 < row["probe/max_abs"] < 0.5 for row in rows)
    assert all(0 < row["mismatch/k3"] < 0.05 for row in rows)


def test_tis_is_the_default_where_engine_and_trainer_differ(recipe: Recipe) -> None:
    vllm = {"kind": "vllm"}
    for changes in ({"engine": vllm}, {"asynchronous": True, "filter": {"max_age": 2}}):
        config = recipe(**changes)
        assert config.correction is not None
        assert config.correction.name == "tis"
        assert any("correction tis" in note for note in notes(config))
    named = recipe(engine=vllm, correction={"name": "icepop"})
    assert named.correction is not None
    assert named.correction.name == "icepop"
    own_ratio = recipe(algorithm="dppo_tv", engine=vllm)
    assert own_ratio.correction is None
    assert any("no correction" in note for note in notes(own_ratio))
    assert recipe(engine=COPY).correction is None


def test_recipes_without_an_engine_read_as_before(recipe: Recipe) -> None:
    text = dump(recipe(asynchronous=False))
    assert "engine" not in text
    assert "asynchronous" not in text
    assert "correction" not in text


def test_a_resolved_recipe_is_read_again(recipe: Recipe, tmp_path: Path) -> None:
    import tomllib

    config = recipe(asynchronous=True, filter={"max_age": 2}, engine={"kind": "torch", "dtype": "bfloat16"})
    again = from_layers([Layer(name="again", base=tmp_path, table=tomllib.loads(dump(config)))])
    assert again == config
    assert recipe(asynchronous=True, filter={"max_age": 2}).engine == TorchCopy(kind="torch")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"engine": {"kind": "endpoint", "base_url": "http://x/v1", "model": "m"}}, "takes no weights"),
        ({"engine": {"kind": "vllm", "model": "/m"}}, "engine.model"),
        ({"engine": {"dtype": "float32"}}, "engine.kind: required key is missing"),
        ({"engine": {"kind": "torch", "dtpe": "float32"}}, "did you mean 'dtype'?"),
        ({"asynchronous": True}, "filter.max_age"),
        ({"asynchronous": True, "filter": {"keep": "all", "max_age": 0}}, "filter.max_age"),
    ],
)
def test_what_cannot_be_trained_with_is_refused(changes: dict[str, Any], told: str, recipe: Recipe) -> None:
    with pytest.raises(RecipeError) as caught:
        recipe(**changes)
    assert told in str(caught.value)


def test_several_ranks_have_no_engine_beside_them(recipe: Recipe) -> None:
    check_ranks(recipe(), 2)
    with pytest.raises(RecipeError, match="engine: has one training process"):
        check_ranks(recipe(engine=COPY), 2)


def test_a_missing_device_is_told(recipe: Recipe, scorer: Scorer, quiet: Console, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="'nowhere' cannot be used"):
        train(recipe(engine={"kind": "torch", "device": "nowhere"}), tmp_path / "run", console=quiet, scorer=scorer)
