"""What in a line may be the answer: the whole line, its end after a verb, its only formula or number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from verifiers.answer import arrivals, calendar, conclusions, wordlists
from verifiers.answer.lists import listed
from verifiers.answer.read import prepared, textual
from verifiers.answer.spoken import with_digits

_VERB = re.compile(
    r"(?:(?<![A-Za-z\\])(?<!after )(?<!before )(?<!by )(?:is|are|was|were|be|equals?|gives?|get|gets|got"
    r"|obtain(?:ed|s)?|yields?|becomes?|total(?:s|ing)?"
    r"|(?:diverges|tends|goes|comes?|amounts?|adds? up|(?:work|come)s? out|sums?|reduces?|simplif(?:y|ies)"
    r"|evaluates?) to|(?:factor\w*|written|rewritten|expressed|simplified|expands?) (?:as|into)"
    r"|(?:ends? up|ended up|left) with|approaches|giving|yielding|making"
    r"|costs?|has|have|had|needs?|takes?|makes?|earns?|paid|pays?|spen[dt]s?|leaves?|concludes?)(?![A-Za-z])"
    r"|[是为得共])\s*[:：]?\s*"
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
_NUMBER = re.compile(r"(?<![\w.\\^_{,])[-−]?\$?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?(?![\w^}])")
_LEADING = re.compile(
    r"^(?:(?:so|thus|hence|therefore|then|and|that|the (?:final )?answer|answer|a|an|the|exactly|only|just|now"
    r"|currently|simply|actually|indeed|really|also|precisely|(?:grand )?total of|sum of|of|given by|equal to"
    r"|found to be|to (?:buy|sell|pay|earn|save|score|drive|walk|read|bake|make|plant|order)(?=\s+[\d$]))\b[\s,:]*)+",
    re.I,
)
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mbox|textrm)\s?\{([^{}]*)\}")
_CODE = re.compile(r"[(){}\[\];#\"=<>]")
_LABEL = re.compile(r"(?:[A-Z\u3400-\u9fff][\w ]*|[a-z]+ [\w ]*)[A-Za-z\u3400-\u9fff]\s*$")
_LABEL_OF = re.compile(r"[A-Z][\w ]* of \d+")
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
    "opposite reciprocal inverse digit digits complement predecessor successor logarithm magnitude remainder percent "
    "multiple multiples divisible factor factors divisor divisors square cube root double twice half triple times power"
)
"""Words between which and a number it is no answer: anything but 8, before 8, a multiple of 8."""
_CUT = re.compile(
    r"(?:(?<![A-Za-z\\])(?:we|the|to|an?|of|and|by|in|that|where|which|this|with|for|then|so|or|from|at|on|if|be|is|into|onto|than|because|since|while|but)"
    r"|\\times|\\cdot|[=+*])\s*$|\?\s*$|\b(?:[Ss]uppos\w+|[Aa]ssum\w+|[Ii]magin\w+|doubt(?:s|ed|ful)?)\b[^.]*\.?$"
    r"|\b(?:wrongly|mistakenly|erroneously)\b[^.]*\.?$|\b(?:would|contradicts?|contradiction|impossible|fails)\b[^.\d]*\.?$"
)
"""A sentence that stops before its end, a question and a supposition make no claim."""
_OPEN_END = re.compile(r"[A-Za-z]{2,}\s[^.]*,\s*$")
_HAN_START = re.compile(
    r"(?:[\u3400-\u9fff]{1,12}\s?[，,、：:]\s?)?[\u3400-\u9fff]{2,20}\s?(?=[-−]?\d|[$({\[]|[A-Za-z]\s?[=<>≤≥]|百分之)"
)
_HAN_COMPARED = re.compile(r"不(?!等式)|[没非约或负]|大于|小于|至少|至多|超过|以上|以下|百分之|第")
_HAN_BESIDE = re.compile(
    r"\d\s*[\u3400-\u9fff]{0,2}(?:以外|之外|以上|以下|左右|上下|开外)(?:的[\u3400-\u9fff]{0,4})?[。.]?\Z"
    r"|(?:不符合|不合题意|不满足|舍去|矛盾)[\u3400-\u9fff]{0,6}[。.]?\Z"
)
"""Anything but 42, about 42, 42 which does not do."""
_CODE_WORDS = listed(
    "echo return assert print printf yield raise import exec eval const var let def lambda await new typeof del pass"
)
_LETTERS = re.compile(r"[A-Za-z\u3400-\u9fff]{2,}")


def views(text: str, *, sentence: bool) -> Iterator[str]:
    """Likeliest first. `sentence`: the text may be a sentence around the answer (it was not in a box)."""
    if _HAN_BESIDE.search(text):
        return
    if sentence:
        text = arrivals.without_remark(text)
        yield from _arrived(text)
        text = conclusions.without_check(conclusions.without_bold(text))
        if text.startswith("~") or _OPEN_END.search(text):
            return
    yield text
    if not _LETTERS.search(text):
        return
    if sentence and _CUT.search(text):
        return
    if sentence and (reason := _REASON.search(text)):
        yield from views(text[: reason.start()], sentence=True)
    yield from _parts(_TEXT.sub(r" \1 ", text), sentence)


def _arrived(text: str) -> Iterator[str]:
    """The last Chinese clause and what stands in bold at the end come before the whole sentence."""
    bold = conclusions.in_bold(text)
    text = conclusions.without_bold(text)
    clause = conclusions.last_step(text) or conclusions.in_han(text)
    if clause is not None:
        yield from views(clause, sentence=True)
    if bold is not None:
        yield bold
    yield from arrivals.arrived(text)
    told = _HAN_START.match(text)
    if told and not _HAN_COMPARED.search(told.group()):
        yield text[told.end() :].strip(" 。.")


def _parts(text: str, sentence: bool) -> Iterator[str]:
    """Parts of a text that holds words."""
    while text.startswith("{") and text.endswith("}") and "{" not in text[1:]:
        text = text[1:-1]
    if text.lstrip("`@!> ").partition(" ")[0].lower() in _CODE_WORDS:
        return
    closing, last = _last_sentences(text) if sentence else (text, text)
    if sentence:
        yield from conclusions.concluded(closing)
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
    if not sentence or _GOES_ON.search(last) or conclusions.instructs(last):
        return
    if not wordlists.NEGATIONS.intersection(wordlists.words_of(last)):
        yield from conclusions.run(last)
        yield from _lone(last)


def _tails(last: str, sentence: bool) -> Iterator[str]:
    """What follows a label with a colon, or the last verb; with and without an aside after it."""
    label, _, labelled = last.rpartition(":")
    spaced = labelled.startswith(" ") and _LABEL_OF.fullmatch(label)
    if labelled.strip() and (spaced or _LABEL.fullmatch(label.strip())):
        yield labelled.strip()
    whole = not sentence or not _GOES_ON.search(last)
    end = None
    for match in _VERB.finditer(last):
        end = match.end()
    if end is not None and sentence and _HEDGED.search(last, 0, end):
        return
    if end is not None and last[end:].strip():
        tail = _LEADING.sub("", last[end:].strip())
        yield tail
        if whole:
            yield _ASIDE.split(tail, maxsplit=1)[0]
    elif sentence and whole:
        yield _ASIDE.split(_LEADING.sub("", last), maxsplit=1)[0]


_HEDGED = re.compile(
    r"\b(?:might|may|could|perhaps|maybe|possibly|probably|cannot|can't|can not|could not|never)\s+(?:well\s+)?"
    r"(?:be|have|equal|get|is)\s*\Z",
    re.I,
)


def _lone(last: str) -> Iterator[str]:
    """The last formula of a sentence, or its only number."""
    yield from conclusions.points(last)
    formulas = [next(filter(None, match.groups())) for match in _FORMULA.finditer(last)]
    if formulas:
        yield formulas[-1]
    numbers = set(_NUMBER.findall(last if _DIGIT.search(last) else _SUBJECT.sub("", with_digits(last)))) - {"1"}
    bounded = any(word in _COMPARED for word in last.lower().split()) or _APART.search(last)
    if len(numbers) == 1 and not formulas and not bounded and not _CODE.search(last):
        number = numbers.pop()
        if measured := re.search(re.escape(number) + r"\s?(?=[A-Za-z°\\])", last):
            yield _ASIDE.split(last[measured.start() :], maxsplit=1)[0]
        yield number


_SUBJECT = re.compile(r"\b(?:the|these|those|all|both|his|her|their|its|our|first|last|other)\s\d+", re.I)
"""The two friends left: no answer."""
_DIGIT = re.compile(r"\d")
_APART = re.compile(
    r"\b(?:but|besides|(?:different|distinct) from|(?:other|else) than|before|after|till|since|divisible by"
    r"|(?:multiples?|factors?|divisors?|squares?|cubes?|roots?|double|half) of)\s(?:the\s|number\s)*(?=[-\d\\$])",
    re.I,
)
_CONCLUDES = re.compile(
    r"(?:so|thus|hence|therefore|consequently|(?:the )?answer|it (?:is|has|does|diverges)|there (?:is|are)"
    r"|the (?:\w+ ){1,3}(?:is|are|equals?|has|have|does|diverges|converges))\b",
    re.I,
)

_REMARK = re.compile(r"(?:(?!\d|\\|[∞√π∅½]|[A-HJ-Z]\b).)*[^\w\s,;:]\s*", re.S)
"""A closing sentence that gives no answer and was not cut off."""


_SENTENCES = re.compile(
    r"(?<=[^\s.\d][.!])\s+(?=[A-Z\"'($\\∠△√]|\d*[a-z]\s?[=<>≤≥])|(?<=\d[.!])\s+(?=[A-Z\"'($\\∠△√]|\d*[a-z]\s?[=<>≤≥])|(?<=\?)\s+(?=\S)"
)


_TURN = re.compile(r"(?:but|however|actually|wait)\b", re.I)


def _last_sentences(text: str) -> tuple[str, str]:
    """A closing sentence that concludes, else the last one that is no remark; and the latter."""
    parts = _SENTENCES.split(text)
    closing = parts[-1]
    while len(parts) > 1 and len(parts[-1]) < 60 and _REMARK.fullmatch(parts[-1]) and not _TURN.match(parts[-1]):
        parts.pop()
    return (closing if _CONCLUDES.match(closing) else parts[-1]), parts[-1]


def _truths(text: str) -> frozenset[str]:
    value = wordlists.truth(wordlists.words_of(text))
    return frozenset((value,) if value else ())


_NO_SOLUTION = re.compile(
    r"\bno\b(?:\s\w+){0,4}\s(?:solutions?|roots?|values?|numbers?|integers?|answers?|such\b|pairs?|functions?)"
    r"|\bnone\b|empty set|无解|没有|无(?:实数?|有理数?|整数|正整数)?(?:解|根)"
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
