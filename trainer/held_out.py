"""Evaluations in training, and the model of the best of them."""

from __future__ import annotations

from typing import Any

from pipeline.atomic import write_json
from trainer.checkpoint import RunSummary
from trainer.evaluate import EvalSettings, evaluate
from trainer.export import export
from trainer.metrics import Numbers
from trainer.start import Run


def held_out(run: Run, label: str) -> dict[str, float]:
    """Evaluates the policy as it is, writes eval/<label>.json and returns its metrics."""
    result = run.ranks.from_first(lambda: _measured(run, label))
    return {"eval/greedy": result["greedy"]["estimate"], "eval/pass_at_1": result["pass_at_1"]["estimate"]}


def _measured(run: Run, label: str) -> dict[str, Any]:
    settings = run.config.evaluation
    result = evaluate(
        run.own,
        run.eval_problems,
        settings=EvalSettings(
            samples=settings.samples,
            k_samples=settings.samples,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens or run.config.sampling.max_tokens,
            seed=run.config.seed,
            verifier_workers=run.config.reward.verifier_workers,
        ),
        label=label,
        template=run.config.template,
    ).to_json()
    write_json(run.folder.eval / f"{label}.json", result)
    return result


def keep_best(run: Run, metrics: Numbers) -> None:
    """Exports the policy when no evaluation before was as good; of equal ones the first stays."""
    state, name = run.state, run.config.checkpoints.best
    value = metrics.get(f"eval/{name}")
    if value is None or (state.best is not None and value <= state.best):
        return
    state.best = value
    if not run.ranks.first:
        return
    why = f"best {name} so far, {value:.4f}"
    summary = RunSummary(steps=state.step, generated_tokens=state.generated_tokens, exit_reason=why, wall_s=0.0)
    export(run.folder.best, run.policy, run.config, summary)
