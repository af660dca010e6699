"""Labelled responses: the rows of case files, read and checked."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verifiers.registry import VERIFIERS, Request
from verifiers.verdict import Verdict


class RowError(ValueError):
    """A line of a case file that the user must mend; the text names file, line, field and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRow:
    """One response with, perhaps, a person's label. `correct` None: not labelled."""

    id: str
    ground_truth: str | tuple[str, ...]
    response: str
    correct: bool | None = None
    verifier: str = "math"
    options: Mapping[str, Any] = field(default_factory=dict)
    category: str = "all"
    source: str = "all"
    question: str = ""

    def request(self) -> Request:
        return Request(
            response=self.response, ground_truth=self.ground_truth, verifier=self.verifier, options=self.options
        )


# ---- reading -------------------------------------------------------------------------------------------------------


def read_rows(path: Path) -> list[LabelledRow]:
    """Rows of a JSON Lines file (also .gz) with fields ground_truth, response and optionally verifier,
    verifier_options, correct, category, source, id. Raises RowError."""
    rows: list[LabelledRow] = []
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            rows.append(_row(line, f"{path}: line {number}", number))
    if not rows:
        raise RowError(f"{path}: no rows; expected one JSON object a line with fields ground_truth and response")
    return rows


def _lines(path: Path) -> list[str]:
    import gzip

    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError) as error:
        raise RowError(
            f"{path}: cannot read it ({error.__class__.__name__}: {error}); give a JSON Lines file"
        ) from None
    except UnicodeDecodeError as error:
        raise RowError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    return text.split("\n")


def _row(line: str, where: str, number: int) -> LabelledRow:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise RowError(f"{where}: not JSON ({error}); expected one object a line") from None
    if not isinstance(value, dict):
        raise RowError(f"{where}: expected a JSON object, got {type(value).__name__}")
    verifier = _field(value, "verifier", str, where, "math")
    options = _field(value, "verifier_options", dict, where, {})
    check_options(verifier, options, where)
    return LabelledRow(
        id=str(value.get("id", number)),
        ground_truth=_ground_truth(value, where),
        response=_field(value, "response", str, where),
        correct=_field(value, "correct", bool, where, None),
        verifier=verifier,
        options=options,
        category=_field(value, "category", str, where, "all"),
        source=_field(value, "source", str, where, "all"),
        question=_question(value),
    )


def _question(value: Mapping[str, Any]) -> str:
    """Only shown to a person, so a question of another kind is no fault."""
    found = value.get("question")
    return found if isinstance(found, str) else ""


_MISSING = object()


def _field(value: Mapping[str, Any], name: str, kind: type, where: str, default: Any = _MISSING) -> Any:
    found = value.get(name, _MISSING)
    if found is _MISSING or (found is None and default is not _MISSING):
        if default is _MISSING:
            known = ", ".join(sorted(value)) or "none"
            raise RowError(f"{where}: field '{name}' is missing (fields there: {known}); add it")
        return default
    if not isinstance(found, kind):
        raise RowError(f"{where}: field '{name}' must be {kind.__name__}, got {type(found).__name__}")
    return found


def _ground_truth(value: Mapping[str, Any], where: str) -> str | tuple[str, ...]:
    found = value.get("ground_truth", _MISSING)
    if found is _MISSING:
        _field(value, "ground_truth", str, where)
    if isinstance(found, list) and found and all(isinstance(alias, str) for alias in found):
        return tuple(found)
    if isinstance(found, str):
        return found
    raise RowError(f"{where}: field 'ground_truth' must be a string or a list of strings, got {type(found).__name__}")


def check_options(verifier: str, options: Mapping[str, Any], where: str) -> None:
    """Raises RowError for an unknown verifier or an option that it does not have."""
    if verifier not in VERIFIERS:
        raise RowError(f"{where}: unknown verifier '{verifier}'; {_nearest(verifier, VERIFIERS, 'known')}")
    known = option_names(VERIFIERS[verifier])
    for name in options:
        if name not in known:
            hint = _nearest(name, known, "its options")
            raise RowError(f"{where}: verifier '{verifier}' has no option '{name}'; {hint}")


def _nearest(name: str, known: Iterable[str], label: str) -> str:
    """A remedy: the name that was meant, as far as one can tell, and all names there are."""
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    listed = f"{label}: {', '.join(sorted(known)) or 'none'}"
    return f"did you mean '{found[0]}'? {listed}" if found else listed


def option_names(verifier: Callable[..., Verdict]) -> frozenset[str]:
    parameters = inspect.signature(verifier).parameters.values()
    return frozenset(item.name for item in parameters if item.kind is inspect.Parameter.KEYWORD_ONLY)
