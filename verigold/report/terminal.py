"""Rows and transcripts on a terminal. What they contain is untrusted: control characters are shown, never obeyed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pipeline.config import RecipeError
from verigold.report.blocks import Tone, verdict_tone, verdict_words
from verigold.report.folders import Json, Run, read_jsonl, read_run
from verigold.report.ledger import KINDS, drop_file, evidence_fields, evidence_of, others, read_parquet
from verigold.report.words import count, number, one_line, percent, plural, visible

STYLES: dict[Tone, str] = {"good": "green", "bad": "red", "unsure": "yellow", "muted": "dim", "plain": ""}
QUESTION, GOLD = 300, 60
"""Characters of a text in one row."""
KEPT_COLUMNS = ("id", "source", "question", "gold", "form", "pass rate")
TABLE_FROM, BESIDE_FROM = 72, 48
"""Columns of the screen from which rows are a table, and texts stand beside their labels."""


def show_kept(
    folder: Path,
    console: Console,
    *,
    split: str = "train",
    reason: str | None = None,
    limit: int = 10,
    quiet: bool = False,
) -> None:
    """Kept rows of one split, as a table where there is room for one. Raises RecipeError for an unknown split."""
    if reason is not None:
        raise RecipeError("--reason: kept rows have none; add --dropped STAGE or --quarantined STAGE")
    rows, total = _kept(folder, split, limit)
    if console.width >= TABLE_FROM:
        console.print(_grid(KEPT_COLUMNS, rows))
    else:
        for row in rows:
            fields = [(label, text) for label, text in zip(KEPT_COLUMNS[2:], row[2:], strict=True) if text]
            _print_record(console, row[:2], fields)
    _tell_rest(console, len(rows), total, "row", quiet)


def show_lost(
    folder: Path,
    console: Console,
    kind: str,
    stage: str,
    *,
    reason: str | None = None,
    limit: int = 10,
    quiet: bool = False,
) -> None:
    """Rows that one stage dropped or quarantined, each with its evidence and the texts of the rows that this names.

    Raises RecipeError for an unknown stage or reason.
    """
    rows, total = _lost(folder, kind, stage, reason, limit)
    texts = others(folder, rows)
    for row in rows:
        fields = [("question", one_line(row["question"] or "(empty)", QUESTION))]
        fields.append(("gold", one_line(row["ground_truth"] or "(none)", GOLD)))
        fields += [
            (field.label, one_line(field.text, QUESTION))
            for field in evidence_fields(evidence_of(row["evidence"]), texts)
        ]
        _print_record(console, [visible(row["source_row"] or ""), row["reason"] or ""], fields)
    _tell_rest(console, len(rows), total, "row", quiet)


def _kept(folder: Path, split: str, limit: int) -> tuple[list[list[str]], int]:
    import pyarrow.parquet as pq

    from pipeline.shards import shard_paths

    rows: list[list[str]] = []
    total = 0
    for path in shard_paths(folder, split):
        if len(rows) < limit:
            columns = ["id", "data_source", "prompt", "reward_model", "extra_info", "pass_rate"]
            found = read_parquet(path, columns).slice(0, limit - len(rows)).to_pylist()
            rows += [_kept_row(row) for row in found]
        total += pq.read_metadata(path).num_rows
    return rows, total


def _kept_row(row: Json) -> list[str]:
    return [
        row["id"][:8],
        row["data_source"],
        one_line(row["prompt"][-1]["content"], QUESTION),
        one_line(row["reward_model"]["ground_truth"], GOLD),
        row["extra_info"]["integer_form"] or "",
        percent(number(row["pass_rate"])),
    ]


def _lost(folder: Path, kind: str, stage: str, reason: str | None, limit: int) -> tuple[list[Json], int]:
    path = drop_file(folder, kind, stage)
    if not path.is_file():
        raise RecipeError(f"{folder}: no rows {kind} at stage '{stage}'; {_stages_with_rows(folder)}")
    table = read_parquet(path)
    if reason is not None:
        known = sorted(table.column("reason").unique().to_pylist())
        if reason not in known:
            raise RecipeError(f"{path}: no row with reason '{reason}'; reasons here: {', '.join(known)}")
        table = table.filter(pc.field("reason") == reason)
    return table.slice(0, limit).to_pylist(), table.num_rows


def _stages_with_rows(folder: Path) -> str:
    found = [f"--{kind} {path.stem}" for kind in KINDS for path in sorted((folder / kind).glob("[!.]*.parquet"))]
    return f"there are: {', '.join(found)}" if found else "no stage removed any"


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(
            column,
            overflow="fold",
            ratio=1 if column == "question" else None,
            justify="right" if column == "pass rate" else "left",
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _print_record(console: Console, head: Sequence[str], fields: Sequence[tuple[str, str]]) -> None:
    """A row as labelled lines: texts beside their labels, or below them where the screen is narrow."""
    console.print(Text("  ".join(part for part in head if part), style="bold"), overflow="fold")
    beside = console.width >= BESIDE_FROM
    body = Table.grid(padding=(0, 2, 0, 0) if beside else 0)
    if beside:
        body.add_column(no_wrap=True, width=max((len(label) for label, _ in fields), default=0))
    body.add_column(overflow="fold")
    for label, text in fields:
        cells = (Text(label, style="dim"), Text(text))
        body.add_row(*(cells if beside else [Text(": ").join(cells)]))
    console.print(Padding(body, (0, 0, 1, 2)))


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
    place = "demonstration" if sample.get("demonstration") else f"sample {sample.get('sample')}"
    facts = [f"problem {sample.get('id')}", place, *_numbers(sample)]
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
