"""Where a sentence arrives: a conclusion in bold, after "so", in the last Chinese clause, the point that it reaches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifiers.answer import wordlists
from verifiers.answer.lists import listed

_BOLD = re.compile(r"(?<![\w)}*])\*\*(?=\S)([^*\n]{1,300}?)(?<=\S)\*\*(?![\w(*])")
_BOLD_END = re.compile(
    r"(?P<left>\s+(?:(?:is|are)\s+(?:left(?:\s+over)?|what\s+remains)|remains?))?[\s.。!]*(?:\([^()]*\)[\s.]*)?\Z"
)
_EARLIER = re.compile(r"\b(?:before|first|initially|if|when|once|suppos\w+|would)\b[^.!?]*\Z", re.I)
_MATHEMATICAL = re.compile(r"[\d$=<>≤≥∞√π\\]|\b[a-z]\b")


def without_bold(text: str) -> str:
    return _BOLD.sub(r"\1", text) if "**" in text else text


def in_bold(text: str) -> str | None:
    """What stands in bold at the end of a text and holds mathematics."""
    if "**" not in text:
        return None
    found = list(_BOLD.finditer(text))
    last = found[-1] if found else None
    end = _BOLD_END.match(text, last.end()) if last is not None else None
    if last is None or end is None or not _MATHEMATICAL.search(last.group(1)):
        return None
    if end["left"] and _EARLIER.search(text, max(0, last.start() - 200), last.start()):
        return None
    before = text[max(0, last.start() - 40) : last.start()]
    return None if _kept_apart(before) else last.group(1)


_CHECK = re.compile(
    r"[;,]\s*check\b[^\n]*\Z|(?:,\s*|\s)(?:and|so|which|as)\s+(?:substitut\w+|check\w*|plugging|verif\w+"
    r"|(?:it|this|that)\s+(?:checks|works|satisfies|fits|agrees))\b[^\n]*\Z"
)


def without_check(text: str) -> str:
    """Without a closing clause that only checks: x = 3, and substituting gives 0 = 0."""
    return _CHECK.sub("", text)


# ---- points --------------------------------------------------------------------------------------------------------

_TUPLE = re.compile(
    r"(?<![A-Za-z\d_\\}])(?:\\left\s?)?[(\[](?:[^()\[\],;$]|\([^()]{1,40}\)){1,60}"
    r"(?:[,;](?:[^()\[\],;$]|\([^()]{1,40}\)){1,60}){1,4}[)\]]"
)
_TOWARDS = re.compile(
    r"\b(?:to|giving|at|is|are|gives|into|as|becomes?|on|onto)\s+(?:the\s+)?(?:point\s+|interval\s+)?\$?$"
)
_ENDING = re.compile(r"[\s.$*]*")
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")


def points(last: str) -> Iterator[str]:
    """The only bracketed list of a sentence, or the one that it arrives at."""
    found = [match for match in _TUPLE.finditer(last) if not _PROSE.search(match.group())]
    if not found:
        return
    final = found[-1]
    reached = _ENDING.fullmatch(last, final.end()) and _TOWARDS.search(last, 0, final.start())
    if (len({match.group() for match in found}) == 1 or reached) and not _kept_apart(last[: final.start()]):
        yield final.group()


# ---- what follows "so" ---------------------------------------------------------------------------------------------

_SO = re.compile(
    r"(?:(?:[,;:]|[.!]\s|\A|\band)\s*(?:and\s+)?(?:so|thus|hence|therefore|consequently|then|(?:more )?precisely"
    r"|namely|i\.e\.|that is)(?![A-Za-z])"
    r"|(?:→|⇒|=>|\\(?:to|rightarrow|Rightarrow|implies)(?![a-z]))(?=\s*\$?[A-Za-z]\w?\s*=))[\s,:]*",
    re.I,
)
_START = re.compile(
    r"(?<![\\\w])(?P<word>[A-Za-z]{2,})(?:['’]s)?[,:]?\s+(?=[\d\\$(\[{√∠△½−-]|[A-Za-z](?:_\{?\w+\}?|[²³]|\^\d)?'?(?:\([^()]{1,12}\))?\s*"
    r"(?:[=<>≤≥≈∈+−]|\\(?:le|ge|ne|in|approx)))"
)
_LOWEST = re.compile(
    r"(?:\bor|[=,])\s+([^,=]{1,60}?)\s+in (?:lowest|simplest|its simplest|simplified|reduced) (?:terms|form)\b"
)
_BARE_START = re.compile(r"[\d\\$(\[{√∠△½−-]|[A-Za-z](?![A-Za-z])")
_JOINING = listed("and or to ln log sin cos tan cot sec csc sqrt pi lim max min gcd lcm exp mod base")
_APART = (
    wordlists.NEGATIONS
    | wordlists.HEDGES
    | listed(
        "less more than least most below above under over about approximately around between greater fewer up near "
        "close almost nearly roughly until exceed exceeds guess any anything everything all every but besides other "
        "else before after till since multiple multiples divisible factor factors divisor divisors double twice half "
        "try trying let suppose assume if when for with from take consider setting put where using because test "
        "testing given see root roots square squares cube cubes power powers product divide multiply use exclude"
    )
)
_LABELS = listed("step page line equation problem question section figure")
"""Words before a number or formula which is then no conclusion."""
_RELATES = re.compile(r"[=<>≤≥]|\\(?:le|ge|ne)(?![a-z])")


_FREE_BEFORE_ORDER = listed("for all if when where every with given")
"""The inequality holds for all x < 3."""


def _kept_apart(before: str, free: frozenset[str] = frozenset()) -> bool:
    words = re.findall(r"[A-Za-z']+", re.split(r"[,;:]", before.lower())[-1])[-3:]
    return any((word in _APART or word in _LABELS) and word not in free for word in words)


def concluded(last: str) -> Iterator[str]:
    """The mathematics after the last "so" of a sentence, or in lowest terms."""
    if lowest := _LOWEST.search(last):
        yield lowest.group(1)
    if so := list(_SO.finditer(last)):
        clause = last[so[-1].end() :]
        if not _NO_CLAIM.match(clause):
            yield from _from_start(clause, bare=True)


_NO_CLAIM = re.compile(r"not\b|[^,;:.]*\b(?:might|wrongly|mistakenly|erroneously)\b", re.I)
"""That is not a rate of 8 %; so one might guess 5."""


_GIVEN = re.compile(
    r"(?:using|with|since|for|given|from|by|because|as|when|if|at)\b[^.]*,\s+"
    r"(?=[^,=]*=[^,]*\Z)(?![^,]*(?<![\\A-Za-z])[A-Za-z]{4,})",
    re.I,
)
_ORDER = re.compile(r"[<>≤≥≠]|\\(?:le|ge|ne)(?![a-z])")
_IMPERATIVE = re.compile(
    r"(?:(?:next|now|first|then|finally),?\s+)?(?:divide|multiply|add|subtract|substitute|plug|use|apply|take|factor|expand"
    r"|simplify|rewrite|square|solve|compute|calculate|find|set|let|try|suppose|assume|consider|recall|note|notice|start)\b",
    re.I,
)


_NEXT = re.compile(
    r"(?:now|next|first),?\s+(?:we|you|i)\s+(?:can\s+|must\s+|will\s+|then\s+)?(?:substitute|plug|use|need|insert|recall|apply)\b",
    re.I,
)
_TO_DO = re.compile(r"\b(?:we|to|must|should)\s+(?:divide|multiply|subtract|substitute|use)\b[^,;]*\Z", re.I)


def instructs(last: str) -> bool:
    """A step to be taken: divide by 4."""
    return _IMPERATIVE.match(last) is not None or _TO_DO.search(last) is not None or _NEXT.match(last) is not None


def run(last: str) -> Iterator[str]:
    """The equation, inequality or chain of equations with which a sentence ends."""
    if given := _GIVEN.match(last):
        yield last[given.end() :]
    for found in _from_start(last, bare=False):
        if _RELATES.search(found):
            yield found


_STEP = re.compile(r"\s*(?:[;,，；.。]|→|⇒|=>|\\(?:to|rightarrow|Rightarrow|implies)(?![a-z]))\s*(?=[^\s])")
_VALUE = re.compile(r"\$?([A-Za-z])\s*=\s*[^=]+")
MAX_STEPS = 300


def last_step(text: str) -> str | None:
    """The last of several equations in one unknown, where it gives its value: 3n - 4 = 29; 3n = 33; n = 11."""
    if len(text) > MAX_STEPS or text.count("=") < 2:
        return None
    steps = [step.strip(" $") for step in _STEP.split(text.rstrip(" .。"))]
    value = _VALUE.fullmatch(steps[-1])
    if len(steps) < 2 or value is None or not all(step.count("=") == 1 for step in steps):
        return None
    same = all(set(re.findall(r"[^\W\d_]", step)) == {value.group(1)} for step in steps)
    return steps[-1] if same and not any(_VALUE.fullmatch(step) for step in steps[:-1]) else None


def _from_start(clause: str, *, bare: bool) -> Iterator[str]:
    """From the mathematics on that follows the last word of prose; `bare`: the clause may begin with it."""
    start = None
    for match in _START.finditer(clause):
        start = match if match["word"].lower() not in _JOINING else start
    if bare and _BARE_START.match(clause):
        yield clause
    if start is None:
        return
    rest = clause[start.end() :]
    free = _LABELS if _RELATES.search(rest) else frozenset()
    if not bare and _ORDER.search(rest) and "=" not in rest:
        free |= _FREE_BEFORE_ORDER
    if not _kept_apart(clause[: start.end()], free):
        yield rest


# ---- Chinese -------------------------------------------------------------------------------------------------------

_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_CLAUSE = re.compile(r"[，,；;。]\s*(?=[^，,；;。]*\Z)")
_HAN_CONCLUDES = re.compile(
    r"(?:解得|解出|求得|算得|化简得|得出|可知|所以|因此|因而|故|则|即|答|于是|那么|可得|得到?|从而|综上|共|总)"
)
_HAN_GIVEN = re.compile(r"(?:因为|由于|如果|若|当|已知|设|由)")
_HAN_FORMULA = re.compile(r"\$[^$=]{1,100}=[^$=]{1,100}\$")
_HAN_STATED = re.compile(r"[\u3400-\u9fff][为是得有共]\s?(?=[-−\d$\\])")
_HAN_EQUALS = re.compile(r"(?:等于|得出|结果[是为])\s*(?=[-−\d$\\])(?=[^，,；;]*\Z)")
_HAN_OPEN = re.compile(r"[或不没非]|可能|大概|也许|也|大于|小于|至少|至多|超过|以上|以下")
_COMPUTED = re.compile(r"[=≈＝]|\.\.|\\ldots|…")


def in_han(text: str) -> str | None:
    """The last clause of a Chinese sentence that concludes or follows a computation: 85*0.8=68, 所以是 68 元."""
    if not _HAN.search(text):
        return None
    stripped = text.rstrip("。. *")
    equal = list(_HAN_EQUALS.finditer(stripped))
    if equal and not _HAN_OPEN.search(stripped):
        return stripped[equal[-1].end() :]
    mark = _HAN_CLAUSE.search(stripped)
    if mark is None:
        return None
    before, clause = stripped[: mark.start()], stripped[mark.end() :].strip()
    if _HAN_CONCLUDES.match(clause):
        return _HAN_CONCLUDES.sub("", clause, count=1).lstrip("，,：: ") or None
    if _HAN_GIVEN.match(before) and _HAN_FORMULA.fullmatch(clause) and "=" not in before:
        return clause
    if len(_HAN.findall(clause)) < 2 or _HAN_OPEN.search(clause):
        return None
    stated = list(_HAN_STATED.finditer(clause))
    if stated and (_HAN.search(before) or _HAN_GIVEN.match(before)):
        return clause[stated[-1].end() :]
    if _HAN_GIVEN.match(before):
        return clause
    return clause if _COMPUTED.search(before) and "=" not in clause else None
