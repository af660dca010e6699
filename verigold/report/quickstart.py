"""The report on a quick start: real rows, the verifier, the addition pool, training against its control, transcripts.

Every section copes with a part that was not run, and says so.
"""

from __future__ import annotations

from pathlib import Path

from verigold.report import audit, curation, training
from verigold.report.blocks import (
    Block,
    Document,
    Example,
    Fact,
    Facts,
    Field,
    Figure,
    Gallery,
    Paragraph,
    Section,
    Table,
    counted,
    left,
    plain,
    rate,
    right,
    share,
    verdict_tone,
    verdict_words,
)
from verigold.report.evaluations import telling_ks
from verigold.report.findings import (
    NAMES,
    SHORT_NAMES,
    TRAINED,
    Quickstart,
    curation_tokens,
    honest,
    read,
    score,
    summary,
    training_tokens,
)
from verigold.report.folders import Json, table, whole
from verigold.report.ledger import LONGEST
from verigold.report.lines import Level, Point, Series
from verigold.report.page import to_html
from verigold.report.words import (
    bounds,
    count,
    interval,
    number,
    percent,
    shorten,
)

SOUND = "clean"
"""The kind of pool rows in which nothing was planted."""


def render(root: Path) -> str:
    """The HTML page of a quick start."""
    return to_html(document(root))


def document(root: Path) -> Document:
    found = read(root)
    return Document(
        title="Verigold quick start",
        subtitle="Raw rows, curated shards, verified rewards, a trained policy: what this run did, from its own files",
        blocks=[
            Paragraph(text=summary(found), kind="lead"),
            _facts(found),
            Section(title="Real data", blocks=_real(found)),
            Section(title="The verifier", blocks=_audit(found)),
            Section(title="The training pool", blocks=_pool(found)),
            Section(title="Learning", blocks=_learning(found)),
            Section(title="Before and after", blocks=_comparison(found)),
            Section(title="Transcripts", blocks=_transcripts(found)),
            Section(title="What this shows", blocks=honest(found)),
        ],
    )


def _missing(text: str) -> Paragraph:
    return Paragraph(text=f"Not run. {text}.", kind="missing")


def _facts(found: Quickstart) -> Facts:
    facts = []
    if found.real:
        rows_in = whole(found.real.get("rows_in"))
        facts.append(
            Fact(
                value=count(whole(found.real.get("rows_kept"))),
                label="real rows kept",
                note=f"of {count(rows_in)} raw rows",
            )
        )
    for key, label in (("fnr", "correct responses missed"), ("fpr", "wrong responses accepted")):
        value = interval((found.audit or {}).get(key))
        if value:
            facts.append(Fact(value=percent(value.estimate), label=label, note=bounds(value)))
    for model, name in NAMES.items():
        value = score(found, model, "pass_at_1")
        if value:
            facts.append(Fact(value=percent(value.estimate), label=f"pass@1, {name}", note=bounds(value)))
    wall = number(found.summary.get("wall_s"))
    if wall is not None:
        facts.append(Fact(value=f"{wall:,.0f} s", label="for everything on this page"))
    return Facts(items=facts)


def _real(found: Quickstart) -> list[Block]:
    if not found.real:
        return [_missing("The real rows were not curated")]
    return curation.blocks(found.root / "real", nested=True)


def _audit(found: Quickstart) -> list[Block]:
    return audit.blocks(found.audit, nested=True) if found.audit else [_missing("The verifier was not audited")]


def _pool(found: Quickstart) -> list[Block]:
    text = (
        "The pool is made of additions, with defects planted in it on purpose, so that what curation removes can be "
        "counted against the truth. The base model is in the loop: it samples the answers that the stages judge by."
    )
    planted = planted_table(table(found.summary.get("planted")))
    if not found.pool:
        return [*([planted] if planted else []), _missing("The pool was not curated")]
    curated = curation.blocks(found.root / "pool", nested=True, alarms=False)
    return [Paragraph(text=text, kind="note"), *([planted] if planted else []), *curated]


def planted_table(planted: Json) -> Table | None:
    """What was planted and what curation removed of it."""
    rows = []
    for kind, entry in sorted(planted.items(), key=lambda item: item[0] == SOUND):
        n, removed = whole(table(entry).get("n")), whole(table(entry).get("removed"))
        rows.append(
            [
                plain("no defect" if kind == SOUND else str(kind)),
                counted(n),
                counted(removed),
                share(removed / n if n else None),
            ]
        )
    if not rows:
        return None
    columns = [*left("kind of row"), *right("in the pool", "removed", "share removed")]
    return Table(caption="Planted rows and what curation removed", columns=columns, rows=rows)


