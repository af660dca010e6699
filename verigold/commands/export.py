"""Write curated shards in the layout of a trainer that cannot read them as they are, with its reward function.

\b
  verigold export runs/real --format openrlhf --out runs/real-openrlhf
  verigold export runs/real --format slime --out runs/real-slime
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    shards: Annotated[Path, typer.Argument(help="Curated folder, or one Parquet file.")],
    name: Annotated[
        str, typer.Option("--format", help="openrlhf, prime-rl, nemo-rl, slime or verl-default.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.", show_default=False)],
    quiet: Annotated[bool, typer.Option("--quiet", help="No line about rows that are left out.")] = False,
) -> None:
    from pipeline.export import export
    from pipeline.exports import FORMATS
    from pipeline.progress import stderr_console

    found = export(shards, name, out)
    gone = sum(found.left_out.values())
    if gone:
        stderr_console(quiet=quiet).print(f"{gone:,} rows left out: {FORMATS[name].lost}")
    for split, rows in found.written.items():
        typer.echo(f"{out / f'{split}.parquet'}: {rows:,} rows")
    if not any(found.written.values()):
        raise typer.Exit(1)
    if FORMATS[name].reward is not None:
        typer.echo(f"{out / 'reward.py'}: the reward function; its first lines say how the trainer is given it")
