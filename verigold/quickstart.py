"""The quick start: raw rows -> curated shards -> verified rewards -> a trained policy -> a report.

Every step is recorded when it is finished; the same command again does only what is missing.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import multiprocessing
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from pipeline.atomic import LOCK_NAME, exclusive, is_foreign, write_json, write_text
from pipeline.config import STRICT, Layer, RecipeError, dump, load, read_toml
from pipeline.executor import bind_to_parent
from pipeline.progress import stderr_console

STEPS_FOLDER = ".steps"
AUDIT_FILE = "audit/audit.json"
RUNS = ("dapo", "control")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickstartConfig:
    """What the quick start runs.

    curate_real, curate_pool, train: recipes.  graded_responses: labelled model outputs, JSON Lines.
    pool_problems: size of the embedded pool before its defects are taken out.
    heldout_problems: evaluated greedily and with `samples` at T = 1; `pass_at_k_problems` of them with
    `pass_at_k_samples`.  eval_every_steps, eval_problems: the learning curve.
    """

    __pydantic_config__ = STRICT
    curate_real: Path
    graded_responses: Path
    curate_pool: Path
    train: Path
    seed: int = 0
    pool_problems: int = 400
    heldout_problems: int = 1024
    samples: int = 4
    pass_at_k_problems: int = 256
    pass_at_k_samples: int = 16
    max_generated_tokens: int = 200_000
    max_tokens: int = 48
    eval_every_steps: int = 5
    eval_problems: int = 256
    transcripts: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Which steps of one output folder are finished, under which key, and how long they took."""

    root: Path
    console: Console

    def once(self, name: str, key: Mapping[str, Any], outputs: Sequence[str], make: Callable[[], None]) -> None:
        """Runs `make` unless it was finished before under the same key and its outputs are there."""
        marker = self.root / STEPS_FOLDER / f"{name}.json"
        digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()
        done = json.loads(marker.read_text(encoding="utf-8")) if marker.exists() else {}
        if done.get("key") == digest and all((self.root / output).exists() for output in outputs):
            self.console.print(f"{name}: done before")
            return
        self.console.print(f"{name}: started")
        started = time.monotonic()
        make()
        write_json(marker, {"key": digest, "wall_s": round(time.monotonic() - started, 3)})

    def wall_s(self) -> float:
        """Seconds spent in all finished steps, over all runs of the command."""
        markers = sorted((self.root / STEPS_FOLDER).glob("*.json"))
        return round(sum(json.loads(marker.read_text(encoding="utf-8"))["wall_s"] for marker in markers), 1)


def load_config(paths: Sequence[Path], overrides: Sequence[str]) -> QuickstartConfig:
    config = load(QuickstartConfig, paths, overrides)
    for path in (config.curate_real, config.graded_responses, config.curate_pool, config.train):
        if not path.is_file():
            raise RecipeError(f"{path}: no such file; the quick start's recipe names it")
    return config


def run(config: QuickstartConfig, root: Path, console: Console, *, fresh: bool = False) -> dict[str, Any]:
    """The whole job; returns the summary that it also writes to `root/summary.json`."""
    if root.exists() and not root.is_dir():
        raise RecipeError(f"{root}: is a file; give a folder for --out")
    if is_foreign(root, "recipe.toml"):
        raise RecipeError(f"{root}: the folder holds other files; give an empty or new folder for --out")
    with exclusive(root):
        if fresh and (root / STEPS_FOLDER).is_dir():
            _clear(root)
        return _run(config, root, console)


def _clear(root: Path) -> None:
    for item in root.iterdir():
        if item.is_dir():
            shutil.rmtree(item)
        elif item.name != LOCK_NAME:
            item.unlink()


def _run(config: QuickstartConfig, root: Path, console: Console) -> dict[str, Any]:
    _same_recipe(config, root)
    steps = Steps(root=root, console=console)
    code = {"recipe": dump(config), "files": [_digest(path) for path in _inputs(config)]}
    steps.once("curate-real", code, ["real/manifest.json"], lambda: _curate_real(config, root, console))
    steps.once("audit", code, [AUDIT_FILE, "audit/report.html"], lambda: _audit(config, root))
    steps.once("base", code, ["base/config.json"], lambda: _base(config, root, console))
    steps.once("curate-pool", code, ["pool/manifest.json"], lambda: _curate_pool(config, root, console))
    steps.once("train", code, [f"runs/{name}/final" for name in RUNS], lambda: _train_both(config, root, console))
    for name, model in _models(root).items():
        steps.once(
            f"eval-{name}",
            code,
            [f"eval/{name}.json"],
            lambda name=name, model=model: _evaluate(config, root, name, model, console),
        )
    steps.once("transcripts", code, ["transcripts.json"], lambda: _transcripts(config, root))
    steps.once("report", code, ["summary.json", "report.html", "picture.svg"], lambda: _report(root, steps))
    return _json(root / "summary.json")


