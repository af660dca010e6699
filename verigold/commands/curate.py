"""Raw rows to curated shards: a recipe's sources through its stages into a folder that trainers read.

\b
  verigold curate data/recipes/curate/real.toml --out runs/real
  verigold curate real.toml --out runs/real --set rows_per_shard=4096 --dry-run
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    recipes: Annotated[list[Path], typer.Argument(help="Recipe files; later ones win.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Folder for shards, drops, card and manifest.")] = Path(
        "runs/curated"
    ),
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="key=value, e.g. stages.dedupe.max_bucket=500.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes; the bytes do not depend on it.", min=1)] = None,
    executor: Annotated[
        str | None, typer.Option(metavar="local|ray", help="Where stages run; default: the recipe's, else local.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier outputs in this folder.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the resolved recipe and stop.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    from pipeline.config import RecipeError, dump, load
    from pipeline.executor import EXECUTORS, TERMINATED, ending_on_sigterm
    from pipeline.progress import stderr_console
    from pipeline.run import CurateConfig, curate

    if executor not in (None, *EXECUTORS):
        raise RecipeError(f"--executor {executor}: there is none of this name; give {' or '.join(EXECUTORS)}")
    chosen = [] if executor is None else [f'executor="{executor}"']
    config = load(CurateConfig, recipes, [*(overrides or []), *chosen])
    if dry_run:
        typer.echo(dump(config), nl=False)
        return
    try:
        with ending_on_sigterm():
            manifest = curate(config, out, console=stderr_console(quiet=quiet), workers=workers, fresh=fresh)
    except SystemExit as stop:
        if stop.code == TERMINATED:
            typer.echo("verigold: terminated; the same command goes on from here", err=True)
        raise
    typer.echo(_summary(manifest, out))


def _summary(manifest: dict, out: Path) -> str:
    lines = [f"{out}: {manifest['rows_kept']:,} of {manifest['rows_in']:,} rows kept"]
    for kind in ("dropped", "quarantined"):
        for stage, reasons in manifest[kind].items():
            shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
            lines.append(f"  {kind} by {stage}: {shown}")
    return "\n".join(lines)
