"""Small real-looking inputs with planted defects."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pipeline.problem import Problem, problem_id
from pipeline.stage import Context

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
THINGS = ("apples", "stamps", "marbles", "books", "shells", "coins", "cards", "pens")

MakeProblem = Callable[..., Problem]


@pytest.fixture
def make() -> MakeProblem:
    """make(question, gold, index=0, source="s", **fields)."""

    def build(question: str, gold: str = "1", index: int = 0, source: str = "s", **fields: Any) -> Problem:
        base: dict[str, Any] = {
            "id": problem_id(question, gold),
            "data_source": source,
            "source_row": f"{source}#{index}",
            "index": index,
            "question": question,
            "ground_truth": gold,
            "original_answer": gold,
            "license": "MIT",
        }
        return Problem(**(base | fields))

    return build


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(seed=0, rollouts=tmp_path / "rollouts", console=Console(quiet=True))


@pytest.fixture
def quiet() -> Console:
    return Console(quiet=True)


def word_problem(number: int) -> dict[str, str]:
    """One of many different word problems; the gold in the manner of GSM8K."""
    name, thing = NAMES[number % 8], THINGS[(number // 8) % 8]
    first, second, third = 3 + number, 5 + 7 * number % 90, 2 + number % 5
    question = (
        f"{name} had {first} {thing} on Monday and bought {second} more on Tuesday. Then {third} of the {thing}"
        f" were lost. How many {thing} are left?"
    )
    return {"question": question, "answer": f"{first}+{second}-{third}\n#### {first + second - third}"}


@pytest.fixture
def write_rows(tmp_path: Path) -> Callable[[str, list[Any]], Path]:
    """Writes rows as JSON Lines; bytes are written as they are."""

    def write(name: str, rows: list[Any]) -> Path:
        path = tmp_path / name
        lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        data = b"\n".join(lines) + b"\n"
        path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
        return path

    return write


@pytest.fixture
def recipe(tmp_path: Path, write_rows: Callable[[str, list[Any]], Path]) -> Callable[..., Path]:
    """A recipe over `count` word problems with duplicates, defects and a leaked benchmark item."""

    def build(count: int = 60, stages: str | None = None, rows_per_shard: int = 16) -> Path:
        rows: list[Any] = [word_problem(number) for number in range(count)]
        rows.append(word_problem(3))
        rows.append(
            {"question": word_problem(4)["question"].replace("Then", "Then,"), "answer": word_problem(4)["answer"]}
        )
        rows.append({"question": "", "answer": "#### 3"})
        rows.append({"question": "What is 2 + 2?", "answer": "no gold"})
        rows.append(b'{"question": "bad \xff byte", "answer": "#### 1"}')
        rows.append(b"{not json")
        rows.append({"question": "Which is it, (1) or (2)? Answer yes or no.", "answer": "#### yes"})
        leak = {"question": "A farmer plants 17 rows of 23 trees and 5 trees die in every row. How many trees live?",
                "answer": "#### 306"}  # fmt: skip
        rows.append(leak)
        write_rows("rows.jsonl.gz", rows)
        write_rows("bench.jsonl", [leak])
        stage_text = stages if stages is not None else _STAGES
        path = tmp_path / "recipe.toml"
        path.write_text(_RECIPE.format(rows_per_shard=rows_per_shard) + stage_text, encoding="utf-8")
        return path

    return build


_RECIPE = """
seed = 1
rows_per_shard = {rows_per_shard}
[[sources]]
name = "words"
path = "rows.jsonl.gz"
license = "MIT"
question = "question"
answer = "answer"
answer_pattern = "after_hashes"
"""
_STAGES = """
[stages.clean]
[stages.dedupe]
[stages.decontaminate]
benchmarks = [
  {name = "bench", split = "test", revision = "r1", path = "bench.jsonl", question = "question", answer = "answer",
   answer_pattern = "after_hashes"},
]
[stages.integers]
"""
_STAGES = _STAGES.replace(",\n   answer_pattern", ", answer_pattern")
