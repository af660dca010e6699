"""Laws of choosing: shares and caps hold, the choice follows the seed and not the order, and every row is told of."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pipeline.config import RecipeError, load
from pipeline.learning import alignment_scores, read_reward_log
from pipeline.problem import Difficulty, Problem, problem_id
from pipeline.run import CurateConfig, curate
from pipeline.shards import read_shards, shard_paths
from pipeline.stage import Context, Removal
from pipeline.stages.balance import Balance, mix_limits
from pipeline.stages.select import Select

Make = Callable[..., Problem]
CONTEXT = Context(seed=0, rollouts=Path("rollouts"), console=Console(quiet=True))


def rows(make: Make) -> list[Problem]:
    return [
        make(f"Tom has {number} {'cats' if number % 2 else 'dogs'} in {name}.", str(number), number, name)
        for name, count in (("a", 60), ("b", 30))
        for number in range(count)
    ]


def removed(stage: Select | Balance, problems: Sequence[Problem], context: Context = CONTEXT) -> dict[str, Removal]:
    """What goes; each row at most once, and none that did not go in."""
    found = list(stage.drops(stage.keys(problems), lambda _: [], context))
    assert len({item.source_row for item in found}) == len(found)
    assert {item.source_row for item in found} <= {problem.source_row for problem in problems}
    assert all(item.reason for item in found)
    return {item.source_row: item for item in found}


def kept(problems: Sequence[Problem], gone: dict[str, Removal]) -> list[Problem]:
    return [problem for problem in problems if problem.source_row not in gone]


def by_source(problems: Sequence[Problem], gone: dict[str, Removal]) -> Counter[str]:
    return Counter(problem.data_source for problem in kept(problems, gone))


def test_nothing_asked_nothing_dropped(make: Make) -> None:
    assert removed(Select(), rows(make)) == removed(Balance(), rows(make)) == {}
    assert removed(Select(), []) == removed(Balance(), []) == {}


def test_caps_and_weights(make: Make) -> None:
    problems = rows(make)
    gone = removed(Select(max_rows={"a": 10}, weights={"b": 0.0}), problems)
    assert by_source(problems, gone) == Counter(a=10)
    assert Counter(item.reason for item in gone.values()) == {"source-cap": 50, "source-weight": 30}
    gone = removed(Select(max_per_template=5), problems)
    assert by_source(problems, gone) == Counter(a=10, b=10)
    gone = removed(Select(max_total=7), problems)
    assert sum(by_source(problems, gone).values()) == 7


problem_rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=60
)  # (source, template)


def build(pairs: Sequence[tuple[str, int]]) -> list[Problem]:
    texts = (
        "How many apples",
        "What is the area",
        "Find the sum of two",
        "Which prime divides",
        "How far goes a train of",
    )
    return [
        Problem(
            id=problem_id(f"{texts[template]} {number}?", "1"),
            data_source=source,
            source_row=f"{source}#{number}",
            index=number,
            question=f"{texts[template]} {number}?",
            ground_truth="1",
            original_answer="1",
            license="MIT",
            template_id=str(template),
        )
        for number, (source, template) in enumerate(pairs)
    ]


@given(
    pairs=problem_rows,
    weight=st.floats(0, 1),
    cap=st.none() | st.integers(0, 20),
    template_cap=st.none() | st.integers(0, 6),
    total=st.none() | st.integers(0, 40),
    seed=st.integers(0, 5),
)
def test_caps_hold_and_no_row_goes_without_need(
    pairs: list[tuple[str, int]], weight: float, cap: int | None, template_cap: int | None, total: int | None, seed: int
) -> None:
    problems, context = build(pairs), replace(CONTEXT, seed=seed)
    stage = Select(
        weights={"a": weight},
        max_rows={} if cap is None else {"b": cap},
        max_per_template=template_cap,
        max_total=total,
    )
    gone = removed(stage, problems, context)
    left = kept(problems, gone)
    assert removed(stage, problems[::-1], context) == gone
    assert cap is None or sum(problem.data_source == "b" for problem in left) <= cap
    assert template_cap is None or max(Counter(p.template_id for p in left).values(), default=0) <= template_cap
    assert total is None or len(left) <= total
    reasons = {item.reason for item in gone.values()}
    assert not ("source-cap" in reasons and sum(problem.data_source == "b" for problem in left) < (cap or 0))
    assert not ("total-cap" in reasons and len(left) < (total or 0))
    assert all(row.startswith("a#") for row, item in gone.items() if item.reason == "source-weight")


def test_a_weight_is_the_share_that_stays(make: Make) -> None:
    problems = [make(f"What is {number} + 1?", str(number + 1), number) for number in range(4000)]
    gone = removed(Select(weights={"s": 0.3}), problems)
    assert abs(len(kept(problems, gone)) / 4000 - 0.3) < 5 * (0.3 * 0.7 / 4000) ** 0.5
    more = removed(Select(weights={"s": 0.5}), problems)
    assert set(more) < set(gone)


def test_the_choice_follows_the_seed_and_not_the_order(make: Make) -> None:
    problems = rows(make)
    stage = Select(max_total=20)
    assert set(removed(stage, problems)) == set(removed(stage, problems[::-1]))
    assert set(removed(stage, problems)) != set(removed(stage, problems, replace(CONTEXT, seed=1)))


def test_a_mix_is_cut_to_its_scarcest_source(make: Make) -> None:
    problems = rows(make)
    assert by_source(problems, removed(Balance(mix={"a": 0.5, "b": 0.5}), problems)) == Counter(a=30, b=30)
    assert by_source(problems, removed(Balance(mix={"a": 3, "b": 1}), problems)) == Counter(a=60, b=20)
    assert by_source(problems, removed(Balance(mix={"a": 1, "b": 0}), problems)) == Counter(a=60)


@given(
    counts=st.dictionaries(st.sampled_from("abcde"), st.integers(1, 500), min_size=1),
    shares=st.dictionaries(st.sampled_from("abcde"), st.floats(0.01, 10), min_size=1),
)
def test_shares_of_a_mix_are_within_a_row_of_what_is_wanted(counts: dict[str, int], shares: dict[str, float]) -> None:
    mix = {name: share for name, share in shares.items() if name in counts}
    limits = mix_limits(mix, counts, "mix")
    size = sum(limits.values())
    assert all(limits[name] <= counts[name] for name in mix)
    for name, share in mix.items():
        assert abs(limits[name] - size * share / sum(mix.values())) <= 1
    if mix:
        assert any(
            limits[name] + 1 + len(mix) * share / min(mix.values()) > counts[name] for name, share in mix.items()
        )


def test_a_mix_of_a_group_without_rows_is_refused(make: Make) -> None:
    with pytest.raises(RecipeError, match=r"stages\.balance\.mix \(by source\): no row of 'c' is left .* are: a, b"):
        removed(Balance(mix={"a": 1, "c": 1}), rows(make))


def test_mixes_by_bucket_and_by_level(make: Make) -> None:
    def difficulty(bucket: str) -> tuple[Difficulty, ...]:
        return (
            Difficulty(model="m", sampler_digest="d", correct=1, attempts=2, truncated=0, low=0, high=1, bucket=bucket),
        )

    problems = [
        make(
            f"What is {number}?",
            "1",
            number,
            difficulty=difficulty("easy" if number < 20 else "hard") if number < 50 else (),
            meta_json=json.dumps({"level": number % 3} if number % 4 else {}),
        )
        for number in range(60)
    ]
    gone = removed(Balance(mix={"easy": 2, "hard": 1}, by="bucket"), problems)
    assert Counter(p.difficulty[-1].bucket if p.difficulty else "" for p in kept(problems, gone)) == {
        "easy": 20, "hard": 10, "": 10
    }  # fmt: skip
    gone = removed(Balance(mix={"0": 1, "2": 1, "(none)": 0}, by="level"), problems)
    levels = Counter(json.loads(p.meta_json).get("level") for p in kept(problems, gone))
    assert levels[0] == levels[2] == 15
    assert levels[None] == 0
    assert levels[1] == 15


@given(pairs=problem_rows, held_out=st.floats(0, 0.99), seed=st.integers(0, 20))
def test_no_template_is_in_two_splits_and_no_row_is_lost(
    pairs: list[tuple[str, int]], held_out: float, seed: int
) -> None:
    problems, context = build(pairs), replace(CONTEXT, seed=seed)
    stage = Balance(held_out=held_out)
    assert removed(stage, problems, context) == {}
    marked = stage.mark(problems, context)
    assert [row.source_row for row in marked] == [row.source_row for row in problems]
    splits = {split: {row.template_id for row in marked if row.split == split} for split in ("train", "validation")}
    assert splits["train"].isdisjoint(splits["validation"])
    assert stage.mark(problems[::-1], context) == list(marked)[::-1]


def test_the_folder_gets_both_splits(tmp_path: Path, recipe: Callable[..., Path], quiet: Console) -> None:
    import datasets

    path = recipe(60, stages="[stages.balance]\nheld_out = 0.3\nmix = {words = 1}\n")
    source = tmp_path / "rows.jsonl"
    names = ("apples", "pears", "figs", "plums", "dates", "limes", "kiwis", "beans")
    questions = [f"{name}: how many {name} are {number} and 2?" for number in range(9) for name in names]
    source.write_text("".join(json.dumps({"question": q, "answer": "#### 3"}) + "\n" for q in questions))
    path.write_text(path.read_text().replace("rows.jsonl.gz", "rows.jsonl").replace("rows_per_shard = 16", ""))
    manifest = curate(load(CurateConfig, [path]), tmp_path / "out", console=quiet, workers=1)
    parts = {split: read_shards(tmp_path / "out", split) for split in ("train", "validation")}
    assert manifest["splits"] == {split: len(problems) for split, problems in parts.items()}
    assert sum(map(len, parts.values())) == manifest["rows_kept"] == 72
    assert min(map(len, parts.values())) > 0
    templates = {split: {row.template_id for row in problems} for split, problems in parts.items()}
    assert templates["train"].isdisjoint(templates["validation"])
    assert all(row.split == split for split, problems in parts.items() for row in problems)
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {split: data.num_rows for split, data in dict(loaded).items()} == manifest["splits"]
    with pytest.raises(RecipeError, match="split 'test' here; its splits are train, validation"):
        shard_paths(tmp_path / "out", "test")


def log(*curves: tuple[str, Sequence[float | None]]) -> list[dict[str, Any]]:
    return [
        {"id": name, "epoch": epoch, "reward": reward} for name, curve in curves for epoch, reward in enumerate(curve)
    ]


def write_log(path: Path, samples: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(samples), path)
    else:
        data = "".join(json.dumps(sample) + "\n" for sample in samples).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_alignment_is_the_formula_of_the_paper(tmp_path: Path) -> None:
    curves = {"rising": [0.0, 0.5, 1.0], "never": [0.0, 0.0, 0.0], "always": [1.0, 1.0, 1.0], "late": [0.0, 0.0, 1.0]}
    path = write_log(tmp_path / "log.jsonl", log(*curves.items()))
    scores = alignment_scores(read_reward_log(path))
    table = np.array(list(curves.values()))
    mean = table.mean(axis=0)
    expected = 1 - ((table - mean) ** 2).sum(axis=1) / ((1 - mean) ** 2).sum()
    assert scores == pytest.approx(dict(zip(curves, expected, strict=True)))
    assert scores["always"] == pytest.approx(0.0)
    assert scores["rising"] > 0.6 > scores["never"]


@given(
    curve=st.lists(st.floats(0, 1), min_size=1, max_size=6),
    others=st.integers(1, 5),
)
def test_a_problem_on_the_mean_curve_scores_one_and_none_more(curve: list[float], others: int) -> None:
    same = pa.Table.from_pylist(log(*((str(number), curve) for number in range(others))))
    assert list(alignment_scores(same).values()) == pytest.approx([1.0] * others)
    mixed = pa.Table.from_pylist(log(("x", curve), ("y", [1 - value for value in curve])))
    assert all(score <= 1 + 1e-9 for score in alignment_scores(mixed).values())


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz", "log.parquet"])
def test_samples_are_averaged_undecided_ones_left_out(tmp_path: Path, name: str) -> None:
    samples = log(("p", [0.0]), ("p", [1.0]), ("p", [None]), ("q", [1.0]))
    means = read_reward_log(write_log(tmp_path / name, samples))
    assert means.to_pylist() == [{"id": "p", "epoch": 0, "reward": 0.5}, {"id": "q", "epoch": 0, "reward": 1.0}]


def test_steps_count_as_visits_and_a_rollout_folder_is_a_log(tmp_path: Path) -> None:
    for step, name in ((1, "p"), (2, "q"), (3, "q"), (10, "p")):
        sample = {"id": name, "step": step, "reward": step / 10, "response": "x"}
        write_log(tmp_path / f"step-{step:05d}.jsonl", [sample])
    means = read_reward_log(tmp_path)
    found = [(row["id"], row["epoch"], row["reward"]) for row in means.to_pylist()]
    assert found == [("p", 1, 0.1), ("p", 2, 1.0), ("q", 1, 0.2), ("q", 2, 0.3)]


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"epoch": 1, "reward": 1.0}, r"log\.jsonl: row 1: id: must be"),
        ({"id": "p", "reward": 1.0}, r"row 1: epoch, step: one of them must be a whole number"),
        ({"id": "p", "epoch": 1, "reward": 1.5}, r"row 1: reward: must be a number from 0 to 1 \(got 1\.5\)"),
        ({"id": "p", "step": 1, "reward": 1}, r"row 1: has a step and earlier rows have not; use one"),
    ],
)
def test_a_faulty_reward_log_is_told_by_row(tmp_path: Path, sample: dict[str, Any], message: str) -> None:
    path = write_log(tmp_path / "log.jsonl", [{"id": "p", "epoch": 0, "reward": 0}, sample])
    with pytest.raises(RecipeError, match=message):
        read_reward_log(path)
    with pytest.raises(RecipeError, match="no reward log here"):
        read_reward_log(tmp_path / "none.jsonl")


def test_rows_that_learning_did_not_follow_go(make: Make, tmp_path: Path) -> None:
    problems = [make(f"What is {number}?", "1", number) for number in range(4)]
    curves = ([0.0, 0.4, 0.9], [0.0, 0.6, 1.0], [1.0, 1.0, 1.0])
    names = (problem.id for problem in problems)
    path = write_log(tmp_path / "log.jsonl", log(*zip(names, curves, strict=False)))
    gone = removed(Select(reward_log=path), problems)
    assert {row: item.reason for row, item in gone.items()} == {"s#2": "learning-alignment"}
    assert gone["s#2"].evidence["score"] < gone["s#2"].evidence["min_alignment"] == 0.6
    gone = removed(Select(reward_log=path, unlogged="drop"), problems)
    assert gone["s#3"].reason == "not-in-reward-log"
