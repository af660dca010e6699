"""The report on audits with few labels, none, and several verifiers; hostile names among them."""

import json
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from verigold.report import audit
from verigold.report.blocks import Document, Example, Figure, Gallery, Paragraph, Table
from verigold.report.make import render
from verigold.report.words import NBSP

EVIL = "<script>alert(1)</script> ](http://x) \u202e"


def rate(estimate: float | None, low: float = 0.01, high: float = 0.2, n: int = 100) -> dict[str, Any]:
    return {"estimate": estimate, "low": low, "high": high, "n": n}


def made(*, labels: int, estimated: bool, identified: bool) -> dict[str, Any]:
    """An audit.json of 600 rows as the command writes it."""
    sides = [{"name": name, "accepted": 300, "rejected": 290, "undecided": 10} for name in ("math", EVIL)]
    if identified:
        sides = [side | {"fnr": rate(0.11), "fpr": rate(0.03)} for side in sides]
    pair = {
        "a": "math",
        "b": EVIL,
        "only_a_accepts": 52,
        "only_b_accepts": 4,
        "disagree": rate(56 / 600, 0.07, 0.12, 600),
        "worse_of_the_two_at_least": rate(28 / 600, 0.035, 0.06, 600),
        "examples": [
            {
                "id": "r1",
                "source": EVIL,
                "ground_truth": ["7", EVIL],
                "response": EVIL,
                "correct": None,
                "a": "correct",
                "b": "incorrect",
            }
        ],
    }
    together = {"unanimous": rate(544 / 600, 0.88, 0.93, 600), "worst_error_rate_at_least": 28 / 600}
    value: dict[str, Any] = {
        "n": 600,
        "accuracy": 0.9 if labels else None,
        "fnr": rate(0.16 if labels else None),
        "fpr": rate(0.0 if labels else None),
        "undecided": rate(10 / 600, n=600),
        "confusion": {
            "labelled_correct": {"accepted": labels // 2, "rejected": labels - labels // 2, "undecided": 0},
            "labelled_wrong": {"accepted": 0, "rejected": 0, "undecided": 0},
        },
        "by_reason": {"exact": {"n": 300, "wrong": 4}},
        "agreement": {
            "n": 600,
            "labelled": labels,
            "verifiers": sides,
            "pairs": [pair],
            "all": together,
            "not_identified": [] if identified else ["Without labels the error rate is not identified."],
        },
    }
    if estimated:
        stratum = {"verifier": "math", "accepted": True, "reason": "exact", "source": EVIL}
        strata = [stratum | {"n": 300, "labelled": 40, "wrong": 2}]
        value["estimated"] = {
            "n": 600, "labelled": labels, "fnr": rate(0.123, 0.105, 0.221), "fpr": rate(0.045), "strata": strata,
        }  # fmt: skip
    return value


def walk(blocks: Any) -> list[Any]:
    found: list[Any] = []
    for block in blocks:
        found.append(block)
        inner = block.figures if isinstance(block, Gallery) else getattr(block, "blocks", ())
        found.extend([block.table] if isinstance(block, Figure) else walk(inner))
    return found


def tables(document: Document) -> dict[str, list[list[str]]]:
    return {b.caption: [[c.text for c in row] for row in b.rows] for b in walk(document.blocks) if isinstance(b, Table)}


def words(document: Document) -> str:
    told = [b.text for b in walk(document.blocks) if isinstance(b, Paragraph)]
    return " ".join([document.subtitle, *told]).replace(NBSP, " ")


def test_few_labels_lead_with_the_estimate() -> None:
    document = audit.document(made(labels=100, estimated=True, identified=True))
    told = words(document)
    assert "600 responses, 100 of them labelled" in told
    assert "Estimated for all 600 responses from 100 labels: the verifier does not accept 12.3 % [10.5, 22.1]" in told
    assert "labels are a random sample" in told
    found = tables(document)
    assert found["Strata"] == [["math, accepted", "exact", EVIL, "300", "40", "2"]]
    assert found["Error rates estimated for all rows"][0][2] == "100"
    assert found["Verdicts of each verifier"][0][1:4] == ["300", "290", "10"]
    assert found["Verdicts by their reason"][0][3] == "–"


def test_without_labels_bounds_and_what_is_not_identified() -> None:
    document = audit.document(made(labels=0, estimated=False, identified=False))
    told = words(document)
    assert "600 responses, none of them labelled" in told
    assert "how often the verifier is wrong is not identified" in told
    assert "at least one of them is wrong on 4.7 % of the rows or more" in told
    found = tables(document)
    assert "Verdicts against labels" not in found
    assert found["Disagreement of pairs, and what it says of their errors"][0][1:4] == [f"9.3{NBSP}%", "52", "4"]
    assert len(found["Verdicts of each verifier"][0]) == 4
    (example,) = [block for block in walk(document.blocks) if isinstance(block, Example)]
    assert example.title.startswith("not labelled")
    assert example.fields[2].text == f"math: ✓ correct; {EVIL}: ✗ incorrect"


@pytest.mark.parametrize(("labels", "estimated", "identified"), [(100, True, True), (0, False, False)])
def test_both_forms_are_inert(labels: int, estimated: bool, identified: bool, tmp_path: Path) -> None:
    value = made(labels=labels, estimated=estimated, identified=identified)
    (tmp_path / "audit.json").write_text(json.dumps(value), encoding="utf-8")
    html = render([tmp_path], "html")
    assert "<script" not in html
    assert "\u202e" not in html
    text = render([tmp_path], "md")
    assert "Verifiers side by side" in text
    kinds = {
        token.type
        for block in MarkdownIt("commonmark", {"html": True}).parse(text)
        for token in [block, *(block.children or [])]
    }
    assert not kinds & {"html_block", "html_inline", "link_open", "image"}


@pytest.mark.parametrize("damage", [{"estimated": {"fnr": 1}}, {"agreement": {"pairs": [{}], "verifiers": [{}]}}])
def test_damaged_parts_still_render(damage: dict[str, Any]) -> None:
    assert audit.render({"n": 5} | damage)


def test_rewritings_of_golds_have_a_section() -> None:
    """Rates by kind, the worst first, examples of wrong verdicts; hostile text stays text."""
    case = {"verifier": "math", "ground_truth": EVIL, "response": EVIL, "status": "incorrect", "reason": "different"}

    def entry(must: str, n: int, *wrongly: int) -> dict[str, Any]:
        names = zip(("math", EVIL), wrongly, strict=True)
        return {"must": must, "n": n, "by_verifier": {name: {"n": n, "wrongly": k} for name, k in names}}

    kinds = {
        "integer: point": entry("accept", 40, 0, 20) | {"examples": []},
        EVIL: entry("accept", 40, 10, 4) | {"examples": [case]},
        "integer: sign": entry("refuse", 20, 0, 0) | {"examples": []},
        "odd": "no table",
    }
    audit_json = made(labels=0, estimated=False, identified=False) | {
        "metamorphic": {"verifiers": ["math", EVIL], "kinds": kinds}
    }
    html = audit.render(audit_json)
    assert "<script>alert(1)</script> ]" not in html
    words = html.replace(NBSP, " ")
    assert "12.5 %" in words
    assert "30.0 %" in words
    assert "Rewritings that must be accepted: share wrongly refused" in words
    # the one near miss has no wrong verdict, so it stands among all kinds only
    assert words.count("integer: sign") == 1
    assert words.index("alert(1)") < words.index("integer: point")
    assert "Rewritings of the ground truths" not in audit.render(audit_json | {"metamorphic": {}})
