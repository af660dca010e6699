"""Raw files to problems: JSON Lines (plain, gz, zst), JSON, CSV, Parquet, data-set folders and the hub.

A row that cannot become a problem becomes a drop with its reason; a file that cannot be read, or a field that no row
has, is the user's mistake and raises RecipeError.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pipeline.config import STRICT, RecipeError
from pipeline.problem import Problem, problem_id
from pipeline.readers import RawRow, read_raw
from pipeline.stage import Drop

NO_GOLD = frozenset({"", "None", "null", "NaN", "nan", "N/A"})
QUESTION_SHOWN = 2000
_MISSING = object()

AnswerPattern = Literal["whole", "after_hashes", "last_boxed"]
AnswerList = Literal["one", "aliases", "all"]
Format = Literal["jsonl", "json", "csv", "parquet", "dataset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where rows come from and which of their fields mean what.

    path or hub: a file or data-set folder, or a data set's name on the hub (`subset`, `revision`).
    question, answer: field names; dots reach into structs (`reward_model.ground_truth`); several question fields are
        joined by a space; chat messages give their last user turn.
    question_pattern: a regular expression whose first group is the question inside the field.
    answer_pattern: where the gold is in the answer field: all of it, after the last `####`, in the last `\\boxed{}`.
    answer_list: what a list of answers means: exactly one is expected, accepted aliases, or all are asked for.
    meta: further fields that go into `meta_json`.
    """

    __pydantic_config__ = STRICT
    name: str
    question: str | tuple[str, ...]
    answer: str
    license: str = "unknown"
    path: Path | None = None
    hub: str | None = None
    subset: str | None = None
    revision: str | None = None
    split: str = "train"
    format: Format | None = None
    question_pattern: str | None = None
    answer_pattern: AnswerPattern = "whole"
    answer_list: AnswerList = "one"
    ability: str = "math"
    verifier: str = "math"
    verifier_options: dict[str, Any] = field(default_factory=dict)
    meta: tuple[str, ...] = ()

    @property
    def question_fields(self) -> tuple[str, ...]:
        return (self.question,) if isinstance(self.question, str) else self.question

    @property
    def place(self) -> str:
        return str(self.path) if self.path is not None else f"hub:{self.hub}"

    @property
    def file_name(self) -> str:
        return self.path.name if self.path is not None else f"hub:{self.hub}"

    def check(self, where: str) -> None:
        """Raises RecipeError for what types cannot express."""
        if (self.path is None) == (self.hub is None):
            raise RecipeError(f"{where}: sources '{self.name}': give either path or hub")
        if not self.question_fields:
            raise RecipeError(f"{where}: sources '{self.name}': question: name at least one field")
        if self.question_pattern is not None:
            _compile(self.question_pattern, f"{where}: sources '{self.name}': question_pattern")


