"""Print rows of a curated folder, rows it removed, or transcripts of a training run.

\b
  verigold show runs/quickstart/real --dropped dedupe --reason near-duplicate
  verigold show runs/quickstart/runs/dapo --step 10 --wrong
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A curated folder or a run folder.")],
    dropped: Annotated[
        str | None, typer.Option("--dropped", metavar="STAGE", help="Rows that this stage dropped.")
    ] = None,
    quarantined: Annotated[
        str | None, typer.Option("--quarantined", metavar="STAGE", help="Rows that this stage quarantined.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Split of the kept rows; default: train.", show_default=False)
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Only rows or verdicts with this reason.")] = None,
    step: Annotated[
        int | None, typer.Option("--step", min=0, help="Step of a run; default: the last one stored.")
    ] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="Only transcripts that are not correct.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Rows or transcripts to print.")] = 10,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line about what is not shown.")] = False,
) -> None:
    from pipeline.config import RecipeError
    from pipeline.progress import stdout_console
    from verigold.report import terminal
    from verigold.report.folders import Kind, detect

    kind = detect(folder)
    console = stdout_console()
    for_curated, for_runs = (dropped, quarantined, split), (step, wrong or None)
    if kind is Kind.CURATED and for_runs == (None, None):
        if sum(flag is not None for flag in for_curated) > 1:
            raise RecipeError("--dropped, --quarantined, --split: give one of them")
        if dropped is None and quarantined is None:
            terminal.show_kept(folder, console, split=split or "train", reason=reason, limit=limit, quiet=quiet)
        else:
            lost = ("dropped", dropped) if dropped is not None else ("quarantined", str(quarantined))
            terminal.show_lost(folder, console, *lost, reason=reason, limit=limit, quiet=quiet)
    elif kind is Kind.RUN and for_curated == (None, None, None):
        terminal.show_run(folder, console, step=step, wrong=wrong, reason=reason, limit=limit, quiet=quiet)
    elif kind in (Kind.CURATED, Kind.RUN):
        flags = "--step, --wrong" if kind is Kind.CURATED else "--dropped, --quarantined, --split"
        raise RecipeError(f"{folder}: is a {kind}; {flags} do not apply to it")
    else:
        article = "an" if kind[0] in "aeiou" else "a"
        raise RecipeError(
            f"{folder}: is {article} {kind}; show takes a curated folder (e.g. real/) or a run (e.g. runs/dapo)"
        )
