"""Measure how often a verifier is wrong, with all, some or no labels, and write a report.

\b
  verigold audit data/samples/graded_responses.jsonl.gz --out runs/audit
  verigold audit cases.jsonl --out runs/audit --max-fnr 0.02 --max-fpr 0.01
  verigold audit responses.jsonl --out runs/audit --label --sample 100
  verigold audit runs/shards/quarantined/suspects.parquet --out runs/audit --label
  verigold audit responses.jsonl --out runs/audit --verifier math --verifier math-verify
  verigold audit responses.jsonl --out runs/audit --verifier hybrid --judge-engine runs/smollm2
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from verifiers.audit import AuditResult, Rate
    from verifiers.cases import LabelledRow
    from verifiers.verdict import Verdict


def command(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON Lines with ground_truth, response and optionally correct (all rows, some or none), verifier, "
            "verifier_options, category, source, question, id."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for audit.json, report.html and labels.jsonl.")],
    verifier: Annotated[
        list[str] | None,
        typer.Option(
            "--verifier",
            help="Compare this verifier with the others so named: math, choice, qa, format; where they are installed "
            "math-verify, trl, verl, verl-math-verify, verl-math-dapo; hybrid: the rules with a judge behind them.",
        ),
    ] = None,
    judge_engine: Annotated[
        list[str] | None,
        typer.Option(
            "--judge-engine",
            help="Of --verifier hybrid: a model folder, or a recipe's engine table such as "
            '\'{kind = "endpoint", base_url = "...", model = "..."}\'; given twice: both have to agree.',
        ),
    ] = None,
    judge_prompt: Annotated[
        list[str] | None,
        typer.Option(
            "--judge-prompt", help="How it is asked: instruct, general-verifier, xverify, compass-verifier; one each."
        ),
    ] = None,
    judge_share: Annotated[
        float | None,
        typer.Option(
            "--judge-share", help="Share of the incorrect verdicts of the same type that it judges; by default all."
        ),
    ] = None,
    label: Annotated[
        bool, typer.Option("--label", help="Label a random sample in the terminal; go on where you stopped.")
    ] = False,
    sample: Annotated[int, typer.Option("--sample", min=1, help="Labels to collect with --label.")] = 100,
    show_verdict: Annotated[
        bool, typer.Option("--show-verdict", help="Show the verdict while labelling; it may lead you.")
    ] = False,
    metamorphic: Annotated[
        bool | None,
        typer.Option(
            "--metamorphic/--no-metamorphic",
            help="Judge rewritings and near misses of the ground truths; by default when no row has a label.",
        ),
    ] = None,
    max_fnr: Annotated[float | None, typer.Option("--max-fnr", help="Exit 1 above this false negative rate.")] = None,
    max_fpr: Annotated[float | None, typer.Option("--max-fpr", help="Exit 1 above this false positive rate.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; by default one a core.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    from pipeline.atomic import write_text
    from pipeline.config import RecipeError
    from pipeline.progress import stderr_console
    from verifiers.audit import RowError, read_rows, run_audit
    from verigold.commands.verify import print_table
    from verigold.judging import HYBRID, judged_behind_rules, open_panel
    from verigold.report.audit import render

    console = stderr_console(quiet=quiet)
    names = verifier or []
    check_verifiers(names)
    panel = open_panel(names, judge_engine or [], judge_prompt or [], judge_share, out=out)
    if decided_quarantine(file, ask=label):
        return
    try:
        rows = read_rows(file)
        console.print(f"audit: {len(rows):,} rows of {file}")
        result = run_audit(rows, workers=workers)
        result = labelled(result, out, sample if label else 0, show_verdict=show_verdict, console=console)
    except RowError as error:
        raise RecipeError(str(error)) from None
    unlabelled = all(row.correct is None for row in result.rows)
    rewrite = unlabelled if metamorphic is None else metamorphic
    others = [name for name in names if name != HYBRID]
    audit = result.to_json() | without_labels(result, others, rewrite=rewrite, workers=workers, console=console)
    if panel is not None:
        audit |= judged_behind_rules(result, panel, console)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "audit.json", json.dumps(audit, ensure_ascii=False, indent=1) + "\n")
    write_text(out / "report.html", render(audit))
    print_table(result)
    print_few_labels(result)
    typer.echo(f"report: {out / 'report.html'}")
    check_limits(result, max_fnr, max_fpr, console)


def decided_quarantine(file: Path, *, ask: bool) -> bool:
    """Whether the file holds suspected labels of a curation; a person then says which are right. Raises RecipeError."""
    from pipeline.decisions import is_quarantine

    if not is_quarantine(file):
        return False
    from rich.console import Console as Terminal

    from pipeline.config import RecipeError
    from verigold.suspects import decide

    if not ask:
        raise RecipeError(f"{file}: rows that a curation set aside; add --label to say which labels are right")
    typer.echo(decide(file, console=Terminal(highlight=False)))
    return True


def check_verifiers(names: Sequence[str]) -> None:
    """Raises RecipeError for a name that is not known, given twice, or whose package is not installed."""
    from pipeline.config import RecipeError
    from verifiers.agreement import known_verifiers
    from verifiers.peers import PEERS, PeerMissing, check_installed
    from verigold.judging import HYBRID

    known = (*known_verifiers(), HYBRID)
    for name in names:
        if name not in known:
            raise RecipeError(f"--verifier {name}: unknown verifier; known: {', '.join(known)}")
        if names.count(name) > 1:
            raise RecipeError(f"--verifier {name}: given twice; name each verifier once")
        try:
            if name in PEERS:
                check_installed(name)
        except PeerMissing as error:
            raise RecipeError(f"--verifier {error}") from None


def labelled(result: AuditResult, out: Path, sample: int, *, show_verdict: bool, console: Console) -> AuditResult:
    """The result with the labels in `out`, after asking for more when `sample` is not 0. Raises RowError."""
    from rich.console import Console as Terminal

    from pipeline.config import RecipeError
    from verifiers.labelling import LABELS_FILE, read_labels, with_labels
    from verigold.labelling import label

    if sample and all(row.correct is not None for row in result.rows):
        raise RecipeError("--label: every row has a label already; leave --label out")
    if sample:
        answers = label(result, out, sample=sample, show_verdict=show_verdict, console=Terminal(highlight=False))
    else:
        answers = read_labels(out)
    rows, strangers = with_labels(result.rows, answers)
    if answers:
        known = sum(answer.correct is not None for answer in answers)
        console.print(f"audit: {known} labels of {out / LABELS_FILE}")
    if strangers:
        console.print(f"audit: {strangers} answers there belong to no row of this file and are left out")
    return replace(result, rows=tuple(rows))


def without_labels(
    result: AuditResult, names: Sequence[str], *, rewrite: bool, workers: int | None, console: Console
) -> dict[str, Any]:
    """The parts of audit.json that need no labels. rewrite: judge rewritings of the ground truths too."""
    from pipeline.config import RecipeError
    from verifiers.peers import PeerMissing

    found: dict[str, Any] = {}
    try:
        if names:
            found["agreement"] = agreement(result, names, workers=workers, console=console)
        if rewrite:
            found["metamorphic"] = rewritten(result.rows, names, workers=workers, console=console)
    except PeerMissing as error:
        raise RecipeError(f"--verifier {error}") from None
    return found


def judged(name: str, rows: Sequence[LabelledRow], *, workers: int | None, console: Console) -> tuple[Verdict, ...]:
    """Verdicts of one verifier on all rows, with a bar for those of other packages, which take minutes."""
    from pipeline.progress import progress
    from verifiers.agreement import verdicts_of
    from verifiers.peers import PEERS

    if name not in PEERS:
        return tuple(verdicts_of(name, rows, workers=workers))
    with progress(console, f"audit: {name}", len(rows)) as advance:
        return tuple(verdicts_of(name, rows, workers=workers, advance=advance))


def agreement(result: AuditResult, names: Sequence[str], *, workers: int | None, console: Console) -> dict[str, Any]:
    """`agreement` of audit.json. One name alone is compared with the verifiers that the rows name."""
    from verifiers.agreement import NAMED, Side, compare, sides_of

    sides: list[Side] = []
    for name in sides_of(names):
        own = result.verdicts if name == NAMED else judged(name, result.rows, workers=workers, console=console)
        sides.append(Side(name=name, verdicts=own))
    return compare(result.pairs, sides)


def rewritten(
    rows: Sequence[LabelledRow], names: Sequence[str], *, workers: int | None, console: Console
) -> dict[str, Any]:
    """`metamorphic` of audit.json; its totals go to stdout."""
    from verifiers.metamorphic_golds import metamorphic

    def verdicts(name: str, asked: Sequence[LabelledRow]) -> Sequence[Verdict]:
        return judged(name, asked, workers=workers, console=console)

    found = metamorphic(rows, names=names, verdicts=verdicts)
    kinds = found["kinds"].values()
    for name in found["verifiers"]:
        for must, told in (("accept", "rewritings not accepted"), ("refuse", "near misses not refused")):
            members = [entry["by_verifier"][name] for entry in kinds if entry["must"] == must]
            wrongly, n = sum(entry["wrongly"] for entry in members), sum(entry["n"] for entry in members)
            typer.echo(f"{name}: {told}: {wrongly:,} of {n:,}")
    return found


def print_few_labels(result: AuditResult) -> None:
    """Says on stdout what is known of the whole file when only some rows, or none, have labels."""
    labels = sum(row.correct is not None for row in result.rows)
    rates = result.estimated_rates()
    if labels == len(result.rows):
        return
    if rates is None:
        known = "no labels" if not labels else f"{labels} labels, not on accepted and rejected rows both"
        typer.echo(f"{known}: the error rates are not identified; label some rows with --label")
        return
    told = ", ".join(f"{name.upper()} {_told(value)}" for name, value in rates.items())
    typer.echo(f"estimated for all {len(result.rows):,} rows from {labels} labels: {told}")
    typer.echo("the table above counts the labelled rows alone")


def _told(value: Rate) -> str:
    if value.estimate is None:
        return "unknown (no label shows a row that counts)"
    return f"{value.estimate:.2%} [{value.low:.2%}, {value.high:.2%}]"


def check_limits(result: AuditResult, max_fnr: float | None, max_fpr: float | None, console: Console) -> None:
    """Exit 1 above a limit. With few labels the estimate for all rows counts."""
    from pipeline.config import RecipeError
    from verifiers.audit import exceeded

    if (max_fnr is not None or max_fpr is not None) and all(row.correct is None for row in result.rows):
        raise RecipeError(
            "--max-fnr, --max-fpr: no row has a label, so nothing can be checked; label some with --label"
        )
    estimated = result.estimated_rates()
    if estimated is not None and (max_fnr is not None or max_fpr is not None):
        console.print("audit: some rows have no label, so the limits are held against the estimates for all rows")
    failed = exceeded(estimated or result.rates(), (("fnr", max_fnr), ("fpr", max_fpr)))
    for line in failed:
        console.print(f"audit: {line}")
    if failed:
        raise typer.Exit(1)
