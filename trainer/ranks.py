"""Several processes as one run, started by torchrun: weights and optimiser sharded (FSDP2), every number the same.

All ranks walk through the same steps with the same groups in hand. Prompts are sampled by all (each its share, from a
replica of the whole model), judged by the first, and every rank then has every completion and verdict. Micro-batches of
an optimiser step are dealt out; denominators, advantages and selections are those of all rows on every rank, so that
gradients add up to what one process computes. Only the first rank writes files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers import PreTrainedModel

from engines.engine import Completion, Prompt, Sampler, SamplingParams
from trainer.prompts import Draw
from trainer.scorers import Scorer, Telling
from verifiers.verdict import Verdict

T = TypeVar("T")


class Ranks:
    """This process among `world` processes; with one process every method is the identity."""

    def __init__(self, rank: int = 0, world: int = 1, *, begins: bool = False) -> None:
        self.begins = begins
        self.rank = rank
        self.world = world

    @property
    def first(self) -> bool:
        return self.rank == 0

    def share(self, items: Sequence[T]) -> list[tuple[T, bool]]:
        """This rank's items, dealt in turn, and whether each counts: every rank gets equally many, since each forward
        and backward pass is an appointment of all, and where there are too few the first one fills the place."""
        mine = [(item, True) for item in items[self.rank :: self.world]]
        wanted = -(-len(items) // self.world)
        return mine + [(item, False) for item in items[: wanted - len(mine)]]

    def total(self, values: Tensor) -> Tensor:
        """Sum over the ranks, in place."""
        if self.world > 1:
            moved = values.to(_device())
            dist.all_reduce(moved)
            values.copy_(moved)
        return values

    def all(self, holds: bool) -> bool:
        """Whether it holds on every rank."""
        return int(self.total(torch.tensor(int(not holds)))) == 0

    def from_first(self, make: Callable[[], T]) -> T:
        """What the first rank makes, on all of them."""
        if self.world == 1:
            return make()
        box: list[Any] = [make() if self.first else None]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def gathered(self, value: T) -> list[T]:
        """The values of all ranks, in order."""
        if self.world == 1:
            return [value]
        found: list[Any] = [None] * self.world
        dist.all_gather_object(found, value)
        return found

    def wait(self) -> None:
        if self.world > 1:
            dist.barrier()


ALONE = Ranks()


def join() -> Ranks:
    """The ranks that torchrun started, or this process alone. Inside another join the same processes meet again."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return ALONE
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    begins = not dist.is_initialized()
    if begins:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return Ranks(dist.get_rank(), world, begins=begins)


def leave(ranks: Ranks) -> None:
    """Ends what this join began."""
    if ranks.begins:
        dist.destroy_process_group()


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def shard(model: PreTrainedModel) -> None:
    """FSDP2: every decoder layer by itself, the rest together; gathered weights are let go after each pass, for a pass
    without gradient must not leave old ones behind."""
    for module in model.modules():
        if type(module).__name__ in (model._no_split_modules or ()):
            fully_shard(module, reshard_after_forward=True)
    fully_shard(model, reshard_after_forward=True)


def whole(value: Tensor) -> Tensor:
    """A sharded tensor gathered, on every rank; any other as it is."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def like(stored: Tensor, target: Tensor) -> Tensor:
    """A whole tensor laid out as `target` is."""
    stored = stored.to(target.device)
    return distribute_tensor(stored, target.device_mesh, target.placements) if isinstance(target, DTensor) else stored


class RankSampler:
    """Each rank samples every world-th prompt; all of them get all completions. Draws are keyed, so that who samples a
    prompt changes nothing but the rounding of batched arithmetic."""

    def __init__(self, sampler: Sampler, ranks: Ranks) -> None:
        self.sampler = sampler
        self.ranks = ranks

    @property
    def digest(self) -> str:
        return self.sampler.digest

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        mine = list(range(self.ranks.rank, len(prompts), self.ranks.world))
        keys = params.keys or tuple(str(index) for index in range(len(prompts)))
        own = replace(params, keys=tuple(keys[index] for index in mine))
        found = [
            (mine[place], sample, completion)
            for place, sample, completion in self.sampler.generate([prompts[index] for index in mine], own)
        ]
        for part in self.ranks.gathered(found):
            yield from part


class FirstScorer:
    """The first rank judges: verdicts near a limit of time must not differ between ranks."""

    def __init__(self, scorer: Scorer, ranks: Ranks) -> None:
        self.scorer = scorer
        self.ranks = ranks

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        return self.ranks.from_first(lambda: list(self.scorer(samples)))

    def take(self) -> dict[str, float]:
        return self.ranks.from_first(lambda: self.scorer.take() if isinstance(self.scorer, Telling) else {})
