"""Tokens per CPU second of our sampling engine beside transformers' own `generate`, same model, prompts and lengths.

    python benchmarks/sampling_speed.py                        # the embedded model's shape, random weights
    python benchmarks/sampling_speed.py --model runs/quickstart/base

Both sample at temperature 1. Ours also returns log-probabilities; `generate` is timed without them (faster) and with
output_logits (the fair comparison). The two alternate, and the ratio is of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from engines.engine import SamplingParams
from engines.torch_engine import TorchEngine


def random_engine() -> TorchEngine:
    """The embedded model's shape with random weights, which seldom draw the end token."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=390,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        intermediate_size=256,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        initializer_range=0.04,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    backend = Tokenizer(models.BPE(vocab={f"<{i}>": i for i in range(390)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<0>", bos_token="<1>", eos_token="<2>")
    return TorchEngine(LlamaForCausalLM(config), tokenizer)


def ours(engine: TorchEngine, prompts: list[list[int]], samples: int, new_tokens: int, seed: int) -> int:
    params = SamplingParams(n=samples, max_tokens=new_tokens, seed=seed)
    return sum(len(completion.token_ids or ()) for _, _, completion in engine.generate(prompts, params))


def theirs(engine: TorchEngine, prompts: list[list[int]], samples: int, new_tokens: int, logits: bool) -> int:
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    extra: dict[str, Any] = {"output_logits": True, "return_dict_in_generate": True} if logits else {}
    out: Any = engine.model.generate(  # pyright: ignore[reportCallIssue]
        input_ids=ids,
        attention_mask=mask,
        do_sample=True,
        top_k=0,
        temperature=1.0,
        num_return_sequences=samples,
        max_new_tokens=new_tokens,
        pad_token_id=0,
        **extra,
    )
    new = (out.sequences if logits else out)[:, width:]
    engine.tokenizer.batch_decode(new)
    ended = (new == 2).int().cumsum(1)
    return int(((ended == 0) | ((ended == 1) & (new == 2))).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--new-tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    engine = TorchEngine.from_folder(arguments.model, device="cpu") if arguments.model else random_engine()
    texts = [f"{100 + 7 * i}+{90 + 13 * i}=?\n" for i in range(arguments.prompts)]
    prompts: list[list[int]] = [engine.tokenizer.encode(text, add_special_tokens=False) for text in texts]
    if arguments.model is None:
        prompts = [[3 + (7 * i + j) % 300 for j in range(7 + i % 5)] for i in range(arguments.prompts)]
    shape = (arguments.samples, arguments.new_tokens)
    rates: dict[str, list[float]] = {"ours": [], "generate": [], "generate with logits": []}
    with torch.no_grad():
        for round_ in range(arguments.rounds):
            for name, samples in rates.items():
                started = time.process_time()
                if name == "ours":
                    tokens = ours(engine, prompts, *shape, seed=round_)
                else:
                    tokens = theirs(engine, prompts, *shape, logits=name != "generate")
                samples.append(tokens / (time.process_time() - started))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    print(f"{torch.get_num_threads()} threads, {arguments.prompts} prompts x {shape[0]} samples x {shape[1]} tokens")
    for name, median in medians.items():
        print(f"{name:22} {median:9,.0f} tokens per CPU second   ours is {medians['ours'] / median:.2f} times")


if __name__ == "__main__":
    main()
