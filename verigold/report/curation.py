"""The report on a curated folder: what went in, what was lost where and why, and rows to read."""

from __future__ import annotations

from pathlib import Path

from verigold.report.blocks import (
    Block,
    Cell,
    Details,
    Document,
    Fact,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
    code,
    counted,
    left,
    plain,
    right,
    share,
)
from verigold.report.evidence import contamination_blocks, duplicate_blocks
from verigold.report.figures import Bar, FunnelStage, bars, funnel, histogram, is_funnel, losses
from verigold.report.folders import Json, as_text, flatten, items, read_json, table, whole
from verigold.report.kept import kept_blocks, read_kept
from verigold.report.ledger import KINDS, details, read_ledger
from verigold.report.page import to_html
from verigold.report.sampling import collision_blocks, curve_blocks
from verigold.report.sources import source_blocks
from verigold.report.words import count, listing, percent, plural

FORM_NAMES = {
    "F0": "integer",
    "F1": "fraction m/n",
    "F2": "multiple of π",
    "F3": "a√b",
    "F4": "a√b/c",
    "F5": "(a+b√c)/d",
    "F6": "exact decimal",
    "F7": "percent",
    "F8": "degrees",
    "F9": "choice",
    "F10": "tuple or list",
}
"""The closed forms of the stage `integers`."""
EASY_TO_HARD = ("trivial", "too-easy", "easy", "medium", "learnable", "hard", "too-hard", "impossible", "unsolved")


def render(folder: Path) -> str:
    """The HTML page. Raises RecipeError when the folder has no readable manifest."""
    return to_html(document(folder))


def document(folder: Path) -> Document:
    manifest = read_json(folder / "manifest.json")
    return Document(
        title="Curation report",
        subtitle=f"{folder.resolve().name}, recipe {str(manifest.get('recipe_digest', 'unknown'))[:12]}, "
        f"seed {manifest.get('seed', 'unknown')}",
        blocks=blocks(folder),
    )


def blocks(folder: Path, *, nested: bool = False, alarms: bool = True) -> list[Block]:
    """Summary, key figures and sections of one curated folder.

    nested: inside a report with key figures of its own. alarms: off where large losses are intended.
    """
    manifest, ledger = read_json(folder / "manifest.json"), read_ledger(folder)
    found: list[Block] = [
        Paragraph(text=summary(manifest), kind="plain" if nested else "lead"),
        *_balance(manifest),
        *([] if nested else [_facts(manifest)]),
        Section(title="From raw rows to kept rows", blocks=[funnel_figure(manifest), reasons_table(manifest)]),
        Section(title="Sources", blocks=source_blocks(manifest, ledger, alarms_wanted=alarms)),
    ]
    duplicates, items_found, kept = ([], [], []) if nested else _row_blocks(folder, manifest)
    optional = {
        "Duplicates": duplicates,
        "Benchmarks": [*_benchmarks(manifest), *items_found],
        "Kept rows": kept,
        "Answers": [*_answers(manifest), *collision_blocks(folder, manifest)],
        "Difficulty": _difficulty(manifest),
        "Sampling cost": [*_sampling(manifest), *curve_blocks(folder, manifest)],
        "Removed rows to read": list(details(ledger, reason_counts(manifest))),
    }
    found.extend(Section(title=title, blocks=inner) for title, inner in optional.items() if inner)
    return [*found, *_settings(manifest)]


def reason_counts(manifest: Json) -> dict[tuple[str, str, str], int]:
    """(kind, stage, reason) -> rows, in the order of the stages, the largest first within one."""
    found = {}
    for stage in items(manifest.get("stages")):
        reasons = [(kind, reason, whole(n)) for kind in KINDS for reason, n in table(stage.get(kind)).items()]
        for kind, reason, rows in sorted(reasons, key=lambda entry: -entry[2]):
            found[kind, str(stage.get("name")), str(reason)] = rows
    return found


def lost(manifest: Json, kind: str) -> int:
    """Rows of one kind, dropped or quarantined, over all stages."""
    return sum(whole(n) for reasons in table(manifest.get(kind)).values() for n in table(reasons).values())


