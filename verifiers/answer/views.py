"""What in a line may be the answer: the whole line, its end after a verb, its only formula or number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from verifiers.answer import calendar, wordlists
from verifiers.answer.lists import listed
from verifiers.answer.read import prepared, textual

_VERB = re.compile(
    r"(?:(?<![A-Za-z\\])(?:is|are|was|were|be|equals?|gives?|get|gets|got|obtain(?:ed|s)?|yields?|becomes?|total(?:s|ing)?|"
    r"(?:diverges|tends|goes) to|approaches|"
    r"giving|yielding|making|costs?|has|have|had|needs?|takes?|makes?|earns?|paid|pays?|spen[dt]s?|leaves?|concludes?)(?![A-Za-z])|[是为得])\s*[:：]?\s*"
)
_ASIDE = re.compile(
    r",?\s+(?:because|since|which|so|as|where|when|after|in total|altogether|in all|per se|each)\b"
    r"|, (?=[a-z])|[.!?]\s|(?<!\s):\s"
    r"|\s\((?=(?:since|because|as|where|which|that is|i\.e|rounded|the|see|for)\b)"
)
_REASON = re.compile(r"\s\((?:since|because|as|where|which|that is|i\.e)\b")
_GOES_ON = re.compile(
    r"\b(?:but|then|next|still)\b.{0,60}$|\b(?:need|have|want|try|trying|left|going|asked|remains) to\b"
)
"""A sentence on the way to an answer."""
_FORMULA = re.compile(r"\$\$?([^$\n]{1,600})\$\$?|\\\((.{1,600}?)\\\)|\\\[(.{1,600}?)\\\]", re.S)
_NUMBER = re.compile(r"(?<![\w.\\^_{,])-?\$?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?(?![\w^}])")
_LEADING = re.compile(
    r"^(?:so|thus|hence|therefore|then|and|that|the (?:final )?answer|answer|a|an|the|exactly|only|just|now|currently|"
    r"simply|actually|indeed|really|also|precisely|given by|equal to|found to be)\b[\s,:]*",
    re.I,
)
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mbox|textrm)\s?\{([^{}]*)\}")
_CODE = re.compile(r"[(){}\[\];#\"=<>]")
_LABEL = re.compile(r"(?:[A-Z\u3400-\u9fff][\w ]*|[a-z]+ [\w ]*)[A-Za-z\u3400-\u9fff]\s*$")
_NAMED = re.compile(r"\s*(?:[A-Za-z]{3,}\s+|(?:an?|of|is|in)\s+){1,6}(?=[^\sA-Za-z])")
_NOTE = re.compile(r"([^\W\d_][\w\s-]*?)\s*\([^()]*\)")
_COMPARED = (
    wordlists.NEGATIONS
    | wordlists.HEDGES
    | listed(
        "less more than least most below above under over about approximately around between greater fewer up "
        "near somewhere close approx minus negative nearly almost roughly until exceed exceeds excluding guess "
        "see step page line equation problem question section figure"
    )
)
_OTHER = listed(
    "any anything everything anyone all every besides but other else besides beyond before after till since from "
    "multiple multiples divisible factor factors divisor divisors square cube root double twice half triple times power"
)
"""Words between which and a number it is no answer: anything but 8, before 8, a multiple of 8."""
_CUT = re.compile(
    r"(?:(?<![A-Za-z\\])(?:we|the|to|an?|of|and|by|in|that|where|which|this|with|for|then|so|or|from|at|on|if|be|is)"
    r"|\\times|\\cdot|[=+*])\s*$|\?\s*$|\b(?:[Ss]uppos\w+|[Aa]ssum\w+|[Ii]magin\w+|doubt(?:s|ed|ful)?)\b[^.]*\.?$"
)
"""A sentence that stops before its end, a question and a supposition make no claim."""
_OPEN_END = re.compile(r"[A-Za-z]{2,}\s[^.]*,\s*$")
_HAN_START = re.compile(r"(?:[\u3400-\u9fff]{1,12}\s?[，,、：:]\s?)?[\u3400-\u9fff]{2,20}\s?(?=[-−]?\d|\$)")
_HAN_COMPARED = re.compile(r"[不没非约或负]|大于|小于|至少|至多|超过|以上|以下|百分之|第")
_CODE_WORDS = listed(
    "echo return assert print printf yield raise import exec eval const var let def lambda await new typeof del pass"
)
_LETTERS = re.compile(r"[A-Za-z\u3400-\u9fff]{2,}")


def views(text: str, *, sentence: bool) -> Iterator[str]:
    """Likeliest first. `sentence`: the text may be a sentence around the answer (it was not in a box)."""
    text = _BOLD.sub(r"\1", text) if sentence and "**" in text else text
    concluded = _han_conclusion(text) if sentence and _HAN.search(text) else None
    if concluded is not None:
        yield from views(concluded, sentence=True)
    told = _HAN_START.match(text) if sentence else None
    if told and not _HAN_COMPARED.search(told.group()):
        yield text[told.end() :].strip(" 。.")
    if sentence and (text.startswith("~") or _OPEN_END.search(text)):
        return
    yield text
    if not _LETTERS.search(text):
        return
    if sentence and _CUT.search(text):
        return
    if sentence and (reason := _REASON.search(text)):
        yield from views(text[: reason.start()], sentence=True)
    text = _TEXT.sub(r" \1 ", text)
    while text.startswith("{") and text.endswith("}") and "{" not in text[1:]:
        text = text[1:-1]
    if text.lstrip("`@!> ").partition(" ")[0].lower() in _CODE_WORDS:
        return
    closing, last = _last_sentences(text) if sentence else (text, text)
    for told in dict.fromkeys((closing, last)):
        if told != text:
            yield told
        yield from _tails(told, sentence)
    named = _NAMED.match(text)
    if named and not any(word in _COMPARED or word in _OTHER for word in named.group().lower().split()):
        yield text[named.end() :]
    note = _NOTE.fullmatch(text.strip())
    if note:
        yield note.group(1)
    if sentence and not _GOES_ON.search(last) and not wordlists.NEGATIONS.intersection(wordlists.words_of(last)):
        yield from _lone(last)
        if assigned := _ASSIGNED.search(last):
            yield last[assigned.end() :]


def _tails(last: str, sentence: bool) -> Iterator[str]:
    """What follows a label with a colon, or the last verb; with and without an aside after it."""
    label, _, labelled = last.rpartition(":")
    if labelled.strip() and _LABEL.fullmatch(label.strip()):
        yield labelled.strip()
    whole = not sentence or not _GOES_ON.search(last)
    end = None
    for match in _VERB.finditer(last):
        end = match.end()
    if end is not None and last[end:].strip():
        tail = _LEADING.sub("", last[end:].strip())
        yield tail
        if whole:
            yield _ASIDE.split(tail, maxsplit=1)[0]
    elif sentence and whole:
        yield _ASIDE.split(_LEADING.sub("", last), maxsplit=1)[0]


def _lone(last: str) -> Iterator[str]:
    """The last formula of a sentence, or its only number."""
    yield from _points(last)
    formulas = [next(filter(None, match.groups())) for match in _FORMULA.finditer(last)]
    if formulas:
        yield formulas[-1]
    numbers = set(_NUMBER.findall(last))
    bounded = any(word in _COMPARED for word in last.lower().split()) or _APART.search(last)
    if len(numbers) == 1 and not formulas and not bounded and not _CODE.search(last):
        yield numbers.pop()


_APART = re.compile(
    r"\b(?:but|besides|(?:other|else) than|before|after|till|since|(?:multiples?|factors?|divisors?|squares?|cubes?"
    r"|roots?|double|half) of|divisible by)\s(?:the\s|number\s)*(?=[-\d\\$])",
    re.I,
)
_TUPLE = re.compile(
    r"(?<![A-Za-z\d_\\}])(?:\\left\s?)?[(\[](?:[^()\[\],;$]|\([^()]{1,40}\)){1,60}"
    r"(?:[,;](?:[^()\[\],;$]|\([^()]{1,40}\)){1,60}){1,4}[)\]]"
)
_TOWARDS = re.compile(r"\b(?:to|giving|at|is|are|gives|into|as|becomes?|on|onto)\s+(?:the\s+)?(?:point\s+|interval\s+)?\$?$")
_ENDING = re.compile(r"[\s.$*]*")
_ASSIGNED = re.compile(r"\b(?:at|when|that|find|get|have|by)\s+(?=\$?[A-Za-z](?:_\w)?\s?=)")


def _points(last: str) -> Iterator[str]:
    """The only bracketed list of a sentence, or the one that it arrives at."""
    found = [match for match in _TUPLE.finditer(last) if not _PROSE.search(match.group())]
    if not found:
        return
    final = found[-1]
    reached = _ENDING.fullmatch(last, final.end()) and _TOWARDS.search(last, 0, final.start())
    if len({match.group() for match in found}) == 1 or reached:
        yield final.group()


_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_BOLD = re.compile(r"(?<![\w)}*])\*\*(?=\S)([^*\n]{1,300}?)(?<=\S)\*\*(?![\w(*])")
_CONCLUDES = re.compile(r"(?:so|thus|hence|therefore|consequently|the answer|answer)\b", re.I)
_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_CLAUSE = re.compile(r"[，,；;。]\s*(?=[^，,；;。]*\Z)")
_HAN_CONCLUDES = re.compile(r"(?:所以|因此|因而|故|则|即|答|于是|那么|可得|得到?|从而|综上|共|总)")
_COMPUTED = re.compile(r"[=≈]|\.\.|\\ldots|…")


def _han_conclusion(text: str) -> str | None:
    """The last clause of a Chinese sentence that concludes or follows a computation: 85*0.8=68, 所以是 68 元."""
    stripped = text.rstrip("。. *")
    mark = _HAN_CLAUSE.search(stripped)
    if mark is None:
        return None
    before, clause = stripped[: mark.start()], stripped[mark.end() :].strip()
    if _HAN_CONCLUDES.match(clause):
        return _HAN_CONCLUDES.sub("", clause, count=1).lstrip("，,：: ") or None
    computed = _COMPUTED.search(before) and _HAN.search(clause) and "=" not in clause
    return clause if computed and len(_HAN.findall(clause)) > 1 else None


_REMARK = re.compile(r"(?:(?!\d|\\|[A-HJ-Z]\b).)*[^\w\s,;:]\s*", re.S)
"""A closing sentence that gives no answer and was not cut off."""


def _last_sentences(text: str) -> tuple[str, str]:
    """A closing sentence that concludes, else the last one that is no remark; and the latter."""
    parts = re.split(r"(?<=[^\s.\d][.!])\s+(?=[A-Z\"'(])|(?<=\d[.!])\s+(?=[A-Z\"'(])|(?<=\?)\s+(?=\S)", text)
    closing = parts[-1]
    while len(parts) > 1 and len(parts[-1]) < 60 and _REMARK.fullmatch(parts[-1]):
        parts.pop()
    return (closing if _CONCLUDES.match(closing) else parts[-1]), parts[-1]


def _truths(text: str) -> frozenset[str]:
    value = wordlists.truth(wordlists.words_of(text))
    return frozenset((value,) if value else ())


_NO_SOLUTION = re.compile(
    r"\bno\b(?:\s\w+){0,4}\s(?:solutions?|roots?|values?|numbers?|integers?|answers?|such\b|pairs?|functions?)"
    r"|\bnone\b|empty set|无解|没有"
)
_NOT_DEFINED = re.compile(
    r"(?:does|do)(?:\snot|n't) exist|undefined|not defined|\bdne\b|\bdiverges\b|不存在|non-?existent"
)


def _phrases(pattern: re.Pattern[str]) -> Callable[[str], frozenset[str]]:
    return lambda text: frozenset(("",) if pattern.search(text.lower()) else ())


FINDERS: dict[str, Callable[[str], frozenset[str]]] = {
    "truth": _truths,
    "weekday": calendar.weekdays,
    "month": calendar.months,
    "date": calendar.dates,
    "time": calendar.times,
    "nothing": _phrases(_NO_SOLUTION),
    "undefined": _phrases(_NOT_DEFINED),
}
_FORMULAS = re.compile(r"\\(?!text|math(?:rm|bf)|mbox|[,;! ()\[\]])|[&^_]")
_VALUES = re.compile(r"\\(?:sqrt|[dtc]?frac|cdot|times|pi|log|ln|binom)(?![A-Za-z])|√")
_MOMENTS = ("date", "time", "weekday", "month")
MAX_SENTENCE = 300


def mentions(kind: str, text: str) -> frozenset[str]:
    """Every value of a closed class of words that a short text mentions."""
    if _FORMULAS.search(text) and kind in ("truth", "nothing", "undefined"):
        return frozenset()
    bare = textual(prepared(text))
    if kind in _MOMENTS and _VALUES.search(text):
        return frozenset()
    if kind in _MOMENTS and wordlists.NEGATIONS.intersection(wordlists.words_of(bare)):
        return frozenset()
    if kind != "truth" and wordlists.HEDGES.intersection(wordlists.words_of(bare)):
        return frozenset()  # "no solution or 40" is no claim
    if kind not in FINDERS or len(bare) > MAX_SENTENCE or (kind in _MOMENTS and not calendar.lone(kind, bare)):
        return frozenset()
    return FINDERS[kind](bare)
