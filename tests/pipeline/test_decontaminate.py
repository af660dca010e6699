import gzip
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmark_hashes import read_hashes, write_hashes
from pipeline.benchmarks import Benchmark, read_items
from pipeline.config import RecipeError
from pipeline.problem import Problem
from pipeline.sources import Source, read_source
from pipeline.stage import Context, Outcome
from pipeline.stages.decontaminate import Decontaminate

Make = Callable[..., Problem]
ROOT = Path(__file__).resolve().parent.parent.parent
PERTURBATIONS: dict[str, Callable[[str, int], str]] = runpy.run_path(str(ROOT / "benchmarks" / "reformatting.py"))[
    "PERTURBATIONS"
]
SAMPLES = Path(__file__).resolve().parent.parent.parent / "data" / "samples"
ITEM = {
    "question": "A baker bakes 12 trays of 15 rolls and sells 130 of the rolls. How many rolls are left?",
    "answer": "50",
}
SHORT = {"question": "What is the value of $x$ if $3x = 51$?", "answer": "17"}


@pytest.fixture
def stage(tmp_path: Path) -> Decontaminate:
    path = tmp_path / "bench.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in (ITEM, SHORT)))
    return Decontaminate(
        benchmarks=(Benchmark(name="b", split="test", revision="r7", path=path, question="question", answer="answer"),)
    )


def run(stage: Decontaminate, context: Context, problem: Problem) -> Outcome:
    return stage([problem], context)


@pytest.mark.parametrize(
    ("question", "gold", "rule"),
    [
        (ITEM["question"], "50", "verbatim"),
        (ITEM["question"].upper().replace(" ", "\n "), "51", "verbatim"),
        (ITEM["question"].replace("12", "$12$").replace("130", "twelve dozen minus"), "50", None),
        ("Solve carefully. " + ITEM["question"] + " Show all of your steps and explain them.", "50", "contained"),
        (ITEM["question"].replace("12 trays", "$12$ trays").replace("How many rolls", "How many of them"), "50", None),
        ("A baker bakes 12 trays with 15 rolls on each. Of the rolls, 130 are sold. How many stay?", "50", ""),
        (SHORT["question"].replace("$", ""), "17", "same-form"),
    ],
)  # fmt: skip
def test_leaks_are_found(
    make: Make, context: Context, stage: Decontaminate, question: str, gold: str, rule: str | None
) -> None:
    outcome = run(stage, context, make(question, gold))
    if rule is None:
        return
    (drop,) = outcome.drops
    assert drop.reason == "benchmark-item"
    assert (drop.evidence["benchmark"], drop.evidence["split"], drop.evidence["revision"]) == ("b", "test", "r7")
    if rule:
        assert drop.evidence["rule"] == rule


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        (ITEM["question"].replace("15", "16"), "62"),
        ("A baker bakes 9 trays of rolls on Monday and sells some. How many trays of rolls are left?", "4"),
        ("What is the value of $y$ if $2y = 51$ and $y > 3$?", "25.5"),
    ],
)
def test_others_stay(make: Make, context: Context, stage: Decontaminate, question: str, gold: str) -> None:
    assert len(run(stage, context, make(question, gold)).kept) == 1


def test_templates_are_a_class_of_their_own(make: Make, context: Context, stage: Decontaminate) -> None:
    problem = make(ITEM["question"].replace("15", "16"), "62")
    (kept,) = run(stage, context, problem).kept
    assert json.loads(kept.meta_json)["template_overlap"] == "b#0"
    dropping = Decontaminate(benchmarks=stage.benchmarks, template="drop")
    assert run(dropping, context, problem).drops[0].reason == "benchmark-template"


def test_evidence_and_drop_never_repeat_the_benchmark(make: Make, context: Context, stage: Decontaminate) -> None:
    (drop,) = run(stage, context, make(ITEM["question"], "50")).drops
    assert ITEM["question"][60:] not in json.dumps(dict(drop.evidence)) + drop.question
    assert len(drop.evidence["item_begins"]) <= 40


def test_real_benchmarks_against_themselves_in_other_layout(make: Make, context: Context) -> None:
    path = SAMPLES / "benchmarks" / "math500.jsonl.gz"
    stage = Decontaminate(benchmarks=(Benchmark(name="math500", path=path, question="problem", answer="answer"),))
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        rows = [json.loads(line) for line in handle]

    def reformat(text: str) -> str:
        return "  " + text.replace("\\frac", "\\dfrac").replace("\\le ", "\\leq ").replace("  ", "\n").replace(
            "$$", "$$ "
        )

    problems = [make(reformat(row["problem"]), row["answer"], index) for index, row in enumerate(rows)]
    outcome = stage(problems, context)
    assert len(outcome.drops) >= 0.99 * len(rows)
    (described,) = stage.describe_benchmarks()
    assert (described["rows"], len(described["digest"])) == (500, 64)


