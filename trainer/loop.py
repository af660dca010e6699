"""train(): shards in, a better policy out. Read it from top to bottom; each step is

    draw, generate, score, keep  ->  a few optimiser steps  ->  metrics, rollouts, now and then a checkpoint

(with `asynchronous` the next batch is drawn while these optimiser steps are made).

The same command again goes on from the last checkpoint and repeats what came after it, bit for bit on the CPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from engines.engine import EngineError
from pipeline.atomic import exclusive
from trainer import checkpoint
from trainer.checkpoint import ENDED, RunFolder, RunSummary, State
from trainer.clock import Clock
from trainer.config import TrainConfig
from trainer.determinism import deterministic
from trainer.export import export
from trainer.groups import Filled, RunStoppedError
from trainer.held_out import held_out, keep_best
from trainer.metrics import Numbers, ages, sampling_metrics, write_rollouts
from trainer.ranks import Ranks, join, leave
from trainer.refusals import check_ranks
from trainer.rollout_group import pass_rate_histogram
from trainer.scorers import Scorer
from trainer.start import Run, start
from trainer.update import Totals, adapt_entropy

MAX_MISMATCH = 0.05
"""Mean |trainer - engine| log-probability; above it the engine does not sample from the weights that are trained."""


def train(
    config: TrainConfig, out: Path, *, console: Console, fresh: bool = False, scorer: Scorer | None = None
) -> RunSummary:
    """Trains into the run folder `out`; a finished run returns its summary and writes nothing.

    scorer: instead of each problem's own verifier. A run that had to stop (undecided, nonfinite, gradient, ratio,
    engine, exhausted, nothing_learned) has a summary that says why, exports no model and is tried again by the next
    call.
    Raises RecipeError for whatever the user must mend.
    """
    ranks = join()
    try:
        check_ranks(config, ranks.world)
        if ranks.first:
            folder = RunFolder.open(out, config, fresh=fresh)
            with exclusive(out):
                ranks.wait()
                return _train(config, folder, console, scorer, ranks)
        ranks.wait()
        return _train(config, RunFolder(out), Console(quiet=True), scorer, ranks)
    finally:
        leave(ranks)


def _train(config: TrainConfig, folder: RunFolder, console: Console, scorer: Scorer | None, ranks: Ranks) -> RunSummary:
    before = ranks.from_first(folder.summary)
    if before is not None and before.ended:
        console.print(f"{folder.path}: finished ({before.exit_reason}, {before.steps} steps); --fresh trains again")
        return before
    if ranks.first:
        folder.forget_summary()
    with deterministic():
        run = start(config, folder, console, scorer, ranks)
        try:
            return _end(run, *_finish(run))
        finally:
            run.close()


def _finish(run: Run) -> tuple[str, str]:
    """Steps until the run ends, and its last checkpoint; the exit reason and one line on it."""
    try:
        reason, detail = _steps(run)
        if reason in ENDED:
            _save(run)
        return reason, detail
    except RunStoppedError as stop:
        return stop.reason, str(stop)
    except EngineError as error:
        return "engine", str(error)


def _steps(run: Run) -> tuple[str, str]:
    while (over := _over(run)) is None:
        _step(run)
        if run.state.step % run.config.checkpoints.every == 0:
            _save(run)
    return over


def _over(run: Run) -> tuple[str, str] | None:
    """Why there is no further step, and one line on it; None while there is one."""
    config, state = run.config, run.state
    if state.step >= config.steps:
        return _used_up(run, "steps")
    if config.max_generated_tokens is not None and state.generated_tokens >= config.max_generated_tokens:
        return _used_up(run, "tokens")
    if state.empty_steps < config.filter.max_empty_steps:
        return None
    return "no_signal", (
        f"nothing to learn from in {state.empty_steps} steps; last one: {state.pass_rates}; "
        "curate by difficulty for this model"
    )


def _used_up(run: Run, what: str) -> tuple[str, str]:
    """Steps or tokens are over; a run without an update must not pass for one that trained."""
    if run.state.version > 0:
        return what, ""
    return "nothing_learned", (
        f"all {what} are used up and no step had anything to learn from: the weights are those of the start; last "
        f"step: {run.state.pass_rates}; curate by difficulty for this model, or give more {what}"
    )


def _step(run: Run) -> None:
    state, clock = run.state, Clock()
    filled = run.ahead.take() or _next_batch(run, clock)()
    state.step += 1
    state.generated_tokens += filled.generated_tokens
    state.pass_rates = pass_rate_histogram(filled.drawn)
    if run.config.asynchronous and _over(run) is None:
        run.ahead.begin(_next_batch(run, clock))
    totals, lr, oldest = None, run.policy.lr, ages(filled, state.version)
    if run.updater.learns_from(filled.kept):
        with clock("update"):
            totals = _update(run, filled)
    state.empty_steps = 0 if totals is not None else state.empty_steps + 1
    state.counts.add(filled, trained=totals is not None)
    metrics: Numbers = {
        "step": state.step,
        "version": state.version,
        "generated_tokens": filled.generated_tokens,
        "generated_tokens_total": state.generated_tokens,
        **sampling_metrics(filled),
        **state.counts.report(),
        **oldest,
        **(totals.report() if totals is not None else {}),
        "lr": lr if totals is not None else None,
        "entropy/coef": state.entropy_coef,
        **run.weights.report(),
        **run.ahead.times(),
        "time/update_s": clock.take("update"),
        "time/weights_s": clock.take("weights"),
    }
    if run.eval_problems and run.config.evaluation.every and state.step % run.config.evaluation.every == 0:
        metrics |= held_out(run, f"step-{state.step:05d}")
        keep_best(run, metrics)
    if run.ranks.first:
        path = run.folder.rollouts / f"step-{state.step:05d}.jsonl"
        write_rollouts(path, state.step, filled, totals.advantages if totals is not None else [])
        run.log.append(metrics)
        run.trackers.log(metrics, state.step)
        _tell(run, metrics)


def _next_batch(run: Run, clock: Clock) -> Callable[[], Filled]:
    """Brings the policy's weights to the engine; then, here or in a thread, the next batch can be drawn from them."""
    with clock("weights"):
        run.weights.bring(run.state.version)
    return partial(run.source.fill, run.state.version, Clock(), step=run.state.step, progress=_progress(run))


