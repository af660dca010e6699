"""`verigold verify` and `verigold audit` as a user meets them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def verigold(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from verigold.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        input=given,
    )


def rows(path: Path, *lines: object) -> str:
    path.write_text(
        "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    return str(path)


GOOD = {"ground_truth": "7", "response": r"\boxed{7}", "correct": True, "category": "a", "id": "r1"}
BAD = {"ground_truth": "7", "response": r"\boxed{8}", "correct": False, "category": "b", "id": "r2"}


def test_one_pair() -> None:
    right = verigold(
        "verify", "--ground-truth", r"\frac{1}{2}", "--response", r"So the answer is \boxed{0.5}.", "--json"
    )
    assert right.returncode == 0
    assert json.loads(right.stdout)["status"] == "correct"
    wrong = verigold("verify", "--ground-truth", r"\frac{1}{2}", "--response", r"\boxed{0.6}", "--json")
    assert wrong.returncode == 1
    assert json.loads(wrong.stdout)["status"] == "incorrect"


def test_a_file(tmp_path: Path) -> None:
    alias = {"ground_truth": ["one", "two"], "response": r"\boxed{2}", "correct": True}
    missed = {
        "ground_truth": "7",
        "response": "no idea",
        "correct": True,
        "verifier": "math",
        "verifier_options": {"rel_tol": 0.1},
    }
    path = rows(tmp_path / "cases.jsonl", GOOD, BAD, alias, missed)
    done = verigold("verify", path, "--json")
    summary = json.loads(done.stdout)
    assert done.returncode == 0
    assert set(summary) == {"n", "accuracy", "fnr", "fpr", "undecided", "by_category", "per_cpu_second"}
    assert (summary["n"], summary["accuracy"], summary["fpr"]) == (4, 0.75, 0.0)
    assert summary["fnr"] == pytest.approx(1 / 3)
    assert summary["by_category"]["b"]["n"] == 1
    assert verigold("verify", path, "--max-fnr", "0.1").returncode == 1
    assert verigold("verify", path, "--max-fnr", "0.5", "--max-fpr", "0").returncode == 0


def test_an_audit(tmp_path: Path) -> None:
    path = rows(tmp_path / "cases.jsonl", GOOD, BAD)
    done = verigold("audit", path, "--out", str(tmp_path / "out"), "--quiet")
    assert done.returncode == 0, done.stderr
    audit = json.loads((tmp_path / "out" / "audit.json").read_text(encoding="utf-8"))
    assert audit["confusion"]["labelled_correct"] == {"accepted": 1, "rejected": 0, "undecided": 0}
    assert audit["fnr"]["n"] == 1
    assert "metamorphic" not in audit
    assert "<html" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


MISTAKES: list[tuple[object, str]] = [
    ("{", "line 1: not JSON"), ({"response": "7"}, "line 1: field 'ground_truth' is missing"),
    ({"ground_truth": "7"}, "'response' is missing"), ({**GOOD, "response": 7}, "'response' must be str"),
    ({**GOOD, "verifier": "maths"}, "unknown verifier 'maths'"),
    ({**GOOD, "verifier_options": {"tol": 1}}, "no option 'tol'"),
    ({**GOOD, "ground_truth": [7]}, "'ground_truth' must be"), ("[1]\n", "expected a JSON object"), ("", "no rows"),
    ({**GOOD, "correct": "yes"}, "'correct' must be bool"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_bad_input_is_one_message(tmp_path: Path, line: object, message: str) -> None:
    from verifiers.audit import RowError, read_rows

    path = rows(tmp_path / "cases.jsonl", line)
    with pytest.raises(RowError) as error:
        read_rows(Path(path))
    assert message in str(error.value)
    assert "cases.jsonl" in str(error.value)


def test_bad_input_exits_2(tmp_path: Path) -> None:
    missing = verigold("verify", str(tmp_path / "absent.jsonl"))
    assert missing.returncode == 2
    assert "absent.jsonl" in missing.stderr
    assert "Traceback" not in missing.stderr
    (tmp_path / "latin.jsonl").write_bytes(b'{"response": "\xff"}\n')
    assert verigold("audit", str(tmp_path / "latin.jsonl"), "--out", str(tmp_path / "o")).returncode == 2
    assert verigold("verify", "--ground-truth", "7").returncode == 2
    assert verigold("verify", "--ground-truth", "7", "--response", "7", "--options", "{").returncode == 2
    assert verigold("verify", "--ground-truth", "7", "--response", "7", "--verifier", "x").returncode == 2


def unlabelled(path: Path, count: int) -> tuple[str, dict[str, bool]]:
    """Rows of the bundled graded responses without their labels, and the labels by response."""
    from verifiers.audit import read_rows

    found = read_rows(ROOT / "data" / "samples" / "graded_responses.jsonl.gz")[:count]
    lines = [
        {"id": row.id, "source": row.source, "verifier": row.verifier, "response": row.response}
        | {"ground_truth": row.ground_truth, "verifier_options": dict(row.options), "question": row.question}
        for row in found
    ]
    return rows(path, *lines), {row.response: bool(row.correct) for row in found}


def test_labelling_is_resumed_and_used(tmp_path: Path) -> None:
    file, truth = unlabelled(tmp_path / "rows.jsonl", 300)
    out = str(tmp_path / "out")
    label = ("audit", file, "--out", out, "--label", "--sample", "24", "--quiet")

    def answers() -> list[dict[str, object]]:
        return [json.loads(line) for line in (tmp_path / "out" / "labels.jsonl").read_text("utf-8").splitlines()]

    first = verigold(*label, given="maybe\ny\nn\ns\ny\nq\n")
    assert first.returncode == 0, first.stderr
    assert [answer["correct"] for answer in answers()] == [True, False, None, True]
    assert "verdict:" not in first.stdout
    assert {"question:", "gold:", "extracted:"} <= set(first.stdout.split())
    second = verigold(*label, "--show-verdict", given="y\nn\n" * 3)
    assert second.returncode == 0, second.stderr
    assert "3 labels are there already" in second.stdout
    assert "verdict:" in second.stdout
    assert len(answers()) == 10
    # a person who knows the truth
    labels = [answer | {"correct": truth[str(answer["response"])]} for answer in answers()]
    rows(tmp_path / "out" / "labels.jsonl", *labels)
    done = verigold("audit", file, "--out", out, "--max-fnr", "0.9", "--verifier", "math")
    assert done.returncode == 0, done.stderr
    assert "held against the estimates" in done.stderr
    audit = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert audit["estimated"]["labelled"] == 10
    assert audit["estimated"]["fnr"]["low"] <= audit["estimated"]["fnr"]["estimate"]
    assert sum(stratum["n"] for stratum in audit["estimated"]["strata"]) == 300
    assert [entry["name"] for entry in audit["agreement"]["verifiers"]] == ["named by row", "math"]
    assert "Estimated for all 300 responses" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_without_labels_nothing_is_claimed(tmp_path: Path) -> None:
    file, _ = unlabelled(tmp_path / "rows.jsonl", 60)
    out = tmp_path / "out"
    done = verigold("audit", file, "--out", str(out), "--verifier", "math", "--verifier", "qa")
    assert done.returncode == 0, done.stderr
    assert "not identified" in done.stdout
    audit = json.loads((out / "audit.json").read_text("utf-8"))
    assert "estimated" not in audit
    assert audit["fnr"]["estimate"] is None
    assert len(audit["agreement"]["pairs"]) == 1
    report = (out / "report.html").read_text("utf-8")
    assert "not identified" in report
    assert "60 responses, none of them labelled" in report.replace("\u00a0", " ")
    assert audit["metamorphic"]["verifiers"] == ["math", "qa"]
    kinds = audit["metamorphic"]["kinds"]
    assert all(side["n"] >= side["accepted"] >= 0 for entry in kinds.values() for side in entry["by_verifier"].values())
    assert kinds["any: no answer"]["by_verifier"]["math"]["wrongly"] == 0
    assert "Rewritings of the ground truths" in report
    assert "math: near misses not refused: 0 of" in done.stdout
    assert "qa: rewritings not accepted: " in done.stdout
    limit = verigold("audit", file, "--out", str(out), "--no-metamorphic", "--max-fnr", "0.1")
    assert limit.returncode == 2
    assert "no row has a label" in limit.stderr
    assert "metamorphic" not in json.loads((out / "audit.json").read_text("utf-8"))


def test_mistakes_of_an_audit(tmp_path: Path) -> None:
    path = rows(tmp_path / "cases.jsonl", GOOD, BAD)
    out = ("--out", str(tmp_path / "out"))
    unknown = verigold("audit", path, *out, "--verifier", "maths")
    assert unknown.returncode == 2
    assert "unknown verifier" in unknown.stderr
    assert verigold("audit", path, *out, "--verifier", "math", "--verifier", "math").returncode == 2
    labelled = verigold("audit", path, *out, "--label")
    assert labelled.returncode == 2
    assert "every row has a label" in labelled.stderr
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / "labels.jsonl").write_text("{", encoding="utf-8")
    damaged = verigold("audit", path, *out)
    assert damaged.returncode == 2
    assert "labels.jsonl: line 1: not JSON" in damaged.stderr
