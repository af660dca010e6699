"""Rules first: whatever a judge says, what the rules saw as no answer is never paid."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.verifiers.judges import Scoring, judge_of, save_tiny_judge, yes_to_all
from verifiers import Request, Status, verify_many
from verifiers.hybrid import MAY_BE_DECIDED, MAY_BE_TURNED, NEVER_OVERRULED, Asked, Hybrid, hybrid, in_share
from verifiers.judge import Judge
from verifiers.judge_attacks import ATTACKS, TARGETS, Attack, attacked
from verifiers.verdict import Verdict
from verigold.cli import build_app

ROOT = Path(__file__).resolve().parent.parent.parent
GRADED = ROOT / "data" / "samples" / "graded_responses.jsonl.gz"


def asked(response: str, gold: str | tuple[str, ...], verifier: str = "math", **more: object) -> Asked:
    request = Request(response=response, ground_truth=gold, verifier=verifier)
    return Asked(request=request, question="q", cut=bool(more.get("cut")))


def judged(items: list[Asked], judge: Judge, share: float = 1.0) -> Hybrid:
    rules = verify_many([one.request for one in items])
    return hybrid(items, rules, judge, share=share, seed=0)


def one(item: Asked, judge: Judge) -> Verdict:
    return judged([item], judge).verdicts[0]


# ---- the law -------------------------------------------------------------------------------------------------------


REASON_AT = {"incorrect": 0, "undecided": 0, "_none": 0, "Gold": 4}
"""Which argument of what makes a verdict, or the parts of one, is its reason."""


def reasons_in_the_code() -> set[str]:
    """Every reason that a verifier of a model's response may give to a verdict that is not correct."""
    found: set[str] = set()
    files = [*(ROOT / "verifiers").glob("*.py"), *(ROOT / "verifiers" / "answer").glob("*.py")]
    for path in files:
        if path.name in ("agreement.py", "peers.py"):
            continue
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in REASON_AT:
                reason = call.args[REASON_AT[call.func.id] :][:1]
                parts = [
                    part.value for argument in reason for part in ast.walk(argument) if isinstance(part, ast.Constant)
                ]
                found |= {text for text in parts if isinstance(text, str) and re.fullmatch(r"[a-z]+(?:-[a-z]+)*", text)}
    return found


def test_every_reason_has_its_place() -> None:
    """A new reason must be called one that a judge may turn, or one that it never may."""
    beyond = {"judged", "rubric", "judge-failed"}  # those that a judge gives
    groups = (NEVER_OVERRULED, MAY_BE_TURNED, MAY_BE_DECIDED)
    assert reasons_in_the_code() - frozenset().union(*groups) <= beyond
    assert sum(map(len, groups)) == len(frozenset().union(*groups))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.kind)
def test_an_always_yes_judge_pays_no_attack_where_rules_decide(attack: Attack) -> None:
    items = attacked(attack, TARGETS)
    found = judged(items, yes_to_all())
    paid = [place for place, verdict in enumerate(found.verdicts) if verdict.status is Status.CORRECT]
    assert set(paid) <= set(found.ballots), "paid without the judge having been asked"
    decided = [place for place in range(len(items)) if place not in found.ballots]
    assert not [items[place] for place in decided if found.verdicts[place].status is Status.CORRECT]


HEDGES = (
    "Either \\boxed{5} or \\boxed{6}.",
    "\\boxed{5}, \\boxed{6}, \\boxed{7}",
    "\\boxed{5 or 6}",
    "\\boxed{maybe 5}",
)


@pytest.mark.parametrize("response", HEDGES)
def test_a_choice_is_not_judged_where_the_rules_could_not_compare(response: str) -> None:
    item = asked(response, "\\frac{1}{")
    assert one(item, yes_to_all()).status is Status.UNDECIDED
    assert judged([item], yes_to_all()).counts["gold-unparsable"].withheld == {"several": 1}


def test_several_are_judged_where_the_ground_truth_has_several() -> None:
    assert one(asked("\\boxed{5 or 6}", "5, \\frac{1}{"), yes_to_all()).status is Status.CORRECT


