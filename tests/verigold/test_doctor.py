"""verigold doctor: its numbers by counting, its advice on planted troubles, and the command on a model that fails."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from engines.engine import Completion, Prompt, SamplingParams
from pipeline import addition
from pipeline.problem import Problem
from pipeline.shards import write_problems
from verigold.commands.doctor import command
from verigold.doctor import Case, DoctorSettings, Seen, draw, examine, measure, mixed_probability
from verigold.doctor_advice import Advice, advise, should_stop
from verigold.report.doctor import bins, document, render
from verigold.report.markdown import to_markdown

QUIET = Console(quiet=True)


def problems(n: int) -> list[Problem]:
    return list(addition.problems(n, 0))


@given(st.integers(0, 7), st.integers(0, 7), st.integers(2, 6))
def test_mixed_probability_counts_groups(right: int, wrong: int, size: int) -> None:
    samples = [True] * right + [False] * wrong
    groups = list(itertools.combinations(samples, min(size, len(samples))))
    mixed = sum(len(set(group)) == 2 for group in groups) / len(groups)
    assert mixed_probability(len(samples), right, size) == pytest.approx(mixed)


def seen(
    status: str = "incorrect", *, reason: str = "different", truncated: bool = False, next_turn: bool = False
) -> Seen:
    return Seen(status=status, reason=reason, truncated=truncated, tokens=5, next_turn=next_turn, response="7")


def case(*samples: Seen, source: str = "s", name: str = "x") -> Case:
    return Case(id=name, data_source=source, question="1 + 6 = ?", ground_truth="7", samples=samples)


def rated(rights: Sequence[int], of: int = 8) -> list[Case]:
    """Problems solved so many times each."""
    return [case(*(seen("correct" if place < right else "incorrect") for place in range(of))) for right in rights]


def codes(cases: list[Case]) -> tuple[list[str], bool]:
    advice = advise(measure(cases, DoctorSettings()))
    return [one.code for one in advice], should_stop(advice)


def test_numbers_of_a_pool() -> None:
    measured = measure(rated([0, 0, 4, 8]), DoctorSettings())
    assert measured["pass_at_1"]["estimate"] == pytest.approx(3 / 8)
    assert measured["pass_at_1"]["low"] <= 3 / 8 <= measured["pass_at_1"]["high"]
    assert (measured["unsolved"], measured["always_solved"]) == (2, 1)
    assert measured["mixed"]["estimate"] == pytest.approx(1 / 4)
    assert measured["groups_drawn_per_kept"] == pytest.approx(4)
    assert measured["rollouts_per_kept"] == pytest.approx(32)
    assert measured["tokens_per_kept"] == pytest.approx(160)
    assert [entry["problems"] for entry in measured["histogram"]] == [2, 0, 0, 0, 1, 0, 0, 0, 1]
    json.dumps(measured, allow_nan=False)


def test_undecided_samples_leave_the_rates_alone() -> None:
    half = case(seen("correct"), seen(), seen("undecided"), seen("undecided"))
    measured = measure([half, half], DoctorSettings(samples=4, group_size=4))
    assert measured["pass_at_1"]["estimate"] == 0.5
    assert measured["undecided"] == 0.5
    assert measured["mixed"]["estimate"] == 1.0


@pytest.mark.parametrize(
    ("cases", "code", "stop"),
    [
        (rated([0] * 40), "too-hard", True),
        (rated([8] * 40), "too-easy", True),
        (rated([0] * 39 + [8] * 30), "few-mixed", True),
        (rated([0] * 8 + [4] * 2), "low-yield", False),
        (rated([2, 4, 6, 3] * 5), "train", False),
        ([case(*[seen(truncated=True)] * 3, *[seen("correct")] * 2)] * 4, "truncated", True),
        ([case(*[seen(truncated=True)] * 2, *[seen("correct")] * 4)] * 4, "truncated", False),
        ([case(*[seen(truncated=True)] * 4, seen("correct", truncated=True))] * 4, "never-stops", True),
        ([case(seen("undecided"), seen("correct"), seen(), seen())] * 4, "undecided", True),
        ([case(*[seen(reason="no-answer")] * 3, seen("correct"))] * 4, "no-answer", True),
        ([case(*[seen(next_turn=True)] * 2, seen("correct"))] * 4, "next-turn", True),
    ],
)  # fmt: skip
def test_advice(cases: list[Case], code: str, stop: bool) -> None:
    found, stopped = codes(cases)
    assert code in found
    assert stopped == stop


def test_the_reasons_to_stop_come_first() -> None:
    both = [case(*[seen(truncated=True)] * 2, *[seen()] * 8)] * 4
    found, _ = codes(both)
    assert found.index("too-hard") < found.index("truncated")


def test_all_undecided_is_advice_and_no_crash() -> None:
    measured = measure([case(*[seen("undecided")] * 4)] * 3, DoctorSettings())
    advice = advise(measured)
    assert advice[0].code == "undecided"
    assert should_stop(advice)
    assert "could not be judged" in render(measured, advice)


def test_the_drawn_problems_do_not_depend_on_their_order() -> None:
    pool = problems(50)
    settings = DoctorSettings(problems=10)
    assert draw(pool, settings) == draw(pool[::-1], settings)
    assert draw(pool, settings) != draw(pool, DoctorSettings(problems=10, seed=1))


class Solver:
    """A sampler that is right on every other sample, and once goes on into the next turn."""

    digest = "solver"

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        for place, prompt in enumerate(prompts):
            message: Any = prompt[-1]
            left, right = message["content"].removesuffix("=?").split("+")
            for sample in range(params.n):
                text = f"\\boxed{{{int(left) + int(right) + sample % 2}}}" + ("\nUser: next" if sample == 3 else "")
                yield place, sample, Completion(text=text, token_ids=(1, 2), logprobs=None, finish_reason="stop")


def test_examine_judges_by_the_rows_own_verifier() -> None:
    settings = DoctorSettings(samples=4, group_size=4)
    cases = examine(Solver(), problems(70), settings, console=QUIET)
    assert len(cases) == 70
    assert all([one.status for one in found.samples][:3] == ["correct", "incorrect", "correct"] for found in cases)
    assert measure(cases, settings)["next_turn"] == 0.25


def test_the_page_shows_advice_histogram_and_samples_and_nothing_injected() -> None:
    evil = "<script>alert(1)</script>"
    sample = Seen(status="incorrect", reason="different", truncated=True, tokens=5, next_turn=False, response=evil)
    cases = [case(sample, sample, source="a"), case(seen("correct"), seen(), source="b")]
    measured = {"model": "m/base", "shards": "s/pool", **measure(cases, DoctorSettings(samples=2, group_size=2))}
    advice = advise(measured)
    page = render(measured, advice)
    assert evil not in page
    assert "Problems by pass rate" in page
    assert all(one.found in page for one in advice)
    assert sum(rows for _, rows in bins(measured)) == 2
    assert "By source" in to_markdown(document(measured, advice))


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(model, shards): random weights, so that nothing is right and hardly anything ends."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from trainer.warmstart import build_tokenizer

    folder = tmp_path_factory.mktemp("doctor")
    tokenizer: Any = build_tokenizer()
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    write_problems(folder / "pool", problems(8))
    return folder / "model", folder / "pool"


def test_the_command_on_a_model_that_fails(
    failing: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, shards = failing
    flags: dict[str, Any] = {"problems": 6, "samples": 4, "group_size": 4, "max_tokens": 4, "temperature": 1.0}
    with pytest.raises(typer.Exit) as stop:
        command(
            shards,
            str(model),
            **flags,
            instruction="",
            system=None,
            seed=0,
            endpoint=None,
            api_key_env=None,
            out=tmp_path,
            quiet=True,
        )
    assert stop.value.exit_code == 1
    printed = capsys.readouterr().out
    assert "too-hard" not in printed
    assert "Warm-start the model" in printed
    stored = json.loads((tmp_path / "doctor.json").read_text())
    assert {one["code"] for one in stored["advice"]} >= {"too-hard"}
    assert stored["samples"] == 24
    first = (tmp_path / "doctor.json").read_bytes()
    with pytest.raises(typer.Exit):
        command(
            shards,
            str(model),
            **flags,
            instruction="",
            system=None,
            seed=0,
            endpoint=None,
            api_key_env=None,
            out=tmp_path,
            quiet=True,
        )
    assert (tmp_path / "doctor.json").read_bytes() == first
    assert "<html" in (tmp_path / "doctor.html").read_text()


def test_a_good_word_is_one_advice() -> None:
    (only,) = advise(measure(rated([4] * 8), DoctorSettings()))
    assert only == Advice(kind="good", code="train", found=only.found, remedy=only.remedy)
    assert "100.0 %" in only.found