def _same_recipe(config: QuickstartConfig, root: Path) -> None:
    """Raises RecipeError when the folder was begun with another recipe: its parts would not belong together."""
    saved, resolved = root / "recipe.toml", dump(config)
    if not saved.exists():
        write_text(saved, resolved)
        return
    lines = difflib.unified_diff(
        saved.read_text(encoding="utf-8").splitlines(), resolved.splitlines(), n=0, lineterm=""
    )
    changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    if changed:
        listed = "\n".join(f"  {line}" for line in changed)
        raise RecipeError(f"{root}: begun with another recipe; use --fresh or another --out. Changed:\n{listed}")


def _inputs(config: QuickstartConfig) -> list[Path]:
    return [config.curate_real, config.graded_responses, config.curate_pool, config.train]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _models(root: Path) -> dict[str, Path]:
    return {"base": root / "base", "dapo": root / "runs/dapo/final", "control": root / "runs/control/final"}


def _curate_real(config: QuickstartConfig, root: Path, console: Console) -> None:
    from pipeline.run import CurateConfig, curate

    curate(load(CurateConfig, [config.curate_real]), root / "real", console=console)


def _audit(config: QuickstartConfig, root: Path) -> None:
    from verifiers.audit import read_rows, run_audit
    from verigold.report import audit

    result = run_audit(read_rows(config.graded_responses)).to_json()
    write_json(root / "audit" / "audit.json", result)
    write_text(root / "audit" / "report.html", audit.render(result))


def _base(config: QuickstartConfig, root: Path, console: Console) -> None:
    from trainer.warmstart import make_base

    make_base(root / "base", seed=config.seed, console=console)


def _curate_pool(config: QuickstartConfig, root: Path, console: Console) -> None:
    """Curates the pool with the base model in the loop, and writes the held-out problems as shards."""
    from pipeline.addition import assert_disjoint, problems, read_pool, write_pool
    from pipeline.run import CurateConfig, curate
    from pipeline.shards import read_shards, write_problems
    from trainer.warmstart import questions

    write_pool(root / "pool.jsonl", config.pool_problems, config.seed)
    recipe = read_toml(config.curate_pool)
    curate(CurateConfig.from_layers([recipe, _pool_layer(recipe, root)]), root / "pool", console=console)
    heldout = problems(config.heldout_problems, config.seed, split="held-out")
    for name, other in (
        ("warm_start", questions(config.seed)),
        ("pool", (row.question for row in read_pool(root / "pool.jsonl"))),
        ("shards", (problem.question for problem in read_shards(root / "pool"))),
    ):
        assert_disjoint(heldout=(problem.question for problem in heldout), **{name: other})
    write_problems(root / "heldout", heldout, seed=config.seed)


def _pool_layer(recipe: Layer, root: Path) -> Layer:
    """The recipe's source read from this run's pool, its engine on this run's base model."""
    sources = [source | {"path": "pool.jsonl"} for source in recipe.table["sources"]]
    table = {"sources": sources, "sampling": {"engine": {"model": "base"}}}
    return Layer(name="quick start", base=root.resolve(), table=table)


def _train_both(config: QuickstartConfig, root: Path, console: Console) -> None:
    """One process and one thread each: the runs are independent, and so are their bits of each other.

    However this process ends, the two end with it; the same command goes on from their checkpoints.
    """
    processes = multiprocessing.get_context("spawn")
    children = [
        processes.Process(target=_train_child, args=(config, root, name, console.quiet), name=name) for name in RUNS
    ]
    try:
        for child in children:
            child.start()
        for child in children:
            child.join()
    finally:
        for child in children:
            if child.is_alive():
                child.terminate()
                child.join()
    failed = [child.name for child in children if child.exitcode != 0]
    if failed:
        raise RuntimeError(f"{root}: training of {' and '.join(failed)} failed; the reason is above")


def _train_child(config: QuickstartConfig, root: Path, name: str, quiet: bool) -> None:
    bind_to_parent()
    _train(config, root, name, quiet)


