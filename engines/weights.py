"""The weights of a model folder and of an update: what must be there, and a name for what they hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engines.engine import EngineError

INDEX_FILE, SINGLE_FILE = "model.safetensors.index.json", "model.safetensors"
TIED_HEAD = "lm_head.weight"
COMPUTED = ("rotary_emb.inv_freq", "rotary_emb.cos_cached", "rotary_emb.sin_cached")
"""Endings of tensors in old folders that every library computes for itself."""

Shapes = dict[str, tuple[int, ...]]


def stored_shapes(folder: Path) -> Shapes:
    """Names and shapes of the weights in a Hugging Face model folder, without reading them.

    Raises EngineError when it has no readable safetensors files.
    """
    shapes: Shapes = {}
    for file in _files(folder):
        try:
            with safe_open(file, framework="pt") as handle:
                shapes |= {name: tuple(handle.get_slice(name).get_shape()) for name in handle.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise EngineError(f"{file}: not a readable safetensors file ({error}); save the model again") from None
    return {name: shape for name, shape in shapes.items() if not name.endswith(COMPUTED)}


def stored_weights(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """The weights of a model folder, one at a time, on the CPU."""
    for file in _files(folder):
        with safe_open(file, framework="pt") as handle:
            for name in handle.keys():  # noqa: SIM118 - no mapping: it has no iterator
                if not name.endswith(COMPUTED):
                    yield name, handle.get_tensor(name)


def _files(folder: Path) -> list[Path]:
    index = folder / INDEX_FILE
    if index.is_file():
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        return [folder / name for name in names]
    if not (folder / SINGLE_FILE).is_file():
        raise EngineError(f"{folder}: no {SINGLE_FILE} there; save the model in safetensors format")
    return [folder / SINGLE_FILE]


def whole_update(
    weights: Iterable[tuple[str, Tensor]], shapes: Mapping[str, tuple[int, ...]], *, tied: bool, version: int
) -> list[tuple[str, Tensor]]:
    """The weights of an update, once it is certain that they replace all of the model's.

    shapes: of the model's weights.  tied: the output head is the input embedding; its own name may be given or not.
    Raises EngineError for an unknown name or another shape, and when a weight was left out.
    """
    given: dict[str, Tensor] = {}
    for name, tensor in weights:
        if tied and name == TIED_HEAD:
            continue
        expected = shapes.get(name)
        if expected != tuple(tensor.shape):
            wanted = "no such weight" if expected is None else f"expected shape {expected}"
            raise EngineError(f"weight {name} of shape {tuple(tensor.shape)}: {wanted}")
        given[name] = tensor.detach()
    left_out = [name for name in shapes if name not in given and not (tied and name == TIED_HEAD)]
    if left_out:
        raise EngineError(f"update {version} left out {len(left_out)} weights, {left_out[0]} among them")
    return list(given.items())


def weights_digest(weights: Iterable[tuple[str, Tensor]], dtype: torch.dtype, *, tied: bool) -> str:
    """32 hex digits of the weights as an engine of this type holds them.

    One hash a row, computed where the tensor lies: reading it all back from a GPU would take longer than the update.
    Such a hash does not see the order within a row, and two like changes there cancel: a vector's rows are its numbers.
    """
    rows: dict[str, bytes] = {}
    for name, tensor in weights:
        if not (tied and name == TIED_HEAD):
            table = tensor.detach().to(dtype).reshape(tensor.shape[0] if tensor.dim() > 0 else 1, -1)
            rows[name] = torch.hash_tensor(table, dim=1).cpu().numpy().tobytes()
    state = hashlib.blake2b(digest_size=16)
    for name in sorted(rows):
        state.update(f"{name} {len(rows[name])} ".encode() + rows[name])
    return state.hexdigest()