def summary(manifest: Json) -> str:
    """One paragraph computed from the manifest."""
    rows_in, rows_kept = whole(manifest.get("rows_in")), whole(manifest.get("rows_kept"))
    sources = items(manifest.get("sources"))
    text = (
        f"Of {plural(rows_in, 'row')} from {plural(len(sources), 'source')}, {count(rows_kept)} "
        f"({percent(rows_kept / rows_in if rows_in else None)}) were kept; {count(lost(manifest, 'dropped'))} were "
        f"dropped and {count(lost(manifest, 'quarantined'))} quarantined."
    )
    largest = sorted(reason_counts(manifest).items(), key=lambda entry: -entry[1])[:3]
    if largest:
        named = [f"{reason} in {stage} ({count(rows)})" for (_, stage, reason), rows in largest]
        text += f" The largest losses were {listing(named)}." if len(named) > 1 else f" All losses: {named[0]}."
    benchmarks = items(manifest.get("benchmarks"))
    if benchmarks:
        hits = sum(whole(benchmark.get("hits")) for benchmark in benchmarks)
        names = listing([str(benchmark.get("name")) for benchmark in benchmarks])
        text += (
            f" {plural(hits, 'row')} matched a question of {names} and {'is' if hits == 1 else 'are'} not among them."
        )
    return text


def _balance(manifest: Json) -> list[Block]:
    rows_in = whole(manifest.get("rows_in"))
    accounted = whole(manifest.get("rows_kept")) + lost(manifest, "dropped") + lost(manifest, "quarantined")
    if rows_in == accounted:
        return []
    text = f"The counts do not add up: {count(rows_in)} rows went in and {count(accounted)} are accounted for."
    return [Paragraph(text=text, kind="alarm")]


def _facts(manifest: Json) -> Facts:
    rows_in = whole(manifest.get("rows_in"))
    found = [Fact(value=count(rows_in), label="rows in", note=plural(len(items(manifest.get("sources"))), "source"))]
    for label, rows in (
        ("kept", whole(manifest.get("rows_kept"))),
        ("dropped", lost(manifest, "dropped")),
        ("quarantined", lost(manifest, "quarantined")),
    ):
        found.append(Fact(value=count(rows), label=label, note=percent(rows / rows_in if rows_in else None)))
    return Facts(items=found)


def funnel_stages(manifest: Json) -> list[FunnelStage]:
    """The stages for the funnel, each with its reasons, the largest first."""
    counts = reason_counts(manifest)
    found = []
    for stage in items(manifest.get("stages")):
        name = str(stage.get("name"))
        found.append(
            FunnelStage(
                label=name,
                rows_in=whole(stage.get("rows_in")),
                dropped=sum(whole(n) for n in table(stage.get("dropped")).values()),
                quarantined=sum(whole(n) for n in table(stage.get("quarantined")).values()),
                reasons=[f"{reason} {count(n)}" for (_, of_stage, reason), n in counts.items() if of_stage == name],
            )
        )
    return found


def funnel_figure(manifest: Json) -> Figure:
    stages = funnel_stages(manifest)
    rows = [
        [plain(s.label), counted(s.rows_in), counted(s.dropped), counted(s.quarantined), counted(s.rows_out)]
        for s in stages
    ]
    drawn = is_funnel(stages)
    key = (
        "Blue: rows passed on, their number at the right. Orange: dropped. Yellow: quarantined."
        if drawn
        else "Bars are the removed rows, on a scale of their own: orange dropped, yellow quarantined."
    )
    parts = "; ".join(f"{s.label} passed on {count(s.rows_out)} of {count(s.rows_in)}" for s in stages)
    return Figure(
        title="Rows through the stages",
        description=key,
        words=f"{parts}.",
        draw=lambda width: funnel(stages, width) if drawn else losses(stages, width),
        table=Table(
            caption="Rows through the stages",
            columns=[*left("stage"), *right("rows in", "dropped", "quarantined", "rows out")],
            rows=rows,
        ),
    )


def reasons_table(manifest: Json) -> Table:
    rows_in = whole(manifest.get("rows_in")) or 1
    return Table(
        caption="Why rows were removed",
        columns=[*left("reason", "stage", "what became of it"), *right("rows", "of all rows")],
        rows=[
            [code(reason), plain(stage), plain(kind), counted(rows), share(rows / rows_in)]
            for (kind, stage, reason), rows in reason_counts(manifest).items()
        ],
    )


def _benchmarks(manifest: Json) -> list[Block]:
    rows = [
        [
            plain(str(item.get("name"))),
            plain(str(item.get("split", ""))),
            code(str(item.get("revision", ""))),
            counted(whole(item.get("rows"))),
            counted(whole(item.get("hits"))),
        ]
        for item in items(manifest.get("benchmarks"))
    ]
    columns = [*left("benchmark", "split", "revision"), *right("questions", "rows removed")]
    return [Table(caption="Benchmarks that rows were checked against", columns=columns, rows=rows)] if rows else []


