"""What one quick start found, read from its root folder, and what may be said of it: every number from its files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pipeline.config import RecipeError
from verigold.report import curation
from verigold.report.blocks import Block, Paragraph
from verigold.report.folders import Json, Run, items, read_json_if_there, read_run, table, whole
from verigold.report.words import Interval, count, interval, number, percent, percent_with_bounds, short_count

TRAINED = ("dapo", "control")
NAMES = {"base": "base model", "dapo": "DAPO", "control": "random rewards (control)"}
RUN_NAMES = {"dapo": "DAPO", "control": "control"}
SHORT_NAMES = {"base": "base", "dapo": "DAPO", "control": "random rewards"}

NOTABLE = 0.05
"""Differences up to five points are not spoken of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quickstart:
    """What lies in the root folder; absent parts are None or empty."""

    root: Path
    summary: Json
    real: Json | None
    audit: Json | None
    pool: Json | None
    runs: dict[str, Run]
    evaluations: dict[str, Json]
    transcripts: list[Json]


def read(root: Path) -> Quickstart:
    """Raises RecipeError when a file that is there cannot be read."""
    runs = {
        name: read_run(root / "runs" / name, RUN_NAMES[name]) for name in TRAINED if (root / "runs" / name).is_dir()
    }
    evaluations = {name: read_json_if_there(root / "eval" / f"{name}.json") for name in NAMES}
    return Quickstart(
        root=root,
        summary=read_json_if_there(root / "summary.json") or {},
        real=read_json_if_there(root / "real" / "manifest.json"),
        audit=read_json_if_there(root / "audit" / "audit.json"),
        pool=read_json_if_there(root / "pool" / "manifest.json"),
        runs=runs,
        evaluations={name: value for name, value in evaluations.items() if value is not None},
        transcripts=read_transcripts(root / "transcripts.json"),
    )


def read_transcripts(path: Path) -> list[Json]:
    """The list of transcripts; empty when it was not written."""
    if not path.is_file():
        return []
    try:
        return items(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise RecipeError(f"{path}: not JSON ({error}); run the quick start again") from None


def score(found: Quickstart, model: str, key: str) -> Interval | None:
    """`greedy` or `pass_at_1` of one model, from its evaluation."""
    return interval(found.evaluations.get(model, {}).get(key))


def curation_tokens(found: Quickstart) -> int | None:
    """Tokens that curating the pool sampled; None when it was not run."""
    told = number(found.summary.get("curation_tokens"))
    if told is not None:
        return int(told)
    return curation.sampling_tokens(found.pool) if found.pool else None


def training_tokens(found: Quickstart, model: str) -> int | None:
    return found.runs[model].tokens() if model in found.runs else None


def summary(found: Quickstart) -> str:
    """One paragraph computed from the run."""
    parts = []
    if found.real:
        rows_in, kept = whole(found.real.get("rows_in")), whole(found.real.get("rows_kept"))
        parts.append(f"Of {count(rows_in)} real rows, {count(kept)} were kept, and every other one has a reason.")
    if found.audit:
        fnr, fpr = interval(found.audit.get("fnr")), interval(found.audit.get("fpr"))
        parts.append(
            f"On {count(whole(found.audit.get('n')))} labelled responses the verifier missed {_told(fnr)} of the "
            f"correct ones and accepted {_told(fpr)} of the wrong ones."
        )
    base, dapo, control = (score(found, model, "pass_at_1") for model in NAMES)
    tokens = training_tokens(found, "dapo")
    if base and dapo and tokens is not None:
        parts.append(
            f"After {count(tokens)} generated tokens of training, the embedded model solves {_told(dapo)} of the "
            f"held-out additions in one sampled try; before, {_told(base)}."
        )
    if control:
        parts.append(f"The same training with random rewards ends at {_told(control)}.")
    return " ".join(parts) or "Nothing has been run in this folder yet."


def _told(value: Interval | None) -> str:
    return percent_with_bounds(value).replace("\u00a0[", " [")


def honest(found: Quickstart) -> list[Block]:
    """What may be said of the run and what may not, with its own numbers."""
    blocks: list[Block] = [
        Paragraph(
            text="The base can add, but it was taught bad habits on purpose: it drops carries and guesses without "
            "working. Reinforcement learning brings out what it can do and un-learns the habits; it teaches no new "
            "skill here. One seed, one task and a model of well under a million parameters say that the parts work "
            "together, not which algorithm is better."
        )
    ]
    told = [text for text in (_ceiling(found), _control(found), _cost(found)) if text]
    return [*blocks, *(Paragraph(text=text) for text in told)]


def _ceiling(found: Quickstart) -> str:
    base = table(found.evaluations.get("base", {}).get("pass_at_k"))
    largest = max((int(k) for k in base if k.isdigit()), default=1)
    reached, dapo = interval(base.get(str(largest))), score(found, "dapo", "pass_at_1")
    if largest < 2 or reached is None or dapo is None:
        return ""
    return (
        f"The base already solves {_told(reached)} of the problems in at least one of {largest} tries; the trained "
        f"model solves {_told(dapo)} in one. Read the gain in pass@1 against that."
    )


def _control(found: Quickstart) -> str:
    base, control = (score(found, model, "greedy") for model in ("base", "control"))
    base_1, dapo_1, control_1 = (score(found, model, "pass_at_1") for model in ("base", "dapo", "control"))
    if not (base and control and base_1 and control_1):
        return ""
    text = (
        f"With random rewards, greedy accuracy went from {percent(base.estimate)} to {percent(control.estimate)} and "
        f"pass@1 from {percent(base_1.estimate)} to {percent(control_1.estimate)}."
    )
    if control_1.estimate > base_1.estimate + NOTABLE:
        return text + " Part of any gain thus comes without a signal: count as gain only what exceeds this control."
    if control.estimate > base.estimate + NOTABLE:
        return text + (
            " Greedy accuracy can rise without any signal, when styles of answer that were nearly tied flip: judge by "
            "pass@1, and beside a control."
        )
    if dapo_1 and dapo_1.estimate > base_1.estimate + NOTABLE:
        return text + " The gain of the real rewards does not come from training as such."
    return text


def _cost(found: Quickstart) -> str:
    sampled, trained = curation_tokens(found), training_tokens(found, "dapo")
    if not sampled or not trained:
        return ""
    return (
        f"Curating the pool sampled {short_count(sampled)} tokens, {percent(sampled / trained)} of what training then "
        "generated. That cost counts when curated and raw pools are compared; it pays off when shards are used again."
    )
