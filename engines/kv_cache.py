"""A key-value cache that writes into buffers with room to spare, instead of concatenating at every token.

Shape suffixes: B rows, H key-value heads, T positions (capacity or filled), D head size.
"""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor
from transformers import Cache, DynamicCache, PretrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicLayer

FIRST_ROOM = 64
"""Positions allocated beyond the prompt at first; the buffers then grow by half, so memory follows what is used."""


class GrowingLayer(DynamicLayer):
    """Keys and values of one attention layer. `keys` and `values` are views of the filled part of the buffers."""

    keys: Tensor
    values: Tensor

    def __init__(self) -> None:
        super().__init__()
        self._filled = 0
        self._keys_BHTD: Tensor | None = None
        self._values_BHTD: Tensor | None = None

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Appends states [B, H, t, D]; returns all keys and values so far."""
        if self._keys_BHTD is None or self._values_BHTD is None:
            self.lazy_initialization(key_states, value_states)
            self._keys_BHTD, self._values_BHTD = key_states[:, :, :0], value_states[:, :, :0]
        start, end = self._filled, self._filled + key_states.shape[2]
        if end > self._keys_BHTD.shape[2]:
            capacity = end + max(FIRST_ROOM, end // 2)
            self._keys_BHTD = _with_capacity(self._keys_BHTD, start, capacity)
            self._values_BHTD = _with_capacity(self._values_BHTD, start, capacity)
        self._keys_BHTD[:, :, start:end].copy_(key_states)
        self._values_BHTD[:, :, start:end].copy_(value_states)
        self._filled = end
        self.keys, self.values = self._keys_BHTD[:, :, :end], self._values_BHTD[:, :, :end]
        return self.keys, self.values

    def get_seq_length(self) -> int:
        return self._filled

    def take_rows(self, rows: Tensor) -> None:
        """Row i becomes what row rows[i] was; a row may be named several times."""
        if self._keys_BHTD is None or self._values_BHTD is None:
            return
        capacity = self._keys_BHTD.shape[2]
        self._keys_BHTD = _with_capacity(self.keys.index_select(0, rows), self._filled, capacity)
        self._values_BHTD = _with_capacity(self.values.index_select(0, rows), self._filled, capacity)
        self.keys = self._keys_BHTD[:, :, : self._filled]
        self.values = self._values_BHTD[:, :, : self._filled]


def _with_capacity(old_BHTD: Tensor, filled: int, capacity: int) -> Tensor:
    B, H, _, D = old_BHTD.shape
    new_BHTD = old_BHTD.new_empty((B, H, capacity, D))
    new_BHTD[:, :, :filled].copy_(old_BHTD[:, :, :filled])
    return new_BHTD


def new_cache(config: PretrainedConfig) -> DynamicCache:
    """A cache for a model; its plain attention layers grow, other kinds (sliding window) stay as they are."""
    cache = DynamicCache(config=config)
    cache.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


def cache_argument(model: PreTrainedModel) -> str:
    """What the model's forward calls its cache."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def is_plain(config: PretrainedConfig) -> bool:
    """Whether every layer attends to all positions, so that one mask [B, 1, t, T] serves them all."""
    return all(type(layer) is DynamicLayer for layer in DynamicCache(config=config).layers)


def take_rows(cache: Cache, rows: Tensor) -> None:
    """Selects, drops or repeats rows of every layer."""
    for layer in cache.layers:
        if isinstance(layer, GrowingLayer):
            layer.take_rows(rows)
        else:
            layer.batch_select_indices(rows)  # type: ignore[attr-defined]
