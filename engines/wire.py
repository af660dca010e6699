"""OpenAI's chat and completion protocol: requests from prompts, completions from replies. Pure."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from engines.build import EndpointConfig
from engines.engine import Completion, EngineError, Message, Prompt, SamplingParams

CHAT, COMPLETIONS = "chat/completions", "completions"


class ReplyError(ValueError):
    """A reply that is no completion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. digest: of everything that shapes the answer, the prompt's key and the sample's index included."""

    path: str
    body: Mapping[str, Any]
    digest: str


def sampling_call(config: EndpointConfig, prompt: Prompt, params: SamplingParams, key: str, sample: int) -> Call:
    """One sample a request: with several, a lost reply would lose them all, and each would have no seed of its own.

    Raises EngineError for a prompt that this endpoint cannot be asked.
    """
    path, asked = _asked(config, prompt)
    body: dict[str, Any] = {
        "model": config.model,
        **asked,
        config.max_tokens_field: params.max_tokens,
        "temperature": params.temperature,
        "top_p": 1.0,  # a server may have another default, from the model's generation config
        "seed": sample_seed(params.seed, key, sample),
    }
    if config.logprobs != "none":
        body["logprobs"] = True if path == CHAT else 1
    return _call(config, path, body | config.extra_body, key, sample)


def scoring_call(config: EndpointConfig, text: str) -> Call:
    """Asks for the log-probabilities of a text's tokens. One more is sampled, for some servers refuse to draw none."""
    body = {"model": config.model, "prompt": text, "max_tokens": 1, "temperature": 0.0, "echo": True, "logprobs": 1}
    return _call(config, COMPLETIONS, body | config.extra_body, "", 0)


def ids_scoring_call(config: EndpointConfig, ids: Sequence[int]) -> Call:
    """Asks vLLM for the log-probabilities of given tokens. One more is sampled, for it refuses to draw none."""
    body = {"model": config.model, "prompt": list(ids), "max_tokens": 1, "temperature": 0.0}
    body |= {"prompt_logprobs": 0, "return_token_ids": True}
    return _call(config, COMPLETIONS, body, "", 0)


def _call(config: EndpointConfig, path: str, body: Mapping[str, Any], key: str, sample: int) -> Call:
    text = json.dumps([config.base_url, config.revision, path, body, key, sample], sort_keys=True)
    return Call(path=path, body=body, digest=hashlib.blake2b(text.encode(), digest_size=16).hexdigest())


