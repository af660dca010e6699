"""Batched sampling from a transformers causal language model, with a KV cache and log-probabilities.

Shape suffixes: P prompts of a batch, B rows (samples) of a batch, T positions, V vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    Cache,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from engines.batches import Batch, Work, additive_mask, draw, left_padded, plan, row_keys, uniforms
from engines.engine import Completion, EngineError, Prompt, SamplingParams
from engines.kv_cache import cache_argument, is_plain, new_cache, take_rows
from engines.model_digest import model_digest
from engines.prompts import end_token_ids, prompt_ids

MIN_LIVE_SHARE = 0.75
"""Finished rows are dropped when fewer than this share still run: dropping copies the cache, running them is waste."""

Dtype = Literal["auto", "float32", "bfloat16", "float16"]


class TorchEngine:
    """Sampler, scorer and policy engine over one model in this process.

    The module is used, not copied. A trainer may pass its live module: then `load_weights` with the module's own
    tensors copies nothing and only sets the version (and forgets the digest), and every completion is drawn from the
    weights as they are at that moment. Sampling runs without gradient in evaluation mode and restores the module's
    mode before any completion is handed out, so a caller may train between two completions of one `generate`; what
    is drawn after that comes from the changed weights, under the version set last.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        version: int = 0,
        max_batch_tokens: int = 16_384,
    ) -> None:
        """max_batch_tokens bounds rows x (prompt + new tokens) of a batch, and with it the memory of the cache."""
        self.model = model
        self.tokenizer = tokenizer
        self.version = version
        self.max_batch_tokens = max_batch_tokens
        self.end_ids = end_token_ids(tokenizer, getattr(model, "generation_config", None) or model.config)
        parameters = inspect.signature(model.forward).parameters
        self._keeps_last = "logits_to_keep" in parameters
        self._takes_positions = "position_ids" in parameters
        self._cache_name = cache_argument(model)
        self._plain = is_plain(model.config) and model.config._attn_implementation in ("sdpa", "eager")
        self._digest: str | None = None

    @classmethod
    def from_folder(
        cls, path: Path, *, device: str = "auto", dtype: Dtype = "auto", max_batch_tokens: int = 16_384
    ) -> TorchEngine:
        """Loads a Hugging Face model folder; `auto` is the GPU in bfloat16 if there is one, else the CPU in float32.

        Raises EngineError when the folder holds no usable model.
        """
        if not (path / "config.json").is_file():
            raise EngineError(f"{path}: no model there (config.json is missing); give a Hugging Face model folder")
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if dtype == "auto":
            dtype = "float32" if device == "cpu" else "bfloat16"
        try:
            with without_bars():
                AutoConfig.from_pretrained(path, local_files_only=True)  # of all reasons its own is the plainest
                tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
                model = AutoModelForCausalLM.from_pretrained(path, local_files_only=True, dtype=getattr(torch, dtype))
        except (OSError, ValueError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].strip().rstrip(".:")
            raise EngineError(
                f"{path}: the model cannot be loaded ({reason}); give a Hugging Face model folder"
            ) from error
        torch.nn.Module.to(model, device)
        return cls(model.eval(), tokenizer, max_batch_tokens=max_batch_tokens)

    @property
    def digest(self) -> str:
        """32 hex digits of weights, tokenizer, chat template, end tokens, type and sampling scheme.

        Where the files lay, the device and the batch budget do not enter. Computed on first use after a change.
        """
        if self._digest is None:
            self._digest = model_digest(self.model, self.tokenizer, self.end_ids)
        return self._digest

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Replaces all weights; tensors that are the module's own storage are not copied.

        Raises EngineError for an unknown name or another shape, and when a parameter was left out: a weight that
        silently stays old is the worst outcome of an update. A tied weight needs one of its names only.
        """
        own = self.model.state_dict()
        given: set[int] = set()
        with torch.no_grad():
            for name, tensor in weights:
                target = own.get(name)
                if target is None or target.shape != tensor.shape:
                    expected = "no such weight" if target is None else f"expected shape {tuple(target.shape)}"
                    raise EngineError(f"weight {name} of shape {tuple(tensor.shape)}: {expected}")
                if target.data_ptr() != tensor.data_ptr():
                    target.copy_(tensor)
                given.add(target.data_ptr())
        left_out = [name for name, value in self.model.named_parameters() if value.data_ptr() not in given]
        if left_out:
            raise EngineError(f"update {version} left out {len(left_out)} weights, {left_out[0]} among them")
        self.version = version
        self._digest = None

    def encode(self, prompt: Prompt) -> list[int]:
        """Token ids of a prompt; chat messages go through the model's own chat template.

        Raises EngineError for an empty prompt, and for messages when the tokenizer has no chat template.
        """
        return prompt_ids(self.tokenizer, prompt)

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        """Yields (prompt index, sample index, completion), batch by batch, in the order of finishing.

        A draw is fixed by (params.seed, prompt key, sample index, position): other prompts, their order and the
        batch do not enter, up to the rounding of batched arithmetic. At temperature 0 the most likely token is taken
        and its log-probability is the model's at temperature 1. A completion also ends (`length`) where the model's
        context does; after a prompt that fills it nothing is sampled.

        The draw inverts the cumulative distribution with one uniform number a token; the Gumbel trick would need one
        for every entry of the vocabulary to be keyed in this way.
        """
        encoded = [self.encode(prompt) for prompt in prompts]
        keys, samples = params.keys_of(len(encoded)), params.samples
        fits = [index for index, ids in enumerate(encoded) if self._room(ids, params) > 0]
        for index in sorted(set(range(len(encoded))) - set(fits)):
            full = Completion(text="", token_ids=(), logprobs=(), finish_reason="length", version=self.version)
            yield from ((index, sample, full) for sample in samples)
        for works in plan(encoded, keys, fits, samples, params.max_tokens, self.max_batch_tokens):
            with _evaluating(self.model):
                finished = self._sample(works, encoded, params, row_keys(params.seed, works, keys))
            yield from finished

    def _room(self, ids: Sequence[int], params: SamplingParams) -> int:
        """New tokens that fit after a prompt in the model's context."""
        context = getattr(self.model.config, "max_position_embeddings", None)
        return params.max_tokens if context is None else min(params.max_tokens, context - len(ids))

    def _sample(
        self, works: Sequence[Work], encoded: Sequence[Sequence[int]], params: SamplingParams, keys: NDArray[np.uint64]
    ) -> list[tuple[int, int, Completion]]:
        """One batch, from prefill to its last end token."""
        batch, logits_BV = self._prefill(works, encoded, params, keys)
        end_ids = torch.tensor(sorted(self.end_ids), dtype=torch.long, device=logits_BV.device)
        finished: list[tuple[int, int, Completion]] = []
        for step in range(params.max_tokens):
            token_B, logp_B = draw(logits_BV, uniforms(batch.keys, step), params.temperature)
            batch.tokens_BT[:, step], batch.logps_BT[:, step] = token_B, logp_B
            ends_B = torch.isin(token_B, end_ids) & batch.alive_B
            leaves_B = ends_B | (batch.alive_B & (batch.limit_B == step + 1))
            finished += [
                (*batch.names[row], self._completion(batch, row, step + 1, bool(ends_B[row])))
                for row in leaves_B.nonzero()[:, 0].tolist()
            ]
            batch.alive_B = batch.alive_B & ~leaves_B
            live = batch.alive_B.nonzero()[:, 0]
            if not len(live):
                break
            if len(live) < MIN_LIVE_SHARE * len(batch.names):
                batch.keep(live)
                token_B = token_B[live]
            logits_BV = self._step(batch, token_B)
        return finished

    def _prefill(
        self, works: Sequence[Work], encoded: Sequence[Sequence[int]], params: SamplingParams, keys: NDArray[np.uint64]
    ) -> tuple[Batch, Tensor]:
        """Runs every prompt once and repeats its row for each sample. Also the logits [B, V] of the first new token."""
        device = self.model.device
        ids_PT, mask_PT = left_padded([encoded[work.index] for work in works], device)
        cache = new_cache(self.model.config)
        positions_PT = (mask_PT.long().cumsum(1) - 1).clamp(min=0)
        logits_PV = self._forward(ids_PT, self._prefill_mask(mask_PT), positions_PT, cache)
        repeats = torch.tensor([work.count for work in works], device=device)
        source_B = torch.repeat_interleave(torch.arange(len(works), device=device), repeats)
        if len(source_B) > len(works):
            take_rows(cache, source_B)
        limits_P = torch.tensor([self._room(encoded[work.index], params) for work in works], device=device)
        B, new_tokens = len(source_B), int(limits_P.max())
        mask_BT = torch.cat([mask_PT[source_B], mask_PT.new_ones((B, new_tokens))], dim=1)
        batch = Batch(
            names=[(work.index, sample) for work in works for sample in range(work.first, work.first + work.count)],
            keys=keys,
            cache=cache,
            mask_BT=additive_mask(mask_BT, self.model.dtype) if self._plain else mask_BT.long(),
            position_B=mask_PT.sum(1)[source_B],
            limit_B=limits_P[source_B],
            alive_B=torch.ones(B, dtype=torch.bool, device=device),
            tokens_BT=torch.zeros((B, new_tokens), dtype=torch.long, device=device),
            logps_BT=torch.zeros((B, new_tokens), device=device),
        )
        return batch, logits_PV[source_B]

    def _prefill_mask(self, mask_BT: Tensor) -> Tensor:
        if not self._plain:
            return mask_BT.long()
        T = mask_BT.shape[1]
        causal_TT = torch.ones((T, T), dtype=torch.bool, device=mask_BT.device).tril()
        return additive_mask(mask_BT[:, None, None, :] & causal_TT, self.model.dtype)

    def _step(self, batch: Batch, token_B: Tensor) -> Tensor:
        """Feeds one token a row; the logits [B, V] after it."""
        mask_BT = batch.mask_BT[:, : batch.cache.get_seq_length() + 1]
        mask = mask_BT[:, None, None, :] if self._plain else mask_BT
        logits_BV = self._forward(token_B[:, None], mask, batch.position_B[:, None], batch.cache)
        batch.position_B = batch.position_B + 1
        return logits_BV

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Cache) -> Tensor:
        """Logits [B, V] of the last position, in float32. ids and positions [B, t]; mask over cached and new ones."""
        extra: dict[str, Any] = {self._cache_name: cache}
        if self._keeps_last:
            extra["logits_to_keep"] = 1
        if self._takes_positions:
            extra["position_ids"] = positions
        out = self.model(input_ids=ids, attention_mask=mask, use_cache=True, **extra)
        return out.logits[:, -1].float()

    def _completion(self, batch: Batch, row: int, length: int, stopped: bool) -> Completion:
        ids = batch.tokens_BT[row, :length].tolist()
        text = self.tokenizer.decode(ids[:-1] if stopped else ids, skip_special_tokens=True)
        return Completion(
            text=cast(str, text),
            token_ids=tuple(ids),
            logprobs=tuple(batch.logps_BT[row, :length].tolist()),
            finish_reason="stop" if stopped else "length",
            version=self.version,
        )

    def choice_logprobs(self, prompts: Sequence[Prompt], choices: Sequence[str]) -> list[list[float]]:
        """For each prompt the summed log-probability, at temperature 1, of the tokens of each choice after it.

        Choices are tokenised by themselves, without special tokens. Raises EngineError for an empty choice.
        """
        endings = [self.tokenizer.encode(choice, add_special_tokens=False) for choice in choices]
        if not all(endings):
            raise EngineError("an empty choice has no probability; give at least one character")
        encoded = [self.encode(prompt) for prompt in prompts]
        # the last token of a choice is only looked up, so choices of one token share one pass over their prompt
        sharing: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for place in range(len(encoded)):
            for choice, ending in enumerate(endings):
                sharing.setdefault((place, tuple(ending[:-1])), []).append(choice)
        rows = list(sharing)
        sequences = [[*encoded[place], *begun] for place, begun in rows]
        scores = [[0.0] * len(choices) for _ in prompts]
        names = [str(index) for index in range(len(rows))]
        for works in plan(sequences, names, range(len(rows)), range(1), 0, self.max_batch_tokens):
            chosen = [rows[work.index] for work in works]
            with _evaluating(self.model):
                begun_B, next_BV = self._ending_logps(
                    [sequences[work.index] for work in works], [len(begun) for _, begun in chosen]
                )
            for row, (place, begun) in enumerate(chosen):
                for choice in sharing[place, begun]:
                    scores[place][choice] = float(begun_B[row] + next_BV[row, endings[choice][-1]])
        return scores

    def _ending_logps(self, sequences: Sequence[Sequence[int]], lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Summed log-probability [B] of the last lengths[i] tokens of each sequence, and those [B, V] of the next."""
        device = self.model.device
        ids_BT, mask_BT = left_padded(sequences, device)
        longest = max(lengths)
        extra: dict[str, Any] = {"logits_to_keep": longest + 1} if self._keeps_last else {}
        if self._takes_positions:
            extra["position_ids"] = (mask_BT.long().cumsum(1) - 1).clamp(min=0)
        out = self.model(input_ids=ids_BT, attention_mask=self._prefill_mask(mask_BT), use_cache=False, **extra)
        logps_BTV = out.logits[:, -longest - 1 :].float().log_softmax(-1)
        ending_BT1 = ids_BT[:, ids_BT.shape[1] - longest :, None]
        logps_BT = logps_BTV[:, :-1].gather(2, ending_BT1)[:, :, 0]
        from_end_T = torch.arange(longest, 0, -1, device=device)
        counts_B = torch.tensor(lengths, device=device)
        sums_B = logps_BT.masked_fill(from_end_T > counts_B[:, None], 0.0).sum(1)
        return sums_B, logps_BTV[:, -1]


@contextmanager
def without_bars() -> Iterator[None]:
    """Loads and saves without transformers' progress bars; the former setting after."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


@contextmanager
def _evaluating(model: PreTrainedModel) -> Iterator[None]:
    """No dropout and no gradient inside. Not `inference_mode`: buffers made in it would spoil later training."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)
