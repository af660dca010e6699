"""Supervised fine-tuning, and the embedded base model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Literal

import pytest
import torch
from rich.console import Console
from transformers import AutoModelForCausalLM, AutoTokenizer

from engines.engine import Message, SamplingParams
from engines.torch_engine import TorchEngine
from pipeline import addition
from trainer import warmstart
from trainer.warmstart import Schedule, answer_loss, build_tokenizer, finetune, make_base, new_model, padded


def test_the_tokenizer_is_as_designed(tmp_path: Path) -> None:
    tokenizer = build_tokenizer()
    assert 380 <= len(tokenizer) <= warmstart.VOCABULARY
    assert [tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id] == [0, 1, 2]
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    for text in ("3+8+0=11\n\\boxed{961}", "Hello, wörld 12 \\boxed{x} ½ 漢字"):
        ids = loaded.encode(text)
        assert ids == tokenizer.encode(text) == loaded.encode(text, add_special_tokens=False)
        assert loaded.decode(ids) == text
    assert loaded.convert_ids_to_tokens(loaded.encode("113\\boxed{")) == ["1", "1", "3", "\\boxed{"]
    lengths = [len(loaded.encode(f"{problem.question}\n")) for problem in addition.problems(100, 0)]
    assert 6 <= min(lengths) <= max(lengths) <= 12
    answers = [len(loaded.encode(addition.worked(a, b))) + 1 for a, b in addition.distinct_pairs(100, 0, "pool")]
    assert 19 <= min(answers) <= max(answers) <= 46


@pytest.mark.parametrize("question", ["12+34=?", "12+34=?\n"])
def test_the_chat_template_passes_contents_through(question: str) -> None:
    tokenizer = build_tokenizer()
    asked = [{"role": "user", "content": question}]
    assert tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True) == "12+34=?\n"
    assert tokenizer.apply_chat_template(asked, tokenize=False) == question
    turns = [{"role": "system", "content": "a"}, *asked, {"role": "assistant", "content": "b"}]
    assert tokenizer.apply_chat_template(turns, tokenize=False) == f"a{question}b"


def test_the_model_has_the_stated_size() -> None:
    model = new_model(0)
    assert model.num_parameters() == 378_496
    torch.manual_seed(5)
    again = new_model(0)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    assert not torch.equal(model.model.embed_tokens.weight, new_model(1).model.embed_tokens.weight)


def test_only_answer_tokens_are_learned() -> None:
    model = new_model(0, hidden=32, layers=1, heads=2, feed_forward=48).eval()
    batch = [([5, 6, 7], [8, 9, 2]), ([5], [9, 2])]
    ids_BT, mask_BT, learned_BT = padded(batch, 0, torch.device("cpu"))
    with torch.no_grad():
        loss = answer_loss(model(input_ids=ids_BT, attention_mask=mask_BT).logits, ids_BT, learned_BT)
        total, count = 0.0, 0
        for prompt, answer in batch:
            logps = model(input_ids=torch.tensor([[*prompt, *answer]])).logits[0].log_softmax(-1)
            for place, token in enumerate(answer, start=len(prompt)):
                total -= logps[place - 1, token].item()
                count += 1
    assert loss.item() == pytest.approx(total / count, abs=1e-5)


@pytest.mark.parametrize(
    ("decay", "middle", "last"), [("linear", 0.55, 0.1), ("cosine", 0.55, 0.1), ("none", 1.0, 1.0)]
)
def test_schedules(decay: Literal["linear", "cosine", "none"], middle: float, last: float) -> None:
    schedule = Schedule(learning_rate=1.0, steps=110, warmup_steps=10, decay=decay)
    assert [schedule.factor(step) for step in (0, 4, 9, 10)] == pytest.approx([0.1, 0.5, 1.0, 1.0])
    assert schedule.factor(60) == pytest.approx(middle)
    assert schedule.factor(110) == pytest.approx(last)


def test_finetuning_learns_and_can_be_stopped() -> None:
    model = new_model(0, hidden=32, layers=1, heads=2, feed_forward=48)
    batches = [[([5, 6], [7, 8, 2]), ([6, 5], [9, 2])]] * 80
    losses = list(finetune(model, batches, Schedule(learning_rate=1e-2, steps=60, warmup_steps=5)))
    assert len(losses) == 60
    assert losses[0] == pytest.approx(math.log(warmstart.VOCABULARY), abs=1.0)
    assert losses[-1] < 0.1
    stopped = finetune(model, batches, Schedule(learning_rate=1e-3, steps=60))
    assert next(stopped) < 0.2


def test_make_base_is_deterministic_and_done_once(tmp_path: Path, quiet: Console) -> None:
    first = make_base(tmp_path / "one", seed=3, console=quiet, step_share=0.02)
    stamps = {file.name: file.stat().st_mtime_ns for file in first.iterdir()}
    assert make_base(tmp_path / "one", seed=3, console=quiet, step_share=0.02) == first
    assert {file.name: file.stat().st_mtime_ns for file in first.iterdir()} == stamps
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        second = make_base(tmp_path / "two", seed=3, console=quiet, step_share=0.02)
        assert torch.get_num_threads() == 2
        assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_num_threads(threads)
    weights = [folder / "model.safetensors" for folder in (first, second)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    other = make_base(tmp_path / "three", seed=4, console=quiet, step_share=0.02)
    assert (other / "model.safetensors").read_bytes() != weights[0].read_bytes()


def test_the_folder_is_a_hugging_face_model(tmp_path: Path, quiet: Console) -> None:
    folder = make_base(tmp_path / "base", seed=0, console=quiet, step_share=0.01)
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    assert model.config.tie_word_embeddings
    assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()
    assert json.loads((folder / "config.json").read_text())["vocab_size"] == warmstart.VOCABULARY
    assert not list(tmp_path.glob(".tmp-*"))


def test_the_questions_learned_are_told() -> None:
    told = list(warmstart.questions(0))
    learned = [question for batch in warmstart.pairs_learned(0) for question, _ in batch]
    assert told == learned
    assert len(told) == warmstart.BATCH * (warmstart.CLEAN_STEPS + warmstart.MIXED_CLEAN_STEPS + warmstart.FLAWED_STEPS)
    addition.assert_disjoint(told=told, held_out=[problem.question for problem in addition.problems(1024, 0)])


@pytest.mark.slow
def test_the_base_model_is_right_about_a_third_of_the_time(tmp_path: Path, quiet: Console) -> None:
    engine = TorchEngine.from_folder(make_base(tmp_path / "base", seed=0, console=quiet), device="cpu")
    problems = addition.problems(512, 0)
    prompts: list[list[Message]] = [[{"role": "user", "content": problem.question}] for problem in problems]

    def rate(params: SamplingParams) -> float:
        drawn = list(engine.generate(prompts, params))
        return sum(one.text.endswith(f"\\boxed{{{problems[i].ground_truth}}}") for i, _, one in drawn) / len(drawn)

    assert 0.20 <= rate(SamplingParams(temperature=0, max_tokens=48)) <= 0.45
    assert 0.15 <= rate(SamplingParams(n=4, max_tokens=48)) <= 0.35
