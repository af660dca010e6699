"""Score one response, or a file of responses, against the ground truth.

\b
  verigold verify --ground-truth '\\frac{1}{2}' --response 'So the answer is \\boxed{0.5}.'
  verigold verify cases.jsonl --json --max-fnr 0.02 --max-fpr 0.005
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from verifiers.audit import AuditResult


def command(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="JSON Lines with ground_truth, response and optionally verifier, verifier_options, correct, "
            "category, id."
        ),
    ] = None,
    ground_truth: Annotated[
        list[str] | None, typer.Option("--ground-truth", help="The right answer of one pair; repeat it for aliases.")
    ] = None,
    response: Annotated[str | None, typer.Option("--response", help="The response of one pair.")] = None,
    verifier: Annotated[
        str, typer.Option("--verifier", help="Verifier of one pair: math, choice, qa, format.")
    ] = "math",
    options: Annotated[str, typer.Option("--options", help="Verifier options of one pair as a JSON object.")] = "{}",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    max_fnr: Annotated[float | None, typer.Option("--max-fnr", help="Exit 1 above this false negative rate.")] = None,
    max_fpr: Annotated[float | None, typer.Option("--max-fpr", help="Exit 1 above this false positive rate.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; by default one a core.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    from pipeline.config import RecipeError

    if file is not None:
        if ground_truth or response is not None:
            raise RecipeError("verify: give a FILE, or --ground-truth with --response, not both")
        _verify_file(file, as_json=as_json, max_fnr=max_fnr, max_fpr=max_fpr, workers=workers, quiet=quiet)
    elif not ground_truth or response is None:
        raise RecipeError("verify: give a FILE, or both --ground-truth and --response")
    else:
        _verify_pair(tuple(ground_truth), response, verifier, options, as_json=as_json)


def _verify_pair(golds: tuple[str, ...], response: str, verifier: str, options: str, *, as_json: bool) -> None:
    from pipeline.config import RecipeError
    from verifiers.audit import RowError, check_options
    from verifiers.registry import Request, verify
    from verifiers.verdict import Status

    try:
        parsed = json.loads(options)
    except json.JSONDecodeError as error:
        raise RecipeError(
            f'--options {options}: not JSON ({error}); expected an object like {{"rel_tol": 0.01}}'
        ) from None
    if not isinstance(parsed, dict):
        raise RecipeError(f'--options {options}: expected a JSON object like {{"rel_tol": 0.01}}')
    try:
        check_options(verifier, parsed, "verify")
    except RowError as error:
        raise RecipeError(str(error)) from None
    gold = golds[0] if len(golds) == 1 else golds
    verdict = verify(Request(response=response, ground_truth=gold, verifier=verifier, options=parsed))
    shown: dict[str, Any] = {
        "status": verdict.status.value,
        "score": None if verdict.status is Status.UNDECIDED else verdict.score,
        "reason": verdict.reason,
        "extracted": verdict.extracted,
        "detail": verdict.detail,
    }
    if as_json:
        typer.echo(json.dumps(shown, ensure_ascii=False))
    else:
        typer.echo(f"{verdict.status.value} ({verdict.reason}); extracted: {verdict.extracted}")
    if verdict.status is not Status.CORRECT:
        raise typer.Exit(1)


def _verify_file(
    file: Path, *, as_json: bool, max_fnr: float | None, max_fpr: float | None, workers: int | None, quiet: bool
) -> None:
    from pipeline.config import RecipeError
    from pipeline.progress import stderr_console
    from verifiers.audit import RowError, exceeded, read_rows, run_audit

    console = stderr_console(quiet=quiet)
    try:
        rows = read_rows(file)
    except RowError as error:
        raise RecipeError(str(error)) from None
    console.print(f"verify: {len(rows):,} rows")
    result = run_audit(rows, workers=workers)
    if as_json:
        typer.echo(json.dumps(result.summary(), ensure_ascii=False))
    else:
        print_table(result)
    failed = exceeded(result.rates(), (("fnr", max_fnr), ("fpr", max_fpr)))
    for line in failed:
        console.print(f"verify: {line}")
    if failed:
        raise typer.Exit(1)


def print_table(result: AuditResult) -> None:
    """The summary as a table on stdout."""
    from rich.table import Table

    from pipeline.progress import stdout_console

    summary = result.summary()
    table = Table("category", "n", "accuracy", "FNR", "FPR", "undecided")
    for name, values in [*summary["by_category"].items(), ("all", summary)]:
        shares = [values[column] for column in ("accuracy", "fnr", "fpr", "undecided")]
        table.add_row(name, f"{values['n']:,}", *("-" if share is None else f"{share:.1%}" for share in shares))
    stdout_console().print(table)
    if summary["per_cpu_second"] is not None:
        typer.echo(f"{summary['per_cpu_second']:,.0f} verifications per CPU second")