def _row_blocks(folder: Path, manifest: Json) -> tuple[list[Block], list[Block], list[Block]]:
    """Duplicates, benchmark items and kept rows, which are read from the rows themselves."""
    kept = read_kept(folder)
    return (
        duplicate_blocks(folder),
        contamination_blocks(folder, kept.overlaps),
        [*_splits(manifest), *kept_blocks(kept)],
    )


def _splits(manifest: Json) -> list[Block]:
    splits = {str(name): whole(rows) for name, rows in table(manifest.get("splits")).items()}
    if len(splits) < 2:
        return []
    told = listing([f"{count(rows)} in {name}" for name, rows in splits.items()])
    return [Paragraph(text=f"Splits: {told}. Rows that differ in numbers only are in the same split.")]


def _answers(manifest: Json) -> list[Block]:
    forms = {str(form): whole(n) for form, n in table(manifest.get("integer_forms")).items()}
    if not forms:
        return []
    total = max(whole(manifest.get("rows_kept")), sum(forms.values())) or 1
    named = [(f"{FORM_NAMES.get(form, '')} ({form})".removeprefix(" "), n) for form, n in forms.items()]
    named.append(("left as it is", total - sum(forms.values())))
    ordered = sorted((entry for entry in named if entry[1]), key=lambda entry: -entry[1])
    told = "; ".join(f"{form} {count(n)}" for form, n in ordered)
    return [
        Figure(
            title="Forms of the answer",
            description="How the gold of each kept row is posed as an integer.",
            words=f"{told}.",
            draw=lambda width: bars(
                [Bar(label=form, value=n / total, note=f"({count(n)})") for form, n in ordered], width
            ),
            table=_counts_table("Forms of the answer", "form", ordered),
        )
    ]


def _counts_table(caption: str, name: str, ordered: list[tuple[str, int]]) -> Table:
    total = sum(rows for _, rows in ordered) or 1
    return Table(
        caption=caption,
        columns=[*left(name), *right("rows", "share")],
        rows=[[plain(label), counted(rows), share(rows / total)] for label, rows in ordered],
    )


def _difficulty(manifest: Json) -> list[Block]:
    buckets = {str(name): whole(n) for name, n in table(manifest.get("buckets")).items()}
    if not buckets:
        return []
    known = {name: place for place, name in enumerate(EASY_TO_HARD)}
    ordered = sorted(buckets.items(), key=lambda entry: (known.get(entry[0], len(known)), entry[0]))
    named = "; ".join(f"{bucket} {count(n)}" for bucket, n in ordered)
    return [
        Figure(
            title="Difficulty of the kept rows",
            description="Rows by how often the sampling model solved them.",
            words=f"{named}.",
            draw=lambda width: histogram(ordered, width),
            table=_counts_table("Difficulty of the kept rows", "bucket", ordered),
        )
    ]


def sampling_tokens(manifest: Json) -> int:
    """Tokens that the stages of this folder generated."""
    return sum(whole(table(entry).get("generated_tokens")) for entry in table(manifest.get("sampling")).values())


def _sampling(manifest: Json) -> list[Block]:
    rows = [
        [
            plain(str(stage)),
            counted(whole(table(entry).get("samples"))),
            counted(whole(table(entry).get("generated_tokens"))),
        ]
        for stage, entry in table(manifest.get("sampling")).items()
    ]
    if not rows:
        return []
    columns = [*left("stage"), *right("samples", "generated tokens")]
    return [Table(caption="What the model was asked for during curation", columns=columns, rows=rows)]


def _settings(manifest: Json) -> list[Block]:
    rows: list[list[Cell]] = []
    for stage in items(manifest.get("stages")):
        parameters = {k: v for k, v in table(stage.get("params")).items() if k != "benchmarks"}
        for key, value in flatten(parameters).items():
            rows.append([plain(f"{stage.get('name')}.{key}"), code(as_text(value))])
    rows.extend(
        [plain(f"source {source.get('name')}"), code(f"{source.get('path')} {str(source.get('digest', ''))[:16]}")]
        for source in items(manifest.get("sources"))
    )
    settings = Table(caption="Thresholds and inputs", columns=left("setting", "value"), rows=rows)
    return [Details(summary="Thresholds and inputs", blocks=[settings])] if rows else []
