"""The functions that trainers call, and the pure shaping functions."""

import math

import pytest

from verifiers import Status, verify_math, workers
from verifiers.reward import compute_score, soft_overlong, trl_reward
from verifiers.verdict import undecided

KEYS = {"score", "correct", "undecided", "reason", "extracted"}


def test_verl_form_has_constant_keys() -> None:
    right = compute_score("gsm8k", r"so \boxed{7}", "7")
    wrong = compute_score("gsm8k", r"so \boxed{8}", "7", {"index": 3})
    open_ = compute_score("gsm8k", r"so \boxed{8}", "")
    empty = compute_score("gsm8k", "", "7")
    assert [set(item) for item in (right, wrong, open_, empty)] == [KEYS] * 4
    assert (right["score"], right["correct"], right["undecided"]) == (1.0, 1, 0)
    assert (wrong["score"], wrong["correct"], wrong["undecided"]) == (0.0, 0, 0)
    assert (open_["score"], open_["correct"], open_["undecided"]) == (0.0, 0, 1)
    assert all(
        isinstance(item["score"], float) and math.isfinite(item["score"]) for item in (right, wrong, open_, empty)
    )


def test_verl_form_reads_verifier_and_options() -> None:
    info = {"verifier": "qa", "verifier_options": '{"aliases": ["United States", "USA"]}'}
    assert compute_score("tqa", "the U.S.A.", "America", info)["score"] == 1.0
    assert compute_score("mc", "The answer is (C).", "C", {"verifier": "choice"})["score"] == 1.0
    measured = {"verifier_options": {"rel_tol": 0.01}}
    assert compute_score("stem", r"\boxed{10.05}", "10", measured)["score"] == 1.0
    assert compute_score("stem", r"\boxed{10.05}", "10", {"verifier_options": None})["score"] == 0.0
    assert compute_score("stem", "x", "10", None, verifier="math", unknown_setting=3)["score"] == 0.0


def test_a_wrong_recipe_raises() -> None:
    with pytest.raises(KeyError, match="unknown verifier"):
        compute_score("x", "7", "7", {"verifier": "maths"})
    with pytest.raises(TypeError):
        compute_score("x", "7", "7", {"verifier_options": {"tolerance": 1}})
    with pytest.raises(ValueError, match="JSON object"):
        compute_score("x", "7", "7", {"verifier_options": "[1]"})


def test_trl_form() -> None:
    completions = [
        r"\boxed{7}",
        [{"role": "assistant", "content": r"\boxed{8}"}],
        [{"role": "assistant", "content": r"\boxed{9}"}],
        [{"role": "assistant", "content": None}],
    ]
    rewards = trl_reward(completions, ground_truth=["7", "7", "", "7"], prompts=["?"] * 4)
    assert rewards == [1.0, 0.0, None, 0.0]
    assert trl_reward([r"\boxed{7}"], reward_model=[{"style": "rule", "ground_truth": "7"}]) == [1.0]
    assert trl_reward([r"\boxed{7}"], solution=[r"\boxed{7}"]) == [1.0]
    assert trl_reward(["paris"], solution=["Paris"], verifier=["qa"], verifier_options=["{}"]) == [1.0]
    assert trl_reward([], ground_truth=[]) == []
    with pytest.raises(KeyError, match="no column"):
        trl_reward(["7"], answer=["7"])


def towers(base: int) -> list[str]:
    """Answers that no budget decides: towers of powers, huge factorials, open sums and integrals."""
    tower = f"{base}^{{{base}^{{{base}^{{{base}}}}}}}"
    shapes = (tower, f"{tower} - {tower} + 13", f"({base}!)!!", rf"\sum_{{k=1}}^{{{tower}}} k", rf"{tower} \bmod 13",
              rf"\int_0^{{{tower}}} e^{{e^x}}\,dx", "(" * 300 + str(base) + ")" * 300, f"{base}" * 4000)  # fmt: skip
    return [rf"\boxed{{{shape}}}" for shape in shapes]


@pytest.mark.parametrize("gold", ["12", r"\sum_{k=1}^{n} k", r"\int_0^1 x^2\,dx"])
def test_undecidable_towers_earn_nothing(gold: str) -> None:
    """A policy that writes towers earns no more than one that answers wrongly: nothing is masked, nothing is paid."""
    hostile = [text for base in (3, 7, 11) for text in towers(base)]
    honest = [rf"\boxed{{{number}}}" for number in range(13, 13 + len(hostile))]
    scores, wrong = ([compute_score("x", text, gold) for text in texts] for texts in (hostile, honest))
    assert [score["score"] for score in scores] == [score["score"] for score in wrong] == [0.0] * len(hostile)
    assert not any(score["undecided"] for score in scores)
    golds = [gold] * len(hostile)
    assert trl_reward(hostile, ground_truth=golds) == trl_reward(honest, ground_truth=golds) == [0.0] * len(hostile)


def test_soft_overlong() -> None:
    assert soft_overlong(10, 100, 20) == 0.0
    assert soft_overlong(80, 100, 20) == 0.0
    assert soft_overlong(90, 100, 20) == -0.5
    assert soft_overlong(100, 100, 20) == -1.0
    assert soft_overlong(500, 100, 20) == -1.0
    with pytest.raises(ValueError, match="cache_tokens"):
        soft_overlong(1, 100, 0)


def test_undecided_has_no_number() -> None:
    verdict = undecided("gold-empty")
    assert verdict.status is Status.UNDECIDED
    assert math.isnan(verdict.score)
    assert verify_math("7", "").reason == "gold-empty"


def test_a_response_that_kills_its_workers_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also against a gold that needs a worker itself; only a machine that gives no CPU leaves it undecided."""

    def fail(kind: str) -> str:
        def ask(*_: object) -> None:
            raise workers.WorkerFailure(kind)

        monkeypatch.setattr(workers, "ask", ask)
        return str(verify_math(r"\boxed{\int_0^2 x^2\,dx}", r"\int_0^1 x^2\,dx").status)

    assert [fail(kind) for kind in ("cpu-limit", "died", "wall-limit")] == ["incorrect", "incorrect", "undecided"]
