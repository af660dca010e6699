"""TOML recipes to frozen dataclasses; every error names the file, the key and the nearest known key.

Every dataclass of a recipe sets `__pydantic_config__ = STRICT`: on stdlib dataclasses pydantic otherwise ignores
unknown keys silently. Paths in a file are relative to that file, paths in overrides to the current folder.
"""

from __future__ import annotations

import difflib
import json
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import ConfigDict, TypeAdapter, ValidationError

STRICT = ConfigDict(extra="forbid", strict=True)

T = TypeVar("T")
Table = dict[str, Any]


class RecipeError(ValueError):
    """A recipe, flag or input that the user must mend; its text names file, key and remedy. Exit code 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One table of settings with the name shown in errors and the folder its paths are relative to."""

    name: str
    base: Path
    table: Table


def read_toml(path: Path) -> Layer:
    """Raises RecipeError when the file is missing, unreadable or not TOML."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot read the recipe ({error.strerror}); give the path of a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not a TOML file: {error}") from None
    return Layer(name=str(path), base=path.resolve().parent, table=table)


def parse_override(text: str) -> Layer:
    """`stages.dedupe.max_bucket=500` as a layer; a value that is not TOML is taken as a string."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise RecipeError(f"--set {text}: expected key=value, e.g. --set rows_per_shard=4096")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    table: Table = {}
    *parents, last = _split_key(key.strip())
    inner = table
    for parent in parents:
        inner = inner.setdefault(parent, {})
    inner[last] = parsed
    return Layer(name=f"--set {key.strip()}", base=Path.cwd(), table=table)


def _split_key(key: str) -> list[str]:
    try:
        table = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        raise RecipeError(f"--set {key}: not a dotted key") from None
    parts: list[str] = []
    while isinstance(table, dict):
        ((part, table),) = table.items()
        parts.append(part)
    return parts


def load(schema: type[T], paths: Sequence[Path], overrides: Sequence[str] = ()) -> T:
    """Later files win over earlier ones, overrides over files. A schema with `from_layers` builds itself."""
    layers = [read_toml(path) for path in paths] + [parse_override(text) for text in overrides]
    from_layers = getattr(schema, "from_layers", None)
    return from_layers(layers) if from_layers is not None else build(schema, layers)


def build(schema: type[T], layers: Sequence[Layer], *, prefix: tuple[str, ...] = ()) -> T:
    """The merged layers as a checked `schema`. `prefix` is the place of the tables in their files, for errors."""
    raw: Table = {}
    for layer in layers:
        _merge(raw, layer.table)
    merged: Table = {}
    for layer in layers:
        _merge(merged, _resolve_paths(schema, layer.table, layer.base, raw))
    try:
        return TypeAdapter(schema).validate_json(json.dumps(merged, default=str))
    except ValidationError as error:
        raise RecipeError("\n".join(_explain(schema, layers, prefix, item) for item in error.errors())) from None


def dump(config: Any) -> str:
    """The resolved recipe as TOML; None values are left out, for TOML has no null."""
    value = TypeAdapter(type(config)).dump_python(config, mode="json", exclude_none=True)
    return tomli_w.dumps(value)