def heldout_series(found: Quickstart, key: str) -> list[Series]:
    """Held-out accuracy of each run over its tokens: the base first, the evaluations on the way, the final one."""
    base = score(found, "base", key)
    series = []
    for place, (model, run) in enumerate(found.runs.items()):
        final, tokens = score(found, model, key), run.tokens()
        measured = [point for point in training.points(run, f"eval/{key}") if point.x > 0]
        if final is not None:
            measured = [point for point in measured if point.x < tokens]
            measured.append(Point(x=tokens, y=final.estimate, low=final.low, high=final.high))
        if base is not None:
            measured.insert(0, Point(x=0, y=base.estimate, low=base.low, high=base.high))
        if measured:
            series.append(Series(label=SHORT_NAMES[model], points=measured, colour=place, marks=True))
    return series


def base_levels(found: Quickstart, key: str) -> list[Level]:
    base = score(found, "base", key)
    return [Level(label=SHORT_NAMES["base"], y=base.estimate)] if base else []


def heldout_figure(found: Quickstart, key: str, title: str, *, small: bool) -> Figure | None:
    series = heldout_series(found, key)
    if not series:
        return None
    told = "; ".join(f"{s.label} from {percent(s.points[0].y)} to {percent(s.points[-1].y)}" for s in series)
    return training.curve_figure(
        title,
        f"Held-out problems; whiskers are 95 % intervals, the dashed line is the base. {told}.",
        series,
        shares=True,
        small=small,
        levels=base_levels(found, key),
        top=1.0,
    )


def _learning(found: Quickstart) -> list[Block]:
    if not found.runs:
        return [_missing("Nothing was trained")]
    first = heldout_figure(found, "pass_at_1", "pass@1 at temperature 1, over generated tokens", small=False)
    others = [
        heldout_figure(found, "greedy", "Greedy accuracy", small=True),
        training.reward_figure([found.runs["dapo"]], small=True) if "dapo" in found.runs else None,
        *(training.panel(list(found.runs.values()), *entry) for entry in training.PANELS),
    ]
    blocks: list[Block] = [first] if first else []
    small = [figure for figure in others if figure]
    note = (
        "The control's rewards are drawn by chance: its right and wrong responses here are those that were rewarded "
        "and those that were not."
    )
    if "control" in found.runs:
        blocks.append(Paragraph(text=note, kind="note"))
    return [*blocks, Gallery(figures=small), training.runs_table(list(found.runs.values()))]


def _comparison(found: Quickstart) -> list[Block]:
    missing = [_missing(f"There is no evaluation of: {NAMES[m]}") for m in NAMES if m not in found.evaluations]
    if not found.evaluations:
        return [_missing("Nothing was evaluated")]
    ks = telling_ks(list(found.evaluations.values()))
    rows = []
    for model, value in found.evaluations.items():
        cells = [rate(score(found, model, key)) for key in ("greedy", "pass_at_1")]
        cells += [rate(interval(table(value.get("pass_at_k")).get(str(k)))) for k in ks]
        trained = model in TRAINED
        cells.append(counted(training_tokens(found, model) if trained else 0))
        cells.append(counted(curation_tokens(found) if trained else 0))
        rows.append([plain(NAMES[model]), *cells])
    columns = [
        *left("model"),
        *right("greedy", "pass@1", *(f"pass@{k}" for k in ks), "tokens, training", "tokens, curation"),
    ]
    n = max((whole(value.get("n")) for value in found.evaluations.values()), default=0)
    note = (
        f"{count(n)} held-out problems that share nothing with warm start, pool or shards. Brackets are 95 % intervals "
        "by bootstrap over problems; pass@k is the unbiased estimate at temperature 1. Tokens are generated tokens; "
        "curation sampled the pool once, for both runs."
    )
    return [
        Table(caption="The embedded model before and after training", columns=columns, rows=rows, note=note),
        *missing,
    ]


def _transcripts(found: Quickstart) -> list[Block]:
    if not found.transcripts:
        return [_missing("No transcripts were kept")]
    return [transcript(item) for item in found.transcripts]


def transcript(item: Json) -> Example:
    """One response with its verdict in words and colour."""
    status = str(item.get("status") or "")
    model = str(item.get("model") or "model")
    extracted = item.get("extracted")
    verdict = f"{verdict_words(status)} ({item.get('reason') or 'no reason given'})"
    return Example(
        title=f"{verdict_words(status)} · {NAMES.get(model, model)}",
        tone=verdict_tone(status),
        fields=[
            Field(label="prompt", text=shorten(str(item.get("question") or ""), LONGEST)),
            Field(label="response", text=shorten(str(item.get("response") or "(empty)"), 2000)),
            Field(label="extracted", text="(nothing)" if extracted is None else str(extracted)),
            Field(label="gold", text=str(item.get("ground_truth") or "")),
            Field(label="verdict", text=verdict, tone=verdict_tone(status), code=False),
        ],
    )
