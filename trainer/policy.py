"""The model that learns: log-probabilities, optimiser, schedule. Any causal language model that transformers loads.

Shape suffixes: M rows of a micro-batch, T response columns, V vocabulary.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, PreTrainedModel, PreTrainedTokenizerBase

from engines.batches import additive_mask
from engines.kv_cache import cache_argument
from pipeline.config import RecipeError
from trainer.batch import MicroBatch
from trainer.groups import RunStoppedError
from trainer.packing import PackedBatch
from trainer.ranks import ALONE, Ranks, shard, whole
from trainer.sections import Optimiser

if TYPE_CHECKING:
    from peft import PeftModel

Entropy = Literal["none", "value", "graph"]
"""Of the response tokens: not wanted, as numbers, or with the graph that a bonus needs."""


def load_model(folder: Path, *, dtype: torch.dtype = torch.float32) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A model folder in Hugging Face format; float32 because the optimiser works on these very weights.

    Raises RecipeError when the folder holds no model.
    """
    if not (folder / "config.json").is_file():
        raise RecipeError(f"model: {folder}: no model there (config.json is missing); give a Hugging Face model folder")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=dtype)
    except (OSError, ValueError) as error:
        raise RecipeError(f"model: {folder}: cannot be loaded: {error}") from None
    device = "cuda" if torch.cuda.is_available() else "cpu"
    nn.Module.to(model, device)
    return model, tokenizer


def token_logprobs(logits_MTV: Tensor, ids_MT: Tensor, temperature: float) -> Tensor:
    """Log-probability of each id under softmax(logits / temperature), in float32 at least. The one gather there is."""
    logits_MTV = _scaled(logits_MTV, temperature)
    chosen_MT = logits_MTV.gather(-1, ids_MT[..., None])[..., 0]
    return chosen_MT - logits_MTV.logsumexp(-1)


def token_entropy(logits_MTV: Tensor, temperature: float) -> Tensor:
    """Entropy in nats of softmax(logits / temperature) over the full vocabulary."""
    logits_MTV = _scaled(logits_MTV, temperature)
    log_sum_MT = logits_MTV.logsumexp(-1)
    return log_sum_MT - (logits_MTV.softmax(-1) * logits_MTV).sum(-1)


def self_certainty(logits_MTV: Tensor) -> Tensor:
    """KL(uniform || p) = logsumexp(z) - mean(z) - log V (Intuitor, arXiv 2505.19590)."""
    logits_MTV = _scaled(logits_MTV, 1.0)
    size = torch.tensor(float(logits_MTV.shape[-1]), dtype=logits_MTV.dtype)
    return logits_MTV.logsumexp(-1) - logits_MTV.mean(-1) - size.log()


def _scaled(logits: Tensor, temperature: float) -> Tensor:
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return logits if temperature == 1.0 else logits / temperature


