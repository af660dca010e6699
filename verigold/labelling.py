"""A person labels rows in the terminal, one at a time, without seeing the verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from pipeline.atomic import write_text
from verifiers.audit import AuditResult
from verifiers.cases import LabelledRow
from verifiers.labelling import LABELS_FILE, Answer, Draw, labels_text, read_labels
from verifiers.verdict import Verdict
from verigold.report.words import shorten, visible

QUESTION_SHOWN, TAIL_SHOWN, ANSWER_SHOWN = 1_500, 1_500, 400
PROMPT = "Is the response right?  y(es)  n(o)  s(kip)  q(uit): "
_MEANING = {"y": True, "n": False, "s": None}


def label(result: AuditResult, folder: Path, *, sample: int, show_verdict: bool, console: Console) -> list[Answer]:
    """Asks until `folder` holds `sample` labels, no row is left, or the person quits; saves after every answer."""
    answers = read_labels(folder)
    draw = Draw(result, answers)
    done = sum(answer.correct is not None for answer in answers)
    if done:
        console.print(f"{done} labels are there already")
    while done < sample:
        place = draw.next()
        if place is None:
            console.print("no row is left to label")
            break
        verdict = result.verdicts[place] if show_verdict else None
        show(console, draw.rows[place], result.verdicts[place].extracted, verdict, f"{done + 1} of {sample}")
        key = ask(console)
        if key == "q":
            break
        answers.append(draw.answer(place, _MEANING[key]))
        write_text(folder / LABELS_FILE, labels_text(answers))
        done += key != "s"
    return answers


def show(console: Console, row: LabelledRow, extracted: str | None, verdict: Verdict | None, title: str) -> None:
    """One row as a person reads it; its text can neither format nor control the terminal."""
    gold = row.ground_truth if isinstance(row.ground_truth, str) else " or ".join(row.ground_truth)
    cut = len(row.response) - TAIL_SHOWN
    tail = row.response if cut <= 0 else f"({cut:,} characters before) … {row.response[-TAIL_SHOWN:]}"
    console.rule(title)
    fields = [
        ("question", shorten(row.question, QUESTION_SHOWN)),
        ("response", tail),
        ("extracted", shorten(extracted or "(nothing)", ANSWER_SHOWN)),
        ("gold", shorten(gold, ANSWER_SHOWN)),
    ]
    if verdict is not None:
        fields.append(("verdict", f"{verdict.status.value} ({verdict.reason})"))
    for name, value in fields:
        if value:
            console.print(Text.assemble((f"{name}: ", "bold"), visible(value)))


def ask(console: Console, prompt: str = PROMPT) -> str:
    """`y`, `n`, `s` or `q`: one key on a terminal, else one line. The end of the input quits."""
    read: Callable[[], str] = click.getchar if sys.stdin.isatty() else sys.stdin.readline
    while True:
        console.print(Text(prompt, style="bold"), end="")
        try:
            key = read().strip().lower()[:1]
        except EOFError:
            key = ""
        if not key and not sys.stdin.isatty():
            key = "q"
        console.print(key)
        if key in (*_MEANING, "q"):
            return key
