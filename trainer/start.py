"""From a recipe to a run that can take its next step: load, check, and take up the last checkpoint if there is one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from rich.console import Console
from transformers import PreTrainedModel

from engines.engine import PolicyEngine
from engines.prompts import end_token_ids
from engines.torch_engine import TorchEngine
from pipeline.problem import Problem
from pipeline.shards import read_shards
from trainer import checkpoint
from trainer.asynchronous import Ahead
from trainer.checkpoint import RunFolder, State
from trainer.checks import check_packing, check_room, check_verifiers, make_tasks
from trainer.config import TrainConfig, objective
from trainer.demonstrations import DemonstrationPool, open_demonstrations
from trainer.engines import DRAWN_AHEAD
from trainer.error_rates import read_error_rates
from trainer.evaluate import problems_digest
from trainer.first_batch import FirstBatch, open_first_batch
from trainer.groups import Filled, GroupSource
from trainer.judged import MajorityScorer, judge_of, open_judged
from trainer.lora import add_adapter, float32_head
from trainer.policy import Policy, load_model
from trainer.probe import TOKENS, Probe
from trainer.prompts import PromptStream, Task
from trainer.ranks import ALONE, FirstScorer, Ranks, RankSampler
from trainer.refusals import notes
from trainer.scorers import RandomScorer, Scorer, VerifierScorer
from trainer.tracking import Fenced, MetricsLog, open_trackers
from trainer.update import Updater
from trainer.weights import Weights, context, open_engine, tolerance

if TYPE_CHECKING:
    from peft import PeftModel


@dataclass(slots=True, kw_only=True)
class Run:
    """Everything a step touches. own: samples from the policy's module, for evaluations.  weights: of the engine that
    samples for training, which is `own` unless the recipe names another."""

    config: TrainConfig
    folder: RunFolder
    console: Console
    state: State
    policy: Policy
    own: TorchEngine
    weights: Weights
    source: GroupSource
    ahead: Ahead
    updater: Updater
    log: MetricsLog
    trackers: Fenced
    eval_problems: list[Problem]
    started: float

    def close(self) -> None:
        self.ahead.close()
        self.weights.close()

    @property
    def ranks(self) -> Ranks:
        return self.policy.ranks


def start(config: TrainConfig, folder: RunFolder, console: Console, scorer: Scorer | None, ranks: Ranks = ALONE) -> Run:
    """Raises RecipeError for whatever the user must mend before a run makes sense."""
    if config.threads > 0:
        torch.set_num_threads(config.threads)
    problems, eval_problems = list(read_shards(config.shards)), _eval_problems(config)
    dtype = torch.bfloat16 if config.lora is not None and config.lora.base == "bfloat16" else torch.float32
    model, tokenizer = load_model(config.model, dtype=dtype)
    ends = end_token_ids(tokenizer, model.generation_config or model.config)
    tasks = make_tasks(problems, config.template, config.sampling, tokenizer, ends, console)
    check_room(model, tasks, config.sampling, context(config))
    if scorer is None:
        ranks.from_first(lambda: _check_rewards(config, tasks))
        scorer = _own_scorer(config, folder, ranks)
    pool = ranks.from_first(partial(open_demonstrations, config, tasks, tokenizer, ends, scorer, console))
    digest, beside = TorchEngine(model, tokenizer).digest, open_engine(config, model)
    samplers = digest if beside is None or config.sampling.reuse is None else beside.digest
    first_batch = open_first_batch(config, tasks, samplers)
    if ranks.first:
        folder.keep_recipe(config)
    here = checkpoint.environment(
        torch.get_num_threads(),
        str(model.device),
        **_inputs(digest, problems, first_batch, pool, ranks),
        **judge_of(scorer),
    )
    torch.set_num_threads(ranks.from_first(lambda: folder.enforce_environment(here))["threads"])
    check_packing(model, config.optimiser)
    adapter = _adapter(config, model)  # after the digest, which is the base's
    policy = Policy(model, tokenizer, config.optimiser, config.sampling.temperature, adapter, ranks)
    own = TorchEngine(policy.unsharded(), tokenizer)
    engine = beside or own
    updater = _updater(config, policy)
    source = _source(config, engine, scorer, tasks, ranks)
    state, ready = _resume(config, folder, updater, source)
    source.stand_by(first_batch, pool)
    where = f"from step {state.step}" if state.step else f"{len(tasks):,} prompts"
    console.print(
        f"{folder.path.name}: {config.algorithm or config.loss.name} {where}, {torch.get_num_threads()} threads"
    )
    for note in notes(config):
        console.print(f"note: {note}")
    ahead = Ahead(ready)
    if config.asynchronous:
        source.sampler = ahead.guard(source.sampler)
    return Run(
        config=config,
        folder=folder,
        console=console,
        state=state,
        policy=policy,
        own=own,
        weights=_weights(config, policy, engine, own, tasks),
        source=source,
        ahead=ahead,
        updater=updater,
        log=MetricsLog(folder.metrics),
        trackers=Fenced(open_trackers(config.trackers if ranks.first else (), folder.path), console),
        eval_problems=eval_problems,
        started=time.monotonic(),
    )


def _weights(config: TrainConfig, policy: Policy, engine: PolicyEngine, own: TorchEngine, tasks: list[Task]) -> Weights:
    probe = Probe(
        engine,
        policy,
        [task.prompt_ids for task in tasks],
        tolerance(config, engine, policy),
        seed=config.seed,
        max_tokens=min(TOKENS, config.sampling.budget(0)),
    )
    return Weights(policy, engine, probe, own=engine is own)


def _inputs(
    digest: str,
    problems: list[Problem],
    first_batch: FirstBatch | None,
    pool: DemonstrationPool | None,
    ranks: Ranks,
) -> dict[str, str]:
    """What a resume must find again beside the machine."""
    return {
        "model_digest": digest,
        "shards_digest": problems_digest(problems),
        **({"reuse_digest": first_batch.digest} if first_batch is not None else {}),
        **({"demonstrations_digest": pool.digest()} if pool is not None else {}),
        **({"ranks": str(ranks.world)} if ranks.world > 1 else {}),
    }


def _adapter(config: TrainConfig, model: PreTrainedModel) -> PeftModel | None:
    if config.lora is None:
        return None
    adapter = add_adapter(model, config.lora, seed=config.seed)
    if config.lora.float32_head:
        float32_head(model)
    return adapter


def _updater(config: TrainConfig, policy: Policy) -> Updater:
    settings = config.optimiser
    return Updater(
        policy,
        objective(config),
        minibatches=settings.minibatches,
        microbatch_tokens=settings.microbatch_tokens,
        seed=config.seed,
        packing=settings.packing,
    )


def _source(config: TrainConfig, engine: PolicyEngine, scorer: Scorer, tasks: list[Task], ranks: Ranks) -> GroupSource:
    return GroupSource(
        stream=PromptStream(tasks, seed=config.seed, rules=config.prompts, samples=config.sampling.samples),
        sampler=engine if ranks.world == 1 else RankSampler(engine, ranks),
        scorer=scorer if ranks.world == 1 else FirstScorer(scorer, ranks),
        sampling=config.sampling,
        rules=config.filter,
        reward=config.reward,
        seed=config.seed,
        greedy=config.advantage.name == "greedy",
        ahead=DRAWN_AHEAD if config.asynchronous else 0,
    )


def _resume(
    config: TrainConfig, folder: RunFolder, updater: Updater, source: GroupSource
) -> tuple[State, Filled | None]:
    """The last checkpoint's counters and the batch drawn ahead; metrics and rollouts of later steps are taken back."""
    state, ready = State(entropy_coef=config.entropy.coef), None
    latest = folder.latest()
    if latest is not None:
        state, source.surplus, ready = checkpoint.load(latest, updater)
        source.stream.restore(state.prompts)
    if updater.policy.ranks.first:
        MetricsLog(folder.metrics).truncate(state.step)
        folder.drop_rollouts_after(state.step)
    return state, ready


def _check_rewards(config: TrainConfig, tasks: list[Task]) -> None:
    reward = config.reward
    if reward.audit is not None:
        read_error_rates(reward.audit, judged=reward.judge is not None)
    if reward.kind != "majority":  # which reads no golds
        check_verifiers(tasks, reward.verifier_workers, judge=reward.judge is not None)


def _own_scorer(config: TrainConfig, folder: RunFolder, ranks: Ranks) -> Scorer:
    reward = config.reward
    if reward.kind == "random":
        return RandomScorer(config.seed)
    if reward.kind == "majority":
        return MajorityScorer(reward.verifier_workers)
    if reward.judge is not None and ranks.first:  # the only one that scores
        return open_judged(reward.judge, config.seed, folder.path, reward.verifier_workers)
    return VerifierScorer(reward.verifier_workers)


def _eval_problems(config: TrainConfig) -> list[Problem]:
    settings = config.evaluation
    if settings.every == 0 or settings.shards is None:
        return []
    return list(read_shards(settings.shards))[: settings.problems]
