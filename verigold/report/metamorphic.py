"""The part of an audit report that needs no labels: rewritings of the ground truths and near misses of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verigold.report.blocks import (
    Block,
    Details,
    Example,
    Field,
    Paragraph,
    Section,
    Table,
    counted,
    left,
    plain,
    right,
    share,
    verdict_words,
)
from verigold.report.folders import Json, items, table, whole
from verigold.report.words import count, percent, plural, shorten

LONGEST = 240
EXAMPLES_SHOWN = 20
GROUPS = {
    "accept": ("Rewritings that must be accepted", "wrongly refused"),
    "refuse": ("Near misses that must be refused", "wrongly accepted"),
}
NOTE = (
    "Each ground truth was rewritten by rules for its type, so what a verdict must be is known without a label. The "
    "rates speak for these rewritings, not for what a model writes."
)
Kinds = Sequence[tuple[str, Json]]


def rewritings(audit_json: Json) -> list[Block]:
    """One section; none when the audit made no rewritings."""
    kinds = [(name, table(entry)) for name, entry in table(audit_json.get("metamorphic")).items()]
    if not kinds:
        return []
    groups = {must: [(name, entry) for name, entry in kinds if entry.get("must") == must] for must in GROUPS}
    found: list[Block] = [Paragraph(text=_words(groups)), Paragraph(text=NOTE, kind="note")]
    wrong = {
        must: [member for member in members if whole(member[1].get("wrongly"))] for must, members in groups.items()
    }
    found += [_kinds(must, members) for must, members in wrong.items() if members]
    every: list[Block] = [_kinds(must, members) for must, members in groups.items() if members]
    found.append(Details(summary=f"All {plural(len(kinds), 'kind')} of rewriting", blocks=every))
    examples = [_example(name, case) for name, entry in kinds for case in items(entry.get("examples"))]
    if examples:
        shown = examples[:EXAMPLES_SHOWN]
        found.append(Details(summary=f"Verdicts that must not be: {count(len(shown))} shown", blocks=shown))
    return [Section(title="Rewritings of the ground truths", blocks=found)]


def _total(members: Kinds, key: str) -> int:
    return sum(whole(entry.get(key)) for _, entry in members)


def _words(groups: Mapping[str, Kinds]) -> str:
    told = []
    for must, members in groups.items():
        n, wrongly = _total(members, "n"), _total(members, "wrongly")
        if n:
            name, wrong = GROUPS[must]
            told.append(f"{name}: {count(n)}, {count(wrongly)} {wrong} ({percent(wrongly / n)}).")
    return " ".join(told)


def _kinds(must: str, members: Kinds) -> Table:
    """The kinds with the largest share of wrong verdicts first."""
    title, wrong = GROUPS[must]

    def wrong_share(entry: Json) -> float:
        return whole(entry.get("wrongly")) / max(whole(entry.get("n")), 1)

    worst_first = sorted(members, key=lambda member: (-wrong_share(member[1]), member[0]))
    return Table(
        caption=title,
        columns=[*left("type and kind"), *right("n", wrong, "share")],
        rows=[
            [
                plain(name),
                counted(whole(entry.get("n"))),
                counted(whole(entry.get("wrongly"))),
                share(wrong_share(entry)),
            ]
            for name, entry in worst_first
        ],
    )


def _example(name: str, case: Mapping[str, Any]) -> Example:
    verdict = f"{verdict_words(str(case.get('status')))}, {case.get('reason', '')}"
    return Example(
        title=name,
        tone="bad",
        fields=[
            Field(label="response", text=shorten(str(case.get("response", "")), LONGEST) or "(empty)"),
            Field(label="gold", text=shorten(str(case.get("ground_truth", "")), LONGEST)),
            Field(label="verdict", text=verdict, code=False),
        ],
    )
