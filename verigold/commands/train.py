"""Train a policy on curated shards by a recipe; the same command again resumes.

\b
  verigold train data/recipes/train/addition.toml --set model=runs/base --set shards=runs/shards --out runs/addition
  verigold train recipe.toml --set algorithm=dr_grpo --set optimiser.lr=1e-4 --dry-run
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trainer.checkpoint import RunSummary


def command(
    recipe: Annotated[list[Path], typer.Argument(help="TOML recipes; later ones win over earlier ones.")],
    out: Annotated[Path | None, typer.Option("--out", help="Run folder; default: runs/NAME-OF-RECIPE.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="key=value, over the recipe; repeat it.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the resolved recipe and stop.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over, also with a changed recipe.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    from pipeline.config import dump
    from pipeline.progress import stderr_console
    from trainer.config import load_recipe

    config = load_recipe(recipe, settings or [])
    if dry_run:
        typer.echo(dump(config), nl=False)
        return
    from transformers.utils import logging

    from trainer.loop import train

    logging.disable_progress_bar()
    folder = out or Path("runs") / recipe[-1].stem
    summary = train(config, folder, console=stderr_console(quiet=quiet), fresh=fresh)
    if os.environ.get("RANK", "0") == "0":  # under torchrun one rank speaks
        typer.echo(
            f"{folder}: {_ending(summary)}, {summary.generated_tokens:,} generated tokens, {summary.wall_s:.1f} s"
        )
    if not summary.ended:
        typer.echo(f"verigold: stopped: {summary.detail}", err=True)
        raise typer.Exit(1)


def _ending(summary: RunSummary) -> str:
    """What an exit reason means, in words."""
    steps = f"{summary.steps} step{'' if summary.steps == 1 else 's'}"
    if summary.exit_reason == "steps":
        return f"done after {steps}"
    if summary.exit_reason == "tokens":
        return f"stopped at the token budget after {steps}"
    if summary.exit_reason == "no_signal":
        return f"stopped for want of a signal after {steps}"
    if summary.exit_reason == "nothing_learned":
        return f"nothing learned in {steps}"
    return f"stopped after {steps} ({summary.exit_reason})"
