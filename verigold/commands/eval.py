"""Evaluate a model on shards: greedy, pass@1 and unbiased pass@k, with intervals over problems.

\b
  verigold eval runs/addition/final runs/held-out --out runs/addition/eval/final.json
  verigold eval runs/base runs/held-out --samples 8 --k-samples 16 --max-tokens 48
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


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
    fresh: Annotated[bool, typer.Option("--fresh", help="Evaluate again although --out exists.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    from pipeline.config import RecipeError
    from pipeline.progress import stderr_console

    if temperature <= 0:
        raise RecipeError(f"--temperature {temperature}: must be above 0; greedy is always reported beside it")
    console = stderr_console(quiet=quiet)
    asked = {"model": str(model), "seed": seed, "temperature": temperature, "max_tokens": max_tokens}
    if out is not None and out.exists() and not fresh:
        _refuse_other(out, asked)
        console.print(f"{out}: already there; --fresh evaluates again")
        _print(json.loads(out.read_text(encoding="utf-8")))
        return
    from transformers.utils import logging

    from engines.torch_engine import EngineError, TorchEngine
    from pipeline.atomic import write_json
    from pipeline.shards import read_shards
    from trainer.evaluate import EvalSettings, evaluate

    logging.disable_progress_bar()
    rows = list(read_shards(shards))[:problems]
    if not rows:
        raise RecipeError(f"{shards}: no problems in there")
    try:
        engine = TorchEngine.from_folder(model)
    except EngineError as error:
        raise RecipeError(str(error)) from None
    settings = EvalSettings(
        samples=samples,
        k_samples=k_samples,
        k_problems=k_problems,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
    )
    result = evaluate(
        engine, rows, settings=settings, label=label or model.name, model_name=str(model), console=console
    ).to_json()
    if out is not None:
        write_json(out, result)
    _print(result)


def _refuse_other(out: Path, asked: dict[str, Any]) -> None:
    """The file that is there must be the answer to the same question."""
    from pipeline.config import RecipeError

    try:
        found = json.loads(out.read_text(encoding="utf-8"))
        there = {"model": found["model"], **{key: found["settings"][key] for key in asked if key != "model"}}
    except (OSError, ValueError, KeyError, TypeError):
        raise RecipeError(f"{out}: not a result of `verigold eval`; choose another --out or use --fresh") from None
    for key, value in asked.items():
        if there[key] != value:
            raise RecipeError(f"{out}: {key} was {there[key]!r}, now {value!r}; choose another --out or use --fresh")


def _print(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("measure", "estimate", "95 % interval", title=f"{result['label']}, {result['n']} problems")
    rows = {"greedy": result["greedy"], f"pass@1, T = {result['settings']['temperature']}": result["pass_at_1"]}
    rows |= {f"pass@{k}": value for k, value in result["pass_at_k"].items()}
    for name, value in rows.items():
        table.add_row(name, f"{value['estimate']:.3f}", f"{value['low']:.3f} to {value['high']:.3f}")
    Console(highlight=False).print(table)