class Policy:
    """A live module with its optimiser; the engine samples from the same module.

    Dropout is off in training too: with it new and old log-probabilities would differ before any update.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        settings: Optimiser,
        temperature: float,
        adapter: PeftModel | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        """adapter: the one that `model` carries; it alone is trained.  ranks: processes that share the weights."""
        self.adapter = adapter
        self.ranks = ranks
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.replica: PreTrainedModel | None = None
        self._replica_adapter: PeftModel | None = None
        if ranks.world > 1:
            self._replica_adapter, self.replica = _replica(model, adapter)
            shard(model)
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.settings = settings
        self.temperature = temperature
        self.updates = 0
        self.names = [name for name, value in model.named_parameters() if value.requires_grad]
        self.parameters = [value for value in model.parameters() if value.requires_grad]
        self.optimiser = torch.optim.AdamW(
            self.parameters,
            lr=settings.lr,
            betas=(settings.beta1, settings.beta2),
            weight_decay=settings.weight_decay,
            foreach=True,
        )

    @property
    def lr(self) -> float:
        """Of the next update: linear warm-up, then constant."""
        return self.settings.lr * min(1.0, (self.updates + 1) / max(1, self.settings.warmup_steps))

    def logprobs(self, micro: MicroBatch | PackedBatch, *, entropy: Entropy) -> tuple[Tensor, Tensor | None]:
        """Of the response tokens. [M, T]; positions after a response hold numbers without meaning."""
        return self._logprobs(self.model, micro, entropy=entropy)

    def _logprobs(
        self, model: PreTrainedModel, micro: MicroBatch | PackedBatch, *, entropy: Entropy
    ) -> tuple[Tensor, Tensor | None]:
        if isinstance(micro, PackedBatch):
            return packed_logprobs(model, micro, self.temperature, entropy=entropy, keeps=self._keeps)
        layout = shared_logprobs if self.settings.share_prompts else response_logprobs
        return layout(model, micro, self.temperature, entropy=entropy, keeps=self._keeps)

    @torch.no_grad()
    def all_logprobs(
        self, micros: Sequence[MicroBatch | PackedBatch], shape: Sequence[int], *, model: PreTrainedModel | None = None
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies [B, T] of all rows, 0 outside; of another model when one is given."""
        source = self.model if model is None else model
        logp_BT = torch.zeros(tuple(shape), dtype=self.dtype)
        entropy_BT = torch.zeros(tuple(shape), dtype=self.dtype)
        for micro, counts in self.ranks.share(micros):
            logp_MT, entropy_MT = self._logprobs(source, micro, entropy="value")
            if counts:
                logp_BT[micro.index_M, : micro.width] = logp_MT.cpu()
            if counts and entropy_MT is not None:
                entropy_BT[micro.index_M, : micro.width] = entropy_MT.cpu()
        return self.ranks.total(logp_BT), self.ranks.total(entropy_BT)

    @property
    def dtype(self) -> torch.dtype:
        return torch.float64 if self.model.dtype == torch.float64 else torch.float32

    def zero_grad(self) -> None:
        self.optimiser.zero_grad(set_to_none=True)

    def apply(self) -> float:
        """Clips the accumulated gradient by its global norm and steps; the norm before clipping.

        Raises RunStoppedError when the norm is not finite: a step would destroy the weights.
        """
        norm = float(whole(nn.utils.clip_grad_norm_(self.parameters, self.settings.max_grad_norm)))
        if norm != norm or norm == float("inf"):
            raise RunStoppedError(
                "gradient", f"the gradient norm of update {self.updates + 1} is {norm}; lower optimiser.lr"
            )
        for group in self.optimiser.param_groups:
            group["lr"] = self.lr
        self.optimiser.step()
        self.updates += 1
        return norm

    def reference_logprobs(
        self, reference: PreTrainedModel | None, micros: Sequence[MicroBatch | PackedBatch], shape: Sequence[int]
    ) -> Tensor:
        """[B, T] under the frozen reference; under the base where the policy is an adapter on it."""
        if reference is not None:
            return self.all_logprobs(micros, shape, model=reference)[0]
        if self.adapter is None:
            raise ValueError("a policy without an adapter needs a reference model")
        with self.adapter.disable_adapter():
            return self.all_logprobs(micros, shape)[0]

    def unsharded(self) -> PreTrainedModel:
        """The model itself, or the replica whose weights are those of the last `synchronise`."""
        return self.model if self.replica is None else self.replica

    def unsharded_adapter(self) -> PeftModel | None:
        """The adapter with whole weights: of the model itself, or of the replica."""
        return self.adapter if self.replica is None else self._replica_adapter

    def synchronise(self) -> None:
        """Copies the shards of all ranks into the replica."""
        if self.replica is None:
            return
        with torch.no_grad():
            for target, source in zip(self.replica.parameters(), self.model.parameters(), strict=True):
                if source.requires_grad:
                    target.copy_(whole(source))

    def reference(self) -> PreTrainedModel:
        """A frozen copy of the policy as it is now (of several ranks: a whole one on each)."""
        frozen = copy.deepcopy(self.unsharded())
        return frozen.requires_grad_(False).eval()


def _replica(model: PreTrainedModel, adapter: PeftModel | None) -> tuple[PeftModel | None, PreTrainedModel]:
    """A frozen copy of the model, with the adapter on it where there is one."""
    copied = copy.deepcopy(adapter)
    replica = copy.deepcopy(model) if copied is None else cast(PreTrainedModel, copied.get_base_model())
    return copied, replica.requires_grad_(False).eval()


def response_logprobs(
    model: PreTrainedModel, micro: MicroBatch, temperature: float, *, entropy: Entropy, keeps: bool
) -> tuple[Tensor, Tensor | None]:
    """Logits at column p predict the token at p + 1, so the responses' logits begin one column before them."""
    device = model.device
    extra: dict[str, Any] = {"logits_to_keep": micro.width + 1} if keeps else {}
    out = model(
        input_ids=micro.input_ids_MS.to(device),
        attention_mask=micro.attention_mask_MS.to(device),
        position_ids=micro.position_ids.to(device),
        use_cache=False,
        **extra,
    )
    logits_MTV = out.logits[:, -(micro.width + 1) : -1]
    logp_MT = token_logprobs(logits_MTV, micro.response_ids.to(device), temperature)
    return logp_MT, _row_entropies(logits_MTV, temperature, entropy)


