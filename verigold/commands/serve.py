"""Answer batches of verifications over HTTP, for trainers on this and other machines.

\b
  verigold serve --port 8700
  verigold serve --host 0.0.0.0 --workers 16 --deadline 60 --undecided 0

POST /verify and /reward take {"rows": [{"response", "ground_truth", "verifier", "verifier_options", "id"}]};
/reward/openrlhf and /reward/slime take what those trainers send. GET /health, /metrics.
"""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    host: Annotated[str, typer.Option("--host", help="Address to listen on. There is no password.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 8700,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes; default: one a core and one more.")
    ] = None,
    deadline: Annotated[
        float, typer.Option("--deadline", min=1, help="Seconds from a request's last byte to its answer.")
    ] = 60,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Rows of one request.")] = 1_024,
    max_chars: Annotated[int, typer.Option("--max-chars", min=1, help="Characters of one text.")] = 1_000_000,
    max_mib: Annotated[int, typer.Option("--max-mib", min=1, help="Size of one body.")] = 8,
    queue: Annotated[
        int, typer.Option("--queue", min=1, help="Rows that may wait, of all clients; one may fill half of it.")
    ] = 32_768,
    undecided: Annotated[
        float, typer.Option("--undecided", help="Reward of undecided rows for OpenRLHF and slime.")
    ] = 0.0,
    verifier: Annotated[
        str, typer.Option("--verifier", help="For rows and labels that name none: math, choice, qa, format.")
    ] = "math",
    quiet: Annotated[bool, typer.Option("--quiet", help="No lines on stderr.")] = False,
) -> None:
    import math

    from pipeline.config import RecipeError
    from pipeline.progress import stderr_console
    from verifiers.cases import RowError, check_options
    from verigold.service.limits import Limits, default_workers

    try:
        from verigold.service.server import listen, serve
    except ModuleNotFoundError as missing:
        raise RecipeError(f"serve: {missing.name} is not installed; pip install 'verigold[serve]'") from None
    for name, number in (("--undecided", undecided), ("--deadline", deadline)):
        if not math.isfinite(number):
            raise RecipeError(f"{name} {number}: must be a finite number")
    if queue < 2 * max_rows:
        raise RecipeError(f"--queue {queue}: one client may fill half of it, so at least twice --max-rows ({max_rows})")
    try:
        check_options(verifier, {}, "--verifier")
    except RowError as error:
        raise RecipeError(str(error)) from None
    limits = Limits(
        workers=workers or default_workers(),
        deadline_s=deadline,
        max_rows=max_rows,
        max_chars=max_chars,
        max_body_bytes=max_mib << 20,
        queued_rows=queue,
        undecided=undecided,
        verifier=verifier,
    )
    try:
        bound = listen(host, port)
    except OSError as error:
        raise RecipeError(f"--host {host} --port {port}: {error.strerror}; choose another") from None
    console = stderr_console(quiet=quiet)
    shown = f"[{host}]" if ":" in host else host
    console.print(f"serve: {limits.workers} workers; deadline {deadline:g} s; SIGTERM or Ctrl-C ends it")
    serve(bound, limits, ready=lambda: typer.echo(f"http://{shown}:{bound.getsockname()[1]}"))
    console.print("serve: ended")
