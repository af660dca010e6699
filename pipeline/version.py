"""Which code made an output: a hash over the source of a module and of everything first-party that it imports."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("verifiers", "engines", "pipeline")
SHAPING_LIBRARIES = (
    "ftfy",
    "math-verify",
    "mpmath",
    "pint",
    "pyarrow",
    "rapidfuzz",
    "rensa",
    "sympy",
)
"""Libraries whose version can change an output's bytes."""


def digest_of(value: Any) -> str:
    """32 hex digits of a JSON value; key order does not matter."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def file_digest(path: Path) -> str:
    """sha256 of a file, or of a folder's files with their relative names."""
    if path.is_dir():
        inner = [[str(file.relative_to(path)), file_digest(file)] for file in sorted(path.rglob("*")) if file.is_file()]
        return hashlib.sha256(json.dumps(inner).encode()).hexdigest()
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def by_content(value: Any) -> Any:
    """A dataclass or value as JSON in which every path is its name and its content's digest, never its place."""
    if isinstance(value, Path):
        return {"name": value.name, "sha256": file_digest(value) if value.exists() else None}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: by_content(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): by_content(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [by_content(item) for item in value]
    return value


def code_version(modules: Iterable[str]) -> str:
    """32 hex digits over the sources of `modules`, of what they import from the rooms, and over library versions."""
    found: dict[str, bytes] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = _source_path(name)
        if path is None or name in found:
            continue
        found[name] = path.read_bytes()
        waiting.extend(_imports(found[name]))
    sources = {name: hashlib.sha256(source).hexdigest() for name, source in sorted(found.items())}
    return digest_of([sources, library_versions(), unicodedata.unidata_version])


def library_versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in SHAPING_LIBRARIES}


def _source_path(module: str) -> Path | None:
    parts = module.split(".")
    if parts[0] in ROOMS:
        base = ROOT.joinpath(*parts)
        candidates = (base.with_suffix(".py"), base / "__init__.py")
        return next((path for path in candidates if path.is_file()), None)
    spec = importlib.util.find_spec(module)
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


@lru_cache(maxsize=1024)
def _imports(source: bytes) -> tuple[str, ...]:
    """Names of the modules that a source may import."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in found if name.split(".")[0] in ROOMS)
