"""The sections of a training recipe, one frozen dataclass each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from engines.build import EndpointConfig, VllmConfig
from pipeline.config import STRICT
from pipeline.judging import JudgeConfig

Option = bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A function by its name and the options that differ from its defaults."""

    __pydantic_config__ = STRICT
    name: str
    options: dict[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """max_length: L_max of `constant`; default: the sampling budget."""

    __pydantic_config__ = STRICT
    name: str = "token_mean"
    max_length: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KlTerm:
    """A KL term in the loss; with coef 0 no reference model is loaded.

    reset_every: steps after which the reference becomes a copy of the policy (ProRL, arXiv 2505.24864); 0 = never.
    """

    __pydantic_config__ = STRICT
    name: Literal["k1", "k2", "k3"] = "k3"
    coef: float = 0.0
    reset_every: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyTerm:
    """coef: of the bonus.  target: the bonus adapts (Skywork-OR1, arXiv 2505.22312): coef moves by delta towards it."""

    __pydantic_config__ = STRICT
    coef: float = 0.0
    target: float | None = None
    delta: float = 1e-4
    max_coef: float = 5e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A response budget of the steps before `until_step`."""

    __pydantic_config__ = STRICT
    until_step: int
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """prompts: groups an update is made of.  samples: responses a prompt.  max_tokens: the response budget.
    stages: smaller budgets of the first steps (staged context, DeepScaleR); max_tokens holds after the last of them.
    reuse: a folder curated with this model; its samples stand in for those of first visits (first_batch.py).

    Truncating samplers bias the ratio by the mass they keep, so they are refused, and so is temperature 0.
    """

    __pydantic_config__ = STRICT
    prompts: int = 16
    samples: int = 8
    temperature: float = 1.0
    max_tokens: int = 512
    max_prompt_tokens: int = 1024
    stages: tuple[Stage, ...] = ()
    reuse: Path | None = None
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0

    def budget(self, step: int) -> int:
        """Response tokens allowed after `step` finished steps."""
        return next((stage.max_tokens for stage in self.stages if step < stage.until_step), self.max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchCopy:
    """The torch engine on weights of its own instead of the policy's module.

    device: e.g. `cuda:1`; `auto` is the policy's.  dtype: of the copy; `auto` is the policy's.
    """

    __pydantic_config__ = STRICT
    kind: Literal["torch"]
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"


def _engine_class(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return {"endpoint": "EndpointConfig", "vllm": "VllmConfig"}.get(str(kind), "TorchCopy")


SamplingEngine = Annotated[
    Annotated[TorchCopy, Tag("TorchCopy")]
    | Annotated[VllmConfig, Tag("VllmConfig")]
    | Annotated[EndpointConfig, Tag("EndpointConfig")],
    Discriminator(_engine_class),
]
"""The table `engine` of a training recipe: an engine beside the policy, to which its weights are sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRules:
    """Prompts that are left out before they cost samples.

    skip: `greso` leaves out prompts whose last visits were constant, from the second epoch on, with a probability that
    adapts (arXiv 2506.02177); `success` leaves out with the running success rate s of its visits, so that prompts come
    in proportion to 1 - s (Kimi k1.5, 2501.12599).  drop_above: pass rate of a visit after which a prompt never comes
    back (no-positive-resampling, ScaleRL, 2510.13786: 0.9).  prior: a prompt is left out with the probability that its
    group would be constant, by the pass rate in its shard row and the visits since.  curriculum: `e2h_cosine` or
    `e2h_gaussian` with `levels` (2506.06632): easy prompts first, by the pass rates in the shards.
    """

    __pydantic_config__ = STRICT
    skip: Literal["none", "greso", "success"] = "none"
    drop_above: float | None = None
    prior: bool = False
    curriculum: Choice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstrations:
    """Solutions by somebody else beside the policy's own samples (LUFFY, arXiv 2504.14945).

    path: a file (JSON Lines, JSON, CSV, Parquet) of rows with a problem's `id` or `question` and, in the field
    `response`, one text or a list of them.  Without a path: the shards' own `solution`, where it is worked out.
    samples: demonstrations in each group whose prompt has that many.
    """

    __pydantic_config__ = STRICT
    path: Path | None = None
    response: str = "response"
    samples: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFilter:
    """Dynamic sampling (DAPO, arXiv 2503.14476).

    keep: `informative` keeps groups whose raw verdicts differ, `all` keeps every group.
    max_gen_batches: generation rounds of one step.
    on_exhausted: what to do when they do not fill the batch: `train` on what is there, `replace` the missing groups by
        copies of those (POLARIS: with max_gen_batches = 1), `skip` the step and keep the groups for the next one, or
        `error`: stop.
    max_age: policy versions a surplus group may be old when it is trained on; older ones are dropped and counted.
    max_empty_steps: steps in a row without anything to learn from, after which the run ends with `no_signal`.
    """

    __pydantic_config__ = STRICT
    keep: Literal["informative", "all"] = "informative"
    max_gen_batches: int = 10
    on_exhausted: Literal["train", "replace", "skip", "error"] = "train"
    max_age: int = 1
    max_empty_steps: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """kind: `verdict`; `majority`: right is what most samples of a prompt answer, no gold is read (TTRL); or `random`
    for the control run (right with probability 1/2, keyed, whatever was written).

    judge: a model behind the rules of the verifiers (verifiers/README.md); the verifier `rubric` needs one.

    correct, wrong: the outcome rewards.  overlong_cache: soft punishment over the last tokens of the budget (DAPO),
    0 = off.  overlong_filter: truncated responses stay in the statistics and leave the loss.
    length: a term of a response's length, `kimi`, `l1_exact` or `l1_max` (rewards.py), for policies that had
    `length_after` updates; all that length takes from a right response together is bounded by correct - wrong.
    max_undecided_share: of a step's samples; above it the run stops.
    audit: the audit.json that `verigold audit` wrote of these verifiers; the model card repeats its error rates.
    """

    __pydantic_config__ = STRICT
    kind: Literal["verdict", "majority", "random"] = "verdict"
    judge: JudgeConfig | None = None
    correct: float = 1.0
    wrong: float = 0.0
    overlong_cache: int = 0
    overlong_filter: bool = False
    length: Choice | None = None
    length_after: int = 0
    max_undecided_share: float = 0.25
    audit: Path | None = None
    verifier_workers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimiser:
    """AdamW.  minibatches: optimiser steps a batch is split into.  max_grad_norm: of the whole optimiser step.

    microbatch_tokens: tokens of a forward pass, with their padding.  packing: rows end to end instead of padded.
    share_prompts: each prompt of a micro-batch is computed once for all its responses.
    """

    __pydantic_config__ = STRICT
    lr: float = 1e-6
    warmup_steps: int = 10
    beta1: float = 0.9
    beta2: float = 0.98
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    minibatches: int = 1
    microbatch_tokens: int = 8192
    packing: bool = False
    share_prompts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Train an adapter of this rank, its update scaled by alpha / rank; learning rates are about ten times higher.

    base: type of the frozen weights.  float32_head: logits in float32 from a base in bfloat16.
    """

    __pydantic_config__ = STRICT
    rank: int = 16
    alpha: int = 32
    base: Literal["float32", "bfloat16"] = "float32"
    float32_head: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """system: system message for problems that bring none.  suffix: instruction added to the question."""

    __pydantic_config__ = STRICT
    system: str | None = None
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """every: steps between checkpoints.  keep: how many of the last ones stay.

    best: the evaluation metric whose best model so far is exported to best/ beside them.
    """

    __pydantic_config__ = STRICT
    every: int = 10
    keep: int = 2
    best: Literal["none", "pass_at_1", "greedy"] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """every: steps between evaluations, 0 = none.  Own sampling settings: greedy, and `samples` at `temperature`."""

    __pydantic_config__ = STRICT
    every: int = 0
    shards: Path | None = None
    problems: int = 256
    samples: int = 4
    temperature: float = 1.0
    max_tokens: int | None = None
