"""Multiple choice: which letter does the response choose?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers import extract
from verifiers.answer.read import textual
from verifiers.normalise import plain
from verifiers.verdict import Verdict, correct, incorrect, undecided

_GOLD = re.compile(r"[\s\[(]*([A-Z])[\s\])]*[.:)]?(?:\s.*)?", re.S)
_GOLD_LETTERS = re.compile(r"[\s\[(]*[A-J][\s\])]*(?:(?:,|and|or|/|&|;)[\s\[(]*[A-J][\s\])]*)+")
_ALONE = re.compile(
    r"\W*(?:(?:option|choice|answer|选项|选|答案)[\s:：]*(?:is\s)?)?[\W_]*([A-Ja-j])\s*"
    r"(?:[\])}*.,:：>]+(?=\s|$|[^\w])|$|\s+(?=[^\s*/+^=<>-]))(.*)",
    re.S | re.I,
)
_LETTER = re.compile(r"(?<![\w'])(?<![\d^]\s)([A-J])(?![\w'+*^_=]|\s*[=<>^*+])")
_MARKED = re.compile(
    r"(?i:answers?|options?|choices?|choose|chose|select(?:ed)?|pick(?:ed)?|go with|correct(?: one)?|答案|选项?"
    r"|leav(?:es?|ing)(?: only)?|it|this)"
    r"(?:\s+(?:is|are|was|would be|should be|must be|here is)|\s*[:：=]|是|为|：)?[\s*_:：(\[{\\$\"']{0,10}"
    r"(?:text(?:bf)?\s?\{\s?)?(?i:option|choice|answer|letter)?[\s(\[{*]{0,4}(?P<letter>[A-J]+)(?![A-Za-z\d_]|'[a-z])(?!\s+[a-z])",
)
_OPTION = re.compile(r"\W{0,3}([A-J])[).:]\s*\S")
_BEFORE = re.compile(
    r"(?:\b[Oo]nly\s+(?:option\s+)?)?\(?(?P<letter>[A-J])\)?\s+(?:(?:is|seems|must be)\s+(?:the\s+)?"
    r"(?:correct|right|valid|true|best|answer|only)|(?<=nly [A-J] )\w+s\b|(?<=nly option [A-J] )\w+s\b)"
)
_PROSE = re.compile(r"[A-Za-z]{3,} [A-Za-z]{2,}")
_BRACKETED = re.compile(r"\(\s*[A-J]\s*\)|^\W*[A-J]\s*[):.]")
_FORMULA = re.compile(r"\\(?!text|math(?:rm|bf|sf)|bf\b|boxed|left|right|quad|qquad|it\b|Large|large)[A-Za-z]")
_NEXT = re.compile(r"\s*(?:/|,|or|and|&|、|或|和)\s*[\[(]?\s*([A-J])(?![\w'])")


def gold_letters(ground_truth: str) -> str | None:
    """The letter (or letters, sorted) of a ground truth such as C, (C), \\textbf{(B)} 12; None when it is none."""
    text = textual(plain(ground_truth)).strip()
    if _GOLD_LETTERS.fullmatch(text):
        return "".join(sorted(set(re.findall(r"[A-J]", text))))
    match = _GOLD.fullmatch(text)
    if match is None or (len(text) > 1 and "(" not in text and text[1:2] not in ".:)"):
        return None
    return match.group(1)


def chosen(response: str) -> tuple[str, str] | None:
    """(letters, the text they stood in), the letters sorted; None when the response chooses none."""
    text = extract.after_thoughts(response)
    if text is None:
        return None
    text = plain(text[-extract.MAX_TAIL :])
    tagged = extract._tagged(text)
    text = tagged if tagged is not None else text
    box = extract.boxed(text)
    if box is not None and box.text is not None and not _is_formula(box.text):
        inside = textual(box.text)
        letters = _alone(inside)
        if letters is None and len(inside) <= MAX_CHOICE and _PROSE.search(inside):
            spoken = _in_last_line(inside)
            letters = spoken[0] if spoken else None
        if letters:
            return letters, box.text
    marked = _last_marked(text)
    if marked is not None:
        return marked
    if box is not None:
        return None
    return _in_last_line(text)


_SENTENCE = re.compile(
    r"(?:is|was|are|were|seems|can|could|must|should|does|did|has|fits|works|matches|because|and|nor)\b"
)
_ALSO = re.compile(r"(?<![\w'])([A-J])\)?\s+(?:could|might|may|can)\s+(?:also|be|work)\b")
"""Another option that is held open after the choice."""
_NAMES = re.compile(
    r"\b(?:vitamin|hepatitis|type|grade|point|vertex|angle|matrix|event|set|node|plan|person|player|figure|line|segment"
    r"|class|group|team|box|bag|urn|city|town|car|train|machine|pipe|worker|circle|side)s?\s+[A-J](?![\w'])",
    re.I,
)
"""Things with a letter for a name."""
_ARTICLE = re.compile(r"\W*[AI]\s+[a-z]")
_PRONOUN = re.compile(r"(?<![\w(])I(?=\s+[a-z]|'[a-z])")
_DENIED = re.compile(
    r"(?:\b(?i:not|isn't|nor|neither|can't be|cannot be|(?:anything|everything|all) but|except|other than|rather than"
    r"|instead of|rul(?:e|ed|ing) out|eliminate[ds]?|exclude[ds]?)\s+"
    r"(?:options?\s+|be\s+)?"
    r"\(?[A-J]\)?(?:\s*(?:,|or|nor|and)\s*\(?[A-J]\)?(?![\w']))*(?![\w']))"
    r"|(?:(?<![\w'])\(?[A-J]\)?\s+(?:is|are|was|seems)\s+(?:not\b|n't|in(?:correct|valid)|wrong|false|impossible))"
    r"|(?:it\s+)?(?:can't|cannot|can not|could not|couldn't)\s+be\s+\(?[A-J]\)?(?![\w'])"
)
MAX_CHOICE = 300
"""Characters of a text that may be nothing but a choice with its value."""


def _is_formula(text: str) -> bool:
    """A formula in which a letter is a variable; an option letter before a formula stands in brackets."""
    return bool(_FORMULA.search(text)) and not _BRACKETED.search(textual(text))


def _joined_letters(text: str) -> str | None:
    """BD, in the order of the alphabet."""
    joined = text.strip().removesuffix(".")
    return joined if re.fullmatch(r"[A-J]{2,6}", joined) and joined == "".join(sorted(set(joined))) else None


def _alone(text: str) -> str | None:
    """The letters of a short text that is nothing but a choice, perhaps with its value after it."""
    if joined := _joined_letters(text):
        return joined
    several = gold_letters(text) if len(text) <= MAX_CHOICE else None
    if several and len(several) > 1:
        return "/".join(several) if re.search(r"\bor\b|/", text) else several
    text = text.strip().strip("$*_`\"' ")
    match = _ALONE.fullmatch(text) if len(text) <= MAX_CHOICE else None
    if match is None:
        return None
    rest = match.group(2).strip()
    if _SENTENCE.match(rest) or _ARTICLE.match(text):
        return None
    letter = match.group(1).upper()
    if re.match(r"(?:or|/)(?!\w)", rest):
        return letter + "/"
    if rest and re.fullmatch(r"(?:[A-J](?![\w'])[\s,.?/]*)+", rest):
        return "".join(sorted({letter, *_LETTER.findall(rest)}))
    others = _NEXT.match(" " + rest) if rest else None
    if others:
        return "".join(sorted({letter, *_LETTER.findall(rest)}))
    if match.group(1).islower() and rest:
        return None
    return letter


def _last_marked(text: str) -> tuple[str, str] | None:
    text = _DENIED.sub(lambda match: " " * len(match.group()), text)
    found: re.Match[str] | None = None
    for pattern in (_MARKED, _BEFORE):
        for match in pattern.finditer(text):
            written = match["letter"]
            if written != "".join(sorted(set(written))):
                continue
            if found is None or match.start() > found.start():
                found = match
    if found is None:
        return None
    letters = set(found["letter"])
    following = _NEXT.match(text, found.end()) or _NEXT.match(text, found.end() + 1)
    while following:
        letters.add(following.group(1))
        following = _NEXT.match(text, following.end())
    letters.update(_ALSO.findall(text, found.end()))
    return "".join(sorted(letters)), found.group()[:80]


def _in_last_line(text: str) -> tuple[str, str] | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    line = textual(lines[-1][-2_000:]).strip()
    letters = _alone(line)
    if letters and not _is_list(lines):
        return letters, line[:80]
    if letters:
        return None
    line = _NAMES.sub(" ", _PRONOUN.sub("", _DENIED.sub(" ", line)))
    sentence = re.split(r"(?<=[.!?])\s+", line)[-1]
    mentioned = list(_LETTER.findall(sentence))
    if mentioned and mentioned[0] == "A" and re.match(r"A\s+[a-z]", sentence):
        mentioned = mentioned[1:]
    first = textual(lines[0][:MAX_CHOICE]).strip()
    if len(mentioned) > 1 and len(lines) > 1 and re.fullmatch(r"\W*[A-J]\W*", first):
        return re.sub(r"\W", "", first), first
    return ("".join(sorted(set(mentioned))), sentence[:80]) if mentioned else None


def _is_list(lines: list[str]) -> bool:
    """Whether the last lines repeat the options."""
    marks = [match.group(1) for line in lines[-3:] if (match := _OPTION.match(line))]
    return len(marks) > 1 and marks == [chr(ord(marks[0]) + step) for step in range(len(marks))]


def verify_choice(response: str, ground_truth: str | Sequence[str], /) -> Verdict:
    """Whether the response chooses just the letters of the ground truth (of any of several accepted ones).

    Strict: the value of an option in place of its letter does not count."""
    golds = [ground_truth] if isinstance(ground_truth, str) else list(ground_truth)
    wanted = [letters for gold in golds if (letters := gold_letters(gold) or _joined_letters(gold))]
    if not any(gold.strip() for gold in golds):
        return undecided("gold-empty")
    if not wanted:
        return undecided("gold-unparsable", detail="no choice letter")
    return choice_verdict(response, wanted)


def choice_verdict(response: str, wanted: Sequence[str]) -> Verdict:
    found = chosen(response)
    if found is None:
        return incorrect(extract.final_answer(response).reason or "no-choice", None)
    letters, text = found
    if letters in wanted:
        return correct("exact", text)
    hedged = len(letters) > 1 and any(len(gold) == 1 for gold in wanted)
    return incorrect("hedged" if hedged else "different", text)
