"""Fields of a raw row as a question and a gold: nested places, chat turns, options, typed answers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

NO_GOLD = frozenset(("", "none", "null", "nan", "n/a"))
"""What stands where a gold is missing, in small letters."""
NO_FORMULA = frozenset(("-", "?", "...", "[]", "{}", "tbd", "unknown", "proof", "notfound", "not found"))
"""The same where the gold is mathematics; a quiz may ask for the unknown."""
MISSING = object()
LETTERS = "ABCDEFGHIJ"

AnswerPattern = Literal["whole", "after_hashes", "last_boxed", "choice_letter", "choice_index", "json"]


class UnreadableError(Exception):
    """A row that cannot become a problem: reason and detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def value_at(row: Mapping[str, Any], name: str) -> Any:
    """The field of that name; dots reach into structs, lists (by place) and JSON text. MISSING when it is not there."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        value = _inside(value, part)
        if value is MISSING:
            return MISSING
    return value


def _inside(value: Any, part: str) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return MISSING
    if isinstance(value, Mapping):
        return value.get(part, MISSING)
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return MISSING


def question_piece(row: Mapping[str, Any], name: str) -> str:
    """The text of one question field; chat messages give their last user turn. Raises UnreadableError."""
    value = value_at(row, name)
    if value is MISSING:
        raise UnreadableError("missing-field", f"field '{name}' is missing")
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(turn, Mapping) for turn in value):
        return _last_user_turn(value, name)
    if not isinstance(value, str):
        raise UnreadableError("wrong-type", f"field '{name}' is {type(value).__name__}, not text")
    return value


def _last_user_turn(messages: list[Any], name: str) -> str:
    for message in reversed(messages):
        role = message.get("role", message.get("from"))
        content = message.get("content", message.get("value"))
        if role in ("user", "human") and isinstance(content, str):
            return content
    raise UnreadableError("wrong-type", f"field '{name}' holds no user message with text")


_LABELS = re.compile(r"(?:\A\s*|[,\s'\"]\s*)\(?([a-j])\s*\)\s+(?:\(?\1\s*\)\s*)?")
_OWN_LABEL = re.compile(r"\A\s*\(?([A-Ja-j])\s*[).:]\s*(?:\(?\1\s*\)\s*)?")


def choices_of(row: Mapping[str, Any], name: str) -> list[str]:
    """The answer options without their labels; a single text such as `a ) 12 , b ) 16` is cut at its labels.

    Raises UnreadableError when there are no options.
    """
    value = value_at(row, name)
    if value is MISSING:
        raise UnreadableError("missing-field", f"field '{name}' is missing")
    if isinstance(value, list) and len(value) > 1 and all(isinstance(option, str | int | float) for option in value):
        return [_OWN_LABEL.sub("", str(option)).strip() for option in value]
    if isinstance(value, str):
        listed = _listed(value)
        if listed:
            return listed
    raise UnreadableError("no-choices", f"field '{name}' holds no answer options that can be told apart")


def _listed(text: str) -> list[str]:
    """Options of one text, when labels a, b, c ... stand in order; [] otherwise."""
    text = text.strip("[]'\"")
    marks = list(_LABELS.finditer(text))
    labels = [mark.group(1) for mark in marks]
    if len(marks) < 2 or labels != list("abcdefghij"[: len(labels)]):
        return []
    edges = [*(mark.start() for mark in marks[1:]), len(text)]
    pieces = [text[mark.end() : edge] for mark, edge in zip(marks, edges, strict=True)]
    return [piece.strip(" ,'\"") for piece in pieces]


def with_choices(question: str, choices: Sequence[str]) -> str:
    """The question with its options as lettered lines."""
    lines = [f"{letter}) {choice}" for letter, choice in zip(LETTERS, choices, strict=False)]
    return "\n".join([question, *lines])


def gold_text(value: Any, name: str) -> str:
    """A typed answer as text: 51.0 is 51, lists are for the caller. Raises UnreadableError for structs."""
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
    raise UnreadableError("wrong-type", f"field '{name}' is {type(value).__name__}, not an answer")


def _float_text(value: float) -> str:
    """Integral floats are integers (51.0 -> 51); others in plain decimal notation."""
    if not math.isfinite(value):
        return ""
    if value == int(value) and abs(value) < 2**63:
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def is_missing_gold(text: str, verifier: str = "math") -> bool:
    """Whether a gold says only that there is none."""
    bare = re.sub(r"\\boxed\s*\{\s*\}", "", text).strip().strip("$").strip().casefold()
    return bare in NO_GOLD or (verifier == "math" and bare in NO_FORMULA)


def extract_gold(text: str, pattern: AnswerPattern) -> str | None:
    """The gold inside an answer field, None when the pattern is not there."""
    if pattern in ("whole", "json"):
        return text.strip()
    if pattern == "after_hashes":
        _, mark, tail = text.rpartition("####")
        return tail.strip() if mark else None
    if pattern == "choice_letter":
        letter = re.fullmatch(r"\(?([A-Ja-j])\)?[.:]?", text.strip())
        return letter.group(1).upper() if letter else None
    if pattern == "choice_index":
        index = int(text) if re.fullmatch(r"\d", text.strip()) else -1
        return LETTERS[index] if index >= 0 else None
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


def encodable(text: str, what: str) -> str:
    """The text itself. Raises UnreadableError for lone surrogates, which no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UnreadableError("invalid-utf8", f"the {what} holds a lone surrogate at {error.start}") from None
    return text


def clean_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
