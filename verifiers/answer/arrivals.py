"""The end of a sentence that plainly arrives: after "which means", "giving", "brings us to"; an equation at its end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifiers.answer import conclusions, wordlists
from verifiers.answer.lists import listed

MAX_LENGTH = 600
_NAME = r"(?:[A-Za-z](?:_\{?\w+\}?|[₀-₉]+)?|\\(?:theta|alpha|beta|lambda))"
_OPENERS = (
    re.compile(
        r"(?:\b(?:which|this|that)\s+(?:means|implies|leads to|leaves|gives|yields|forces)"
        r"|\bwe\s+(?:find|get|see|conclude|obtain|deduce)"
        r"|\bit follows)(?:\s+that)?\s+(?=\$?[A-Za-z](?:_\{?\w+\}?)?\s*(?:[=<>≤≥]|\\(?:le|ge)))"
    ),
    re.compile(
        r"\b(?:(?:went|goes|has gone) (?:up|down)|rose|rises|grew|grows"
        r"|increase[sd]|decrease[sd]|fell|falls|drop(?:s|ped))"
        r"\s+by\s+(?=[\d$\\])"
    ),
    re.compile(r"\bgiving\s+(?=[-−\d$\\(\[])"),
    re.compile(
        r"\b(?:(?:brings|takes|gets|leads|lands) us (?:to|at|on)"
        r"|(?:gets in|arrives|pulls in|lands|finishes) at)\s+(?=[A-Z\d])"
    ),
    re.compile(
        r"\b(?:makes?|is|gives|has|yields|means)\s+(?:an?|the)\s+(?:rate|ratio|percentage|share|probability|chance|total|speed"
        r"|sum|average|mean)\s+of\s+(?=[-−\d$\\])"
    ),
    re.compile(
        r"\b(?:is|are)\s+(?:non-?(?:negative|positive)|negative|positive|true|satisfied|defined)\s+(?:exactly\s+|only\s+)?(?:for|when)\s+"
        r"(?=\$?[A-Za-z]\s*(?:[<>≤≥]|\\(?:le|ge|lt|gt)))"
    ),
)
"""What stands before an answer that ends its sentence."""
_COMMA = re.compile(rf"[,;:]\s+(?=\$?{_NAME}\s*=\s*(?:\\pm|±|[-−\d\\(√]))")
"""..., x = 3."""
_OF_NUMBERS = re.compile(
    r"[,;:]\s+(?=\$?(?:\\?(?:log|ln|lg|sin|cos|tan|gcd|lcm|sqrt)|√)(?:[^=,;:A-Za-z]|\\pi|\\frac|\\circ){0,40}=\s*[-−\d\\√])|[,;:]\s+(?=\\?\$?log[₀-₉])"
)
_PROBABILITY = re.compile(r"\bP\([^()$]{1,40}\)\s*=\s*(?=[\d\\.])")
"""P(sum = 4) = 3/16."""
_EQUATIONS = (_COMMA, _OF_NUMBERS, _PROBABILITY)
_VALUE = re.compile(rf"(?<![\w)\\^]){_NAME}(?:\([^()]*\))?\s*=\s*[-−]?[\d\\√]")
"""A value before the last one: that is then one of several."""
_SENTENCES = re.compile(r"(?<=[^\s.][.!?])\s+(?=[A-Z\"'($\\])")
_MEASURED = re.compile(
    r"[:,]\s+(?P<first>\d+(?:\.\d+)?)\s?(?P<unit>[a-zA-Z]{1,12})\s?(?P<sign>[×*÷/])\s?(?P<second>\d+(?:\.\d+)?)\s?="
    r"\s?(?P<value>\d+(?:\.\d+)?)\s?(?P=unit)\Z"
)
"""4.8 cm × 50 = 240 cm"""
_NON = re.compile(r"\bnon-?(?=negative|positive|zero)")
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_JOINING = listed(
    "or and ln log lg sin cos tan cot sec csc sqrt gcd lcm pi in the morning afternoon evening am pm noon"
)
_QUANTITY = re.compile(
    r"[\d.,]+\s?(?:[kcm]?m|k?g|mi|miles|ft|mph|[mk]?[lL])(?:\s?(?:/|per)\s?(?:h|hr|hour|s|second|min|minute))?"
)
_MONTHS = re.compile(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*", re.I)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_OPEN = (
    wordlists.NEGATIONS
    | wordlists.HEDGES
    | listed(
        "if when suppose supposing assume assuming assumes let try trying guess would should could imagine wrongly"
        " mistakenly incorrectly unless except but however false wrong contradiction contradicts extraneous reject"
        " rejected fails impossible excluded invalid initially once"
        " first next before recall start starting starts claim claims claimed formula known breaks tested"
    )
)


def arrived(text: str) -> Iterator[str]:
    """What a sentence arrives at; nothing where the sentence supposes, denies or hedges, or its end holds prose."""
    if len(text) > MAX_LENGTH or text.rstrip().endswith("?"):
        return
    sentence = _SENTENCES.split(text.strip())[-1].rstrip(" .。!")
    if conclusions.instructs(sentence):
        return
    for pattern in (*_OPENERS, *_EQUATIONS):
        found = list(pattern.finditer(sentence))
        if not found:
            continue
        before, end = sentence[: found[-1].start()], sentence[found[-1].end() :]
        several = pattern in _EQUATIONS and (len(found) > 1 or _VALUE.search(before))
        if not several and not _open(before) and _mathematical(end):
            yield end
    measured = _MEASURED.search(sentence)
    if measured and not _open(sentence):
        yield f"{measured['first']} {measured['sign']} {measured['second']} = {measured['value']} {measured['unit']}"


def _open(text: str) -> bool:
    return bool(_OPEN.intersection(re.findall(r"[a-z']+", _NON.sub("", text.lower().replace("’", "'")))))


def _mathematical(end: str) -> bool:
    """Nothing but mathematics, a date or a time, and no further statement after a comma."""
    if end.count("$") % 2 and not end.startswith("$"):
        return False
    bare = _ORDINAL.sub("", re.sub(r"\\[A-Za-z]+(?:\{[A-Za-z ]{1,10}\})?", " ", end))
    return bool(_QUANTITY.fullmatch(end)) or all(
        word.lower() in _JOINING or _MONTHS.fullmatch(word) for word in _PROSE.findall(bare)
    )


# ---- remarks after the conclusion ----------------------------------------------------------------------------------

_REMARK = re.compile(
    r"(?<=\s)\((?:note|notice|observe|remember|of course|incidentally|for reference|as a check|check)\b[^()]*\)\s*\Z",
    re.I,
)
_CHECKED = re.compile(
    r"(?:a\s+)?(?:quick\s+|sanity\s+|final\s+)*(?:check\s*:|verification\s*:|to (?:check|verify)\b)", re.I
)
_TAKEN_BACK = re.compile(
    r"\b(?:answer|actually|should|correct\w*|wrong|mistake|error|instead|wait|oops|fails?|not equal"
    r"|doesn't (?:match|work|hold|satisfy)"
    r"|contradict\w*|however|really|off|double\w*|twice|ignor\w+|over-?count\w*|miss(?:es|ing|ed)|too"
    r"|so(?! (?:it|this|that) (?:works|checks|holds|fits)))\b|≠|\\ne(?![a-z])|✗|×\s*$",
    re.I,
)
_BOLD_LINE = re.compile(r"\*\*[^*\n]{1,300}\*\*[.]?")


def without_remark(text: str) -> str:
    """Without a closing remark in brackets that takes nothing back: (Note that going back is a 20% drop.)"""
    found = _REMARK.search(text) if text.rstrip().endswith(")") else None
    return text if found is None or _TAKEN_BACK.search(found.group()) else text[: found.start()].rstrip()


def without_checks(lines: list[str]) -> list[str]:
    """Without a last line that only checks the line in bold before it."""
    if len(lines) < 2 or not _CHECKED.match(lines[-1]) or not _BOLD_LINE.fullmatch(lines[-2]):
        return lines
    return lines if _TAKEN_BACK.search(lines[-1]) else lines[:-1]
