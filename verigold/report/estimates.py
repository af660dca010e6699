"""The parts of an audit report that few labels or none make: estimates for all rows, and verifiers side by side."""

from __future__ import annotations

from collections.abc import Sequence

from verigold.report.blocks import (
    Block,
    Cell,
    Details,
    Example,
    Field,
    Gallery,
    Paragraph,
    Section,
    Table,
    counted,
    left,
    plain,
    rate,
    right,
    verdict_words,
)
from verigold.report.folders import Json, items, table, whole
from verigold.report.rates import rates_figure, with_bounds
from verigold.report.words import Interval, count, interval, percent, plural, shorten

RATES = {"fnr": "false negatives", "fpr": "false positives"}
RANDOM_SAMPLE = (
    "The estimate holds if the labels are a random sample of the rows, or of each stratum, as --label draws them. "
    "Inside a stratum (verifier, verdict, reason, source) the labels speak for the rows without one."
)


def measured(audit_json: Json) -> Json:
    """The rates to lead with: those of all rows where they were estimated, else those of the labelled rows."""
    return audit_json | {name: value for name, value in table(audit_json.get("estimated")).items() if name in RATES}


def summary_of_few(audit_json: Json, labels: int) -> str:
    """The first paragraph when not every row has a label; empty otherwise."""
    n = whole(audit_json.get("n"))
    estimated = table(audit_json.get("estimated"))
    fnr, fpr = (interval(estimated.get(name)) for name in RATES)
    told = [f"does not accept {with_bounds(fnr)} of the correct responses"] if fnr else []
    told += [f"accepts {with_bounds(fpr)} of the wrong ones"] if fpr else []
    if told:
        return (
            f"Estimated for all {plural(n, 'response')} from {plural(labels, 'label')}: the verifier "
            f"{' and '.join(told)}. Brackets are 95 % intervals. Undecided counts as not accepted."
        )
    if labels or not n:
        return ""
    undecided = interval(audit_json.get("undecided"))
    left_over = f" It left {with_bounds(undecided)} undecided." if undecided else ""
    return (
        f"None of the {plural(n, 'response')} has a label, so how often the verifier is wrong is not identified: its "
        f"verdicts alone do not tell.{left_over} Label about a hundred rows with --label to estimate the error rates."
    )


def estimates(audit_json: Json) -> list[Block]:
    """The sections; none when every row has a label and one verifier was audited."""
    found: list[Block] = []
    estimated, agreement = table(audit_json.get("estimated")), table(audit_json.get("agreement"))
    if estimated:
        found.append(Section(title="Estimated from few labels", blocks=_estimated(estimated)))
    if agreement:
        found.append(Section(title="Verifiers side by side", blocks=_agreement(agreement)))
    return found


# ---- few labels ----------------------------------------------------------------------------------------------------


def _estimated(estimated: Json) -> list[Block]:
    values = [(name, interval(estimated.get(key))) for key, name in RATES.items()]
    return [
        rates_figure(
            "Error rates estimated for all rows",
            [(name, value) for name, value in values if value],
            "rate",
            base="labels",
        ),
        Paragraph(text=RANDOM_SAMPLE, kind="note"),
        Details(summary="The strata and their labels", blocks=[_strata(items(estimated.get("strata")))]),
    ]


def _strata(strata: Sequence[Json]) -> Table:
    rows = []
    for entry in strata:
        n, labelled, wrong = (whole(entry.get(key)) for key in ("n", "labelled", "wrong"))
        verdict = "accepted" if entry.get("accepted") else "not accepted"
        names = [plain(str(entry.get(key, ""))) for key in ("reason", "source")]
        place = [plain(f"{entry.get('verifier', '')}, {verdict}"), *names]
        rows.append([*place, counted(n), counted(labelled), counted(wrong)])
    return Table(
        caption="Strata",
        columns=[*left("verifier and verdict", "reason", "source"), *right("rows", "labelled", "against the label")],
        rows=rows,
        note="Strata with less than 2 % of the rows are merged into (other) of their verifier and verdict.",
    )


# ---- several verifiers ---------------------------------------------------------------------------------------------


