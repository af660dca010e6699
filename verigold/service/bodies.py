"""Bodies of requests to rows, for our own clients, OpenRLHF's and slime's. Every fault is a Refusal that names its row.

OpenRLHF (`--reward.remote_url`; `openrlhf/utils/agent.py` of 0.11.2) posts `{"query", "prompts", "labels"}`, lists of
texts, and reads `rewards`, `scores` and `extra_logs`, lists of numbers. slime (`--rm-url`; `remote_rm` in
`slime/rollout/rm_hub/__init__.py`) posts `{"prompt", "response", "label"}` for one sample and takes the answer's JSON,
a number, as the reward.
"""

from __future__ import annotations

import difflib
import inspect
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn, get_type_hints

from pydantic import TypeAdapter, ValidationError

from verifiers import reasoning_gym
from verifiers.cases import RowError, check_options
from verifiers.registry import VERIFIERS, Request
from verifiers.reward import request
from verigold.service.errors import Refusal
from verigold.service.limits import Limits

_FIELDS = ("response", "ground_truth", "verifier", "verifier_options", "id")
_DEEPEST = 32
"""Levels of nested options; JSON is written again for the workers, which must not run out of stack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """id: given back as it came."""

    request: Request
    id: str | int | None = None


# ---- JSON ----------------------------------------------------------------------------------------------------------


def parsed(body: bytes) -> Any:
    """Strict JSON: UTF-8, finite numbers, no NaN. Raises Refusal (400)."""
    try:
        return _loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Refusal(400, "not-utf8", f"the body is not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise Refusal(400, "not-json", "the body is nested too deeply") from None
    except ValueError as error:
        raise Refusal(400, "not-json", f"the body is not JSON: {_one_line(error)}") from None


def _loads(text: str) -> Any:
    """Raises ValueError and RecursionError."""
    return json.loads(text, parse_constant=_no_constant, parse_float=_finite)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is out of range")
    return value


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


# ---- shapes --------------------------------------------------------------------------------------------------------


def rows(value: Any, limits: Limits) -> list[Row]:
    """`{"rows": [{"response", "ground_truth", "verifier", "verifier_options", "id"}]}`. Raises Refusal."""
    items = _object(value, ("rows",), "the body", None)["rows"]
    _check_count(items, "rows", limits)
    return [_row(item, place, limits) for place, item in enumerate(items)]


def openrlhf_rows(value: Any, limits: Limits) -> list[Row]:
    """The response is what follows the prompt in the query. Raises Refusal."""
    fields = _object(value, ("query", "prompts", "labels"), "the body", None)
    columns = [fields[name] for name in ("query", "prompts", "labels")]
    for name, column in zip(fields, columns, strict=False):
        _check_count(column, name, limits)
    if len({len(column) for column in columns}) != 1:
        raise Refusal(422, "body-invalid", "query, prompts and labels must have equally many items")
    found = []
    for place, (query, prompt, label) in enumerate(zip(*columns, strict=True)):
        for name, text in (("query", query), ("prompts", prompt)):
            _text(text, name, place, limits)
        found.append(_labelled(query.removeprefix(prompt), label, place, limits))
    return found


def slime_rows(value: Any, limits: Limits) -> list[Row]:
    """One row; the prompt, text or chat, is not read. Raises Refusal."""
    fields = _object(value, ("prompt", "response", "label"), "the body", None)
    return [_labelled(_text(fields["response"], "response", 0, limits), fields["label"], 0, limits)]


def _labelled(response: str, label: Any, place: int, limits: Limits) -> Row:
    """label: a ground truth, or the JSON object with it, its verifier and options that the exports write."""
    text = _text(label, "label", place, limits)
    fields: Any = None
    if text.lstrip().startswith("{"):
        try:
            fields = _loads(text)
        except (ValueError, RecursionError):
            fields = None
    if not isinstance(fields, dict) or "ground_truth" not in fields:
        fields = {"ground_truth": text}
    return _row({"verifier": limits.verifier, **fields, "response": response}, place, limits)


def _object(value: Any, names: Sequence[str], what: str, place: int | None) -> Mapping[str, Any]:
    """An object with these fields and no others."""
    code = "body-invalid" if place is None else "row-invalid"
    if not isinstance(value, dict):
        raise Refusal(422, code, f"{what} must be an object, got {_kind(value)}", row=place)
    for name in names:
        if name not in value:
            raise Refusal(422, code, f"{what}: field '{name}' is missing", row=place)
    return value


def _check_count(items: Any, name: str, limits: Limits) -> None:
    if not isinstance(items, list) or not items:
        raise Refusal(422, "body-invalid", f"'{name}' must be a list with at least one item, got {_kind(items)}")
    if len(items) > limits.max_rows:
        message = f"'{name}' has {len(items):,} items; at most {limits.max_rows:,} fit into one request"
        raise Refusal(413, "too-many-rows", message, row=limits.max_rows)


# ---- one row -------------------------------------------------------------------------------------------------------


def _row(value: Any, place: int, limits: Limits) -> Row:
    fields = _object(value, ("response", "ground_truth"), "the row", place)
    for name in fields:
        if name not in _FIELDS:
            near = difflib.get_close_matches(name[:80], _FIELDS, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(_FIELDS)}"
            raise Refusal(422, "row-invalid", f"the row has an unknown field '{name[:80]}'; {hint}", row=place)
    response = _text(fields["response"], "response", place, limits)
    golds = fields["ground_truth"]
    for gold in golds if isinstance(golds, list) else [golds]:
        _text(gold, "ground_truth", place, limits)
    if golds == []:
        raise Refusal(422, "row-invalid", "'ground_truth' has no item", row=place)
    identity = fields.get("id")
    if not (identity is None or type(identity) in (str, int)):
        raise Refusal(422, "row-invalid", f"'id' must be a text or an integer, got {_kind(identity)}", row=place)
    if isinstance(identity, str):
        _text(identity, "id", place, limits)
    verifier = fields.get("verifier") or limits.verifier
    options = _options(fields.get("verifier_options"), verifier, place, limits)
    return Row(request=request(response, golds, verifier, options), id=identity)


def _text(value: Any, name: str, place: int, limits: Limits) -> str:
    if not isinstance(value, str):
        raise Refusal(422, "row-invalid", f"'{name}' must be a text, got {_kind(value)}", row=place)
    if len(value) > limits.max_chars:
        message = f"'{name}' has {len(value):,} characters; at most {limits.max_chars:,} are read"
        raise Refusal(422, "row-too-long", message, row=place)
    return value


def _options(value: Any, verifier: Any, place: int, limits: Limits) -> dict[str, Any]:
    """An object, or JSON text of one as in shards; unset options may be null."""
    found = value or {}
    if isinstance(found, str):
        try:
            found = _loads(found)
        except (ValueError, RecursionError):
            raise Refusal(422, "row-invalid", "'verifier_options' is a text that is not JSON", row=place) from None
    if not isinstance(found, dict):
        raise Refusal(422, "row-invalid", f"'verifier_options' must be an object, got {_kind(found)}", row=place)
    if _depth(found) > _DEEPEST:
        raise Refusal(422, "row-invalid", "'verifier_options' is nested too deeply", row=place)
    options = {name: item for name, item in found.items() if item is not None}
    aliases = options.get("aliases", [])
    if not isinstance(aliases, list):
        raise Refusal(422, "row-invalid", f"'aliases' must be a list, got {_kind(aliases)}", row=place)
    for alias in aliases:
        _text(alias, "aliases", place, limits)
    _check_options(verifier, {name: item for name, item in options.items() if name != "aliases"}, place)
    return options


def _depth(value: Any) -> int:
    """Levels of containers; no recursion, for the value is untrusted."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
    return depth


