"""The judge of `verigold audit --verifier hybrid`: its options, and what it changes, on the console and as JSON."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pipeline.config import Layer, RecipeError, build
from pipeline.judging import JudgeConfig, Panel
from pipeline.judging import open_panel as open_configured
from pipeline.progress import progress
from verifiers.audit import AuditResult
from verifiers.hybrid import hybrid
from verifiers.judge_audit import asked_of, judge_audit

HYBRID = "hybrid"
ANSWERS_FILE = "judge.sqlite"
"""Beside audit.json: what a server answered, so that the same audit again does not pay twice."""


def open_panel(
    names: Sequence[str], engines: Sequence[str], prompts: Sequence[str], share: float | None, *, out: Path
) -> Panel | None:
    """The judge that the options ask for; None without `--verifier hybrid`. Raises RecipeError."""
    if HYBRID not in names:
        if engines or prompts or share is not None:
            raise RecipeError("--judge-engine, --judge-prompt, --judge-share: need --verifier hybrid")
        return None
    share = 1.0 if share is None else share
    if not 0 <= share <= 1:
        raise RecipeError(f"--judge-share {share}: must be between 0 and 1")
    if len(engines) not in (1, 2) or len(prompts) > len(engines):
        raise RecipeError("--verifier hybrid: give --judge-engine once, or twice, and --judge-prompt at most as often")
    table: dict[str, Any] = {"share": share}
    for key, prompt_key, place in (("engine", "prompt", 0), ("second", "second_prompt", 1)):
        table |= {key: _engine_table(engines[place])} if place < len(engines) else {}
        table |= {prompt_key: prompts[place]} if place < len(prompts) else {}
    config = build(JudgeConfig, [Layer(name="--judge-engine", base=Path.cwd(), table=table)])
    out.mkdir(parents=True, exist_ok=True)
    return open_configured(config, seed=0, cache=out / ANSWERS_FILE)


def _engine_table(text: str) -> dict[str, Any]:
    """A recipe's table, or the folder of a model in this process."""
    if not text.lstrip().startswith("{"):
        return {"kind": "torch", "model": text}
    try:
        return tomllib.loads(f"engine = {text}")["engine"]
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"--judge-engine {text}: not a TOML table ({error})") from None


def judged_behind_rules(result: AuditResult, panel: Panel, console: Console) -> dict[str, Any]:
    """`judge` of audit.json; a summary goes to stdout."""
    asked = asked_of(result.rows)
    with progress(console, "audit: judge", None) as advance:
        found = hybrid(asked, result.verdicts, panel.judge, share=panel.share, seed=panel.seed, advance=advance)
    judge = judge_audit(result, found, panel.describe())
    for line in summary_lines(judge):
        typer.echo(line)
    return {"judge": judge}


def summary_lines(judge: Mapping[str, Any]) -> list[str]:
    """One line a reason that was judged, then the error rates of rules and hybrid."""
    lines = [
        f"{reason}: {entry['seen']:,} seen, {entry['drawn']:,} judged, {entry['turned']:,} turned "
        f"({entry['turned_right']:,} rightly), {entry['split']:,} split, {entry['failed']:,} failed"
        for reason, entry in judge["reasons"].items()
        if entry["drawn"]
    ]
    for name in ("accuracy", "fnr", "fpr"):
        rules, both = judge["rules"][name]["estimate"], judge["hybrid"][name]["estimate"]
        if rules is not None:
            lines.append(
                f"{name}: rules {rules:.2%}, hybrid {both:.2%}, difference {_signed(judge['difference'][name])}"
            )
    return lines


def _signed(value: Mapping[str, Any]) -> str:
    estimate, low, high = (value[key] for key in ("estimate", "low", "high"))
    return f"{estimate:+.2%}" + ("" if low is None else f" [{low:+.2%}, {high:+.2%}]")
