"""Structure of a response, for shaping: thoughts, answer tag, box, each once and in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from verifiers import extract
from verifiers.verdict import Verdict, correct, incorrect

Layout = Literal["box", "think", "think-answer"]

_TAGS = re.compile(r"</?(?:think|answer)>")
_LAYOUTS: dict[str, tuple[str, ...]] = {
    "box": (),
    "think": ("<think>", "</think>"),
    "think-answer": ("<think>", "</think>", "<answer>", "</answer>"),
}


def verify_format(response: str, ground_truth: str | Sequence[str] = "", /, *, layout: Layout = "box") -> Verdict:
    """Whether the response has the asked layout; the ground truth is not read.

    layout: `box` (a complete, non-empty last box), `think` (one thought, then a box) or `think-answer` (one thought,
    then one answer tag that is not empty, nothing around them). Raises ValueError for another layout.
    """
    del ground_truth
    if layout not in _LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(_LAYOUTS)}, got {layout!r}")
    expected = _LAYOUTS[layout]
    if tuple(_TAGS.findall(response)) != expected and (expected or "</think>" not in response):
        return incorrect("wrong-tags", None)
    if expected and not response.lstrip().startswith("<think>"):
        return incorrect("text-before-thought", None)
    if layout == "think-answer" and not _is_tagged(response):
        return incorrect("text-around-answer", None)
    answer = extract.final_answer(response)
    if answer.text is None:
        return incorrect(answer.reason, None)
    if layout != "think-answer" and answer.source not in ("box", "boxes"):
        return incorrect("no-box", answer.text)
    return correct("format", answer.text)


def _is_tagged(response: str) -> bool:
    between = response[response.index("</think>") + len("</think>") : response.index("<answer>")]
    return not between.strip() and response.rstrip().endswith("</answer>")
