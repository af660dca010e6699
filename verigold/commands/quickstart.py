"""Run the whole job on real input: curate, audit, train, report. The same command again does what is missing.

\b
  verigold quickstart --out runs/quickstart
  verigold quickstart --set seed=1 --set max_generated_tokens=90000 --out runs/seed-1
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path("runs/quickstart"),
    recipe: Annotated[
        list[Path] | None, typer.Option("--recipe", help="TOML file over the default recipe; repeat it.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="key=value, over the recipe; repeat it.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the resolved recipe and stop.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    from pipeline.bundled import recipe as bundled
    from pipeline.config import dump
    from pipeline.progress import stderr_console
    from verigold.quickstart import load_config, run

    config = load_config([bundled("quickstart/default"), *(recipe or [])], settings or [])
    if dry_run:
        typer.echo(dump(config), nl=False)
        return
    summary = run(config, out, stderr_console(quiet=quiet), fresh=fresh)
    base, dapo, control = summary["base"], summary["train"]["dapo"], summary["train"]["control"]
    curated, audit = summary["curate"], summary["audit"]
    typer.echo(f"curated  {curated['rows_kept']:,} of {curated['rows_in']:,} real rows kept")
    typer.echo(f"audited  {audit['n']:,} graded responses: FNR {audit['fnr']:.1%}, FPR {audit['fpr']:.1%}")
    typer.echo(
        f"trained  pass@1 {base['pass_at_1']:.1%} -> {dapo['pass_at_1']:.1%} (control {control['pass_at_1']:.1%})"
    )
    typer.echo(f"report   {out / 'report.html'}")
