import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.problem import Problem
from pipeline.stage import Context, Outcome
from pipeline.stages.decontaminate import Benchmark, Decontaminate

Make = Callable[..., Problem]
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
