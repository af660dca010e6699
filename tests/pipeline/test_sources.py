import gzip
import json
import re
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import RecipeError
from pipeline.fields import extract_gold, last_boxed
from pipeline.problem import Problem
from pipeline.readers import RawRow
from pipeline.sources import Source, read_source, to_problem
from pipeline.stage import Drop

ROWS = [{"q": "What is 1 + 1?", "a": "2"}, {"q": "What is 2 + 3?", "a": "5"}]
LINES = "\n".join(json.dumps(row) for row in ROWS)


def source(path: Path, **fields: Any) -> Source:
    return Source(**({"name": "s", "path": path, "question": "q", "answer": "a"} | fields))


def read(path: Path, **fields: Any) -> list[Problem | Drop]:
    return list(read_source(source(path, **fields)))


def reasons(rows: list[Problem | Drop]) -> list[str]:
    return [row.reason if isinstance(row, Drop) else "kept" for row in rows]


def write(path: Path, kind: str) -> Path:
    if kind == "jsonl":
        path.write_text(LINES)
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress(LINES.encode()))
    elif kind == "jsonl.zst":
        path.write_bytes(zstandard.compress(LINES.encode()))
    elif kind == "json":
        path.write_text(json.dumps(ROWS))
    elif kind == "csv":
        path.write_text("q,a\n" + "\n".join(f'"{row["q"]}",{row["a"]}' for row in ROWS))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif kind == "saved":
        datasets.Dataset.from_list(ROWS).save_to_disk(str(path))
    elif kind == "folder":
        path.mkdir()
        pq.write_table(pa.Table.from_pylist(ROWS), path / "train.parquet")
    return path


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "jsonl.zst", "json", "csv", "parquet", "saved", "folder"])
def test_every_format_gives_the_same_problems(tmp_path: Path, kind: str) -> None:
    rows = read(write(tmp_path / f"rows.{kind}", kind))
    assert [(row.question, row.ground_truth, row.source_row) for row in rows if isinstance(row, Problem)] == [
        ("What is 1 + 1?", "2", "s#0"),
        ("What is 2 + 3?", "5", "s#1"),
    ]


def test_verl_and_trl_layouts(tmp_path: Path) -> None:
    row = {
        "prompt": [{"role": "system", "content": "Think."}, {"role": "user", "content": "What is 6 x 7?"}],
        "reward_model": {"style": "rule", "ground_truth": "42"},
        "solution": "\\boxed{42}",
    }
    path = tmp_path / "verl.parquet"
    pq.write_table(pa.Table.from_pylist([row]), path)
    for answer, pattern in (("reward_model.ground_truth", "whole"), ("solution", "last_boxed")):
        (problem,) = read(path, question="prompt", answer=answer, answer_pattern=pattern)
        assert isinstance(problem, Problem)
        assert (problem.question, problem.ground_truth) == ("What is 6 x 7?", "42")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"q": "x \xff", "a": "1"}', "invalid-utf8"),
        (b'{"q": "\\ud800", "a": "1"}', "invalid-utf8"),
        (b"{oops", "not-json"),
        (b"[" * 100_000, "not-json"),
        (b"[1, 2]", "wrong-type"),
        (b'{"a": "1"}', "missing-field"),
        (b'{"q": "x"}', "missing-field"),
        (b'{"q": 5, "a": "1"}', "wrong-type"),
        (b'{"q": "x", "a": {"b": 1}}', "wrong-type"),
        (b'{"q": "", "a": "1"}', "empty-question"),
        (b'{"q": "  ", "a": "1"}', "empty-question"),
        (b'{"q": null, "a": "1"}', "empty-question"),
        (b'{"q": "x", "a": null}', "no-gold"),
        (b'{"q": "x", "a": ""}', "no-gold"),
        (b'{"q": "x", "a": "None"}', "no-gold"),
        (b'{"q": "x", "a": NaN}', "no-gold"),
        (b'{"q": "x", "a": ["1", "2"]}', "several-golds"),
    ],
)
def test_a_bad_row_is_a_drop_with_its_reason(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(line + b"\n" + json.dumps(ROWS[0]).encode() + b"\n")
    assert reasons(read(path)) == [reason, "kept"]


def test_a_field_that_no_row_has_is_named_with_those_there_are(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", "jsonl")
    with pytest.raises(RecipeError, match=r"rows\.jsonl: no row has the field 'answr'.*fields: q, a"):
        read(path, answer="answr")


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_truncated_file_is_an_error_that_names_it(tmp_path: Path, suffix: str) -> None:
    text = "\n".join(json.dumps({"q": f"What is {n} + {n * n}?", "a": str(n)}) for n in range(5000)).encode()
    whole = gzip.compress(text) if suffix == "gz" else zstandard.compress(text)
    path = tmp_path / f"rows.jsonl.{suffix}"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RecipeError, match=r"rows\.jsonl"):
        read(path)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl.gz", "rows.jsonl.zst", "rows.json"])
def test_garbage_is_an_error_that_names_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"[garbage" * 50)
    with pytest.raises(RecipeError, match="rows"):
        read(path)


