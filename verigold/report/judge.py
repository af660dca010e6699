"""The part of an audit report on a judge behind the rules: does it help, what it turned, and how often rightly."""

from __future__ import annotations

from collections.abc import Sequence

from verigold.report.blocks import (
    Block,
    Cell,
    Details,
    Example,
    Field,
    Figure,
    Gallery,
    Paragraph,
    Section,
    Table,
    code,
    counted,
    left,
    plain,
    rate,
    right,
    verdict_words,
)
from verigold.report.folders import Json, items, table, whole
from verigold.report.rates import rates_figure
from verigold.report.words import (
    MISSING,
    NBSP,
    Interval,
    bounds,
    count,
    interval,
    listing,
    number,
    percent,
    plural,
    shorten,
)

MEASURES = {"accuracy": "agreement with the labels", "fnr": "false negatives", "fpr": "false positives"}
LONGEST = 240
EXAMPLES_OPEN = 3
WITHHELD = {
    "protected": "the rules saw no answer, several, code, talk or too much",
    "cut": "the token budget ended the response",
    "settled": "two plain numbers or letters that differ",
    "other-type": "an answer of another type",
    "several": "several answers to a ground truth that is one",
    "symbols": "symbols only",
    "template": "a template or control token",
    "code": "code",
    "opener": "talk about an answer",
    "injection": "words to the grader",
    "length": "a text too long for an answer",
}


def judge_sections(audit_json: Json) -> list[Block]:
    """One section; none when no judge was asked."""
    judge = table(audit_json.get("judge"))
    if not judge:
        return []
    found: list[Block] = [Paragraph(text=verdict_on(judge), kind="plain"), *_asked_note(judge)]
    if whole(judge.get("labelled")):
        found += [Gallery(figures=_figures(judge)), _measures(judge)]
    found += [_reasons(judge), *_withheld(judge), *_examples(judge)]
    return [Section(title="A judge behind the rules", blocks=found)]


def verdict_on(judge: Json) -> str:
    """Whether it helps, in words that say no more than the labels do."""
    entries = [table(entry) for entry in table(judge.get("reasons")).values()]
    asked, turned, split, failed = (_sum(entries, name) for name in ("drawn", "turned", "split", "failed"))
    if not asked:
        return "The judge was asked nothing: no verdict of the rules may be turned here."
    told = f"The judge was asked about {plural(asked, 'verdict')} and turned {count(turned)}."
    change = interval(table(judge.get("difference")).get("accuracy"))
    if not turned:
        others = asked - split - failed
        told += f" So it does not help here: it contradicted itself on {count(split)}, said no to {count(others)} and "
        told += f"failed on {count(failed)}."
    elif not whole(judge.get("labelled")) or change is None:
        told += " Without labels nobody can tell whether rightly."
    else:
        right_, wrong = _sum(entries, "turned_right"), _sum(entries, "turned_wrong")
        told += f" Of those with a label {count(right_)} rightly and {count(wrong)} wrongly. {_helps(change)}"
    first_right, first_wrong = _sum(entries, "first_right"), _sum(entries, "first_wrong")
    if first_right or first_wrong:
        told += (
            f" Its first order alone would have accepted {count(first_right + first_wrong)} answers, "
            f"{count(first_wrong)} of them labelled wrong."
        )
    return told


def _helps(change: Interval) -> str:
    value = f"agreement with the labels moves by {_signed(change)}"
    if change.low is None or change.high is None:
        return f"It changes no labelled row's outcome for better or worse: {value}."
    if change.low > 0:
        return f"It helps: {value}."
    if change.high < 0:
        return f"It harms: {value}. Leave it out, or take a stronger model."
    return f"Whether it helps is not shown: {value}."


def _sum(entries: Sequence[Json], name: str) -> int:
    return sum(whole(entry.get(name)) for entry in entries)


def _signed(value: Interval | None) -> str:
    """A difference in percentage points with its bounds."""
    if value is None:
        return MISSING
    told = f"{value.estimate * 100:+.2f}{NBSP}points"
    if value.low is None or value.high is None:
        return "no row differs" if value.estimate == 0 else told
    return f"{told} [{value.low * 100:+.2f},{NBSP}{value.high * 100:+.2f}]"


def _asked_note(judge: Json) -> list[Block]:
    models = [
        f"{one.get('model')} by the prompt {one.get('prompt')} ({one.get('prompt_digest')}), "
        f"read from {one.get('reads')}"
        for one in items(judge.get("judges"))
    ]
    share = number(judge.get("share"))
    text = (
        f"Judge: {listing(models)}. It sees the question, the ground truth and the extracted answer, never the "
        f"reasoning, and turns a verdict only when both orders agree. Of the incorrect verdicts that it may turn "
        f"{percent(share)} are judged, of the undecided ones all."
    )
    return [Paragraph(text=text, kind="note")]


