"""Short answers to open questions: accepted aliases, normalised; numbers and dates by value; token F1 as the detail.

In order: what the response answers (`extract`), its words (`qa_words`), the aliases and their shorter forms
(`qa_alias`), where one of them stands in the answer (`qa_match`), whether it is meant (`qa_context`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from verifiers import extract
from verifiers.answer import calendar
from verifiers.qa_alias import Alias, accepted
from verifiers.qa_context import declined, objection
from verifiers.qa_match import Reading, said, spans
from verifiers.qa_words import unglued
from verifiers.verdict import Verdict, correct, incorrect, undecided

MAX_RESPONSE = 4_000
SHOWN = 400
_YEAR = re.compile(r"(?<!\d)(1\d{3}|20\d{2})(?!\d)")


def verify_qa(response: str, ground_truth: str | Sequence[str], /) -> Verdict:
    """Whether the answer is one of the accepted ones. Accepted: equal words (no case, accents, articles, punctuation),
    the same number or date, an alias with an apposition ("Paris, France"), a sentence that gives just it, a shorter
    form where it is all that the answer says.

    The score of an incorrect answer is 0.0; `detail` holds its token F1. Never raises for bad text.
    """
    golds = (ground_truth,) if isinstance(ground_truth, str) else tuple(ground_truth)
    aliases = accepted(golds)
    if not aliases:
        return undecided("gold-empty" if not any(gold.strip() for gold in golds) else "gold-unparsable")
    text, reason = answer_text(response)
    if text is None:
        return incorrect(reason, None)
    found = Reading(text)
    how, why = _judged(aliases, found)
    apart = unglued(text)
    if not how and apart != text:
        how, _ = _judged(aliases, Reading(apart))
    if how and how != "exact" and not _all_boxes(aliases, response):
        return incorrect("hedged", text[:SHOWN])
    if how:
        return correct(how, text[:SHOWN])
    f1 = max(token_f1(found.words, item.words) for item in aliases)
    return incorrect(why or "different", text[:SHOWN], detail=f"token F1 {f1:.2f}")


def answer_text(response: str) -> tuple[str | None, str]:
    """The answer tag, box or marker where there is one, else all that follows the thoughts; None with the reason."""
    answer = extract.final_answer(response)
    if answer.text is None:
        return None, answer.reason
    if answer.source in ("tag", "box", "boxes", "marker"):
        return answer.text.strip()[:MAX_RESPONSE], ""
    return (extract.after_thoughts(response) or "").strip()[:MAX_RESPONSE], ""


def token_f1(left: Sequence[str], right: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over words, as in SQuAD."""
    common = sum((Counter(left) & Counter(right)).values())
    return 2 * common / (len(left) + len(right)) if common else 0.0


def _all_boxes(aliases: Sequence[Alias], response: str) -> bool:
    """Of neighbouring boxes each one must hold the answer: Lyon and Paris in two boxes are two answers."""
    answer = extract.final_answer(response)
    if answer.source != "boxes" or answer.text is None:
        return True
    return all(_judged(aliases, Reading(part))[0] for part in answer.text.split(" ; "))


def _judged(aliases: Sequence[Alias], found: Reading) -> tuple[str, str]:
    """(how an alias is matched, or why a mention of one is no answer)."""
    for item in aliases:
        if found.words == item.words or "".join(found.words) == "".join(item.words):
            return "exact", ""
    if declined(found):
        return "", "declined"
    why = ""
    for item in aliases:
        how, objected = _matched(item, found, aliases)
        if how:
            return how, ""
        why = why or objected
    return "", why


def _matched(wanted: Alias, found: Reading, aliases: Sequence[Alias]) -> tuple[str, str]:
    if wanted.dates and any(calendar.same_date(one, other) for one in wanted.dates for other in found.dates):
        return "date", ""
    if (wanted.bare or wanted.acronym) and said(wanted, found):
        return "short", ""
    if wanted.bare:
        return "", ""
    objected = ""
    for span in spans(wanted, found):
        objected = objection(wanted, found, span, aliases)
        if not objected:
            return "contained", ""
    dated = sum(bool(item.dates) for item in aliases)
    return ("year", "") if dated == 1 and _year(wanted, found) else ("", objected)


def _year(wanted: Alias, found: Reading) -> bool:
    """A full date was asked for and the answer gives its year, and no other year or date."""
    if len(wanted.dates) != 1 or found.dates or calendar.months(found.plain):
        return False
    return set(_YEAR.findall(found.plain)) == {next(iter(wanted.dates))[:4]}
