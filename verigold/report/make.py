"""From folders to a report in one of its two forms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pipeline.config import RecipeError
from verigold.report import audit, curation, quickstart, training
from verigold.report.blocks import Document
from verigold.report.folders import Kind, detect, read_json
from verigold.report.markdown import to_markdown
from verigold.report.page import to_html

Form = Literal["html", "md"]


def document(paths: Sequence[Path]) -> Document:
    """The report on one folder of any kind, or on several run folders side by side. Raises RecipeError."""
    if not paths:
        raise RecipeError("no folder given; give a folder that verigold wrote")
    kinds = [detect(path) for path in paths]
    if all(kind is Kind.RUN for kind in kinds):
        return training.document(paths)
    if len(paths) > 1:
        listed = ", ".join(f"{path} ({kind})" for path, kind in zip(paths, kinds, strict=True))
        raise RecipeError(f"several folders are compared only when all are run folders, got {listed}; give one")
    path = paths[0]
    match kinds[0]:
        case Kind.CURATED:
            return curation.document(path)
        case Kind.AUDIT:
            return audit.document(read_json(path / "audit.json" if path.is_dir() else path))
        case _:
            return quickstart.document(path)


def render(paths: Sequence[Path], form: Form = "html") -> str:
    found = document(paths)
    return to_html(found) if form == "html" else to_markdown(found)
