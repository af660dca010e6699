"""Options, a tiny real model, shards of the embedded task, and recipes for the trainer's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from engines.engine import Completion
from pipeline import addition
from pipeline.config import Layer
from pipeline.problem import Problem
from pipeline.shards import write_problems
from trainer.config import TrainConfig, from_layers
from trainer.prompts import Draw
from trainer.warmstart import build_tokenizer, new_model, save
from verifiers.verdict import Verdict, correct, incorrect

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "policy_loss_golden.json"
QUIET = Console(quiet=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", default=str(GOLDEN), help="JSON file of golden policy-loss cases")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama of one layer with the embedded task's tokenizer."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    save(new_model(0, hidden=32, layers=1, heads=2, feed_forward=64), build_tokenizer(), folder)
    return folder


@pytest.fixture(scope="session")
def problems() -> list[Problem]:
    return addition.problems(50, 1, split="pool")


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory, problems: list[Problem]) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    write_problems(folder, problems)
    return folder


Recipe = Callable[..., TrainConfig]


@pytest.fixture
def recipe(model_folder: Path, shards: Path) -> Recipe:
    """A small recipe; keyword arguments are top-level tables or values over it."""

    def make(**changes: Any) -> TrainConfig:
        table: dict[str, Any] = {
            "algorithm": "dapo",
            "model": str(model_folder),
            "shards": str(shards),
            "steps": 4,
            "threads": 1,
            "sampling": {"prompts": 4, "samples": 4, "max_tokens": 6},
            "optimiser": {"lr": 1e-2, "warmup_steps": 1, "minibatches": 2, "microbatch_tokens": 128},
            "checkpoints": {"every": 2},
        }
        layers = [Layer(name="base", base=Path("/"), table=table), Layer(name="change", base=Path("/"), table=changes)]
        return from_layers(layers)

    return make


class EvenScorer:
    """Right when the first token's id is even: about half of what a random model writes, and easy to learn."""

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        return [correct("even", None) if even(completion) else incorrect("odd", None) for _, _, completion in samples]


def even(completion: Completion) -> bool:
    assert completion.token_ids is not None
    return completion.token_ids[0] % 2 == 0


@pytest.fixture
def scorer() -> EvenScorer:
    return EvenScorer()


@pytest.fixture
def quiet() -> Console:
    return QUIET