def shared_logprobs(
    model: PreTrainedModel, micro: MicroBatch, temperature: float, *, entropy: Entropy, keeps: bool
) -> tuple[Tensor, Tensor | None]:
    """As `response_logprobs`, each prompt computed once for all its responses (Prefix Grouper, arXiv 2506.05433).

    The prompts' keys and values are repeated for the responses, gradients flow back through them, and no response's
    last token is fed: nothing is predicted from it. For models whose layers attend to all positions (`is_plain`).
    """
    device, width = model.device, micro.width
    ids_MS, mask_MS = micro.input_ids_MS.to(device), micro.attention_mask_MS.to(device).bool()
    marked_MP = ids_MS[:, :-width].masked_fill(~mask_MS[:, :-width], -1)
    marked_UP, source_M = torch.unique(marked_MP, dim=0, return_inverse=True)
    mask_UP = marked_UP >= 0
    cache = DynamicCache(config=model.config)
    cached: dict[str, Any] = {cache_argument(model): cache, "use_cache": True}
    first = model(
        input_ids=marked_UP.clamp(min=0),
        attention_mask=additive_mask(mask_UP[:, None, None, :] & _causal(mask_UP.shape[1], device), model.dtype),
        position_ids=(mask_UP.long().cumsum(1) - 1).clamp(min=0),
        **cached | ({"logits_to_keep": 1} if keeps else {}),
    )
    logits = [first.logits[:, -1:].index_select(0, source_M)]
    if width > 1:
        cache.batch_select_indices(source_M)
        seen_MRP = mask_MS[:, None, :-width].expand(-1, width - 1, -1)
        own_MRR = _causal(width - 1, device).expand(len(source_M), -1, -1)
        start_M = mask_MS[:, :-width].sum(1, keepdim=True)
        rest = model(
            input_ids=ids_MS[:, -width:-1],
            attention_mask=additive_mask(torch.cat([seen_MRP, own_MRR], dim=2)[:, None], model.dtype),
            position_ids=start_M + torch.arange(width - 1, device=device),
            **cached,
        )
        logits.append(rest.logits)
    targets = (ids_MS[:, -width, None], ids_MS[:, ids_MS.shape[1] - width + 1 :])
    parts = [token_logprobs(part, ids, temperature) for part, ids in zip(logits, targets, strict=False)]
    entropies = [_row_entropies(part, temperature, entropy) for part in logits]
    found = [part for part in entropies if part is not None]
    return torch.cat(parts, dim=1), torch.cat(found, dim=1) if found else None


def _causal(size: int, device: torch.device) -> Tensor:
    return torch.ones((size, size), dtype=torch.bool, device=device).tril()


def packed_logprobs(
    model: PreTrainedModel, micro: PackedBatch, temperature: float, *, entropy: Entropy, keeps: bool
) -> tuple[Tensor, Tensor | None]:
    """As `response_logprobs`; only logits of response tokens are computed where the model can choose them."""
    device = model.device
    places_N = micro.places_N.to(device)
    extra: dict[str, Any] = {"logits_to_keep": places_N} if keeps else {}
    out = model(
        input_ids=micro.ids_S[None].to(device),
        attention_mask=micro.attention(model.dtype).to(device),
        position_ids=micro.position_S[None].to(device),
        use_cache=False,
        **extra,
    )
    logits_NV = out.logits[0] if keeps else out.logits[0, places_N]
    where = (micro.row_N.to(device), micro.column_N.to(device))
    logp_N = token_logprobs(logits_NV, micro.target_ids.to(device), temperature)
    shape = (len(micro.index_M), micro.width)
    logp_MT = logp_N.new_zeros(shape).index_put(where, logp_N)
    if entropy == "none":
        return logp_MT, None
    with torch.set_grad_enabled(entropy == "graph" and torch.is_grad_enabled()):
        entropy_N = token_entropy(logits_NV, temperature)
    return logp_MT, entropy_N.new_zeros(shape).index_put(where, entropy_N)


def _row_entropies(logits_MTV: Tensor, temperature: float, entropy: Entropy) -> Tensor | None:
    """Row by row: entropy needs as much memory again as the logits it is given."""
    if entropy == "none":
        return None
    with torch.set_grad_enabled(entropy == "graph" and torch.is_grad_enabled()):
        return torch.stack([token_entropy(logits_TV, temperature) for logits_TV in logits_MTV])