def _check_options(verifier: Any, options: Mapping[str, Any], place: int) -> None:
    if not isinstance(verifier, str):
        raise Refusal(422, "row-invalid", f"'verifier' must be a text, got {_kind(verifier)}", row=place)
    try:
        check_options(verifier[:80], options, "the row")
    except RowError as error:
        raise Refusal(422, "row-invalid", str(error)[:400], row=place) from None
    if verifier == "reasoning_gym" and not reasoning_gym.available():
        message = f"the verifier reasoning_gym needs the extra {reasoning_gym.EXTRA}, which is not installed"
        raise Refusal(422, "row-invalid", message, row=place)
    for name, item in options.items():
        try:
            _option_types(verifier)[name].validate_python(item, strict=True)
        except ValidationError as error:
            message = f"option '{name}': {error.errors()[0]['msg']}"
            raise Refusal(422, "row-invalid", message[:400], row=place) from None


@lru_cache
def _option_types(verifier: str) -> Mapping[str, TypeAdapter[Any]]:
    """What a verifier's signature says of its options."""
    function = VERIFIERS[verifier]
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    return {one.name: TypeAdapter(hints[one.name]) for one in parameters if one.kind is one.KEYWORD_ONLY}


def _kind(value: Any) -> str:
    """How JSON calls it."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number") if value != [] else "an empty list"