def _figures(judge: Json) -> list[Figure]:
    figures: list[Figure] = []
    for name in ("fnr", "fpr"):
        pairs = [(side, interval(table(judge.get(side)).get(name))) for side in ("rules", "hybrid")]
        told = [(side, value) for side, value in pairs if value is not None]
        if told:
            figures.append(rates_figure(MEASURES[name].capitalize(), told, "verifier", small=True))
    return figures


def _measures(judge: Json) -> Table:
    rows = []
    for name, words in MEASURES.items():
        sides = [interval(table(judge.get(side)).get(name)) for side in ("rules", "hybrid")]
        change = interval(table(judge.get("difference")).get(name))
        rows.append([plain(words), *(rate(side) for side in sides), plain(_signed(change))])
    return Table(
        caption="Rules alone and with the judge",
        columns=[*left("measure"), *right("rules", "rules and judge", "paired difference")],
        rows=rows,
        note="Brackets are 95 % intervals; those of differences resample questions, for a judge errs on all answers to "
        "one question alike. A judge here can only turn refused answers, so false negatives can only fall and false "
        "positives only rise.",
    )


def _reasons(judge: Json) -> Table:
    rows: list[Sequence[Cell]] = []
    for reason, value in table(judge.get("reasons")).items():
        entry = table(value)
        numbers = [
            counted(whole(entry.get(name))) for name in ("seen", "missed", "eligible", "drawn", "split", "failed")
        ]
        rightly = interval(entry.get("rightly"))
        share_right = "" if rightly is None else f"{percent(rightly.estimate)} {bounds(rightly)}"
        outcome = [
            counted(whole(entry.get("turned"))),
            plain(count(whole(entry.get("turned_right"))), detail=share_right),
        ]
        rows.append([code(str(reason)), *numbers, *outcome])
    return Table(
        caption="What the judge did, by the reason of the rules",
        columns=[
            *left("reason"),
            *right("verdicts", "labelled correct", "may be judged", "judged", "split", "failed"),
            *right("turned", "rightly"),
        ],
        rows=rows,
        note="Labelled correct: what the rules missed. Split: the two orders contradict one another, so the rules' "
        "verdict stays; it also stays where the judge failed.",
    )


def _withheld(judge: Json) -> list[Block]:
    totals: dict[str, int] = {}
    for value in table(judge.get("reasons")).values():
        for why, n in table(table(value).get("withheld")).items():
            totals[str(why)] = totals.get(str(why), 0) + whole(n)
    if not totals:
        return []
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    rows = [[code(why), plain(WITHHELD.get(why, "")), counted(n)] for why, n in ordered]
    found = Table(caption="Not to be judged", columns=[*left("why", "meaning"), *right("verdicts")], rows=rows)
    return [Details(summary=f"{plural(sum(totals.values()), 'verdict')} that no judge may turn", blocks=[found])]


def _examples(judge: Json) -> list[Block]:
    examples = [_example(case) for case in items(judge.get("examples"))]
    if not examples:
        return []
    rest = examples[EXAMPLES_OPEN:]
    found: list[Block] = [Paragraph(text="Turned verdicts, wrong ones first.", kind="note"), *examples[:EXAMPLES_OPEN]]
    return [*found, *([Details(summary=f"{count(len(rest))} more", blocks=rest)] if rest else [])]


LABELS = {"True": "labelled correct", "False": "labelled wrong"}


def _example(case: Json) -> Example:
    accepted, label = case.get("status") == "correct", case.get("correct")
    wrong = label is not None and label != accepted
    gold = case.get("ground_truth")
    golds = " or ".join(map(str, gold)) if isinstance(gold, list) else str(gold)
    told = f"{verdict_words(str(case.get('status')))}, {LABELS.get(str(label), 'no label')}; {case.get('detail')}"
    return Example(
        title=f"{'Wrongly turned' if wrong else 'Turned'} · {case.get('source')} · {case.get('id')}",
        tone="bad" if wrong else "plain" if label is None else "good",
        fields=[
            Field(label="question", text=shorten(str(case.get("question") or "(not given)"), LONGEST)),
            Field(label="extracted", text=shorten(str(case.get("extracted")), LONGEST)),
            Field(label="gold", text=shorten(golds, LONGEST)),
            Field(label="verdict", text=told, code=False),
        ],
    )
