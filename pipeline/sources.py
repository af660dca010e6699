"""Raw files to problems: JSON Lines (plain, gz, zst), JSON, CSV, Parquet, data-set folders and the hub.

A row that cannot become a problem becomes a drop with its reason; a file that cannot be read, or a field that no row
has, is the user's mistake and raises RecipeError.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.config import STRICT, RecipeError
from pipeline.fields import (
    MISSING,
    AnswerPattern,
    UnreadableError,
    choices_of,
    clean_surrogates,
    encodable,
    extract_gold,
    gold_text,
    is_missing_gold,
    question_piece,
    value_at,
    with_choices,
)
from pipeline.problem import Problem, problem_id
from pipeline.readers import RawRow, read_raw
from pipeline.reasoning_gym import GymTask, entries, package_version, scorer_options
from pipeline.stage import Drop
from pipeline.version import file_digest
from verifiers.rubric import read_criteria

QUESTION_SHOWN = 2000

AnswerList = Literal["one", "aliases", "all"]
Format = Literal["jsonl", "json", "csv", "parquet", "dataset"]
FieldValue = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where rows come from and which of their fields mean what.

    path, hub or reasoning_gym: a file or data-set folder, a data set's name on the hub (`subset`, `revision`), or a
        procedural task (use it with `preset = "reasoning_gym"`).
    question, answer: field names; dots reach into structs (`reward_model.ground_truth`), lists and JSON text; several
        question fields are joined by a space; chat messages give their last user turn.
    question_pattern: a regular expression whose first group is the question inside the field.
    answer_pattern: where the gold is in the answer field: all of it, after the last `####`, in the last `\\boxed{}`, a
        letter of the options, their 0-based index, or all of it as JSON text (structs that a scorer reads).
    answer_list: what a list of answers means: exactly one is expected, accepted aliases, or all are asked for.
    answer_separator: a text that holds several answers is cut there into a list.
    choices: field with the answer options; they are added to the question as lettered lines.
    criteria: field with a rubric, a list of {criterion, weight}, for `verifier = "rubric"`.
    image: field with the question's picture; a row that has one cannot be answered from its text (`needs-image`).
    where: field -> values; rows with another value are left out (`filtered`).
    license_field: field with the row's own licence.
    meta: further fields that go into `meta_json`.
    """

    __pydantic_config__ = STRICT
    name: str
    question: str | tuple[str, ...]
    answer: str
    license: str = "unknown"
    path: Path | None = None
    hub: str | None = None
    reasoning_gym: GymTask | None = None
    subset: str | None = None
    revision: str | None = None
    split: str = "train"
    format: Format | None = None
    question_pattern: str | None = None
    answer_pattern: AnswerPattern = "whole"
    answer_list: AnswerList = "one"
    answer_separator: str | None = None
    choices: str | None = None
    criteria: str | None = None
    image: str | None = None
    where: dict[str, tuple[FieldValue, ...]] = field(default_factory=dict)
    license_field: str | None = None
    ability: str = "math"
    verifier: str = "math"
    verifier_options: dict[str, Any] = field(default_factory=dict)
    meta: tuple[str, ...] = ()

    @property
    def question_fields(self) -> tuple[str, ...]:
        return (self.question,) if isinstance(self.question, str) else self.question

    @property
    def fields_needed(self) -> tuple[str, ...]:
        """Fields that at least one row must have."""
        further = (self.choices, self.criteria, self.image, self.license_field, *self.where)
        return (*self.question_fields, self.answer, *(name for name in further if name is not None))

    @property
    def place(self) -> str:
        return str(self.path) if self.path is not None else self.file_name

    @property
    def file_name(self) -> str:
        if self.reasoning_gym is not None:
            return f"reasoning_gym:{self.reasoning_gym.task}"
        return self.path.name if self.path is not None else f"hub:{self.hub}"

    @property
    def stamp(self) -> list[str | None]:
        """What stands for the content of a source that is no file. Raises RecipeError without its package."""
        if self.reasoning_gym is not None:
            return [self.file_name, package_version(f"sources '{self.name}'")]
        return [self.hub, self.revision]

    def check(self, where: str) -> None:
        """Raises RecipeError for what types cannot express."""
        if sum(one is not None for one in (self.path, self.hub, self.reasoning_gym)) != 1:
            raise RecipeError(f"{where}: sources '{self.name}': give one of path, hub and reasoning_gym")
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


def read_source(source: Source) -> Iterator[Problem | Drop]:
    """Every row of a source in file order.

    Raises RecipeError when the file is unreadable, when there are no rows, when none can be read, and when no row has a
    field.
    """
    wanted = source.fields_needed
    lacking = dict.fromkeys(wanted, 0)
    seen_fields: dict[str, None] = {}
    rows = objects = 0
    fault = ""
    for raw in _raw_rows(source):
        rows += 1
        if raw.row is not None:
            objects += 1
            for name in wanted:
                lacking[name] += value_at(raw.row, name) is MISSING
            if len(seen_fields) < 200:
                seen_fields.update(dict.fromkeys(str(key) for key in raw.row))
        fault = fault or raw.reason
        yield to_problem(source, raw)
    if not rows:
        raise RecipeError(f"{source.place}: no rows (source '{source.name}'); give a file with rows")
    if not objects:
        raise RecipeError(
            f"{source.place}: none of {rows:,} rows can be read ({fault}; source '{source.name}'); is `format` right?"
        )
    for name, count in lacking.items():
        if objects and count == objects:
            known = ", ".join(seen_fields)
            raise RecipeError(
                f"{source.place}: no row has the field '{name}' (source '{source.name}'); fields: {known}"
            )