def _merge(into: Table, table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = json.loads(json.dumps(value, default=str)) if isinstance(value, dict) else value


def _resolve_paths(schema: Any, value: Any, base: Path, final: Any) -> Any:
    """Makes every string that the schema calls a Path absolute, relative to `base`.

    final: the same place in all layers together, for a layer alone may not tell which kind of table it changes.
    """
    origin, arguments = typing.get_origin(schema), typing.get_args(schema)
    if schema is Path:
        return str((base / Path(value).expanduser()).resolve()) if isinstance(value, str) else value
    if is_dataclass(schema) and isinstance(value, Mapping):
        hints = typing.get_type_hints(schema)
        return {key: _resolve_paths(hints.get(key), item, base, _at(final, key)) for key, item in value.items()}
    if origin in (typing.Union, types.UnionType):
        for option in arguments:
            resolved = _resolve_paths(option, value, base, final) if _fits(option, final) else value
            if resolved != value:
                return resolved
        return value
    if origin in (list, tuple, Sequence) and isinstance(value, list) and arguments:
        return [_resolve_paths(arguments[0], item, base, item) for item in value]
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return {key: _resolve_paths(arguments[1], item, base, _at(final, key)) for key, item in value.items()}
    return value


def _at(table: Any, key: str) -> Any:
    return table.get(key) if isinstance(table, Mapping) else None


def _fits(option: Any, table: Any) -> bool:
    """Whether a table can be this dataclass of a union: its `kind`, where the dataclass has one, says so."""
    if not is_dataclass(option) or not isinstance(table, Mapping):
        return True
    kinds = typing.get_args(typing.get_type_hints(option).get("kind"))
    default = next((field.default for field in fields(option) if field.name == "kind"), None)
    return not kinds or table.get("kind", default) in kinds


def _explain(schema: Any, layers: Sequence[Layer], prefix: tuple[str, ...], item: Any) -> str:
    location = tuple(part for part in item["loc"] if isinstance(part, int) or not part.startswith("function-"))
    location = _without_tags(schema, location)
    key = ".".join(str(part) for part in (*prefix, *location)) or "(top level)"
    where = next((layer.name for layer in reversed(layers) if _holds(layer.table, location)), layers[-1].name)
    if item["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        known = _known_keys(schema, location[:-1])
        nearest = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"known keys: {', '.join(sorted(known)) or 'none'}"
        return f"{where}: {key}: unknown key; {hint}"
    if item["type"] in ("missing", "missing_argument"):
        return f"{where}: {key}: required key is missing"
    if item["type"] == "literal_error" and location[-1:] == ("kind",):
        kinds = " or ".join(map(repr, _kinds(schema, location)))
        return f"{where}: {key}: must be {kinds}, got {item.get('input')!r:.80}"
    shown = repr(item.get("input"))
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return f"{where}: {key}: {item['msg']} (got {shown})"


def _without_tags(schema: Any, location: Sequence[str | int]) -> tuple[str | int, ...]:
    """The place as the file has it: pydantic also names the dataclass that it took for a tagged table."""
    options, found = [schema], list[str | int]()
    for part in location:
        leaves = [leaf for option in options for leaf in _leaves(option)]
        named = [leaf for leaf in leaves if leaf.__name__ == part]
        if named and len(leaves) > 1:
            options = named
            continue
        found.append(part)
        options = [inner for option in options for inner in _step(option, part)]
    return tuple(found)


def _holds(table: Any, location: Sequence[str | int]) -> bool:
    try:
        for part in location:
            table = table[part]
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _known_keys(schema: Any, location: Sequence[str | int]) -> list[str]:
    """Field names of the dataclasses that may stand at `location`."""
    options = [schema]
    for part in location:
        options = [inner for option in options for inner in _step(option, part)]
    found = [field.name for option in options for leaf in _leaves(option) for field in fields(leaf)]
    return sorted(set(found))


def _kinds(schema: Any, location: Sequence[str | int]) -> list[str]:
    """What the key `kind` at `location` may be, in all tables that may stand there: pydantic knows only one of them."""
    options = [schema]
    for part in location:
        options = [inner for option in options for inner in _step(option, part)]
    return list(dict.fromkeys(str(name) for option in options for name in typing.get_args(option)))


def _leaves(schema: Any) -> list[Any]:
    if is_dataclass(schema):
        return [schema]
    if typing.get_origin(schema) in (typing.Union, types.UnionType):
        return [leaf for option in typing.get_args(schema) for leaf in _leaves(option)]
    return []


def _step(schema: Any, part: str | int) -> list[Any]:
    if is_dataclass(schema):
        hints = typing.get_type_hints(schema)
        return [hints[part]] if part in hints else []
    origin, arguments = typing.get_origin(schema), typing.get_args(schema)
    if origin in (typing.Union, types.UnionType):
        named = [option for option in arguments if getattr(option, "__name__", None) == part]
        return named or [inner for option in arguments for inner in _step(option, part)]
    if origin in (list, tuple, Sequence) and arguments:
        return [arguments[0]]
    if origin in (dict, Mapping):
        return [arguments[1]]
    return []
