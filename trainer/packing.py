"""Micro-batches without padding: rows laid end to end, each with positions of its own and blind to the others.

A layout only: log-probabilities and gradients are those of padded rows. Shape suffixes: S = tokens of all rows, N = of
these the response tokens, M rows, T response columns of the longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.batch import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedBatch:
    """index_M: the rows' places among all rows.  segment_S: which of the M rows a token belongs to.

    places_N: columns whose logits predict response tokens.  row_N, column_N: where those tokens stand in [M, T].
    """

    index_M: Tensor
    ids_S: Tensor
    position_S: Tensor
    segment_S: Tensor
    places_N: Tensor
    row_N: Tensor
    column_N: Tensor
    width: int

    @property
    def target_ids(self) -> Tensor:
        """The response tokens."""
        return self.ids_S[self.places_N + 1]

    def attention(self, dtype: torch.dtype) -> Tensor:
        """Additive mask [1, 1, S, S]: a token sees itself and what comes before it in its own row."""
        same_SS = self.segment_S[:, None] == self.segment_S[None, :]
        seen_SS = same_SS & torch.ones_like(same_SS).tril()
        return torch.zeros(seen_SS.shape, dtype=dtype).masked_fill(~seen_SS, torch.finfo(dtype).min)[None, None]


def packed_batches(rows: Rows, index: Sequence[int], max_tokens: int) -> list[PackedBatch]:
    """Rows in order of length, as many together as have `max_tokens` tokens (a longer row goes alone).

    A function of the lengths only, so that a resumed run forms the same micro-batches.
    """
    order = sorted(index, key=lambda row: (len(rows.responses[row]), len(rows.prompts[row]), row))
    parts: list[list[int]] = []
    used = 0
    for row in order:
        size = len(rows.prompts[row]) + len(rows.responses[row])
        if parts and used + size <= max_tokens:
            parts[-1].append(row)
        else:
            parts.append([row])
            used = 0
        used += size
    return [_packed(rows, part) for part in parts]


def _packed(rows: Rows, part: Sequence[int]) -> PackedBatch:
    ids: list[int] = []
    position: list[int] = []
    segment: list[int] = []
    where: list[tuple[int, int, int]] = []
    for place, row in enumerate(part):
        prompt, response = rows.prompts[row], rows.responses[row]
        first = len(ids) + len(prompt) - 1
        where += [(first + column, place, column) for column in range(len(response))]
        ids += [*prompt, *response]
        position += range(len(prompt) + len(response))
        segment += [place] * (len(prompt) + len(response))
    places_N, row_N, column_N = torch.tensor(where, dtype=torch.long).reshape(-1, 3).unbind(1)
    return PackedBatch(
        index_M=torch.tensor(part),
        ids_S=torch.tensor(ids),
        position_S=torch.tensor(position),
        segment_S=torch.tensor(segment),
        places_N=places_N,
        row_N=row_N,
        column_N=column_N,
        width=max(len(rows.responses[row]) for row in part),
    )
