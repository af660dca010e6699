"""Draw the report on a curated folder, an audit, a training run (several: compared) or a quick start.

\b
  verigold report runs/quickstart/real --out real.html
  verigold report runs/quickstart/runs/dapo runs/quickstart/runs/control --out compared.html
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How the report is written."""

    HTML = "html"
    MD = "md"


def command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Folders that verigold wrote; several runs are compared.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write; - for stdout. Default: report.html in the one folder.")
    ] = None,
    form: Annotated[Format | None, typer.Option("--format", help="Default: by the ending of --out, else html.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    from pipeline.atomic import write_text
    from pipeline.config import RecipeError
    from verigold.report.make import render

    chosen = form or (Format.MD if out is not None and out.suffix.lower() in (".md", ".markdown") else Format.HTML)
    if out is None and (len(folders) != 1 or not folders[0].is_dir()):
        raise RecipeError("--out: needed when the report is not on one folder; give the file to write")
    if out is not None and out.is_dir():
        raise RecipeError(f"--out {out}: is a folder; give the file to write, e.g. {out / f'report.{chosen}'}")
    text = render(folders, chosen.value)
    if out == Path("-"):
        typer.echo(text, nl=False)
        return
    target = out or folders[0] / f"report.{chosen}"
    try:
        write_text(target, text)
    except OSError as error:
        raise RecipeError(f"--out {target}: cannot be written ({error.strerror})") from None
    if not quiet:
        typer.echo(target)
