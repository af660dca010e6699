"""What a recipe's types cannot say: settings that are refused, and settings that are told about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.config import RecipeError
from trainer.advantages import ADVANTAGES
from trainer.corrections import CORRECTIONS
from trainer.curriculum import E2H
from trainer.engines import check_engine_ranks, engine_notes, engine_problems
from trainer.losses import LOSSES
from trainer.losses.reduce import AGGREGATIONS
from trainer.objective import check_options
from trainer.rewards import LENGTH_TERMS

if TYPE_CHECKING:
    from trainer.config import TrainConfig
    from trainer.sections import Choice

MIN_VOTERS = 3
"""Of two samples that differ the first one would be right."""


def check(config: TrainConfig) -> None:
    """What the types cannot say. Raises RecipeError with every problem found."""
    parts = (_names, _sampling, _stages, _demonstrations, _rewards, _lora, _counts, engine_problems)
    problems = [line for part in parts for line in part(config)]
    if problems:
        raise RecipeError("\n".join(problems))


def check_ranks(config: TrainConfig, world: int) -> None:
    """What has one process only. Raises RecipeError."""
    if world > 1 and config.optimiser.share_prompts:
        raise RecipeError("optimiser.share_prompts: in one process only; leave it out, or start without torchrun")
    check_engine_ranks(config, world)


def notes(config: TrainConfig) -> list[str]:
    """Choices that are allowed and that evidence speaks against; told at the start of a run."""
    found = []
    if config.advantage.name == "group_z":
        found.append(
            "advantage group_z divides by each group's std: nearly solved and nearly hopeless groups weigh more"
        )
    if config.reduction.name == "seq_mean_token_mean":
        found.append("reduction seq_mean_token_mean: a token of a long response weighs less than one of a short one")
    if config.kl.coef != 0 and config.kl.name == "k1":
        found.append("kl k1 as a loss term has a gradient of mean zero; k2 or k3 pull towards the reference")
    if config.loss.name == "reinforce" and config.optimiser.minibatches > 1:
        found.append("loss reinforce has no ratio, and later minibatches are off policy; set optimiser.minibatches = 1")
    return found + engine_notes(config)


def _names(config: TrainConfig) -> list[str]:
    problems = []
    choices: list[tuple[str, Choice | None, dict[str, Any], int]] = [
        ("advantage", config.advantage, {name: item.estimate for name, item in ADVANTAGES.items()}, 1),
        ("loss", config.loss, {name: item.matrix for name, item in LOSSES.items()}, 1),
        ("correction", config.correction, dict(CORRECTIONS), 3),
        ("reward.length", config.reward.length, dict(LENGTH_TERMS), 2),
        ("prompts.curriculum", config.prompts.curriculum, dict(E2H), 2),
    ]
    for key, choice, known, positional in choices:
        if choice is None:
            continue
        if choice.name not in known:
            problems.append(f"{key}.name: unknown '{choice.name}'; known: {', '.join(sorted(known))}")
        elif (wrong := check_options(known[choice.name], choice.options, positional)) is not None:
            problems.append(f"{key}.options: {choice.name}: {wrong}")
    if config.reduction.name not in AGGREGATIONS:
        known_names = ", ".join(sorted(AGGREGATIONS))
        problems.append(f"reduction.name: unknown '{config.reduction.name}'; known: {known_names}")
    if config.advantage.name in ADVANTAGES and ADVANTAGES[config.advantage.name].group and config.sampling.samples < 2:
        problems.append(f"sampling.samples: advantage '{config.advantage.name}' needs at least 2 responses a prompt")
    return problems


def _demonstrations(config: TrainConfig) -> list[str]:
    given, problems = config.demonstrations, []
    takes = config.loss.name in LOSSES and LOSSES[config.loss.name].demonstrations
    if takes and given is None:
        problems.append(f"demonstrations: loss '{config.loss.name}' learns from them; add the table [demonstrations]")
    if given is None:
        return problems
    if config.loss.name in LOSSES and not takes:
        able = ", ".join(name for name, loss in LOSSES.items() if loss.demonstrations)
        problems.append(
            f"demonstrations: loss '{config.loss.name}' would take them for the policy's own samples; set loss.name = "
            f"'{able}', or leave them out"
        )
    if config.advantage.name in ADVANTAGES and not ADVANTAGES[config.advantage.name].group:
        problems.append(
            f"demonstrations: advantage '{config.advantage.name}' does not compare the rows of a group, so a "
            "demonstration would lift nothing; use 'centred' or another group estimator"
        )
    if config.kl.coef != 0:
        problems.append("kl.coef: KL estimators are for tokens the policy sampled; set it to 0 with demonstrations")
    if config.reward.kind == "random":
        problems.append("reward.kind: demonstrations are no coin flips; leave them out of a control")
    if given.samples < 1:
        problems.append(f"demonstrations.samples: must be 1 or more (got {given.samples})")
    if given.path is None and given.response != "response":
        problems.append("demonstrations.response: names a field of the file demonstrations.path; give one")
    return problems


def _sampling(config: TrainConfig) -> list[str]:
    sampling, problems = config.sampling, []
    if sampling.temperature <= 0:
        problems.append("sampling.temperature: must be above 0; greedy samples have no importance ratio")
    for key, off in (("top_p", 1.0), ("top_k", -1), ("min_p", 0.0)):
        if getattr(sampling, key) != off:
            problems.append(
                f"sampling.{key}: truncated sampling biases the ratio by the mass it keeps; set it to {off}"
            )
    if config.filter.keep == "informative" and sampling.samples < 2:
        problems.append("sampling.samples: a group of one never varies; raise it or set filter.keep = 'all'")
    return problems


def _stages(config: TrainConfig) -> list[str]:
    sampling, problems = config.sampling, []
    ends = [0, *(stage.until_step for stage in sampling.stages)]
    budgets = [0, *(stage.max_tokens for stage in sampling.stages), sampling.max_tokens]
    if ends != sorted(set(ends)) or budgets != sorted(set(budgets)):
        problems.append(
            "sampling.stages: until_step and max_tokens must rise from stage to stage, and sampling.max_tokens, the "
            "budget after the last one, must be the largest"
        )
    if sampling.stages and config.reduction.name == "constant" and config.reduction.max_length is None:
        problems.append(
            "reduction.max_length: must be given with sampling.stages; L_max is one number of the whole run"
        )
    if sampling.stages and 0 < min(budgets[1:]) <= config.reward.overlong_cache:
        problems.append("reward.overlong_cache: must be smaller than the budget of every stage")
    if config.prompts.prior and config.prompts.skip == "success":
        problems.append("prompts.skip: success and prompts.prior both weigh by pass rates; choose one of them")
    curriculum = config.prompts.curriculum
    if curriculum is not None and not _whole(curriculum.options.get("levels", 2), 2):
        problems.append("prompts.curriculum.options: levels must be a whole number, 2 or more")
    return problems


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _rewards(config: TrainConfig) -> list[str]:
    length, problems = config.reward.length, _labels(config)
    if config.reward.length_after < 0 or (length is None and config.reward.length_after):
        problems.append(
            "reward.length_after: counts updates before reward.length begins; without a length it says nothing"
        )
    if length is None:
        return problems
    for name, value in length.options.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            problems.append(f"reward.length.options: {name} must be a number, 0 or more (got {value!r})")
    target = length.options.get("target", 1)
    if not isinstance(target, int) or not 1 <= target <= config.sampling.max_tokens:
        problems.append("reward.length.options: target must be a whole number from 1 to sampling.max_tokens")
    return problems


def _labels(config: TrainConfig) -> list[str]:
    problems = []
    if config.reward.judge is not None and config.reward.kind != "verdict":
        problems.append(f'reward.judge: is never asked with reward.kind = "{config.reward.kind}"; leave it out')
    if config.reward.kind != "majority":
        return problems
    if config.sampling.samples < MIN_VOTERS:
        problems.append(f'reward.kind = "majority": a majority wants sampling.samples of {MIN_VOTERS} or more')
    if config.advantage.name == "greedy":
        problems.append('reward.kind = "majority": advantage greedy scores one response alone, which is no majority')
    if config.demonstrations is not None:
        problems.append('reward.kind = "majority": demonstrations are judged by their golds; leave them out')
    return problems


def _lora(config: TrainConfig) -> list[str]:
    lora, problems = config.lora, []
    if lora is None:
        return problems
    if lora.rank < 1 or lora.alpha < 1:
        problems.append(f"lora.rank: rank and alpha must be 1 or more (got {lora.rank} and {lora.alpha})")
    if lora.float32_head and lora.base == "float32":
        problems.append(
            "lora.float32_head: the head of a float32 base is float32; set lora.base = 'bfloat16' or drop it"
        )
    if config.kl.reset_every:
        problems.append("kl.reset_every: with lora the reference is the base without its adapter; it is never reset")
    return problems


def _counts(config: TrainConfig) -> list[str]:
    positive = {
        "steps": config.steps,
        "sampling.prompts": config.sampling.prompts,
        "sampling.samples": config.sampling.samples,
        "sampling.max_tokens": config.sampling.max_tokens,
        "filter.max_gen_batches": config.filter.max_gen_batches,
        "filter.max_empty_steps": config.filter.max_empty_steps,
        "optimiser.minibatches": config.optimiser.minibatches,
        "optimiser.microbatch_tokens": config.optimiser.microbatch_tokens,
        "checkpoints.every": config.checkpoints.every,
        "checkpoints.keep": config.checkpoints.keep,
    }
    problems = [f"{key}: must be 1 or more (got {value})" for key, value in positive.items() if value < 1]
    if config.optimiser.packing and config.optimiser.share_prompts:
        problems.append("optimiser.share_prompts: packing lays rows out in another way; choose one of them")
    if config.optimiser.lr <= 0:
        problems.append(f"optimiser.lr: must be above 0 (got {config.optimiser.lr})")
    if config.reward.overlong_cache >= config.sampling.max_tokens:
        problems.append("reward.overlong_cache: must be smaller than sampling.max_tokens")
    if config.reward.correct <= config.reward.wrong:
        problems.append("reward.correct: must be above reward.wrong")
    if config.checkpoints.best != "none" and config.evaluation.every == 0:
        problems.append("checkpoints.best: chooses by evaluations in training; set evaluation.every")
    if config.evaluation.every > 0 and config.evaluation.shards is None:
        problems.append("evaluation.shards: needed when evaluation.every is set")
    return problems