def test_letters_of_options_are_no_evidence(make: Make, context: Context) -> None:
    from pipeline.answers import stated_answer
    from pipeline.stages.dedupe import dedupe_problems

    question = "Which of these is a property of {0}?\nA) {1}\nB) {2}\nC) {3}"
    first = make(question.format("bitmap graphics", "speed", "light", "lines"), "C", 0)
    second = make(question.format("stone bridges", "arches", "moss", "toll"), "C", 1)
    assert (stated_answer(first.question, "C"), stated_answer(first.question, "5")) == ("lines", "5")
    assert not dedupe_problems([first, second], context)


def test_a_benchmark_known_by_its_hashes(make: Make, context: Context, stage: Decontaminate, tmp_path: Path) -> None:
    path = tmp_path / "hashes" / "b.jsonl.gz"
    header = write_hashes(stage.benchmarks[0], path)
    before = path.read_bytes()
    write_hashes(stage.benchmarks[0], path)
    assert path.read_bytes() == before
    text = gzip.decompress(before).decode()
    assert not [word for word in ("baker", "rolls", "trays", "130") if word in text]
    hidden = Decontaminate(benchmarks=(Benchmark(name="b", split="test", revision="r7", hashes=path),))
    (described,) = hidden.describe_benchmarks()
    assert (described["rows"], described["digest"], described["hashed"]) == (2, header.digest, True)
    for question, gold, rule in (
        (ITEM["question"].upper(), "50", "verbatim"),
        (SHORT["question"].replace("$", ""), "17", "same-form"),
        ("Solve carefully. " + ITEM["question"] + " Show all of your steps and explain them.", "50", "contained"),
        ("A baker bakes 12 trays of 15 rolls, of which 130 of the rolls are sold. How many stay?", "50", "reworded"),
    ):
        (drop,) = run(hidden, context, make(question, gold)).drops
        assert (drop.evidence["rule"], drop.evidence["item_begins"], drop.evidence["revision"]) == (rule, "", "r7")
    (kept,) = run(hidden, context, make(ITEM["question"].replace("15", "16"), "62")).kept
    assert json.loads(kept.meta_json)["template_overlap"] == "b#0"
    assert run(hidden, context, make("How many rolls of 15 do 130 bakers bake on 12 days?", "7")).kept


@pytest.mark.parametrize("content", [b"", b"garbage", gzip.compress(b"{}\n"), gzip.compress(b'{"format": "x"}\n')])
def test_a_file_that_holds_no_hashes_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(RecipeError, match=r"h\.jsonl\.gz: "):
        read_hashes(path)
    with pytest.raises(RecipeError, match=r"missing\.gz: "):
        read_hashes(tmp_path / "missing.gz")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "give path, hub or hashes"),
        ({"path": Path("x"), "hashes": Path("y")}, "only one of them"),
        ({"path": Path("x")}, "name the fields, or give a preset"),
    ],
)
def test_a_benchmark_says_where_it_is(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Benchmark(name="b", **fields)


def test_items_that_repeat_count_once(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text("\n".join(json.dumps(ITEM) for _ in range(32)))
    assert len(read_items(Benchmark(name="b", path=path, question="question", answer="answer"))) == 1


@pytest.mark.parametrize("kind", sorted(PERTURBATIONS))
def test_reformatted_items_of_math500_are_found(kind: str, make: Make) -> None:
    """A third of MATH-500; benchmarks/decontamination.py prints all of it."""
    path = SAMPLES / "benchmarks" / "math500.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        rows = [json.loads(line) for line in handle][::3]
    copies = [make(PERTURBATIONS[kind](row["problem"], n), row["answer"], n) for n, row in enumerate(rows)]
    stage = Decontaminate(benchmarks=(Benchmark(name="math500", path=path, question="problem", answer="answer"),))
    assert sum(hit is not None and hit.rule != "template" for hit in stage.find(copies)) >= 0.99 * len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("known_by", ["text", "hashes"])
def test_clean_rows_that_are_flagged_are_few_and_each_was_read(known_by: str, tmp_path: Path) -> None:
    """GSM8K train against GSM8K test, which share no item: at most one row in a thousand, with a reading of each."""
    listed = json.loads((ROOT / "benchmarks" / "decontamination_flagged.json").read_text(encoding="utf-8"))
    path = SAMPLES / "benchmarks" / "gsm8k_test.jsonl.gz"
    fields: dict[str, Any] = {"question": "question", "answer": "answer", "answer_pattern": "after_hashes"}
    benchmark = Benchmark(name="gsm8k_test", path=path, **fields)
    if known_by == "hashes":
        write_hashes(benchmark, tmp_path / "h.jsonl.gz")
        benchmark = Benchmark(name="gsm8k_test", hashes=tmp_path / "h.jsonl.gz")
    source = Source(name="train", path=SAMPLES / "gsm8k_train.jsonl.gz", **fields)
    rows = [row for row in read_source(source) if isinstance(row, Problem)]
    hits = Decontaminate(benchmarks=(benchmark,)).find(rows)
    flagged = {(row.index, hit.index) for row, hit in zip(rows, hits, strict=True) if hit and hit.rule != "template"}
    assert len(flagged) <= 0.001 * len(rows)
    assert flagged <= {(one["row"], one["item"]) for one in listed[known_by]}
