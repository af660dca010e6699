"""A person decides on suspected labels in the terminal; the decisions lie beside the quarantined rows."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from pipeline.decisions import (
    LABEL_RIGHT,
    LABEL_WRONG,
    Key,
    Suspect,
    decisions_path,
    read_decisions,
    read_suspects,
    write_decisions,
)
from verigold.labelling import ANSWER_SHOWN, QUESTION_SHOWN, ask
from verigold.report.words import shorten, visible

PROMPT = "Is the label right?  y(es)  n(o)  s(kip)  q(uit): "
_MEANING = {"y": LABEL_RIGHT, "n": LABEL_WRONG}


def decide(quarantine: Path, *, console: Console) -> str:
    """Asks for every suspect without a decision, saves after each, and says where they are and how to use them."""
    suspects, path = read_suspects(quarantine), decisions_path(quarantine)
    decisions: dict[Key, str] = read_decisions(path if path.exists() else None)
    waiting = [suspect for suspect in suspects if suspect.key not in decisions]
    for place, suspect in enumerate(waiting, start=1):
        show(console, suspect, f"{place} of {len(waiting)}")
        key = ask(console, PROMPT)
        if key == "q":
            break
        if key in _MEANING:
            decisions[suspect.key] = _MEANING[key]
            write_decisions(path, suspects, decisions)
    right = sum(decision == LABEL_RIGHT for decision in decisions.values())
    return (
        f"{len(decisions)} decisions ({right} labels right, {len(decisions) - right} wrong) in {path}\n"
        f'to use them: [stages.suspects] decisions = "{path}"'
    )


def show(console: Console, suspect: Suspect, title: str) -> None:
    """One suspect as a person reads it; its text can neither format nor control the terminal."""
    console.rule(title)
    for name, value in (
        ("question", shorten(suspect.question, QUESTION_SHOWN)),
        ("label", shorten(suspect.ground_truth, ANSWER_SHOWN)),
        (f"answer of {suspect.times} of {suspect.samples} samples", shorten(suspect.answer, ANSWER_SHOWN)),
    ):
        console.print(Text.assemble((f"{name}: ", "bold"), visible(value)))
