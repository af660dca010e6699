"""Which rows run together, and the random numbers of each: both are functions of content, never of arrival.

Shape suffixes: B rows (samples) of a batch, T positions, V vocabulary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import Cache

from engines.kv_cache import take_rows

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Samples `first` to `first + count - 1` of the prompt at `index`."""

    index: int
    first: int
    count: int


def plan(
    prompts: Sequence[Sequence[int]],
    keys: Sequence[str],
    chosen: Sequence[int],
    samples: range,
    new_tokens: int,
    max_tokens: int,
) -> list[list[Work]]:
    """Batches of `samples` of the `chosen` prompts, those of similar length together.

    In a batch rows x (longest prompt + new tokens) stays within `max_tokens`. The plan depends on the prompts and keys
    alone, not on their order. A single sample that exceeds the budget runs by itself; a prompt with many samples is
    split.
    """
    order = sorted(chosen, key=lambda index: (len(prompts[index]), tuple(prompts[index]), keys[index]))
    batches: list[list[Work]] = []
    batch: list[Work] = []
    rows = 0
    for index in order:
        room = max(1, max_tokens // (len(prompts[index]) + new_tokens))
        for start in range(samples.start, samples.stop, room):
            count = min(room, samples.stop - start)
            if batch and rows + count > room:
                batches.append(batch)
                batch, rows = [], 0
            batch.append(Work(index=index, first=start, count=count))
            rows += count
    return [*batches, batch] if batch else batches


def row_keys(seed: int, works: Sequence[Work], keys: Sequence[str]) -> NDArray[np.uint64]:
    """One 64-bit key a row (work by work, sample by sample) from (seed, prompt key, sample index)."""
    digests = [
        hashlib.blake2b(f"{seed}\x1f{keys[work.index]}\x1f{sample}".encode("utf-8", "surrogatepass"), digest_size=8)
        for work in works
        for sample in range(work.first, work.first + work.count)
    ]
    return np.frombuffer(b"".join(digest.digest() for digest in digests), dtype="<u8").astype(np.uint64)


def uniforms(keys: NDArray[np.uint64], position: int) -> NDArray[np.float64]:
    """One number in (0, 1) a row for the token at `position`: SplitMix64 (Steele, Lea and Flood 2014), 40 bits."""
    with np.errstate(over="ignore"):
        state = keys + np.uint64(position + 1) * GOLDEN_GAMMA
        state = (state ^ (state >> np.uint64(30))) * MIX_1
        state = (state ^ (state >> np.uint64(27))) * MIX_2
        state ^= state >> np.uint64(31)
    return ((state >> np.uint64(24)).astype(np.float64) + 0.5) / float(1 << 40)


@dataclass(slots=True, kw_only=True)
class Batch:
    """The rows that are being sampled. names: (prompt index, sample index); mask_BT covers all tokens to come."""

    names: list[tuple[int, int]]
    keys: NDArray[np.uint64]
    cache: Cache
    mask_BT: Tensor
    position_B: Tensor
    limit_B: Tensor
    alive_B: Tensor
    tokens_BT: Tensor
    logps_BT: Tensor

    def keep(self, live: Tensor) -> None:
        """Drops all rows but `live`."""
        self.names = [self.names[row] for row in live.tolist()]
        self.keys = self.keys[live.cpu().numpy()]
        take_rows(self.cache, live)
        self.mask_BT, self.position_B, self.alive_B = self.mask_BT[live], self.position_B[live], self.alive_B[live]
        self.limit_B = self.limit_B[live]
        self.tokens_BT, self.logps_BT = self.tokens_BT[live], self.logps_BT[live]


def draw(logits_BV: Tensor, uniform_B: NDArray[np.float64], temperature: float) -> tuple[Tensor, Tensor]:
    """One token a row and its log-probability under the sampling distribution (temperature 0: see `generate`).

    The first token whose cumulative probability exceeds the row's uniform number; summed in float64, so that the
    tail of a large vocabulary keeps its share.
    """
    if temperature == 0:
        token_B = logits_BV.argmax(1)
        logps_BV = logits_BV.log_softmax(1)
    else:
        logps_BV = (logits_BV / temperature if temperature != 1 else logits_BV).log_softmax(1)
        cumulative_BV = logps_BV.exp().cumsum(1, dtype=torch.float64)
        target_B = torch.from_numpy(uniform_B).to(logits_BV.device) * cumulative_BV[:, -1]
        token_B = torch.searchsorted(cumulative_BV, target_B[:, None], right=True)[:, 0]
    return token_B, logps_BV.gather(1, token_B[:, None])[:, 0]


def left_padded(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids [B, T], padded with 0 on the left, and the mask [B, T] of real tokens."""
    longest = max(map(len, sequences))
    ids = np.zeros((len(sequences), longest), dtype=np.int64)
    mask = np.zeros((len(sequences), longest), dtype=np.bool_)
    for row, sequence in enumerate(sequences):
        ids[row, longest - len(sequence) :] = sequence
        mask[row, longest - len(sequence) :] = True
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


def additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where attention is allowed, the lowest number elsewhere; -inf would make padded rows nan."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(~allowed, torch.finfo(dtype).min)
