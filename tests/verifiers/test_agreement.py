"""Several verifiers on the same rows: bounds that hold, and math-verify in children that can be killed."""

import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers import peers
from verifiers.agreement import Side, compare, verdicts_of
from verifiers.audit import LabelledRow, read_rows, run_audit
from verifiers.peers import MATH_VERIFY, PEERS, PeerMissing
from verifiers.verdict import Verdict, correct, incorrect, undecided
from verifiers.workers import WorkerFailure

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "samples" / "graded_responses.jsonl.gz"
KINDS = (correct("exact", "7"), incorrect("different", "8"), undecided("gold-unparsable"))


def row(index: int, label: bool | None) -> LabelledRow:
    return LabelledRow(id=str(index), ground_truth="7", response=f"{index}", correct=label)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), *[st.sampled_from(KINDS)] * 3), min_size=1, max_size=60))
def test_the_bounds_never_exceed_the_true_error_rates(table: list[tuple[bool, Verdict, Verdict, Verdict]]) -> None:
    rows = [row(index, None) for index in range(len(table))]
    sides = [Side(name=str(j), verdicts=tuple(line[1:][j] for line in table)) for j in range(3)]
    found = compare(list(zip(rows, sides[0].verdicts, strict=True)), sides)
    errors = [
        sum((verdict.status == "correct") != line[0] for verdict, line in zip(side.verdicts, table, strict=True))
        / len(table)
        for side in sides
    ]
    assert found["all"]["sum_of_error_rates_at_least"] <= sum(errors) + 1e-9
    assert found["all"]["worst_error_rate_at_least"] <= max(errors) + 1e-9
    for pair in found["pairs"]:
        both = errors[int(pair["a"])], errors[int(pair["b"])]
        assert pair["disagree"]["estimate"] <= sum(both) + 1e-9
        assert pair["worse_of_the_two_at_least"]["estimate"] <= max(both) + 1e-9
        assert len(pair["examples"]) == min(12, pair["only_a_accepts"] + pair["only_b_accepts"])
        assert pair["only_a_accepts"] + pair["only_b_accepts"] == round(pair["disagree"]["estimate"] * len(table))


def test_no_error_rates_without_labels_and_counted_ones_with_all() -> None:
    rows = read_rows(SAMPLE)[:300]
    sides = [Side(name=name, verdicts=tuple(verdicts_of(name, rows, workers=1))) for name in ("math", "qa")]
    own = run_audit(rows, workers=1)
    bare = [(replace(item, correct=None), verdict) for item, verdict in own.pairs]
    found = compare(bare, sides)
    assert all("fnr" not in entry and "fpr" not in entry for entry in found["verifiers"])
    assert len(found["not_identified"]) == 3
    labelled = compare(own.pairs, [*sides, Side(name="own", verdicts=own.verdicts)])
    assert labelled["not_identified"] == []
    assert labelled["verifiers"][2]["fnr"] == own.to_json()["fnr"]
    few = [(item if index % 3 == 0 else replace(item, correct=None), v) for index, (item, v) in enumerate(own.pairs)]
    for entry, whole in zip(compare(few, sides)["verifiers"], labelled["verifiers"], strict=False):
        for name in ("fnr", "fpr"):
            assert entry[name]["low"] <= whole[name]["estimate"] <= entry[name]["high"]


def test_math_verify_runs_in_children_from_a_thread() -> None:
    rows = [
        LabelledRow(id="1", ground_truth=r"\frac{1}{2}", response=r"so \boxed{0.5}"),
        LabelledRow(id="2", ground_truth="7", response=r"\boxed{8}"),
        LabelledRow(id="3", ground_truth=("6", "7"), response="7"),
        LabelledRow(id="4", ground_truth="7", response="{" * 5_000),
    ]
    found: list[Verdict] = []
    asked = threading.Thread(target=lambda: found.extend(verdicts_of(MATH_VERIFY, rows, workers=1)))
    asked.start()
    asked.join()
    assert [verdict.status for verdict in found][:3] == ["correct", "incorrect", "correct"]
    assert found[3].status != "correct"
    assert not any("verifiers.peers" in " ".join(child.cmdline()) for child in psutil.Process().children())


def test_a_child_that_does_not_answer_in_time_is_killed() -> None:
    worker = peers.start(MATH_VERIFY)
    tower = r"\boxed{5^{\left(5^{\left(5^5\right)}\right)} - 4}"
    slow = {"golds": [r"\frac{5^{2017}-5}{4}"], "response": tower, "source": "all"}
    with pytest.raises(WorkerFailure) as failure:
        worker.ask(slow, 0.0)
    assert failure.value.kind == "wall-limit"
    assert worker.process.poll() is not None


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_is_not_installed_is_one_message(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(PeerMissing, match=r"is not installed for .*pip install") as error:
        verdicts_of(name, [row(1, None)])
    assert str(error.value).startswith(f"{name}: ")


def test_a_peer_whose_import_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trl").mkdir()
    (tmp_path / "trl" / "__init__.py").write_text("raise ImportError('no accelerate here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PeerMissing, match="no accelerate here"):
        peers.start("trl")


def test_what_a_peer_says_becomes_a_status() -> None:
    def judged(*answers: bool | None, response: str = r"\boxed{7}") -> str:
        said = iter(answers)
        return peers.judge(lambda *_: next(said), ["7", "8"][: len(answers)], response, "all")["status"]

    assert [judged(True), judged(False), judged(None)] == ["correct", "incorrect", "undecided"]
    assert judged(False, True) == "correct"
    assert judged(False, True, response="7") == "correct"

    def broken(*_: str) -> bool:
        raise RecursionError

    assert peers.judge(broken, ["7"], "7", "all") == {"status": "incorrect", "reason": "error-RecursionError"}