texts = st.one_of(
    st.sampled_from(
        ["", "\\boxed{}", "<think>7", "7 or 8", "\\boxed{7} or \\boxed{8}", "print(7)", "{{ answer }}", "???"]
    ),
    st.text(max_size=30),
    st.integers(-99, 99).map(lambda n: f"\\boxed{{{n}}}"),
    st.text("()[]{}<>|\\:;,.!?#$%&*-_=+~^ \n", max_size=20),
)
golds = st.sampled_from(["7", "x+1", "Paris", "\\frac{1}{", "", "(1,2)", "B", "yes"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(texts, golds, st.sampled_from(["math", "qa", "choice"])), min_size=1, max_size=6))
def test_never_overruled(rows: list[tuple[str, str, str]]) -> None:
    items = [asked(response, gold, verifier) for response, gold, verifier in rows]
    rules = verify_many([item.request for item in items])
    found = hybrid(items, rules, yes_to_all(), share=1.0, seed=0)
    for rule, verdict in zip(rules, found.verdicts, strict=True):
        if rule.status is Status.CORRECT or rule.reason in NEVER_OVERRULED:
            assert verdict is rule
        if verdict is not rule:
            assert rule.reason in MAY_BE_TURNED | MAY_BE_DECIDED
    for count in found.counts.values():
        assert count.seen == count.eligible + sum(count.withheld.values())
        assert count.eligible >= count.drawn >= count.turned + count.split + count.failed


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(texts, golds), min_size=1, max_size=6), st.sampled_from([True, False, None]))
def test_a_judge_that_fails_or_splits_changes_nothing(rows: list[tuple[str, str]], said: bool | None) -> None:
    """Failing in the first order, in the second, or contradicting itself."""
    items = [asked(response, gold) for response, gold in rows]
    rules = verify_many([item.request for item in items])
    for judge in (
        judge_of(Scoring(lambda *_: None)),
        judge_of(Scoring(lambda _, order: said if order == 0 else None)),
        judge_of(Scoring(lambda _, order: order == 0)),
    ):
        found = hybrid(items, rules, judge, share=1.0, seed=0)
        for rule, verdict in zip(rules, found.verdicts, strict=True):
            assert verdict is rule


# ---- what it may do ------------------------------------------------------------------------------------------------


def test_agreement_turns_a_refusal_of_the_same_type() -> None:
    verdict = one(asked("\\boxed{Li'l Abner}", ("L'ABNER",), "qa"), yes_to_all())
    assert (verdict.status, verdict.reason) == (Status.CORRECT, "judged")
    assert "different" in verdict.detail
    assert one(asked("\\boxed{x-1}", "x+1"), yes_to_all()).status is Status.CORRECT


@pytest.mark.parametrize(
    ("response", "gold", "verifier"),
    [
        ("\\boxed{8}", "7", "math"),  # settled by arithmetic
        ("\\boxed{C}", "B", "math"),  # letters
        ("\\boxed{x}", "7", "math"),  # another type
        ("\\boxed{\\text{any real number}}", "7", "math"),
        ("\\boxed{(1,2)}", "7", "math"),
        ("C", "B", "choice"),
    ],
)
def test_what_is_settled_or_of_another_type_is_not_asked(response: str, gold: str, verifier: str) -> None:
    found = judged([asked(response, gold, verifier)], yes_to_all())
    assert not found.ballots
    assert found.verdicts[0].status is Status.INCORRECT


def test_a_response_that_the_budget_cut_is_not_asked() -> None:
    found = judged([asked("\\boxed{x-1}", "x+1", cut=True)], yes_to_all())
    assert found.counts["different"].withheld == {"cut": 1}


