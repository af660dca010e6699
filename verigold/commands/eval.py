"""Evaluate a model on shards: greedy, pass@1, unbiased pass@k and maj@k, with intervals over problems.

\b
  verigold eval runs/addition/final runs/held-out --out runs/addition/eval/final.json
  verigold eval runs/addition/final runs/held-out --max-tokens 48 --against runs/base.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.atomic import write_json

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.problem import Problem
    from trainer.evaluate import Estimate, EvalSettings


def command(
    model: Annotated[Path, typer.Argument(help="Folder of a Hugging Face model.")],
    shards: Annotated[Path, typer.Argument(help="Curated folder, or one Parquet file.")],
    out: Annotated[Path | None, typer.Option("--out", help="Where the result goes as JSON.")] = None,
    label: Annotated[str | None, typer.Option("--label", help="Name of the result; default: the model's.")] = None,
    problems: Annotated[int | None, typer.Option("--problems", min=1, help="Only the first N problems.")] = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Samples a problem for pass@1.")] = 4,
    k_samples: Annotated[int, typer.Option("--k-samples", min=0, help="Samples a problem for pass@k.")] = 16,
    k_problems: Annotated[int, typer.Option("--k-problems", min=0, help="Problems that get them.")] = 256,
    temperature: Annotated[float, typer.Option("--temperature", help="Of the samples.")] = 1.0,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Budget of a response.")] = 512,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    against: Annotated[Path | None, typer.Option("--against", help="Result of another model to compare with.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Evaluate again although --out exists.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    from pipeline.config import RecipeError
    from pipeline.progress import stderr_console
    from pipeline.shards import read_shards
    from trainer.evaluate import EvalSettings

    if temperature <= 0:
        raise RecipeError(f"--temperature {temperature}: must be above 0; greedy is always reported beside it")
    rows = list(read_shards(shards))[:problems]
    if not rows:
        raise RecipeError(f"{shards}: no problems in there")
    settings = EvalSettings(
        samples=samples,
        k_samples=k_samples,
        k_problems=k_problems,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        majority=True,
    )
    console = stderr_console(quiet=quiet)
    result = None if out is None or fresh else _earlier(out, model, rows, settings)
    if result is not None:
        console.print(f"{out}: already there; --fresh evaluates again")
    else:
        result = _evaluate(model, rows, settings, label or model.name, console)
        if out is not None:
            write_json(out, result)
    _print(result, against)


def _evaluate(
    model: Path, rows: Sequence[Problem], settings: EvalSettings, label: str, console: Console
) -> dict[str, Any]:
    from transformers.utils import logging

    from engines.torch_engine import EngineError, TorchEngine
    from pipeline.config import RecipeError
    from trainer.evaluate import evaluate

    logging.disable_progress_bar()
    try:
        engine = TorchEngine.from_folder(model)
    except EngineError as error:
        raise RecipeError(str(error)) from None
    return evaluate(engine, rows, settings=settings, label=label, model_name=str(model), console=console).to_json()


def _earlier(out: Path, model: Path, rows: Sequence[Problem], settings: EvalSettings) -> dict[str, Any] | None:
    """The result in the file, if there is one; it must be the answer to the same question."""
    from pipeline.config import RecipeError
    from trainer.evaluate import problems_digest

    if not out.exists():
        return None
    asked = {"model": str(model), "shards_digest": problems_digest(rows), **asdict(settings)}
    del asked["verifier_workers"]
    try:
        found = json.loads(out.read_text(encoding="utf-8"))
        there = {**found["settings"], "model": found["model"], "shards_digest": found["shards_digest"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise RecipeError(f"{out}: not a result of `verigold eval`; choose another --out or use --fresh") from None
    for key, value in asked.items():
        if there.get(key) != value:
            was = there.get(key)
            raise RecipeError(f"{out}: {key} was {was!r}, now {value!r}; choose another --out or use --fresh")
    return found


def _print(result: dict[str, Any], against: Path | None) -> None:
    from rich.table import Table

    from pipeline.progress import stdout_console

    table = Table("measure", "mean ± s.e.", "95 % interval", title=f"{result['label']}, {result['n']} problems")
    settings, few = result["settings"], result["pass_at_k_problems"]
    drawn = max(settings["samples"], settings["k_samples"])
    rows = {"greedy": result["greedy"], f"pass@1, T = {settings['temperature']}": result["pass_at_1"]}
    rows |= {f"pass@{k}, {_samples(drawn, few)}": value for k, value in result["pass_at_k"].items()}
    rows |= {f"maj@{k}, {_samples(drawn, few)}": value for k, value in result.get("maj_at_k", {}).items()}
    for name, part in result.get("parts", {}).items():
        rows[f"pass@1, {name}, {part['n']} problems"] = part["pass_at_1"]
    for name, value in rows.items():
        error = value.get("standard_error")
        told = "" if error is None else f" ± {error:.3f}"
        table.add_row(name, f"{value['estimate']:.3f}{told}", f"{value['low']:.3f} to {value['high']:.3f}")
    for name, value in _differences(result, against).items():
        table.add_row(f"{name} - {against}", f"{value.estimate:+.3f}", f"{value.low:+.3f} to {value.high:+.3f}")
    stdout_console().print(table)


def _samples(samples: int, problems: int) -> str:
    """What pass@k was measured on, for that may be fewer problems with more samples."""
    plural = "" if problems == 1 else "s"
    return f"{samples} samples each on {problems} problem{plural}"


def _differences(result: dict[str, Any], against: Path | None) -> dict[str, Estimate]:
    """Paired differences to the other model's result, over the problems of both."""
    if against is None:
        return {}
    from pipeline.config import RecipeError
    from trainer.evaluate import paired_difference

    try:
        return paired_difference(result, json.loads(against.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecipeError(f"--against {against}: not comparable ({error}); evaluate it on the same shards") from None
