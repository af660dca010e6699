"""Rows and transcripts on a terminal. What they contain is untrusted: control characters are shown, never obeyed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.config import RecipeError
from verigold.report.blocks import Tone, verdict_tone, verdict_words
from verigold.report.folders import Json, Run, read_jsonl, read_run
from verigold.report.ledger import KINDS, drop_file, read_parquet
from verigold.report.words import count, number, one_line, percent, plural, visible

STYLES: dict[Tone, str] = {"good": "green", "bad": "red", "unsure": "yellow", "muted": "dim", "plain": ""}
QUESTION, GOLD, EVIDENCE = 160, 40, 160
"""Characters of a text in one row."""


def show_curated(
    folder: Path,
    console: Console,
    *,
    dropped: str | None = None,
    quarantined: str | None = None,
    reason: str | None = None,
    limit: int = 10,
    quiet: bool = False,
) -> None:
    """Kept rows, or those that one stage dropped or quarantined. Raises RecipeError for an unknown stage or reason."""
    stage = dropped or quarantined
    if stage is None and reason is not None:
        raise RecipeError("--reason: kept rows have none; add --dropped STAGE or --quarantined STAGE")
    if stage is None:
        rows, total = _kept(folder, limit)
        columns = ("id", "source", "question", "gold", "form", "pass rate")
    else:
        rows, total = _lost(folder, "dropped" if dropped else "quarantined", stage, reason, limit)
        columns = ("row", "reason", "question", "gold", "evidence")
    console.print(_grid(columns, rows))
    _tell_rest(console, len(rows), total, "row", quiet)


def _kept(folder: Path, limit: int) -> tuple[list[list[str]], int]:
    import pandas as pd

    from pipeline.shards import shard_paths

    columns = ["id", "data_source", "prompt", "reward_model", "extra_info", "pass_rate"]
    tables = [read_parquet(path, columns) for path in shard_paths(folder)]
    frame = pd.concat([table.slice(0, limit).to_pandas() for table in tables]).head(limit)
    rows = [
        [
            row["id"][:8],
            row["data_source"],
            one_line(row["prompt"][-1]["content"], QUESTION),
            one_line(row["reward_model"]["ground_truth"], GOLD),
            row["extra_info"]["integer_form"] or "",
            percent(number(row["pass_rate"])),
        ]
        for row in frame.to_dict("records")
    ]
    return rows, sum(table.num_rows for table in tables)


def _lost(folder: Path, kind: str, stage: str, reason: str | None, limit: int) -> tuple[list[list[str]], int]:
    path = drop_file(folder, kind, stage)
    if not path.is_file():
        raise RecipeError(f"{folder}: no rows {kind} at stage '{stage}'; {_stages_with_rows(folder)}")
    frame = read_parquet(path).to_pandas()
    if reason is not None:
        known = sorted(frame["reason"].unique())
        frame = frame[frame["reason"] == reason]
        if frame.empty:
            raise RecipeError(f"{path}: no row with reason '{reason}'; reasons here: {', '.join(known)}")
    rows = [
        [
            visible(row["source_row"]),
            row["reason"],
            one_line(row["question"] or "", QUESTION),
            one_line(row["ground_truth"] or "", GOLD),
            one_line(row["evidence"] or "", EVIDENCE),
        ]
        for row in frame.head(limit).to_dict("records")
    ]
    return rows, len(frame)


def _stages_with_rows(folder: Path) -> str:
    found = [f"--{kind} {path.stem}" for kind in KINDS for path in sorted((folder / kind).glob("[!.]*.parquet"))]
    return f"there are: {', '.join(found)}" if found else "no stage removed any"


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        narrow = column not in ("question", "evidence")
        table.add_column(
            column, overflow="fold", ratio=None if narrow else 1, justify="right" if column == "pass rate" else "left"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def show_run(
    folder: Path,
    console: Console,
    *,
    step: int | None = None,
    wrong: bool = False,
    reason: str | None = None,
    limit: int = 10,
    quiet: bool = False,
) -> None:
    """Transcripts of one step, the last one by default. Raises RecipeError when that step was not stored."""
    run = read_run(folder)
    path = _rollout_file(run, step)
    samples = [sample for sample in read_jsonl(path) if _wanted(sample, wrong, reason)]
    for sample in samples[:limit]:
        console.print(transcript(sample))
    _tell_rest(console, min(limit, len(samples)), len(samples), "transcript", quiet, f" of {path.stem}")


def _wanted(sample: Json, wrong: bool, reason: str | None) -> bool:
    return not (wrong and sample.get("status") == "correct") and reason in (None, sample.get("reason"))


def _rollout_file(run: Run, step: int | None) -> Path:
    by_step = {int(path.stem.removeprefix("step-")): path for path in run.rollout_files if path.stem[5:].isdigit()}
    if not by_step:
        raise RecipeError(f"{run.path}: no rollouts stored here; show a run that has finished a step")
    chosen = max(by_step) if step is None else step
    if chosen not in by_step:
        raise RecipeError(f"{run.path}: no rollouts of step {chosen}; stored steps: {min(by_step)} to {max(by_step)}")
    return by_step[chosen]


def transcript(sample: Json) -> Text:
    """Prompt, response and gold of one sample under its verdict, in words and colour."""
    status = str(sample.get("status") or "")
    style = STYLES[verdict_tone(status)]
    text = Text()
    facts = [f"problem {sample.get('id')}", f"sample {sample.get('sample')}", *_numbers(sample)]
    text.append(f"{verdict_words(status)} ({visible(str(sample.get('reason')))})", style=f"bold {style}".strip())
    text.append(visible(f"  {', '.join(facts)}\n"), style="dim")
    for label, key in (("prompt", "question"), ("response", "response"), ("gold", "ground_truth")):
        text.append(f"{label:<9}", style="dim")
        shown = visible(_joined(sample.get(key))).replace("\n", "\n" + " " * 9)
        text.append(f"{shown}\n", style=style if key == "response" else "")
    return text


def _numbers(sample: Json) -> list[str]:
    values = {name: number(sample.get(name)) for name in ("reward", "advantage")}
    found = [f"{name} {value:+.3g}" for name, value in values.items() if value is not None]
    tokens = number(sample.get("tokens"))
    return found if tokens is None else [*found, plural(int(tokens), "token")]


def _joined(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _tell_rest(console: Console, shown: int, total: int, noun: str, quiet: bool, place: str = "") -> None:
    if not quiet:
        console.print(Text(f"{count(shown)} of {count(total)} {noun}{'' if total == 1 else 's'}{place}", style="dim"))
