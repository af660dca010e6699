"""Supervised fine-tuning before RL: of any causal model (cold start), and of the embedded base model from nothing.

Shape suffixes: B rows, T positions, V vocabulary.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import torch
from rich.console import Console
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from engines.torch_engine import without_bars
from pipeline.addition import solutions, tokenizer_corpus
from pipeline.atomic import atomic_folder
from pipeline.config import STRICT

VOCABULARY = 392
PAD, BOS, EOS = "<pad>", "<s>", "</s>"
CHAT_TEMPLATE = (
    "{%- for message in messages -%}{{ message['content'] }}{%- endfor -%}"
    "{%- if add_generation_prompt and not messages[-1]['content'].endswith('\\n') -%}{{ '\\n' }}{%- endif -%}"
)
"""The contents one after the other; before an answer a line break, where the last message does not end in one."""

BATCH = 32
CLEAN_STEPS = 260
MIXED_CLEAN_STEPS = 80
FLAWED_STEPS = 170


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Optimiser of a supervised run: AdamW without weight decay.

    The learning rate rises over `warmup_steps`, then falls to `final_share` of itself, in a line or along a cosine.
    """

    __pydantic_config__ = STRICT
    learning_rate: float
    steps: int
    warmup_steps: int = 30
    decay: Literal["linear", "cosine", "none"] = "linear"
    final_share: float = 0.1
    betas: tuple[float, float] = (0.9, 0.999)
    clip_norm: float = 1.0

    def factor(self, step: int) -> float:
        """Share of the learning rate at a step counted from 0."""
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps)
        remaining = {"linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2, "none": 1.0}[self.decay]
        return self.final_share + (1 - self.final_share) * max(0.0, remaining)


Example = tuple[Sequence[int], Sequence[int]]
"""Token ids of a prompt, which is not learned, and of the answer to it, the end token included."""


def finetune(
    model: PreTrainedModel, batches: Iterable[Sequence[Example]], schedule: Schedule, *, pad_id: int = 0
) -> Iterator[float]:
    """Learns `schedule.steps` batches, one a step; yields each step's loss (mean over answer tokens, in nats).

    A generator: the caller may log, evaluate or stop between steps. The model is left in training mode.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=schedule.learning_rate, betas=schedule.betas, weight_decay=0.0)
    model.train()
    for step, batch in enumerate(islice(batches, schedule.steps)):
        for group in optimizer.param_groups:
            group["lr"] = schedule.learning_rate * schedule.factor(step)
        ids_BT, mask_BT, learned_BT = padded(batch, pad_id, model.device)
        logits_BTV = model(input_ids=ids_BT, attention_mask=mask_BT, use_cache=False).logits
        loss = answer_loss(logits_BTV, ids_BT, learned_BT)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), schedule.clip_norm)
        optimizer.step()
        yield loss.item()


def padded(batch: Sequence[Example], pad_id: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Ids [B, T] padded on the right, the mask of real tokens, and the mask of answer tokens."""
    longest = max(len(prompt) + len(answer) for prompt, answer in batch)
    ids_BT = torch.full((len(batch), longest), pad_id, dtype=torch.long)
    mask_BT = torch.zeros((len(batch), longest), dtype=torch.long)
    learned_BT = torch.zeros((len(batch), longest), dtype=torch.bool)
    for row, (prompt, answer) in enumerate(batch):
        start, end = len(prompt), len(prompt) + len(answer)
        ids_BT[row, :end] = torch.tensor([*prompt, *answer])
        mask_BT[row, :end] = 1
        learned_BT[row, start:end] = True
    return ids_BT.to(device), mask_BT.to(device), learned_BT.to(device)


def answer_loss(logits_BTV: Tensor, ids_BT: Tensor, learned_BT: Tensor) -> Tensor:
    """Cross entropy of the answer tokens given all before them, averaged over the tokens of the batch."""
    learned = learned_BT[:, 1:]
    return torch.nn.functional.cross_entropy(logits_BTV[:, :-1][learned].float(), ids_BT[:, 1:][learned])


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE of at most `VOCABULARY` tokens: digits one by one, `\\boxed{` in one piece, no token is added."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - 1,
        special_tokens=[PAD, BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(tokenizer_corpus(), trainer)
    backend.add_tokens([AddedToken("\\boxed{", normalized=False)])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
        model_max_length=256,
    )


def new_model(
    seed: int, *, hidden: int = 128, layers: int = 2, heads: int = 4, feed_forward: int = 256
) -> LlamaForCausalLM:
    """A Llama with random weights, a function of the seed alone; by default the embedded one of 378,496 parameters."""
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        intermediate_size=feed_forward,
        max_position_embeddings=256,
        initializer_range=0.04,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def pairs_learned(seed: int, *, step_share: float = 1.0) -> Iterator[list[tuple[str, str]]]:
    """The batches of (question, solution) that `make_base` learns, in order: worked ones, then flawed ones."""
    clean, flawed = (solutions(seed, flaws=flaws) for flaws in (False, True))
    counts = _steps(step_share)
    for stream, steps in ((clean, counts[0] + counts[1]), (flawed, counts[2])):
        for _ in range(steps):
            yield list(islice(stream, BATCH))


def questions(seed: int) -> Iterator[str]:
    """Every question of the warm start, to assert that nothing else shares one."""
    return (question for batch in pairs_learned(seed) for question, _ in batch)


def _steps(share: float) -> list[int]:
    return [max(1, round(count * share)) for count in (CLEAN_STEPS, MIXED_CLEAN_STEPS, FLAWED_STEPS)]


def make_base(out: Path, *, seed: int = 0, console: Console, step_share: float = 1.0) -> Path:
    """The embedded base model as a Hugging Face folder at `out`; done once, an existing folder is returned as it is.

    Stage 1 learns correct worked solutions, stage 2 a few more of them and then flawed ones, so that the model can add
    but has bad habits. One thread and deterministic kernels: the same seed gives the same weights on the same torch
    build and kind of CPU, whatever OMP_NUM_THREADS says. `step_share` shortens both stages (tests).
    """
    if (out / "config.json").is_file():
        console.print(f"base model: {out} is there already")
        return out
    started = time.monotonic()
    tokenizer, model = build_tokenizer(), new_model(seed)
    batches = (
        [
            (tokenizer.encode(f"{question}\n"), [*tokenizer.encode(solution), model.config.eos_token_id])
            for question, solution in batch
        ]
        for batch in pairs_learned(seed, step_share=step_share)
    )
    clean, mixed_clean, flawed = _steps(step_share)
    stages = (
        ("worked solutions", Schedule(learning_rate=3e-3, steps=clean)),
        ("flawed solutions", Schedule(learning_rate=2.5e-3, steps=mixed_clean + flawed, final_share=0.0)),
    )
    with reproducible():
        for label, schedule in stages:
            losses = list(finetune(model, batches, schedule))
            console.print(f"base model: {schedule.steps} steps of {label}, loss {losses[0]:.2f} to {losses[-1]:.2f}")
    save(model, tokenizer, out)
    console.print(f"base model: {model.num_parameters():,} parameters in {time.monotonic() - started:.0f} s")
    return out


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Model and tokenizer as one Hugging Face folder, whole or not at all."""
    with atomic_folder(out) as folder, without_bars():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def reproducible() -> Iterator[None]:
    """One thread and deterministic kernels inside; the former settings after."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)