def sample_seed(seed: int, key: str, sample: int) -> int:
    """31 bits, as the strictest servers want them."""
    digest = hashlib.blake2b(f"{seed}\x1f{key}\x1f{sample}".encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1


def _asked(config: EndpointConfig, prompt: Prompt) -> tuple[str, dict[str, Any]]:
    if not prompt:
        raise EngineError("an empty prompt cannot be continued; give at least one token or message")
    if isinstance(prompt[0], int):
        return COMPLETIONS, {"prompt": list(cast(Sequence[int], prompt))}
    messages = cast(Sequence[Message], prompt)
    if config.api == "completions":
        return COMPLETIONS, {"prompt": plain_text(messages)}
    sent = [{"role": message["role"], "content": message["content"]} for message in messages]
    if sent[-1]["role"] != "assistant":
        return CHAT, {"messages": sent}
    if not config.continues:
        raise EngineError(
            f"{config.base_url}: most chat servers do not go on with a begun answer; set continues = true for one that "
            'does (vLLM, SGLang), or api = "completions", or leave answer_prefix empty'
        )
    return CHAT, {"messages": sent, "continue_final_message": True, "add_generation_prompt": False}


def plain_text(messages: Sequence[Message]) -> str:
    """The texts, each with a line break after it, then the beginning of the answer where one is given."""
    begun = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
    asked = messages[:-1] if begun else messages
    return "".join(message["content"].rstrip("\n") + "\n" for message in asked) + begun


def read_reply(config: EndpointConfig, path: str, reply: Any) -> dict[str, Any]:
    """What is kept of a reply: text, finish_reason, tokens, prompt_tokens, token_ids and logprobs (or None).

    Raises ReplyError when it is no completion.
    """
    try:
        choice = reply["choices"][0]
        text = choice["message"]["content"] if path == CHAT else choice["text"]
        usage = reply.get("usage") or {}
        return {
            "text": _whole(text) if isinstance(text, str) else "",  # null where hidden reasoning took all tokens
            "finish_reason": "length" if choice.get("finish_reason") == "length" else "stop",
            "tokens": int(usage.get("completion_tokens") or 0),
            "prompt_tokens": int(usage.get("prompt_tokens") or 0),
            "token_ids": _ints(choice.get("token_ids")),
            "logprobs": _logprobs(path, choice.get("logprobs")) if config.logprobs != "none" else None,
        }
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ReplyError(f"the reply is no completion ({type(error).__name__} {error})") from None


def _whole(text: str) -> str:
    """JSON can hold halves of surrogate pairs, which no file can."""
    return text.encode("utf-8", "replace").decode()


def _ints(values: Any) -> list[int] | None:
    return [int(value) for value in values] if isinstance(values, list) else None


def _logprobs(path: str, value: Any) -> list[float] | None:
    if not isinstance(value, Mapping):
        return None
    content = value.get("content")
    found = [item["logprob"] for item in content or []] if path == CHAT else value.get("token_logprobs")
    numbers = [float(number) for number in found or []]
    return numbers if numbers and all(math.isfinite(number) for number in numbers) else None


def full_prompt() -> dict[str, Any]:
    """What is kept where the prompt leaves the model no room: nothing was sampled, as in the torch engine."""
    return {"text": "", "finish_reason": "length", "tokens": 0, "prompt_tokens": 0, "token_ids": None, "logprobs": None}


def completion(config: EndpointConfig, kept: Mapping[str, Any], temperature: float) -> Completion:
    """Log-probabilities that are not those of the sampling distribution are left out."""
    ids, logprobs = kept["token_ids"], kept["logprobs"]
    if config.logprobs == "raw" and temperature not in (0.0, 1.0):
        logprobs = None
    if ids is not None and logprobs is not None and len(ids) != len(logprobs):
        ids = logprobs = None
    return Completion(
        text=kept["text"],
        token_ids=None if ids is None else tuple(ids),
        logprobs=None if logprobs is None else tuple(logprobs),
        finish_reason=kept["finish_reason"],
        counted_tokens=kept["tokens"],
    )


def read_echo(reply: Any) -> dict[str, Any]:
    """What is kept of an echo: `echo` = (offset, characters, log-probability or None) of each token, and the counts.

    Raises ReplyError when the server did not echo.
    """
    try:
        found = reply["choices"][0]["logprobs"]
        rows = zip(found["text_offset"], found["tokens"], found["token_logprobs"], strict=True)
        echo = [(int(offset), len(token), None if value is None else float(value)) for offset, token, value in rows]
        prompt_tokens = int((reply.get("usage") or {}).get("prompt_tokens") or 0)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ReplyError(f"no echoed log-probabilities ({type(error).__name__} {error})") from None
    return full_prompt() | {"echo": echo, "prompt_tokens": prompt_tokens}


def ending_logprob(kept: Mapping[str, Any], prompt_length: int, text_length: int) -> float | None:
    """Summed log-probability of the tokens that reach beyond the first `prompt_length` characters of an echoed text.

    A token across the border counts whole. None when there is none, e.g. for a text beyond the model's context.
    """
    inside = [
        value
        for offset, length, value in kept.get("echo", ())
        if offset < text_length and offset + length > prompt_length and value is not None
    ]
    return sum(inside) if inside else None


def read_prompt_logprobs(reply: Any) -> dict[str, Any]:
    """What is kept of vLLM's answer about given tokens: `prompt_logprobs`, one a token, None for the first.

    Raises ReplyError when there are none.
    """
    try:
        choice = reply["choices"][0]
        pairs = zip(choice["prompt_logprobs"], choice["prompt_token_ids"], strict=True)
        found = [None if told is None else float(told[str(token)]["logprob"]) for told, token in pairs]
        prompt_tokens = int((reply.get("usage") or {}).get("prompt_tokens") or 0)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ReplyError(f"no log-probabilities of the prompt ({type(error).__name__} {error})") from None
    return full_prompt() | {"prompt_logprobs": found, "prompt_tokens": prompt_tokens}
