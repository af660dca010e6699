"""Measure how often the verifier is wrong on labelled responses, and write a report.

\b
  verigold audit data/samples/graded_responses.jsonl.gz --out runs/audit
  verigold audit cases.jsonl --out runs/audit --max-fnr 0.02 --max-fpr 0.01
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON Lines with ground_truth, response, correct and optionally verifier, verifier_options, "
            "category, source, id."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for audit.json and report.html.")],
    max_fnr: Annotated[float | None, typer.Option("--max-fnr", help="Exit 1 above this false negative rate.")] = None,
    max_fpr: Annotated[float | None, typer.Option("--max-fpr", help="Exit 1 above this false positive rate.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; by default one a core.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    from pipeline.atomic import write_text
    from pipeline.config import RecipeError
    from pipeline.progress import stderr_console
    from verifiers.audit import RowError, exceeded, read_rows, run_audit
    from verigold.commands.verify import print_table
    from verigold.report.audit import render

    console = stderr_console(quiet=quiet)
    try:
        rows = read_rows(file)
    except RowError as error:
        raise RecipeError(str(error)) from None
    console.print(f"audit: {len(rows):,} rows of {file}")
    result = run_audit(rows, workers=workers)
    audit = result.to_json()
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "audit.json", json.dumps(audit, ensure_ascii=False, indent=1) + "\n")
    write_text(out / "report.html", render(audit))
    print_table(result)
    typer.echo(f"report: {out / 'report.html'}")
    failed = exceeded(result.rates(), (("fnr", max_fnr), ("fpr", max_fpr)))
    for line in failed:
        console.print(f"audit: {line}")
    if failed:
        raise typer.Exit(1)
