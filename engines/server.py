"""A small server of OpenAI's protocol over a model folder: to try endpoint recipes, and what the tests run against.

    python -m engines.server runs/base --port 8000

One request is computed at a time; for throughput use vLLM or SGLang. It listens on this machine alone and asks for no
key. Log-probabilities are those of the sampling distribution (`logprobs = "processed"` in a recipe).
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

from engines.engine import Completion, EngineError, Message, Prompt, SamplingParams
from engines.torch_engine import TorchEngine

LONGEST_BODY = 32 * 1024 * 1024
_SAMPLING = {"max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "n", "logprobs", "echo"}
_SERVED = _SAMPLING | {"model", "messages", "prompt", "continue_final_message", "add_generation_prompt"}
_READ = frozenset(_SERVED | {"return_token_ids"})


class BadRequestError(ValueError):
    """A request that cannot be served; the text says why."""


class ModelServer(ThreadingHTTPServer):
    """Serves one engine under one name. port 0 takes a free one: see `url`."""

    daemon_threads = True

    def __init__(self, engine: TorchEngine, name: str, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.engine = engine
        self.name = name
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def answer(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a request. Raises BadRequestError."""
        strange = sorted(set(body) - _READ)
        if strange or body.get("top_p", 1.0) != 1.0 or body.get("stream"):
            raise BadRequestError(f"not supported: {', '.join(strange) or 'top_p below 1'}")
        chat = path == "/v1/chat/completions"
        try:
            with self.lock:
                if body.get("echo") and not chat:
                    return self._echo(str(body["prompt"]))
                return self._sample(body, chat)
        except (EngineError, KeyError, TypeError, AttributeError) as error:
            raise BadRequestError(f"{type(error).__name__}: {error}") from None

    def _sample(self, body: Mapping[str, Any], chat: bool) -> dict[str, Any]:
        ids = self.engine.encode(self._prompt(body, chat))
        context = self.engine.model.config.max_position_embeddings
        if len(ids) >= context:
            raise BadRequestError(f"This model's maximum context length is {context} tokens; the prompt has {len(ids)}")
        params = SamplingParams(
            n=int(body.get("n", 1)),
            temperature=float(body.get("temperature", 1.0)),
            max_tokens=int(body.get("max_tokens") or body.get("max_completion_tokens") or 16),
            seed=int(body.get("seed", 0)),
            keys=("",),
        )
        drawn = sorted(self.engine.generate([ids], params), key=lambda item: item[1])
        choices = [self._choice(sample, one, body, chat) for _, sample, one in drawn]
        return self._reply(choices, len(ids), sum(one.tokens for _, _, one in drawn))

    def _prompt(self, body: Mapping[str, Any], chat: bool) -> Prompt:
        if chat:
            return [Message(role=str(one["role"]), content=str(one["content"])) for one in body["messages"]]
        prompt = body["prompt"]
        return self.engine.tokenizer.encode(prompt) if isinstance(prompt, str) else [int(token) for token in prompt]

    def _choice(self, index: int, one: Completion, body: Mapping[str, Any], chat: bool) -> dict[str, Any]:
        ids, logprobs = one.token_ids or (), one.logprobs or ()
        told: dict[str, Any] | None = None
        if body.get("logprobs") not in (None, False):
            tokens = [self._decode([token]) for token in ids]
            pairs = zip(tokens, logprobs, strict=True)
            told = (
                {"content": [{"token": token, "logprob": value, "top_logprobs": []} for token, value in pairs]}
                if chat
                else {"tokens": tokens, "token_logprobs": list(logprobs)}
            )
        said = {"message": {"role": "assistant", "content": one.text}} if chat else {"text": one.text}
        choice = {"index": index, "finish_reason": one.finish_reason, "logprobs": told, **said}
        return choice | ({"token_ids": list(ids)} if body.get("return_token_ids") else {})

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.engine.tokenizer.decode(list(ids)))

    def _echo(self, text: str) -> dict[str, Any]:
        """The log-probability of every token of the text; nothing is sampled after it."""
        encoded = self.engine.tokenizer(text, return_offsets_mapping=True)
        ids = torch.tensor([encoded["input_ids"]])
        with torch.no_grad():
            logps_TV = self.engine.model(input_ids=ids).logits[0, :-1].float().log_softmax(-1)
        values = logps_TV.gather(1, ids[0, 1:, None])[:, 0].tolist()
        spans = encoded["offset_mapping"]
        told = {
            "tokens": [text[start:end] for start, end in spans],
            "token_logprobs": [None, *values],
            "text_offset": [start for start, _ in spans],
        }
        choice = {"index": 0, "text": text, "finish_reason": "length", "logprobs": told}
        return self._reply([choice], ids.shape[1], 0)

    def _reply(self, choices: list[dict[str, Any]], prompt_tokens: int, tokens: int) -> dict[str, Any]:
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}
        return {"object": "completion", "model": self.name, "choices": choices, "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": self.server.name, "object": "model"}]})
        else:
            self._send(404, _error("no such path"))

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if not 0 < length <= LONGEST_BODY:
            self.close_connection = True
            self._send(413, _error("the body is missing or too large"))
            return
        raw = self.rfile.read(length)
        if self.path not in ("/v1/chat/completions", "/v1/completions"):
            self._send(404, _error("no such path"))
            return
        try:
            self._send(200, self.server.answer(self.path, json.loads(raw)))
        except ValueError as error:
            self._send(400, _error(str(error)))

    def _send(self, status: int, value: Mapping[str, Any]) -> None:
        data = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except ConnectionError:  # the client has gone
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Silent: prompts and addresses are nobody's business."""


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="Hugging Face model folder")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    server = ModelServer(
        TorchEngine.from_folder(arguments.model, device=arguments.device), arguments.model.name, arguments.port
    )
    print(f"{server.name} at {server.url}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
