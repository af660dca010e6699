"""Damaged files, files replaced during a run, layouts of other tools: a clear error, and nothing half written."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from rich.console import Console

import pipeline.run
from pipeline.config import RecipeError, load
from pipeline.problem import Problem
from pipeline.recipe import CurateConfig
from pipeline.run import curate
from pipeline.shards import read_shards
from pipeline.sources import Source, read_source
from pipeline.stage import Drop

QUIET = Console(quiet=True)
ROWS = [{"q": f"What is {n} + {n * n}?", "a": str(n + n * n)} for n in range(3000)]
TEXT = "\n".join(json.dumps(row) for row in ROWS).encode()


def recipe(tmp_path: Path, path: Path, extra: str = "") -> CurateConfig:
    file = tmp_path / "recipe.toml"
    file.write_text(f'[[sources]]\nname = "s"\npath = "{path.name}"\nquestion = "q"\nanswer = "a"\n{extra}')
    return load(CurateConfig, [file])


def visible(out: Path) -> list[str]:
    """What a reader of the folder would take for a result."""
    return sorted(
        str(file.relative_to(out))
        for file in out.rglob("*")
        if file.is_file() and not re.search(r"/\.(work|lock)", str(file))
    )


def cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


def parquet(tmp_path: Path) -> bytes:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "whole.parquet")
    return (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.parametrize(
    ("name", "made", "remedy"),
    [
        ("r.jsonl.gz", lambda _: cut(gzip.compress(TEXT)), "fetch it again"),
        ("r.jsonl.gz", lambda _: b"not gzip at all", "fetch it again"),
        ("r.jsonl.zst", lambda _: cut(zstandard.compress(TEXT)), "fetch it again"),
        ("r.parquet", lambda folder: cut(parquet(folder)), "fetch or write it again"),
        ("r.parquet", lambda folder: parquet(folder)[:40] + b"\0" * 400 + parquet(folder)[440:], "again"),
        ("r.json", lambda _: b"[" + cut(TEXT), "mend the file"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_with_its_remedy_and_nothing_is_written(
    name: str, made: Callable[[Path], bytes], remedy: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(made(tmp_path))
    with pytest.raises(RecipeError) as caught:
        curate(recipe(tmp_path, path), tmp_path / "out", console=QUIET, workers=1)
    assert str(caught.value).startswith(f"{path}: ")
    assert remedy in str(caught.value)
    assert visible(tmp_path / "out") == []


def test_a_file_replaced_during_the_run_is_named_and_the_next_run_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(TEXT)
    config = recipe(tmp_path, path)

    def replaced_first(source: Source) -> Iterator[Problem | Drop]:
        fresh = path.with_suffix(".new")
        fresh.write_bytes(TEXT.replace(b"What is", b"How much is"))
        fresh.replace(path)
        yield from read_source(source)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline.run, "read_source", replaced_first)
        with pytest.raises(RecipeError, match=r"rows\.jsonl: the file was replaced during the run \(source 's'\); run"):
            curate(config, tmp_path / "out", console=QUIET, workers=1)
    assert visible(tmp_path / "out") == []
    assert not list((tmp_path / "out" / ".work").glob("*-sources-*/*.parquet"))
    manifest = curate(config, tmp_path / "out", console=QUIET, workers=1)
    assert manifest["rows_kept"] == len(ROWS)
    assert all(row.question.startswith("How much") for row in read_shards(tmp_path / "out"))


def test_a_file_that_grows_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(TEXT)
    rows = read_source(Source(name="s", path=path, question="q", answer="a"))
    next(rows)
    with path.open("ab") as handle:
        handle.write(b'\n{"q": "x", "a": "1"}')
    with pytest.raises(RecipeError, match=r"rows\.jsonl: the file changed while it was read"):
        list(rows)


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", "r.jsonl.zst", "r.csv"])
def test_lines_that_are_not_utf8_are_drops(name: str, tmp_path: Path) -> None:
    good, bad = json.dumps(ROWS[0]).encode(), b'{"q": "caf\xe9?", "a": "1"}'
    text = good + b"\n" + bad + b"\n" + good if "jsonl" in name else b"q,a\nWhat?,1\ncaf\xe9?,2\nHow?,3"
    packed = {"gz": gzip.compress, "zst": zstandard.compress}.get(name.rpartition(".")[2], bytes)(text)
    (tmp_path / name).write_bytes(packed)
    found = list(read_source(Source(name="s", path=tmp_path / name, question="q", answer="a")))
    assert [row.reason if isinstance(row, Drop) else "kept" for row in found] == ["kept", "invalid-utf8", "kept"]


def test_curated_shards_and_the_layouts_of_trainers_can_be_curated_again(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(TEXT.split(b"\n")[:50]))
    first = curate(recipe(tmp_path, tmp_path / "rows.jsonl"), tmp_path / "one", console=QUIET, workers=1)
    shard = next((tmp_path / "one" / "data").glob("*.parquet"))
    trl = tmp_path / "trl.parquet"
    pq.write_table(pq.read_table(shard, columns=["prompt", "solution"]), trl)
    text = f'[[sources]]\npreset = "verl"\nname = "verl"\npath = "{shard}"\n'
    text += f'[[sources]]\npreset = "trl"\nname = "trl"\npath = "{trl}"\n[stages.dedupe]\n'
    (tmp_path / "again.toml").write_text(text)
    again = curate(load(CurateConfig, [tmp_path / "again.toml"]), tmp_path / "two", console=QUIET, workers=1)
    assert again["rows_in"] == 2 * first["rows_kept"]
    assert again["rows_kept"] == first["rows_kept"]
    questions = [sorted(row.question for row in read_shards(tmp_path / name)) for name in ("one", "two")]
    assert questions[0] == questions[1]


@pytest.mark.parametrize("made", ["folder", "saved", "saved-splits"])
def test_data_set_folders_are_curated_by_split(made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "set"
    data: Any = datasets.Dataset.from_list(ROWS[:5])
    if made == "folder":
        folder.mkdir()
        pq.write_table(pa.Table.from_pylist(ROWS[:5]), folder / "train-00000-of-00001.parquet")
        pq.write_table(pa.Table.from_pylist(ROWS[5:8]), folder / "test-00000-of-00001.parquet")
    elif made == "saved":
        data.save_to_disk(str(folder))
    else:
        datasets.DatasetDict({"train": data, "test": datasets.Dataset.from_list(ROWS[5:8])}).save_to_disk(str(folder))
    for split, count in (("train", 5), ("test", 3))[: 1 if made == "saved" else 2]:
        config = recipe(tmp_path, folder, f'split = "{split}"\n')
        assert curate(config, tmp_path / split, console=QUIET, workers=1)["rows_kept"] == count
    if made != "saved":
        with pytest.raises(RecipeError, match=r"set: cannot load the data set .*check path, subset, split"):
            curate(recipe(tmp_path, folder, 'split = "nope"\n'), tmp_path / "none", console=QUIET, workers=1)