def _compile(pattern: str, where: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise RecipeError(f"{where}: not a regular expression: {error}") from None
    if compiled.groups < 1:
        raise RecipeError(f"{where}: needs a group, e.g. 'Question: (.*?)\\nAnswer:'")
    return compiled


class _UnreadableError(Exception):
    """A row that cannot become a problem: reason and detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def read_source(source: Source) -> Iterator[Problem | Drop]:
    """Every row of a source in file order.

    Raises RecipeError when the file is unreadable, when there are no rows and when no row has a field.
    """
    wanted = (*source.question_fields, source.answer)
    lacking = dict.fromkeys(wanted, 0)
    seen_fields: dict[str, None] = {}
    rows = objects = 0
    for raw in read_raw(source.place, source.path, source.format, source):
        rows += 1
        if raw.row is not None:
            objects += 1
            for name in wanted:
                lacking[name] += _value(raw.row, name) is _MISSING
            if len(seen_fields) < 200:
                seen_fields.update(dict.fromkeys(str(key) for key in raw.row))
        yield to_problem(source, raw)
    if not rows:
        raise RecipeError(f"{source.place}: no rows (source '{source.name}'); give a file with rows")
    for name, count in lacking.items():
        if objects and count == objects:
            known = ", ".join(seen_fields)
            raise RecipeError(
                f"{source.place}: no row has the field '{name}' (source '{source.name}'); fields: {known}"
            )


def to_problem(source: Source, raw: RawRow) -> Problem | Drop:
    """One row as a problem, or the drop that says why it is none."""
    try:
        if raw.row is None:
            raise _UnreadableError(raw.reason, raw.detail)
        question = _question(source, raw.row)
        answer, options = _answer(source, raw.row)
    except _UnreadableError as error:
        return _drop(source, raw, error)
    return Problem(
        id=problem_id(question, answer),
        data_source=source.name,
        source_row=f"{source.name}#{raw.index}",
        index=raw.index,
        question=question,
        ground_truth=answer,
        original_answer=answer,
        license=source.license,
        ability=source.ability,
        split=source.split,
        verifier=source.verifier,
        verifier_options=json.dumps(options, sort_keys=True, ensure_ascii=False),
        meta_json=_meta(source, raw.row),
    )


def _drop(source: Source, raw: RawRow, error: _UnreadableError) -> Drop:
    row = raw.row or {}
    texts = [value for name in source.question_fields if isinstance(value := _value(row, name), str)]
    shown = clean_surrogates(" ".join(texts) or raw.text)[:QUESTION_SHOWN]
    answer = _value(row, source.answer)
    gold = "" if answer is _MISSING or answer is None else clean_surrogates(str(answer))[:QUESTION_SHOWN]
    digest = hashlib.blake2b(repr((raw.text, row)).encode("utf-8", "surrogatepass"), digest_size=16)
    return Drop(
        source_row=f"{source.name}#{raw.index}",
        id=digest.hexdigest(),
        data_source=source.name,
        kind="dropped",
        stage="sources",
        reason=error.reason,
        evidence={"detail": error.detail, "index": raw.index},
        question=shown,
        ground_truth=gold,
    )


def clean_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _value(row: Mapping[str, Any], name: str) -> Any:
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = value[part]
    return value


def _question(source: Source, row: Mapping[str, Any]) -> str:
    pieces = [_question_piece(row, name) for name in source.question_fields]
    question = " ".join(piece.strip() for piece in pieces if piece.strip())
    if source.question_pattern is not None:
        match = _compile(source.question_pattern, source.name).search(question)
        if match is None:
            raise _UnreadableError("empty-question", "question_pattern does not match")
        question = match.group(1).strip()
    if not question:
        raise _UnreadableError("empty-question", f"field {', '.join(source.question_fields)} is empty")
    return _encodable(question, "question")


def _question_piece(row: Mapping[str, Any], name: str) -> str:
    value = _value(row, name)
    if value is _MISSING:
        raise _UnreadableError("missing-field", f"field '{name}' is missing")
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(turn, Mapping) for turn in value):
        return _last_user_turn(value, name)
    if not isinstance(value, str):
        raise _UnreadableError("wrong-type", f"field '{name}' is {type(value).__name__}, not text")
    return value


def _last_user_turn(messages: list[Any], name: str) -> str:
    for message in reversed(messages):
        role = message.get("role", message.get("from"))
        content = message.get("content", message.get("value"))
        if role in ("user", "human") and isinstance(content, str):
            return content
    raise _UnreadableError("wrong-type", f"field '{name}' holds no user message with text")


def _answer(source: Source, row: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    value = _value(row, source.answer)
    options = dict(source.verifier_options)
    if value is _MISSING:
        raise _UnreadableError("missing-field", f"field '{source.answer}' is missing")
    if isinstance(value, list):
        texts = [_gold_text(item, source.answer) for item in value]
        if source.answer_list == "aliases" and texts:
            options["aliases"] = texts
            texts = texts[:1]
        if len(texts) > 1 and source.answer_list == "one":
            raise _UnreadableError("several-golds", f"field '{source.answer}' lists {len(texts)} answers")
        text = ", ".join(texts)
    else:
        text = _gold_text(value, source.answer)
    gold = extract_gold(text, source.answer_pattern)
    if gold is None or gold in NO_GOLD:
        raise _UnreadableError("no-gold", f"field '{source.answer}' has no gold ({source.answer_pattern})")
    return _encodable(gold, "gold"), options


def _gold_text(value: Any, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return str(value).strip()
    if isinstance(value, int):
        return str(value) if abs(value) < 10**4000 else ""
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, Decimal):
        return str(value)
    raise _UnreadableError("wrong-type", f"field '{name}' is {type(value).__name__}, not an answer")


def _float_text(value: float) -> str:
    """Integral floats are integers (51.0 -> 51); others in plain decimal notation."""
    if not math.isfinite(value):
        return ""
    if value == int(value) and abs(value) < 2**63:
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def extract_gold(text: str, pattern: AnswerPattern) -> str | None:
    """The gold inside an answer field, None when the pattern is not there."""
    if pattern == "whole":
        return text.strip()
    if pattern == "after_hashes":
        _, mark, tail = text.rpartition("####")
        return tail.strip() if mark else None
    return last_boxed(text)


def last_boxed(text: str) -> str | None:
    """Content of the last `\\boxed{...}` or `\\fbox{...}` whose braces balance."""
    for match in reversed(list(re.finditer(r"\\f?boxed\s*\{|\\fbox\s*\{", text))):
        depth = 1
        for place in range(match.end(), len(text)):
            escaped = text[place - 1] == "\\"
            depth += (text[place] == "{") - (text[place] == "}") if not escaped else 0
            if depth == 0:
                return text[match.end() : place].strip()
    return None


def _encodable(text: str, what: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _UnreadableError("invalid-utf8", f"the {what} holds a lone surrogate at {error.start}") from None
    return text


def _meta(source: Source, row: Mapping[str, Any]) -> str:
    chosen = {name: value for name in source.meta if (value := _value(row, name)) is not _MISSING}
    return clean_surrogates(json.dumps(chosen, sort_keys=True, ensure_ascii=False, default=str))