def _raw_rows(source: Source) -> Iterator[RawRow]:
    if source.reasoning_gym is not None:
        return entries(source.reasoning_gym, f"sources '{source.name}'")
    return read_raw(source.place, source.path, source.format, source)


def refuse_replaced(sources: Sequence[Source], digests: Sequence[str], folder: Path) -> None:
    """After reading: every file is still the one whose digest the output is keyed by.

    Raises RecipeError, and removes what was read into `folder`, when one was replaced in the meantime.
    """
    for source, digest in zip(sources, digests, strict=True):
        if source.path is not None and not (source.path.exists() and file_digest(source.path) == digest):
            shutil.rmtree(folder)
            raise RecipeError(
                f"{source.path}: the file was replaced during the run (source '{source.name}'); run again"
            )


def to_problem(source: Source, raw: RawRow) -> Problem | Drop:
    """One row as a problem, or the drop that says why it is none."""
    try:
        if raw.row is None:
            raise UnreadableError(raw.reason, raw.detail)
        _check_wanted(source, raw.row)
        question = _question(source, raw.row)
        answer, options = _answer(source, raw.row)
    except UnreadableError as error:
        return _drop(source, raw, error)
    return Problem(
        id=problem_id(question, answer),
        data_source=source.name,
        source_row=f"{source.name}#{raw.index}",
        index=raw.index,
        question=question,
        ground_truth=answer,
        original_answer=answer,
        license=_license(source, raw.row),
        ability=source.ability,
        split=source.split,
        verifier=source.verifier,
        verifier_options=json.dumps(options, sort_keys=True, ensure_ascii=False),
        meta_json=_meta(source, raw.row),
    )


def _drop(source: Source, raw: RawRow, error: UnreadableError) -> Drop:
    row = raw.row or {}
    texts = [value for name in source.question_fields if isinstance(value := value_at(row, name), str)]
    shown = clean_surrogates(" ".join(texts) or raw.text)[:QUESTION_SHOWN]
    answer = value_at(row, source.answer)
    gold = "" if answer is MISSING or answer is None else clean_surrogates(str(answer))[:QUESTION_SHOWN]
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


def _check_wanted(source: Source, row: Mapping[str, Any]) -> None:
    for name, allowed in source.where.items():
        value = value_at(row, name)
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            shown = "missing" if value is MISSING else clean_surrogates(repr(value))[:80]
            raise UnreadableError("filtered", f"field '{name}' is {shown}")
    if source.image is not None and value_at(row, source.image) not in (MISSING, None, "", []):
        raise UnreadableError("needs-image", f"field '{source.image}' holds a picture")


def _question(source: Source, row: Mapping[str, Any]) -> str:
    pieces = [question_piece(row, name) for name in source.question_fields]
    question = " ".join(piece.strip() for piece in pieces if piece.strip())
    if source.question_pattern is not None:
        match = _compile(source.question_pattern, source.name).search(question)
        if match is None:
            raise UnreadableError("empty-question", "question_pattern does not match")
        question = match.group(1).strip()
    if not question:
        raise UnreadableError("empty-question", f"field {', '.join(source.question_fields)} is empty")
    if source.choices is not None:
        question = with_choices(question, choices_of(row, source.choices))
    return encodable(question, "question")


def _answer(source: Source, row: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    value = value_at(row, source.answer)
    options = dict(source.verifier_options)
    if source.reasoning_gym is not None and source.verifier == "reasoning_gym":
        options |= scorer_options(source.reasoning_gym, dict(row))
    if source.criteria is not None:
        options["criteria"] = _criteria(row, source.criteria)
    if value is MISSING:
        raise UnreadableError("missing-field", f"field '{source.answer}' is missing")
    if source.answer_pattern == "json":
        value = "" if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    if isinstance(value, str) and source.answer_separator is not None:
        value = [piece for piece in map(str.strip, value.split(source.answer_separator)) if piece]
    if isinstance(value, list):
        texts = [gold_text(item, source.answer) for item in value]
        if source.answer_list == "aliases" and texts:
            options["aliases"] = texts
            texts = texts[:1]
        if len(texts) > 1 and source.answer_list == "one":
            raise UnreadableError("several-golds", f"field '{source.answer}' lists {len(texts)} answers")
        text = ", ".join(texts)
    else:
        text = gold_text(value, source.answer)
    gold = extract_gold(text, source.answer_pattern)
    if gold is None or is_missing_gold(gold, source.verifier):
        raise UnreadableError("no-gold", f"field '{source.answer}' has no gold ({source.answer_pattern})")
    return encodable(gold, "gold"), options


def _criteria(row: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    try:
        found = read_criteria(value_at(row, name))
    except ValueError as error:
        raise UnreadableError("no-gold", f"field '{name}': {error}") from None
    return [{"criterion": encodable(one.text, "criterion"), "weight": one.weight} for one in found]


def _license(source: Source, row: Mapping[str, Any]) -> str:
    value = value_at(row, source.license_field) if source.license_field is not None else None
    return clean_surrogates(value.strip()) if isinstance(value, str) and value.strip() else source.license


def _meta(source: Source, row: Mapping[str, Any]) -> str:
    chosen = {name: value for name in source.meta if (value := value_at(row, name)) is not MISSING}
    return clean_surrogates(json.dumps(chosen, sort_keys=True, ensure_ascii=False, default=str))
