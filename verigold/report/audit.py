"""The report on an audit of a verifier: how often it is wrong, in which direction, where, and the cases themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verigold.report.blocks import (
    Block,
    Details,
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
    Tone,
    code,
    counted,
    left,
    plain,
    rate,
    right,
    share,
    verdict_words,
)
from verigold.report.estimates import estimates, measured, summary_of_few
from verigold.report.folders import Json, items, table, whole
from verigold.report.judge import judge_sections
from verigold.report.metamorphic import rewritings
from verigold.report.page import to_html
from verigold.report.rates import rates_figure, with_bounds
from verigold.report.words import bounds, count, interval, percent, plural, shorten

MEASURES = {
    "fnr": ("false negatives", "correct responses that were not accepted"),
    "fpr": ("false positives", "wrong responses that were accepted"),
    "undecided": ("undecided", "responses without a verdict"),
}
GROUPS_SHOWN, OPEN_CASES, DISAGREEMENTS_SHOWN, LONGEST_ANSWER = 16, 3, 15, 240
ERRORS = ("False positive: accepted, labelled wrong", "False negative: rejected, labelled correct", "Undecided")


def render(audit_json: Json) -> str:
    """The HTML page of one audit.json."""
    return to_html(document(audit_json))


def document(audit_json: Json) -> Document:
    return Document(
        title="Verifier audit",
        subtitle=_subtitle(audit_json),
        blocks=blocks(audit_json),
    )


def _labels(audit_json: Json) -> int:
    confusion = table(audit_json.get("confusion"))
    return sum(whole(n) for entry in confusion.values() for n in table(entry).values())


def _subtitle(audit_json: Json) -> str:
    """An older audit.json may hold no confusion; then every response counts as labelled."""
    n, labels = whole(audit_json.get("n")), _labels(audit_json)
    if not audit_json.get("confusion") or labels == n:
        return plural(n, "labelled response")
    return f"{plural(n, 'response')}, {count(labels) if labels else 'none'} of them labelled"


def blocks(audit_json: Json, *, nested: bool = False) -> list[Block]:
    """Summary, key figures and sections of one audit. nested: inside a report that has key figures of its own."""
    cases = items(audit_json.get("disagreements"))
    found: list[Block] = [
        Paragraph(text=summary(audit_json), kind="plain" if nested else "lead"),
        *([] if nested else [_facts(audit_json)]),
        *estimates(audit_json),
        *rewritings(audit_json),
        *judge_sections(audit_json),
    ]
    if _labels(audit_json):
        against = [overall_figure(audit_json), confusion_table(audit_json)]
        found.append(Section(title="Verdicts against labels", blocks=[*_drawn_note(audit_json), *against]))
    for key, title in (("by_category", "By category of answer"), ("by_source", "By source")):
        groups = table(audit_json.get(key))
        if groups:
            found.append(Section(title=title, blocks=_grouped(groups, title)))
    if audit_json.get("by_reason"):
        found.append(Section(title="By reason of the verdict", blocks=[_reasons(audit_json)]))
    if cases:
        found.append(Section(title="Where verdict and label disagree", blocks=_disagreements(cases)))
    return found


def _drawn_note(audit_json: Json) -> list[Block]:
    if not audit_json.get("estimated"):
        return []
    text = (
        "From here on, error rates count the labelled rows alone. Labels that were drawn by stratum are no picture of "
        "the whole file; the estimate above is."
    )
    return [Paragraph(text=text, kind="note")]


def summary(audit_json: Json) -> str:
    """One paragraph computed from the audit."""
    few = summary_of_few(audit_json, _labels(audit_json))
    if few:
        return few
    fnr, fpr, undecided = (interval(audit_json.get(measure)) for measure in MEASURES)
    confusion = table(audit_json.get("confusion"))
    text = f"On {plural(whole(audit_json.get('n')), 'labelled response')}"
    if fnr is not None:
        rows = sum(whole(n) for n in table(confusion.get("labelled_correct")).values())
        text += f" the verifier did not accept {with_bounds(fnr)} of the {count(rows or fnr.n)} correct ones"
    if fpr is not None:
        rows = sum(whole(n) for n in table(confusion.get("labelled_wrong")).values())
        text += f" and accepted {with_bounds(fpr)} of the {count(rows or fpr.n)} wrong ones"
    if undecided is not None:
        text += f"; it left {with_bounds(undecided)} undecided"
    return text + ". Brackets are 95 % intervals. Undecided counts as not accepted."


def _facts(audit_json: Json) -> Facts:
    found = []
    for measure, (name, meaning) in MEASURES.items():
        value = interval(measured(audit_json).get(measure))
        if value is not None:
            found.append(Fact(value=percent(value.estimate), label=f"{name}: {meaning}", note=bounds(value)))
    accuracy = interval(audit_json.get("accuracy"))
    if accuracy is not None and not audit_json.get("estimated"):
        found.append(Fact(value=percent(accuracy.estimate), label="agreement with the labels", note=bounds(accuracy)))
    return Facts(items=found)


def overall_figure(audit_json: Json) -> Figure:
    """The three error rates with their intervals."""
    values = [(name, interval(audit_json.get(measure))) for measure, (name, _) in MEASURES.items()]
    return rates_figure("Error rates of the verifier", [(name, value) for name, value in values if value], "rate")


def confusion_table(audit_json: Json) -> Table:
    outcomes = ("accepted", "rejected", "undecided")
    rows = []
    for label in ("labelled_correct", "labelled_wrong"):
        entry = table(table(audit_json.get("confusion")).get(label))
        cells = [counted(whole(entry.get(outcome))) for outcome in outcomes]
        rows.append([plain(label.replace("_", " ")), *cells, counted(sum(whole(entry.get(o)) for o in outcomes))])
    return Table(caption="Verdicts against labels", columns=[*left("label"), *right(*outcomes, "all")], rows=rows)


def _grouped(groups: Json, title: str) -> list[Block]:
    ordered = sorted(groups.items(), key=lambda entry: -whole(table(entry[1]).get("n")))
    figures = []
    for measure in ("fnr", "fpr"):
        name = MEASURES[measure][0].capitalize()
        values = [(str(group), interval(table(entry).get(measure))) for group, entry in ordered[:GROUPS_SHOWN]]
        told = [(group, value) for group, value in values if value is not None and value.n != 0]
        if told:
            figures.append(rates_figure(f"{name} {title.lower()}", told, "group", small=True))
    rows = []
    for group, entry in ordered:
        values = [interval(table(entry).get(measure)) for measure in ("fnr", "fpr", "undecided", "accuracy")]
        rows.append([plain(str(group)), counted(whole(table(entry).get("n"))), *(rate(value) for value in values)])
    columns = [*left("group"), *right("responses", "false negatives", "false positives", "undecided", "agreement")]
    return [Gallery(figures=figures), Table(caption=f"Error rates {title.lower()}", columns=columns, rows=rows)]


def _reasons(audit_json: Json) -> Table:
    complete = not audit_json.get("estimated") and _labels(audit_json) > 0
    entries = [(str(reason), table(entry)) for reason, entry in table(audit_json.get("by_reason")).items()]
    rows = []
    for reason, entry in sorted(entries, key=lambda item: -whole(item[1].get("n"))):
        n, wrong = whole(entry.get("n")), whole(entry.get("wrong"))
        rows.append([code(reason), counted(n), counted(wrong), share(wrong / n if n and complete else None)])
    return Table(
        caption="Verdicts by their reason",
        columns=[*left("reason"), *right("verdicts", "against the label", "share")],
        rows=rows,
        note="Against the label: accepted though labelled wrong, or not accepted though labelled correct.",
    )


def _disagreements(cases: Sequence[Json]) -> list[Block]:
    """By kind of error; the first few of the costliest kind stand open."""
    text = "False positives first: they teach a policy to be wrong. Some labels are themselves wrong; judge each case."
    by_kind: dict[str, list[Json]] = {}
    for case in cases:
        by_kind.setdefault(_error(case)[0], []).append(case)
    kinds = sorted(by_kind.items(), key=lambda entry: ERRORS.index(entry[0]))
    open_ones = kinds[0][1][:OPEN_CASES]
    found: list[Block] = [Paragraph(text=text, kind="note"), *(disagreement(case) for case in open_ones)]
    for title, members in kinds:
        rest = [case for case in members if case not in open_ones]
        if rest:
            shown = rest[:DISAGREEMENTS_SHOWN]
            told = f"{plural(len(members), 'case')} recorded, {count(len(shown))} here"
            found.append(Details(summary=f"{title}: {told}", blocks=[disagreement(case) for case in shown]))
    return found


def disagreement(case: Json) -> Example:
    """One response whose verdict and label differ."""
    title, tone = _error(case)
    place = [_text(case.get(key)) for key in ("source", "category", "id")]
    reason = ": ".join(part for part in (_text(case.get("reason")), _text(case.get("detail"))) if part)
    return Example(
        title=" · ".join([title, *(part for part in place if part)]),
        tone=tone,
        fields=[
            Field(label="response, end", text=_text(case.get("response")) or "(empty)"),
            Field(label="extracted", text=shorten(_text(case.get("extracted")) or "(nothing)", LONGEST_ANSWER)),
            Field(label="gold", text=shorten(_text(case.get("ground_truth")), LONGEST_ANSWER)),
            Field(label="verdict", text=f"{verdict_words(_text(case.get('status')))}, {reason}", code=False),
        ],
    )


def _error(case: Json) -> tuple[str, Tone]:
    """The kind of a disagreement, one of ERRORS."""
    if case.get("status") == "undecided":
        return ERRORS[2], "muted"
    return (ERRORS[1], "unsure") if case.get("correct") else (ERRORS[0], "bad")


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " or ".join(str(item) for item in value)
    return "" if value is None else str(value)
