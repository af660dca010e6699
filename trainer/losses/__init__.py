"""Policy losses: pure, unreduced functions of StepTensors. A new loss is one file and one line in LOSSES."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from trainer.losses.cispo import cispo, cispo_rollout
from trainer.losses.clip import clip
from trainer.losses.covariance import clip_cov, kl_cov, select_clip_cov, select_kl_cov
from trainer.losses.dppo import dppo, prime_rl
from trainer.losses.gmpo import gmpo
from trainer.losses.gspo import gspo, gspo_token
from trainer.losses.kimi import kimi
from trainer.losses.luffy import luffy
from trainer.losses.reinforce import reinforce
from trainer.losses.sapo import sapo
from trainer.losses.topr import topr
from trainer.step_tensors import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss and what it needs.

    matrix: StepTensors and options to a [B, T] loss and metrics.
    reads: the log-probabilities it reads besides the new ones; a token where one of them is not finite is dropped.
    select: picks tokens over the whole optimiser step, before the first micro-batch.
    demonstrations: it knows rows by somebody else (demonstration_B) from the policy's own.
    zero_at_zero: rows whose advantages are all 0 have loss and gradient 0, so the update may skip them.
    """

    matrix: Callable[..., tuple[Tensor, Metrics]]
    reads: frozenset[str] = frozenset({"old"})
    select: Callable[..., Tensor] | None = None
    zero_at_zero: bool = True
    demonstrations: bool = False


_NONE, _ROLLOUT = frozenset[str](), frozenset({"rollout"})

LOSSES: dict[str, Loss] = {
    "reinforce": Loss(matrix=reinforce, reads=_NONE),
    "clip": Loss(matrix=clip),
    "gspo": Loss(matrix=gspo),
    "gspo_token": Loss(matrix=gspo_token),
    "gmpo": Loss(matrix=gmpo),
    "cispo": Loss(matrix=cispo),
    "cispo_rollout": Loss(matrix=cispo_rollout, reads=_ROLLOUT),
    "dppo": Loss(matrix=dppo, reads=_ROLLOUT),
    "prime_rl": Loss(matrix=prime_rl, reads=_ROLLOUT, zero_at_zero=False),
    "topr": Loss(matrix=topr, reads=_ROLLOUT),
    "clip_cov": Loss(matrix=clip_cov, select=select_clip_cov),
    "kl_cov": Loss(matrix=kl_cov, select=select_kl_cov, zero_at_zero=False),
    "kimi": Loss(matrix=kimi, zero_at_zero=False),
    "sapo": Loss(matrix=sapo),
    "luffy": Loss(matrix=luffy, demonstrations=True),
}
