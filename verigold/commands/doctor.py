"""Measure a model's pass rates on a sample of shards and say whether to train on them as they are.

\b
  verigold doctor runs/real --model models/base --out runs/doctor
  verigold doctor runs/real --model Qwen3-4B --endpoint http://localhost:8000/v1 --max-tokens 2048
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from engines.engine import Sampler
    from verigold.doctor_advice import Advice


def command(
    shards: Annotated[Path, typer.Argument(help="Curated folder, or one Parquet file.")],
    model: Annotated[
        str, typer.Option("--model", help="Folder of a Hugging Face model, or its name there.", show_default=False)
    ],
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", help="OpenAI-compatible server, up to and with /v1.")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option("--api-key-env", help="Environment variable with the server's key.")
    ] = None,
    problems: Annotated[int, typer.Option("--problems", min=2, help="Problems drawn from the shards.")] = 64,
    samples: Annotated[int, typer.Option("--samples", min=2, help="Samples a problem.")] = 8,
    group_size: Annotated[int, typer.Option("--group-size", min=2, help="Rollouts a group in training.")] = 8,
    temperature: Annotated[float, typer.Option("--temperature", help="Of the samples, as in training.")] = 1.0,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Budget of a response, as in training.")] = 512,
    instruction: Annotated[str, typer.Option("--instruction", help="Appended to every question.")] = "",
    system: Annotated[str | None, typer.Option("--system", help="System prompt of rows without their own.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the drawn problems and the samples.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for doctor.html and doctor.json.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    from engines.engine import EngineError
    from pipeline.config import RecipeError
    from pipeline.progress import stderr_console
    from pipeline.shards import read_shards
    from verigold.doctor import DoctorSettings, draw, examine, measure
    from verigold.doctor_advice import advise, should_stop

    if temperature <= 0:
        raise RecipeError(f"--temperature {temperature}: must be above 0, or all samples of a problem are the same")
    if group_size > samples:
        raise RecipeError(f"--group-size {group_size}: needs at least as many --samples (got {samples})")
    settings = DoctorSettings(
        problems=problems,
        samples=samples,
        group_size=group_size,
        temperature=temperature,
        max_tokens=max_tokens,
        instruction=instruction,
        system=system,
        seed=seed,
    )
    chosen = draw(read_shards(shards), settings)
    if not chosen:
        raise RecipeError(f"{shards}: no problems in there")
    try:
        cases = examine(_engine(model, endpoint, api_key_env), chosen, settings, console=stderr_console(quiet=quiet))
    except EngineError as error:
        raise RecipeError(str(error)) from None
    measured: dict[str, Any] = {"model": model, "shards": str(shards), **measure(cases, settings)}
    advice = advise(measured)
    _print(measured, advice)
    if out is not None:
        _save(out, measured, advice)
    if should_stop(advice):
        raise typer.Exit(1)


def _engine(model: str, endpoint: str | None, api_key_env: str | None) -> Sampler:
    from engines.build import EndpointConfig, TorchConfig, build_engine

    if endpoint is not None:
        return build_engine(EndpointConfig(kind="endpoint", base_url=endpoint, model=model, api_key_env=api_key_env))
    return build_engine(TorchConfig(model=Path(model)))


def _save(out: Path, measured: dict[str, Any], advice: list[Advice]) -> None:
    from dataclasses import asdict

    from pipeline.atomic import write_json, write_text
    from verigold.report.doctor import render

    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "doctor.json", {**measured, "advice": [asdict(one) for one in advice]})
    write_text(out / "doctor.html", render(measured, advice))
    typer.echo(f"report: {out / 'doctor.html'}")


def _print(measured: dict[str, Any], advice: list[Advice]) -> None:
    from rich.console import Console
    from rich.table import Table

    from verigold.report.doctor import MARKS, bins, facts

    console = Console(highlight=False, markup=False)
    numbers = Table("measure", "value", "95 % interval", title=f"{measured['problems']} problems")
    for fact in facts(measured).items:
        numbers.add_row(fact.label, fact.value, fact.note)
    console.print(numbers)
    found = bins(measured)
    most = max((rows for _, rows in found), default=0) or 1
    console.print("problems by pass rate")
    for label, rows in found:
        console.print(f"{label:>6} {'█' * round(40 * rows / most)} {rows}")
    for one in advice:
        console.print(f"{MARKS[one.kind]}: {one.found} {one.remedy}", soft_wrap=True)
