"""Rewritings and near misses of the golds of a file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verifiers.cases import LabelledRow, read_rows
from verifiers.metamorphic_golds import gold_trials, metamorphic, typed

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "samples" / "graded_responses.jsonl.gz"


def row(gold: str, verifier: str = "math", **options: float) -> LabelledRow:
    return LabelledRow(id="1", ground_truth=gold, response="", verifier=verifier, options=options)


GOLDS = {
    "7": "integer", "-1": "integer", "0": "integer", "1,234": "integer", "10{,}000": "integer", "0.5": "decimal",
    r"-\frac{3}{4}": "fraction", "3/1": "fraction", r"28\%": "percent", "(1, 2)": "brackets", "[0,1)": "interval",
    "(0,1]": "brackets", "(1, 1)": "brackets", r"\{1,2,3\}": "set", r"\{5\}": "set", "x > 3": "inequality",
    r"n \le -2": "inequality", r"45^\circ": "degrees", "[-2, 7)": "interval", "C": "letter", "(B)": "letter",
    "Yes": "truth value", "False": "truth value", r"5 \text{ cm}": "quantity", "2.5 kg": "quantity", "1011_2": "base",
    "34_{5}": "base", "x^2 + 1": "expression", r"2\sqrt{3}": "expression", r"\frac{x+1}{2}": "expression",
    r"\frac{\pi}{4}": "expression",
}  # fmt: skip


@pytest.mark.parametrize(("gold", "name"), GOLDS.items())
def test_types_and_their_forms(gold: str, name: str) -> None:
    found = typed(gold)
    assert found is not None
    assert found[0] == name
    kinds = metamorphic([row(gold)], forms=99)["kinds"]
    assert {kind: entry["examples"] for kind, entry in kinds.items() if entry["examples"]} == {}


@pytest.mark.parametrize(
    "gold", ["", "x^2 + C", "19_{5}", "0 cm", r"\frac{1}{0}", "[[1, 2]]", "9" * 500, "\x00", r"\{\}"]
)
def test_other_golds_have_wrappers_only(gold: str) -> None:
    assert typed(gold) is None
    assert all(kind.startswith("any: ") for kind in metamorphic([row(gold)])["kinds"])


def test_a_broken_verifier_shows() -> None:
    """A tolerance this wide takes half the value for right; the near misses say so."""
    table = metamorphic([row("50.5", abs_tol=30.0)], forms=99)["kinds"]
    half = table["decimal: half"]
    assert (half["must"], half["n"]) == ("refuse", 1)
    assert half["by_verifier"] == {"named by row": {"n": 1, "accepted": 1, "wrongly": 1}}
    assert half["examples"][0]["ground_truth"] == "50.5"
    assert "decimal: next digit" not in table


def wholly(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of the one verifier that was judged."""
    (name,) = found["verifiers"]
    return {kind: {"must": entry["must"]} | entry["by_verifier"][name] for kind, entry in found["kinds"].items()}


def test_verifiers_side_by_side() -> None:
    """Every verifier judges the same trials, math-verify too; qa cannot do arithmetic and math-verify drops units."""
    rows = [row("12"), row(r"5 \text{ cm}")]
    found = metamorphic(rows, names=("math", "qa", "math-verify"), forms=99)
    assert found["verifiers"] == ["math", "qa", "math-verify"]
    assert all(
        {side["n"] for side in entry["by_verifier"].values()} == {entry["n"]} for entry in found["kinds"].values()
    )
    quotient = found["kinds"]["integer: thirds"]["by_verifier"]
    assert [quotient[name]["wrongly"] for name in ("math", "qa", "math-verify")] == [0, 1, 0]
    smaller = found["kinds"]["quantity: smaller unit"]
    assert [smaller["by_verifier"][name]["wrongly"] for name in ("math", "math-verify")] == [0, 1]
    assert "math-verify" in {example["verifier"] for example in smaller["examples"]}
    assert metamorphic(rows, names=("qa",))["verifiers"] == ["named by row", "qa"]


def test_real_golds_and_the_bound() -> None:
    rows = read_rows(SAMPLE)
    table = wholly(metamorphic(rows, golds=120))
    assert table == wholly(metamorphic([replace(row, correct=None) for row in rows], golds=120))
    for must, limit in (("accept", 0.01), ("refuse", 0.005)):
        members = [entry for entry in table.values() if entry["must"] == must]
        assert sum(entry["wrongly"] for entry in members) <= limit * sum(entry["n"] for entry in members)
    kinds = [trial.kind for trial in gold_trials(rows, golds=20)]
    assert kinds.count("any: empty box") == 20
    assert list(gold_trials(rows, seed=1, golds=9)) != list(gold_trials(rows, seed=2, golds=9))