def _train(config: QuickstartConfig, root: Path, name: str, quiet: bool) -> None:
    """`dapo` learns from the verifier, `control` from coin flips; nothing else differs."""
    from trainer.config import from_layers
    from trainer.loop import train

    table: dict[str, Any] = {
        "model": "base",
        "shards": "pool",
        "seed": config.seed,
        "threads": 1,
        "max_generated_tokens": config.max_generated_tokens,
        "evaluation": {"every": config.eval_every_steps, "shards": "heldout", "problems": config.eval_problems},
        "reward": {"kind": "random" if name == "control" else "verdict"},
    }
    layer = Layer(name="quick start", base=root.resolve(), table=table)
    console = stderr_console(quiet=quiet)
    summary = train(from_layers([read_toml(config.train), layer]), root / "runs" / name, console=console)
    if not summary.ended:
        raise RuntimeError(f"{root / 'runs' / name}: training stopped ({summary.exit_reason}): {summary.detail}")


def _evaluate(config: QuickstartConfig, root: Path, name: str, model: Path, console: Console) -> None:
    from pipeline.shards import read_shards
    from trainer.evaluate import EvalSettings, evaluate

    settings = EvalSettings(
        samples=config.samples,
        k_samples=config.pass_at_k_samples,
        k_problems=config.pass_at_k_problems,
        max_tokens=config.max_tokens,
        seed=config.seed,
    )
    heldout = read_shards(root / "heldout")
    result = evaluate(model, heldout, settings=settings, label=name, model_name=name, console=console)
    write_json(root / "eval" / f"{name}.json", result.to_json())


def _transcripts(config: QuickstartConfig, root: Path) -> None:
    """Greedy answers of base and trained model to the same held-out problems, side by side."""
    from engines.engine import Message, SamplingParams
    from engines.torch_engine import TorchEngine
    from pipeline.rollouts import request_for
    from pipeline.shards import read_shards
    from verifiers import verify_many

    heldout = read_shards(root / "heldout")[: config.transcripts // 2]
    prompts = [[Message(role="user", content=problem.question)] for problem in heldout]
    rows: list[dict[str, Any]] = []
    for name, model in list(_models(root).items())[:2]:
        params = SamplingParams(temperature=0.0, max_tokens=config.max_tokens)
        drawn = {index: text for index, _, text in TorchEngine.from_folder(model).generate(prompts, params)}
        answers = [drawn[index].text for index in range(len(heldout))]
        requests = [request_for(problem, answer) for problem, answer in zip(heldout, answers, strict=True)]
        for problem, answer, verdict in zip(heldout, answers, verify_many(requests), strict=True):
            rows.append(
                {
                    "model": name,
                    "question": problem.question,
                    "ground_truth": problem.ground_truth,
                    "response": answer,
                    "status": str(verdict.status),
                    "reason": verdict.reason,
                    "extracted": verdict.extracted,
                }
            )
    rows.sort(key=lambda row: row["question"])
    write_json(root / "transcripts.json", rows)


def _report(root: Path, steps: Steps) -> None:
    from verigold.report.picture import render_picture
    from verigold.report.quickstart import render

    write_json(root / "summary.json", summarise(root) | {"wall_s": steps.wall_s()})
    write_text(root / "picture.svg", render_picture(root))
    write_text(root / "report.html", render(root))


def summarise(root: Path) -> dict[str, Any]:
    """The figures of a finished quick start, from the files of its parts."""
    from pipeline.addition import planted_removal, read_pool
    from pipeline.shards import read_shards

    real, pool, audit = (_json(root / name) for name in ("real/manifest.json", "pool/manifest.json", AUDIT_FILE))
    scores = {name: _json(root / "eval" / f"{name}.json") for name in _models(root)}
    rates = {
        name: {"greedy": score["greedy"]["estimate"], "pass_at_1": score["pass_at_1"]["estimate"]}
        for name, score in scores.items()
    }
    tokens = {name: _json(root / "runs" / name / "summary.json")["generated_tokens"] for name in RUNS}
    return {
        "curate": {key: real[key] for key in ("rows_in", "rows_kept", "dropped", "quarantined")},
        "planted": planted_removal(read_pool(root / "pool.jsonl"), read_shards(root / "pool")),
        "audit": {"n": audit["n"]} | {key: audit[key]["estimate"] for key in ("fnr", "fpr", "undecided")},
        "base": rates["base"],
        "train": {name: rates[name] | {"generated_tokens": tokens[name]} for name in RUNS},
        "curation_tokens": sum(stage["generated_tokens"] for stage in pool["sampling"].values()),
    }


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