def _agreement(agreement: Json) -> list[Block]:
    verifiers, pairs = items(agreement.get("verifiers")), items(agreement.get("pairs"))
    found: list[Block] = [Paragraph(text=_agreement_words(agreement, verifiers))]
    found += [Paragraph(text=str(text), kind="note") for text in agreement.get("not_identified") or ()]
    figures = []
    for key, name in RATES.items():
        values = [(str(entry.get("name")), interval(entry.get(key))) for entry in verifiers]
        told = [(label, value) for label, value in values if value is not None]
        if told:
            figures.append(rates_figure(f"{name.capitalize()} by verifier", told, "verifier", small=True))
    if figures:
        found.append(Gallery(figures=figures))
    return [
        *found,
        _verifiers(verifiers, labelled=bool(figures)),
        _pairs(pairs),
        *(_examples(pair) for pair in pairs if pair.get("examples")),
    ]


def _agreement_words(agreement: Json, verifiers: Sequence[Json]) -> str:
    n, labelled = whole(agreement.get("n")), whole(agreement.get("labelled"))
    together = table(agreement.get("all"))
    unanimous = interval(together.get("unanimous"))
    worst = interval(together.get("worst_error_rate_at_least"))
    text = f"{len(verifiers)} verifiers judged all {plural(n, 'row')}, also rows that name another verifier,"
    if unanimous is not None:
        text += f" and agreed on {with_bounds(unanimous)} of them"
    if worst is not None:
        text += f"; at least one of them is wrong on {percent(worst.estimate)} of the rows or more"
    if not labelled:
        return text + ". Undecided counts as not accepted."
    how = "counted on labels of all rows" if labelled == n else f"estimated from {count(labelled)} labels"
    return f"{text}. Undecided counts as not accepted. Their error rates are {how}."


def _verifiers(verifiers: Sequence[Json], *, labelled: bool) -> Table:
    rows = []
    for entry in verifiers:
        cells = [counted(whole(entry.get(key))) for key in ("accepted", "rejected", "undecided")]
        rates = [rate(interval(entry.get(key))) for key in RATES] if labelled else []
        rows.append([plain(str(entry.get("name", ""))), *cells, *rates])
    titles = ["accepted", "rejected", "undecided", *(RATES.values() if labelled else ())]
    return Table(caption="Verdicts of each verifier", columns=[*left("verifier"), *right(*titles)], rows=rows)


def _pairs(pairs: Sequence[Json]) -> Table:
    rows = []
    for entry in pairs:
        a, b = str(entry.get("a", "")), str(entry.get("b", ""))
        disagree: Interval | None = interval(entry.get("disagree"))
        only = [counted(whole(entry.get(key))) for key in ("only_a_accepts", "only_b_accepts")]
        rows.append([plain(f"{a} (A), {b} (B)"), rate(disagree), *only, _at_least(entry)])
    return Table(
        caption="Disagreement of pairs, and what it says of their errors",
        columns=[
            *left("pair"),
            *right("disagree", "only A accepts", "only B accepts", "worse of the two errs at least"),
        ],
        rows=rows,
        note="Where two verifiers disagree one of them is wrong, so their error shares add up to at least the "
        "disagreement and the larger is at least half of it. There is no upper bound without labels.",
    )


def _examples(pair: Json) -> Details:
    a, b = str(pair.get("a", "")), str(pair.get("b", ""))
    cases = items(pair.get("examples"))
    shown: list[Block] = [_example(case, a, b) for case in cases]
    return Details(summary=f"{plural(len(cases), 'row')} on which {a} and {b} differ", blocks=shown)


def _example(case: Json, a: str, b: str) -> Example:
    gold = case.get("ground_truth")
    golds = [str(alias) for alias in gold] if isinstance(gold, list) else [str(gold)]
    correct = case.get("correct")
    label = "not labelled" if correct is None else ("labelled correct" if correct else "labelled wrong")
    verdicts = f"{a}: {verdict_words(str(case.get('a')))}; {b}: {verdict_words(str(case.get('b')))}"
    return Example(
        title=" · ".join([label, str(case.get("source", "")), str(case.get("id", ""))]),
        fields=[
            Field(label="response, end", text=str(case.get("response", "")) or "(empty)"),
            Field(label="gold", text=shorten(" or ".join(golds), 240)),
            Field(label="verdicts", text=verdicts, code=False),
        ],
    )


def _at_least(entry: Json) -> Cell:
    return rate(interval(entry.get("worse_of_the_two_at_least")))
