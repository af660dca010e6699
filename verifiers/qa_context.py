"""Whether a response that mentions an accepted answer gives it as its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers.answer import calendar, wordlists
from verifiers.answer.lists import listed
from verifiers.qa_alias import Alias
from verifiers.qa_match import Reading
from verifiers.qa_names import TITLES
from verifiers.qa_words import number_of, words_of

SHORT = 10
"""Words up to which a response is a bare answer, so that a list in it offers several answers."""
_LIST = re.compile(r"[,;/]|\band\b|\bor\b|&", re.I)
_JOINED = re.compile(r"\b(?:and|or)\b|&|/", re.I)
_OFFERS = listed("or either maybe perhaps possibly 或 或者 unknown")
_CONTRAST = (
    ("instead", "of"), ("rather", "than"), ("other", "than"), ("apart", "from"), ("confused", "with"),
    ("opposed", "to"), ("different", "from"), ("followed", "by"), ("than",), ("unlike",), ("except",),
    ("excluding",), ("besides",),
)  # fmt: skip
_SHIFTS = listed("before after until till almost nearly")
_SHIFTED = (("at", "least"), ("at", "most"), ("up", "to"), ("prior", "to"), ("no", "later"), ("no", "earlier"))
"""Before or at least a number, a year or a date is another one; about is how people say that they are not sure."""
_ALL_BUT = listed("anything everything anyone everyone anywhere everywhere all any nothing nobody")
_NEAR = listed("near outside")
_VERBS = listed("is was are were does did do has had can could will would")
_DENIALS = listed("isnt wasnt arent werent doesnt didnt dont cannot cant couldnt wont wouldnt hasnt hadnt")
_WRONG = listed("incorrect wrong false untrue")
_DECLINED = re.compile(
    r"\b(?:could(?:n.?t| not)|can(?:n?ot|.t)|un(?:able)? to) (?:find|locate|determine|identify|answer)\b"
    r"|\b(?:do(?:n.?t| not)|does(?:n.?t| not)) (?:know|have (?:any|specific|enough|sufficient) information)\b"
    r"|\bno information (?:about|on|is available)\b|\bunable to (?:find|determine|provide|answer)\b",
    re.I,
)
_PREPOSITIONS = listed("of to in on near for from with beyond across along between behind under over")
_SENTENCE_END = re.compile(r"[.!?]\s|\n")
_TOLD = re.compile(
    r"(?P<rest>[^.!?\n]{0,80}?)\b(?:is|was|are|were)\s+(?:(?:also|often|commonly|usually)\s+)?"
    r"(?:known as|called|named|(?:the|an?)\s|[A-Z\"“'])"
)
_BREAK = re.compile(r"[,;:]|\b(?:which|who|that|where|and)\b")
MAX_MARGIN = 2
"""Characters before a preposition that begins a sentence: "In 1969, ..." is no part of the subject."""
_CORRECTED = re.compile(
    r"(?:^|[.!?]\s+|\n\s*)(?:However|But|Actually|In fact),?\s[^.!?\n]{0,120}?(?:\bnot\b|n.?t\b)[^.!?\n]{0,80}?"
    r"\b(?:until|before)\s[^.!?\n]{0,40}?(?<!\d)\d{4}"
)
"""However, that did not begin until 1950: the dates before that are of something else."""
_PAUSE = re.compile(r"[.,;:!?\n]")
_SEQUELS = frozenset(map(str, range(2, 21)))
_PARTS = listed("new north south east west northern southern eastern western papua equatorial")
"""A capital North before a name makes another name."""
_CONCEDED = re.compile(r"(?:^|[.!?]\s+|\n\s*)(?:While|Although|Though|Unlike|Despite)\s[^.!?,\n]{0,120}$")
_MISTAKEN = re.compile(r"\b(?:confus|mistak)[a-z]{1,4}\s(?:\w+\s){0,3}(?:with|for)\s[^.!?,\n]{0,60}$", re.I)
_REFUTED = re.compile(
    r"[^.!?\n]{0,60}\bbut (?:that|this|it|they)(?: is|.s| was|re| are)? ?(?:not|n.t|wrong|incorrect|false)\b"
)
MAX_LOOK = 160
"""Characters before a mention in which a concession may begin."""
MAX_COUNT = 1000
MAX_BEFORE = 3
"""Words before a mention that can negate it."""
MAX_DAY = 31


def declined(found: Reading) -> bool:
    """The response says that it has no answer; what it mentions beside that is none."""
    return _DECLINED.search(found.plain.replace("’", "'")) is not None


def objection(wanted: Alias, found: Reading, span: tuple[int, int], aliases: Sequence[Alias]) -> str:
    """Why a mention of the alias is not the answer (negated, compared, hedged, other-name ...); empty when it is."""
    before, after = found.words[: span[0]], found.words[span[1] :]
    if _negated(_clause_before(found, span[0]), after):
        return "negated"
    if _beside(wanted, before):
        return "compared"
    if _taken_back(found, span):
        return "negated"
    if _in_the_subject(found, span):
        return "echoed"
    if len(wanted.words) == 1 and _corrected(wanted, found, span):
        return "corrected"
    if len(wanted.words) == 1 and _in_a_date(wanted, found, span):
        return "other-number"
    if _part_of_a_name(wanted, found, span, aliases) or _another_person(wanted, found, before, after, aliases):
        return "other-name"
    if after[:2] == ("or", "so"):
        return ""
    if len(found.words) <= SHORT and wanted.number and _in_a_range(wanted.number, before, after):
        return "hedged"
    if len(found.words) <= SHORT and any(word in _OFFERS for word in (*before[-2:], *after[:1])):
        return "hedged"
    return "hedged" if _in_a_list(wanted, found.text, {item.words for item in aliases}) else ""


def _clause_before(found: Reading, place: int) -> tuple[str, ...]:
    """The words before a place, back to the last punctuation or "but"."""
    start = place
    while start > max(0, place - MAX_BEFORE):
        left, right = found.tokens[start - 1], found.tokens[min(start, len(found.tokens) - 1)]
        if (left.text == "but" and found.tokens[max(0, start - 2)].text not in _ALL_BUT) or _PAUSE.search(
            found.plain, left.end, right.start
        ):
            break
        start -= 1
    return found.words[start:place]


def _negated(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    if any(word in wordlists.NEGATIONS or word in _DENIALS for word in before):
        return True
    if any(before[-len(words) :] == words for words in _CONTRAST):
        return True
    if before[-1:] == ("but",) and any(word in _ALL_BUT for word in before):
        return True
    if after[:1] and after[0] in _DENIALS:
        return True
    return len(after) > 1 and after[0] in _VERBS and (after[1] == "not" or after[1] in _WRONG)


def _beside(wanted: Alias, before: tuple[str, ...]) -> bool:
    """Before 1945, at least 12, near Paris: not the alias, something beside it."""
    if wanted.number is not None or wanted.dates or wanted.words[0][:4].isdecimal():
        shifted = any(word in _SHIFTS for word in before[-1:]) or before[-2:] in _SHIFTED
        return shifted and "from" not in before[-4:]
    return wanted.name and before[-1:] != () and before[-1] in _NEAR


def _in_the_subject(found: Reading, span: tuple[int, int]) -> bool:
    """The alias only helps to say what was asked: "the districts east of the Jordan River are called ..."."""
    if span[0] < 2 or found.words[span[0] - 1] not in _PREPOSITIONS:
        return False
    start = max((end.end() for end in _SENTENCE_END.finditer(found.plain, 0, found.tokens[span[0]].start)), default=0)
    if found.tokens[span[0] - 1].start <= start + MAX_MARGIN:
        return False
    rest = found.plain[found.tokens[span[1] - 1].end :]
    told = _TOLD.match(rest)
    return told is not None and not _BREAK.search(told["rest"])


def _taken_back(found: Reading, span: tuple[int, int]) -> bool:
    """While X is often named, ...; do not confuse it with X; many say X, but that is wrong."""
    start, end = found.tokens[span[0]].start, found.tokens[span[1] - 1].end
    said = found.plain[max(0, start - MAX_LOOK) : start]
    conceded = _CONCEDED.search(said) is not None and "," in found.plain[end : end + MAX_LOOK]
    return conceded or _MISTAKEN.search(said) is not None or _REFUTED.match(found.plain, end) is not None


def _part_of_a_name(wanted: Alias, found: Reading, span: tuple[int, int], aliases: Sequence[Alias]) -> bool:
    """New Mexico for Mexico, Toy Story 2 for Toy Story."""
    if wanted.name and len(wanted.words) > 1 and span[0] == 0 and len(found.words) == span[1] + 1:
        return number_of(wanted.words[-1]) is None and number_of(found.words[-1]) in _SEQUELS
    if not wanted.name or span[0] == 0:
        return False
    before = found.tokens[span[0] - 1]
    adjoins = found.plain[before.end : found.tokens[span[0]].start] == " "
    if not adjoins or before.text not in _PARTS or not (before.capital or len(found.words) == 2):
        return False
    return not any(before.text in item.words for item in aliases)


def _in_a_range(number: str, before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """10 to 12 for 10; years may be the start or end of something."""
    if not number.isdecimal() or int(number) >= MAX_COUNT:
        return False
    later = len(after) > 1 and after[0] == "to" and after[1].isdecimal()
    return later or (len(before) > 1 and before[-1] == "to" and before[-2].isdecimal())


def _corrected(wanted: Alias, found: Reading, span: tuple[int, int]) -> bool:
    """A year or a decade that a later sentence takes back."""
    if not wanted.words[0][:4].isdecimal():
        return False
    return _CORRECTED.search(found.plain, found.tokens[span[1] - 1].end) is not None


def _in_a_date(wanted: Alias, found: Reading, span: tuple[int, int]) -> bool:
    """A count is not the day of a date: 7 in "July 7, 1985"."""
    if wanted.number is None or not wanted.number.isdecimal() or int(wanted.number) > MAX_DAY:
        return False
    beside = " ".join(found.words[max(0, span[0] - 1) : span[1] + 1])
    return bool(calendar.months(beside)) and len(found.words) > 1


def _another_person(
    wanted: Alias, found: Reading, before: tuple[str, ...], after: tuple[str, ...], aliases: Sequence[Alias]
) -> bool:
    """Pierre Curie for Curie, where another alias says Marie Curie: a name that no alias has."""
    parts = found.text.split()
    if len(wanted.words) != 1 or not 2 <= len(parts) <= 3:
        return False
    if not all(part[0].isupper() and part.isalpha() for part in parts):
        return False
    longer = [item.words for item in aliases if item.name and len(item.words) > 1 and wanted.words[0] in item.words]
    beside = [*before[-1:], *after[:1]]
    if not longer or not beside or any(word in TITLES for word in beside):
        return False
    known = {word for words in longer for word in words}
    return not any(word.startswith(other) or other.startswith(word) for word in known for other in beside)


def _in_a_list(wanted: Alias, text: str, aliases: set[tuple[str, ...]]) -> bool:
    """A bare list that names other things beside the alias; a pair with a comma ("Paris, France") is none."""
    items = [tuple(word.text for word in words_of(part)) for part in _LIST.split(text)]
    items = [item for item in items if item and not (len(item) > 1 and item[0] in wordlists.NEGATIONS)]
    joined = bool(_JOINED.search(text))
    if len(items) < (2 if joined else 3) or any(len(item) > 3 for item in items) or wanted.dates:
        return False
    return len(wanted.words) <= 3 and not all(item in aliases for item in items) and "and" not in wanted.words