def test_an_unknown_suffix_asks_for_the_format(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text(LINES)
    with pytest.raises(RecipeError, match="set format"):
        read(path)
    assert len(read(path, format="jsonl")) == 2


def test_several_fields_typed_answers_aliases_and_meta() -> None:
    raw = RawRow(index=3, row={"body": "Ann has 3.", "ask": "How many?", "n": 51.0, "x": [1], "tags": ["a"]})
    base = {"name": "s", "path": Path("x"), "question": ("body", "ask"), "meta": ("tags",)}
    problem = to_problem(Source(**base, answer="n"), raw)
    assert isinstance(problem, Problem)
    assert (problem.question, problem.ground_truth, problem.meta_json) == (
        "Ann has 3. How many?",
        "51",
        '{"tags": ["a"]}',
    )
    aliases = to_problem(
        Source(**base, answer="x", answer_list="aliases"), RawRow(index=0, row=dict(raw.row or {}, x=["a", "b"]))
    )
    assert isinstance(aliases, Problem)
    assert json.loads(aliases.verifier_options) == {"aliases": ["a", "b"]}


def test_gold_patterns() -> None:
    assert extract_gold("so 3\n#### 1,200", "after_hashes") == "1,200"
    assert extract_gold("so 3", "after_hashes") is None
    assert last_boxed(r"\boxed{1} then \boxed{\frac{1}{2}}.") == r"\frac{1}{2}"
    assert last_boxed(r"\boxed{\left\{1, 2\right\}}") == r"\left\{1, 2\right\}"
    assert last_boxed(r"\boxed{1") is None


@given(st.binary(max_size=200))
def test_no_line_of_bytes_crashes(line: bytes) -> None:
    from pipeline.readers import _json_row

    raw = _json_row(line.replace(b"\n", b" "), 0)
    assert isinstance(to_problem(Source(name="s", path=Path("x"), question="q", answer="a"), raw), Problem | Drop)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_value_in_the_fields_crashes(value: Any) -> None:
    for row in ({"q": value, "a": "1"}, {"q": "x", "a": value}):
        made = to_problem(Source(name="s", path=Path("x"), question="q", answer="a"), RawRow(index=0, row=row))
        assert isinstance(made, Problem | Drop)


@pytest.mark.parametrize(("name", "text"), [("r.jsonl", ""), ("r.jsonl", "\n\n"), ("r.json", "[]"), ("r.csv", "q,a\n")])
def test_a_file_without_rows_is_refused(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(RecipeError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: no rows")


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text("question,answer\nWhat is 1+1?,2\n", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"table\.jsonl: none of 2 rows can be read \(not-json; .*format"):
        list(read_source(Source(name="s", path=path, license="MIT", question="question", answer="answer")))


def made(row: dict[str, Any], **fields: Any) -> Problem | Drop:
    base: dict[str, Any] = {"name": "s", "path": Path("x"), "question": "q", "answer": "a"}
    return to_problem(Source(**(base | fields)), RawRow(index=0, row=row))


@pytest.mark.parametrize(
    ("options", "answer", "pattern", "gold"),
    [
        (["A)21", "B)22", "C)23"], "B", "choice_letter", "B"),
        (["21", "22", "23"], 1, "choice_index", "B"),
        ("a ) 21 , b ) 22 , c ) 23", "b", "choice_letter", "B"),
        ("a ) a ) 21 , b ) b ) 22 , c ) c ) 23", "(b)", "choice_letter", "B"),
        ("['a ) 21', 'b ) 22', 'c ) 23']", "b", "choice_letter", "B"),
        ([21, 22.0, 23], "b.", "choice_letter", "B"),
    ],
)
def test_options_become_lettered_lines(options: Any, answer: Any, pattern: str, gold: str) -> None:
    problem = made({"q": "Which?", "o": options, "a": answer}, choices="o", answer_pattern=pattern)
    assert isinstance(problem, Problem)
    assert re.sub(r"\.0", "", problem.question) == "Which?\nA) 21\nB) 22\nC) 23"
    assert problem.ground_truth == gold


@pytest.mark.parametrize(
    ("row", "fields", "reason"),
    [
        ({"q": "x", "a": "1", "o": "21 or 22"}, {"choices": "o"}, "no-choices"),
        ({"q": "x", "a": "1", "o": []}, {"choices": "o"}, "no-choices"),
        ({"q": "x", "a": "9", "o": ["a", "b"]}, {"choices": "o", "answer_pattern": "choice_letter"}, "no-gold"),
        ({"q": "x", "a": "1", "ok": "No"}, {"where": {"ok": ("Yes",)}}, "filtered"),
        ({"q": "x", "a": "1", "ok": 1}, {"where": {"ok": (True,)}}, "filtered"),
        ({"q": "x", "a": "1"}, {"where": {"ok": (True,)}}, "filtered"),
        ({"q": "x", "a": "1", "p": b"png"}, {"image": "p"}, "needs-image"),
        ({"q": "x", "a": "tbd"}, {}, "no-gold"),
        ({"q": "x", "a": "\\boxed{}"}, {}, "no-gold"),
    ],
)
def test_rows_that_a_source_leaves_out(row: dict[str, Any], fields: dict[str, Any], reason: str) -> None:
    drop = made(row, **fields)
    assert isinstance(drop, Drop)
    assert drop.reason == reason


def test_filters_pictures_licences_separators_and_nested_places() -> None:
    row = {"q": "x", "a": "Paris / City of Light", "ok": "Yes", "p": None, "l": " CC BY 3.0 ", "v": '{"gt": {"n": 5}}'}
    problem = made(
        row, where={"ok": ("Yes", True)}, image="p", license_field="l", answer_separator="/", answer_list="aliases"
    )
    assert isinstance(problem, Problem)
    assert (problem.license, problem.ground_truth) == ("CC BY 3.0", "Paris")
    assert json.loads(problem.verifier_options) == {"aliases": ["Paris", "City of Light"]}
    for answer, pattern, gold in (("v.gt.n", "whole", "5"), ("v.gt", "json", '{"n": 5}'), ("v.gt.m", "whole", None)):
        found = made(row, answer=answer, answer_pattern=pattern)
        assert found.ground_truth == (gold or "")
        assert isinstance(found, Problem) == (gold is not None)


def test_a_row_that_is_a_list_of_turns(tmp_path: Path) -> None:
    path = tmp_path / "turns.json"
    path.write_text(json.dumps([[{"from": "human", "value": "2+3?"}, {"ground_truth": {"value": "5"}}]]))
    (problem,) = read(path, question="0.value", answer="1.ground_truth.value")
    assert isinstance(problem, Problem)
    assert (problem.question, problem.ground_truth) == ("2+3?", "5")
