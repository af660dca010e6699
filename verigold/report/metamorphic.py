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
    code,
    counted,
    left,
    plain,
    right,
    share,
    verdict_words,
)
from verigold.report.folders import Json, items, table, whole
from verigold.report.words import count, plural, shorten

LONGEST = 240
ONE_ANSWER = 40
EXAMPLES_SHOWN = 12
WRONG_SHOWN = 20
"""Kinds with wrong verdicts that stand open."""
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
    found_json = table(audit_json.get("metamorphic"))
    kinds = [(name, table(entry)) for name, entry in table(found_json.get("kinds")).items()]
    names = [str(name) for name in found_json.get("verifiers") or []]
    if not kinds or not names:
        return []
    groups = {must: [(name, entry) for name, entry in kinds if entry.get("must") == must] for must in GROUPS}
    found: list[Block] = [Paragraph(text=NOTE, kind="note"), _totals(groups, names)]
    for must, members in groups.items():
        wrong = [member for member in members if any(_wrongly(member[1], name) for name in names)]
        if wrong:
            found.append(_kinds(must, wrong, names, first=WRONG_SHOWN))
    every: list[Block] = [_kinds(must, members, names) for must, members in groups.items() if members]
    found.append(Details(summary=f"All {plural(len(kinds), 'kind')} of rewriting", blocks=every))
    for name in names:
        examples = [
            _example(kind, case)
            for kind, entry in kinds
            for case in items(entry.get("examples"))
            if case.get("verifier") == name
        ]
        if examples:
            shown = examples[:: max(1, len(examples) // EXAMPLES_SHOWN)][:EXAMPLES_SHOWN]
            told = f"Verdicts of {name} that must not be: {count(len(shown))} of {count(len(examples))} kept examples"
            found.append(Details(summary=told, blocks=shown))
    return [Section(title="Rewritings of the ground truths", blocks=found)]


def _side(entry: Json, name: str) -> Json:
    return table(table(entry.get("by_verifier")).get(name))


def _wrongly(entry: Json, name: str) -> int:
    return whole(_side(entry, name).get("wrongly"))


def _totals(groups: Mapping[str, Kinds], names: Sequence[str]) -> Table:
    """One row a verifier: of how many rewritings and near misses its verdict must not be."""
    rows = []
    for name in names:
        cells = [plain(name)]
        for members in groups.values():
            n = sum(whole(_side(entry, name).get("n")) for _, entry in members)
            wrongly = sum(_wrongly(entry, name) for _, entry in members)
            cells += [counted(n), counted(wrongly), share(wrongly / n if n else None)]
        rows.append(cells)
    columns = [*left("verifier"), *right("rewritings", "refused", "share", "near misses", "accepted", "share")]
    return Table(caption="All kinds together", columns=columns, rows=rows)


def _kinds(must: str, members: Kinds, names: Sequence[str], *, first: int | None = None) -> Table:
    """The kinds with the most wrong verdicts first. first: show so many, each with an example."""
    title, wrong = GROUPS[must]
    worst_first = sorted(members, key=lambda member: (-sum(_wrongly(member[1], name) for name in names), member[0]))
    shown = worst_first[:first]
    hidden = len(worst_first) - len(shown)
    rows = []
    for name, entry in shown:
        n = whole(entry.get("n"))
        shares = [share(_wrongly(entry, side) / max(n, 1)) for side in names]
        rows.append([plain(name), counted(n), *shares, *([] if first is None else [code(_one(entry))])])
    return Table(
        caption=f"{title}: share {wrong}",
        columns=[*left("type and kind"), *right("n", *names), *([] if first is None else left("gold and response"))],
        rows=rows,
        note=f"{plural(hidden, 'further kind')} with wrong verdicts below, among all kinds." if hidden else "",
    )


def _one(entry: Json) -> str:
    """The first response with a wrong verdict, without the box around it."""
    case = next(iter(items(entry.get("examples"))), {})
    response = str(case.get("response", "")).replace("\n", " ")
    inside = response.removeprefix(r"\boxed{").removesuffix("}") if response.startswith(r"\boxed{") else response
    return f"{shorten(str(case.get('ground_truth', '')), ONE_ANSWER)} ← {shorten(inside, ONE_ANSWER)}"


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
