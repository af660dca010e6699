"""A recipe from its sources to the curated folder. The same command again goes on where the last one stopped."""

from __future__ import annotations

import itertools
import json
import platform
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from pipeline.atomic import exclusive, is_foreign, remove_leftovers, room_for, write_json, write_text
from pipeline.card import render_card
from pipeline.config import RecipeError
from pipeline.croissant import describe_folder
from pipeline.executor import default_workers, executor
from pipeline.ledger import KINDS, Counts, LedgerError
from pipeline.parts import Parts
from pipeline.parts_work import run_stage
from pipeline.problem import SCHEMA_VERSION, Problem
from pipeline.progress import progress
from pipeline.recipe import CurateConfig
from pipeline.sampling import spent_entry
from pipeline.shards import WrittenFile, write_drops, write_shards
from pipeline.sources import Source, read_source, refuse_replaced
from pipeline.stage import Context, Drop, Outcome
from pipeline.stages import stage_module
from pipeline.version import by_content, code_version, digest_of, file_digest, library_versions

__all__ = ["CurateConfig", "Manifest", "curate"]

Manifest = dict[str, Any]

PART_ROWS = 2048
"""Raw rows a part. A constant: parts are the unit of resume, and their bytes must not depend on a setting."""

OWNED = (
    *("data", "dropped", "quarantined", "rollouts", ".work"),
    *("README.md", "manifest.json", "croissant.json", "run.json", "recipe.toml"),
)
READERS = ("pipeline.sources", "pipeline.parts")
WRITERS = ("pipeline.shards", "pipeline.card", "pipeline.croissant", "pipeline.run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stage of a run: its name, what it was built from, and where its output lies."""

    name: str
    stage: Any
    table: dict[str, Any]
    parts: Parts


def curate(
    config: CurateConfig, out: Path, *, console: Console, workers: int | None = None, fresh: bool = False
) -> Manifest:
    """Runs the recipe into `out` and returns the manifest.

    Raises RecipeError for unreadable inputs and for a folder that is not ours. Finished outputs stay untouched: those
    keyed by the same content, parameters and code are taken as they are.
    """
    started = time.time()
    _refuse_foreign(out)
    with room_for(out), exclusive(out):
        _prepare(out, fresh)
        return _curate(config, out, console, workers, started)


def _curate(config: CurateConfig, out: Path, console: Console, workers: int | None, started: float) -> Manifest:
    sources = [_source_facts(source) for source in config.sources]
    steps = _plan(config, out / ".work", sources)
    final = _final_key(config, steps[-1].parts.key)
    manifest = _finished(out, final)
    if manifest is not None:
        console.print(f"{out}: everything is done; nothing to do")
        return manifest
    _ingest(config, sources, steps[0].parts, console)
    _run_steps(config, steps, out, console, workers)
    manifest = _write_folder(config, sources, steps, out, final, console)
    _write_run(out, started)
    _prune(out / ".work", steps)
    return manifest


def _refuse_foreign(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise RecipeError(f"{out}: is a file; give a folder for --out")
    if is_foreign(out, ".work"):
        raise RecipeError(f"{out}: the folder holds other files; give an empty or new folder for --out")


def _prepare(out: Path, fresh: bool) -> None:
    if fresh and out.exists():
        for name in OWNED:
            path = out / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    (out / ".work").mkdir(parents=True, exist_ok=True)
    for folder in (out, out / "data", out / "dropped", out / "quarantined", *(out / ".work").iterdir()):
        remove_leftovers(folder)


def _source_facts(source: Source) -> dict[str, Any]:
    if source.path is not None and not source.path.exists():
        raise RecipeError(f"{source.path}: does not exist (sources '{source.name}'); check path in the recipe")
    digest = file_digest(source.path) if source.path is not None else digest_of(source.stamp)
    return {"name": source.name, "path": source.file_name, "license": source.license, "digest": digest}


def _plan(config: CurateConfig, work: Path, sources: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Keys of all outputs, each from the key before it, the stage's parameters and its code."""
    described = [by_content(replace(source, path=None)) for source in config.sources]
    key = digest_of(["sources", SCHEMA_VERSION, PART_ROWS, sources, described, code_version(READERS)])
    steps = [Step(name="sources", stage=None, table={}, parts=Parts(work / f"00-sources-{key}", key))]
    for place, (name, stage) in enumerate(config.build_stages(), start=1):
        table = config.stages[name]
        assert isinstance(table, dict)
        version = code_version((stage_module(name), "pipeline.parts_work"))
        key = digest_of([key, name, by_content(stage), config.seed, version])
        folder = work / f"{place:02d}-{name.replace(':', '.').replace('/', '.')}-{key}"
        steps.append(Step(name=name, stage=stage, table=table, parts=Parts(folder, key)))
    return steps


def _final_key(config: CurateConfig, key: str) -> str:
    return digest_of([key, config.seed, config.rows_per_shard, code_version(WRITERS)])


def _finished(out: Path, final: str) -> Manifest | None:
    """The manifest, when this very run is done and every file is as it was written."""
    try:
        record = json.loads((out / ".work" / "finished.json").read_text(encoding="utf-8"))
        whole = record["key"] == final and all(
            file_digest(out / name) == digest for name, digest in record["files"].items()
        )
        return json.loads((out / "manifest.json").read_text(encoding="utf-8")) if whole else None
    except (OSError, ValueError, KeyError):
        return None


def _run_steps(config: CurateConfig, steps: Sequence[Step], out: Path, console: Console, workers: int | None) -> None:
    context = Context(seed=config.seed, rollouts=out / "rollouts", console=console)
    modules = [stage_module(step.name) for step in steps[1:] if not getattr(step.stage, "samples_model", False)]
    with executor(config.executor, default_workers() if workers is None else workers, modules) as chosen:
        for before, step in itertools.pairwise(steps):
            run_stage(step.name, step.stage, step.table, before.parts, step.parts, context, chosen)


def _ingest(config: CurateConfig, facts: Sequence[Mapping[str, Any]], target: Parts, console: Console) -> None:
    if target.complete:
        return
    target.folder.mkdir(parents=True, exist_ok=True)
    rows = (row for source in config.sources for row in read_source(source))
    part = 0
    with progress(console, "sources", None) as advance:
        for chunk in _chunks(rows, PART_ROWS):
            if not target.has(part):
                kept = [row for row in chunk if isinstance(row, Problem)]
                drops = [row for row in chunk if isinstance(row, Drop)]
                target.commit(part, "sources", [row.source_row for row in chunk], Outcome(kept=kept, drops=drops))
            advance(len(chunk))
            part += 1
    refuse_replaced(config.sources, [source["digest"] for source in facts], target.folder)
    target.finish(part)


def _chunks(rows: Iterable[Problem | Drop], size: int) -> Iterator[list[Problem | Drop]]:
    chunk: list[Problem | Drop] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _write_folder(
    config: CurateConfig,
    sources: Sequence[Mapping[str, Any]],
    steps: Sequence[Step],
    out: Path,
    final: str,
    console: Console,
) -> Manifest:
    """Shards, drops and card, then the manifest; the record that all is done comes last."""
    last = steps[-1].parts
    with progress(console, "shards", last.total().rows_out) as advance:
        files = write_shards(
            out,
            last.tables,
            seed=config.seed,
            rows_per_shard=config.rows_per_shard,
            splits=_splits(steps),
            advance=advance,
        )
    for kind in KINDS:
        written = [write_drops(out, kind, step.name, step.parts.drop_tables()) for step in steps]
        files += [file for file in written if file is not None]
        keep = {out / file.path for file in files}
        for stale in set((out / kind).glob("*.parquet")) - keep:
            stale.unlink()
    manifest = _manifest(config, sources, steps, files)
    write_json(out / "manifest.json", manifest)
    write_json(out / "croissant.json", describe_folder(manifest))
    write_text(out / "README.md", render_card(manifest))
    digests = {file.path: file.sha256 for file in files}
    digests |= {name: file_digest(out / name) for name in ("manifest.json", "croissant.json", "README.md")}
    write_json(out / ".work" / "finished.json", {"key": final, "files": digests})
    return manifest


def _splits(steps: Sequence[Step]) -> tuple[str, ...]:
    """Those of the last stage that makes splits; none where no stage does."""
    return next((found for step in reversed(steps) if (found := getattr(step.stage, "splits", ()))), ())


def _manifest(
    config: CurateConfig,
    sources: Sequence[Mapping[str, Any]],
    steps: Sequence[Step],
    files: Sequence[WrittenFile],
) -> Manifest:
    counts = {step.name: step.parts.total() for step in steps}
    by_source = _by_source(config, steps)
    columns = _columns(steps[-1].parts)
    manifest: Manifest = {
        "schema_version": SCHEMA_VERSION,
        "code_version": code_version({*READERS, *WRITERS, *(stage_module(step.name) for step in steps[1:])}),
        "recipe_digest": _recipe_digest(config, steps),
        "seed": config.seed,
        "sources": [{**source, "rows": by_source[source["name"]]["rows_in"]} for source in sources],
        "stages": [_stage_entry(step, counts[step.name]) for step in steps],
        "rows_in": counts["sources"].rows_in,
        "rows_kept": counts[steps[-1].name].rows_out,
        "dropped": {name: dict(sorted(item.dropped.items())) for name, item in counts.items() if item.dropped},
        "quarantined": {name: dict(sorted(c.quarantined.items())) for name, c in counts.items() if c.quarantined},
        "by_source": by_source,
        "splits": _split_rows(files),
        "integer_forms": columns["integer_forms"],
        "integer_refused": columns["integer_refused"],
        "buckets": columns["buckets"],
        "benchmarks": _benchmarks(steps, columns["templates"]),
        "files": [{"path": file.path, "rows": file.rows, "sha256": file.sha256} for file in files],
    }
    sampled = {step.name: (step.stage, counts[step.name]) for step in steps if counts[step.name].samples}
    if sampled:
        manifest["sampling"] = {
            name: spent_entry(stage, item.samples, item.generated_tokens) for name, (stage, item) in sampled.items()
        }
    gone = sum(sum(reasons.values()) for kind in KINDS for reasons in manifest[kind].values())
    if manifest["rows_in"] != manifest["rows_kept"] + gone:
        raise LedgerError(f"rows_in {manifest['rows_in']} != kept {manifest['rows_kept']} + {gone}")
    return manifest


def _split_rows(files: Sequence[WrittenFile]) -> dict[str, int]:
    rows = Counter[str]()
    for file in files:
        folder, _, name = file.path.partition("/")
        if folder == "data":
            rows[name.partition("-")[0]] += file.rows
    return dict(rows)


def _recipe_digest(config: CurateConfig, steps: Sequence[Step]) -> str:
    sources = [by_content(source) for source in config.sources]
    return digest_of([config.seed, config.rows_per_shard, sources, [[s.name, by_content(s.stage)] for s in steps]])


def _stage_entry(step: Step, counts: Counts) -> dict[str, Any]:
    entry = counts.to_json()
    params = by_content(step.stage) if step.stage is not None else {}
    kept = ("rows_in", "rows_out", "dropped", "quarantined")
    return {"name": step.name, "params": params, **{key: entry[key] for key in kept}}


def _by_source(config: CurateConfig, steps: Sequence[Step]) -> dict[str, dict[str, int]]:
    kept = Counter[str]()
    entered = Counter[str]()
    for table in steps[-1].parts.tables(["data_source"]):
        kept.update(table.column("data_source").to_pylist())
    for step in steps[:1]:
        for table in (*step.parts.tables(["data_source"]), *step.parts.drop_tables()):
            entered.update(table.column("data_source").to_pylist())
    return {source.name: {"rows_in": entered[source.name], "rows_kept": kept[source.name]} for source in config.sources}


def _columns(parts: Parts) -> dict[str, dict[str, int]]:
    """Kept rows by integer form, by why they have none, by bucket, by benchmark whose template they have."""
    names = ("integer_forms", "integer_refused", "buckets", "templates")
    forms, refused, buckets, templates = counts = [Counter[str]() for _ in names]
    for table in parts.tables(["extra_info", "difficulty"]):
        extra = table.select(["extra_info"]).flatten()
        forms.update(form for form in extra.column("extra_info.integer_form").to_pylist() if form)
        buckets.update(entries[-1]["bucket"] for entries in table["difficulty"].to_pylist() if entries)
        for text in extra.column("extra_info.meta_json").to_pylist():
            meta = json.loads(text) if "integer_refused" in text or "template_overlap" in text else {}
            refused.update(filter(None, [meta.get("integer_refused")]))
            templates.update(filter(None, [str(meta.get("template_overlap", "")).rpartition("#")[0]]))
    return {name: dict(sorted(count.items())) for name, count in zip(names, counts, strict=True)}


def _benchmarks(steps: Sequence[Step], templates: Mapping[str, int]) -> list[dict[str, Any]]:
    """What the stages say of their benchmarks, with the hits counted from the evidence of their drops.

    templates: kept rows that are an item with other numbers, by benchmark.
    """
    found: list[dict[str, Any]] = []
    for step in steps:
        describe = getattr(step.stage, "describe_benchmarks", None)
        if describe is None:
            continue
        hits = Counter[str]()
        for table in step.parts.drop_tables():
            hits.update(json.loads(text).get("benchmark", "") for text in table.column("evidence").to_pylist())
        told = [{**item, "hits": hits[item["name"]]} for item in describe()]
        found.extend({**item, "templates": templates.get(item["name"], 0)} for item in told)
    return found


def _write_run(out: Path, started: float) -> None:
    versions = {"python": sys.version.split()[0], **library_versions()}
    finished = time.time()
    write_json(
        out / "run.json",
        {
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(finished)),
            "wall_s": round(finished - started, 3),
            "host": platform.node(),
            "platform": platform.platform(),
            "versions": versions,
        },
    )


def _prune(work: Path, steps: Sequence[Step]) -> None:
    """Outputs that this recipe does not use any more."""
    used = {step.parts.folder.name for step in steps}
    for folder in work.iterdir():
        if folder.is_dir() and folder.name not in used:
            shutil.rmtree(folder)