def _progress(run: Run) -> float:
    """Share of the run that is over, by steps or by tokens, whichever will end it."""
    config, state = run.config, run.state
    tokens = 0.0 if config.max_generated_tokens is None else state.generated_tokens / config.max_generated_tokens
    return max(state.step / config.steps, tokens)


def _update(run: Run, filled: Filled) -> Totals:
    """Optimiser steps on the kept groups; the policy has a new version after them."""
    config, state = run.config, run.state
    coef = state.entropy_coef if state.entropy_active else 0.0
    run.updater.objective = replace(run.updater.objective, entropy_coef=coef)
    totals = run.updater.update(filled.kept, version=state.version, drop_truncated=config.reward.overlong_filter)
    if totals.fresh and totals.mismatch_mean > MAX_MISMATCH:
        raise RunStoppedError(
            "engine",
            f"engine and trainer differ by {totals.mismatch_mean:.3g} in the mean log-probability of a token "
            f"(limit {MAX_MISMATCH}); the engine samples from other weights or at another temperature",
        )
    state.version += 1
    state.entropy_coef, state.entropy_active = adapt_entropy(config.entropy, state.entropy_coef, totals.entropy)
    run.policy.synchronise()
    if config.kl.reset_every and state.version % config.kl.reset_every == 0:
        run.updater.reset_reference()
    return totals


def _tell(run: Run, metrics: dict[str, Any]) -> None:
    mean, length = metrics["reward/mean"], metrics["length/mean"]
    run.console.print(
        f"{run.folder.path.name}  step {metrics['step']:>4}  tokens {metrics['generated_tokens_total']:>9,}  "
        f"reward {mean if mean is not None else float('nan'):.3f}  groups {metrics['groups/kept']}"
        f"/{metrics['groups/drawn']}  length {length if length is not None else float('nan'):.1f}  "
        f"entropy {metrics.get('entropy/mean', float('nan')):.3f}"
    )


def _save(run: Run) -> None:
    run.ahead.settle()
    run.state.prompts = run.source.stream.state()
    keep = run.config.checkpoints.keep
    checkpoint.save(run.folder, _with_time(run), run.updater, run.source.surplus, run.ahead.ready, keep=keep)


def _with_time(run: Run) -> State:
    now = time.monotonic()
    run.state.wall_s += now - run.started
    run.started = now
    return run.state


def _end(run: Run, reason: str, detail: str) -> RunSummary:
    state = _with_time(run)
    summary = RunSummary(
        steps=state.step,
        generated_tokens=state.generated_tokens,
        exit_reason=reason,
        wall_s=round(state.wall_s, 3),
        detail=detail,
    )
    if summary.ended and run.ranks.first:
        export(run.folder.final, run.policy, run.config, summary)
    if run.ranks.first:
        run.folder.write_summary(summary)
    run.console.print(f"{run.folder.path}: {reason} after {state.step} steps. {detail}".rstrip())
    return summary