@pytest.mark.parametrize("says", [True, False])
def test_an_unreadable_gold_is_decided_by_agreement(says: bool) -> None:
    item = asked("So \\boxed{\\frac{1}{2}}", "\\frac{1}{")
    assert verify_many([item.request])[0].status is Status.UNDECIDED
    verdict = one(item, judge_of(Scoring(lambda *_: says)))
    assert verdict.status is (Status.CORRECT if says else Status.INCORRECT)
    for hack in ("print(7)", "\\boxed{???}", "Thought process:", "", "<think> \\boxed{7}"):
        assert one(asked(hack, "\\frac{1}{"), yes_to_all()).status is Status.UNDECIDED


def test_the_share_is_drawn_by_key() -> None:
    items = [asked(f"\\boxed{{x-{place}}}", "x+1") for place in range(400)]
    drawn = [in_share(item, item.request.response, 0.3, 0) for item in items]
    assert 80 < sum(drawn) < 160
    assert drawn == [in_share(item, item.request.response, 0.3, 0) for item in items]
    assert drawn != [in_share(item, item.request.response, 0.3, 1) for item in items]
    assert all(in_share(item, item.request.response, 1.0, 0) for item in items)
    assert not any(in_share(item, item.request.response, 0.0, 0) for item in items)
    found = judged(items[:40], yes_to_all(), share=0.3)
    assert found.counts["different"].drawn == len(found.ballots) == found.counts["different"].turned


# ---- the command, with a real model --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_judge(tmp_path_factory.mktemp("judge") / "tiny")


def rows_file(path: Path) -> Path:
    rows = [
        {"ground_truth": "x+1", "response": "\\boxed{x-1}", "correct": False},
        {"ground_truth": "L'ABNER", "response": "Li'l Abner", "correct": True, "verifier": "qa"},
        {"ground_truth": "7", "response": "\\boxed{7}", "correct": True},
        {"ground_truth": "7", "response": "\\boxed{8}", "correct": False},
        {"ground_truth": "\\frac{1}{", "response": "\\boxed{1}", "correct": False},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_audit_shows_what_the_judge_did(model: Path, tmp_path: Path) -> None:
    arguments = ["audit", str(rows_file(tmp_path / "rows.jsonl")), "--out", str(tmp_path / "a"), "--quiet"]
    result = CliRunner().invoke(build_app(), [*arguments, "--verifier", "hybrid", "--judge-engine", str(model)])
    assert result.exit_code == 0, result.output
    judge = json.loads((tmp_path / "a" / "audit.json").read_text())["judge"]
    assert judge["judges"][0]["prompt"] == "instruct"
    assert len(judge["judges"][0]["prompt_digest"]) == 16
    reasons = judge["reasons"]
    assert reasons["different"]["seen"] == 3
    assert reasons["different"]["withheld"] == {"settled": 1}
    assert reasons["gold-unparsable"]["drawn"] == 1
    for entry in reasons.values():
        assert entry["turned"] == entry["turned_right"] + entry["turned_wrong"]
    assert judge["rules"]["fnr"]["estimate"] == 0.5
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    assert "A judge behind the rules" in page
    assert "paired difference" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--verifier", "hybrid"], "give --judge-engine"),
        (["--judge-engine", "x"], "need --verifier hybrid"),
        (["--verifier", "hybrid", "--judge-engine", "{kind = "], "not a TOML table"),
        (["--verifier", "hybrid", "--judge-engine", "nowhere"], "no model there"),
        (["--verifier", "hybrid", "--judge-engine", "x", "--judge-prompt", "y"], "prompt"),
        (["--verifier", "hybrid", "--judge-engine", "x", "--judge-share", "2"], "--judge-share 2.0: must be"),
        (["--verifier", "hybrid", "--judge-engine", "x", "--judge-share", "nan"], "--judge-share nan: must be"),
        (["--judge-share", "0.5"], "need --verifier hybrid"),
    ],
)
def test_mistakes_are_told(options: list[str], said: str, tmp_path: Path) -> None:
    arguments = ["audit", str(rows_file(tmp_path / "rows.jsonl")), "--out", str(tmp_path / "a"), "--quiet"]
    result = CliRunner().invoke(build_app(), [*arguments, *options])
    assert result.exit_code == 2 or result.exception is not None
    assert said in result.output + str(result.exception)
