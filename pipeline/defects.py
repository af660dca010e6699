"""Defects of a problem that no mend can cure: each test returns what it found, or None."""

from __future__ import annotations

import re
import unicodedata

from pipeline.canonical_text import FIGURE
from pipeline.problem import Problem

_HYPERLINK = re.compile(
    r"https?://|\bwww\.|\\(?:url|href)\b|!\[[^\]]*\]\(|\bimage\d*\.(?:png|jpg|gif)|<img\b", re.IGNORECASE
)
_SELF_CONTAINED = re.compile(
    r"\\begin\{(?:array|tabular|tikzpicture|asy|table|matrix|pmatrix|bmatrix|vmatrix|align|cases)"
    r"|\[asy\]|<asy>|\|\s*-{2,}"
)
_FIGURE_WORDS = re.compile(
    r"\b(?:figure|diagram|picture|drawing|image)\b(?: \w+){0,3} (?:below|above|shown)"
    r"|\b(?:in|from) the (?:given |following |accompanying )?(?:figure|diagram|picture|image)\b"
    r"|\bas (?:shown|illustrated|pictured|depicted)\b"
    r"|\b(?:is|are) (?:shown|pictured|graphed|illustrated|depicted)"
    r"(?:(?: \w+){0,3} (?:below|above|here)\b|\s*(?:[.,:]|\Z))"
    r"|\b(?:figure|diagram|graph) shows\b|\b(?:pictured|shown|graphed) below\b|\bgraph (?:below|above|shown)",
    re.IGNORECASE,
)


def find_hyperlink(row: Problem) -> str | None:
    match = _HYPERLINK.search(row.question)
    return match.group() if match else None


def find_figure(row: Problem) -> str | None:
    match = FIGURE.search(row.question)
    return match.group()[:20] if match else None


def find_missing_figure(row: Problem) -> str | None:
    """A figure is referred to, and there is neither its code nor a table."""
    if _SELF_CONTAINED.search(row.question):
        return None
    match = _FIGURE_WORDS.search(row.question)
    return match.group() if match else None


_PROOF = re.compile(
    r"\b(?:prove|show|demonstrate|disprove|justify)(?: or disprove)? (?:that|the|why|your|whether|if|there)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\b(?:find|compute|determine|calculate|evaluate|what|how (?:many|much|long|far|old)|solve|simplify|express|give"
    r"|state|list)\b",
    re.IGNORECASE,
)


def find_proof(row: Problem) -> str | None:
    """Asks for a proof and for nothing that could be checked."""
    match = _PROOF.search(row.question)
    if match is None:
        return None
    rest = row.question[: match.start()] + " " + row.question[match.end() :]
    return None if _ASKS.search(rest) else match.group()


_YES_NO = re.compile(r"\\?(?:text|textbf|mathrm|mathbf)?\s*\{?\s*(?:yes|no|true|false)\s*\}?\.?", re.IGNORECASE)


def find_yes_no(row: Problem) -> str | None:
    return row.ground_truth if _YES_NO.fullmatch(row.ground_truth) else None


_PARTS = re.compile(r"(?:^|\n|\s)\(?([a-d]|i{1,3}|iv|[1-4])[).]\s+(?=[A-Z\\$])")
_TWO_PARTS = (("a", "b"), ("i", "ii"), ("1", "2"))


def find_parts(row: Problem) -> str | None:
    """Several questions in one: lettered parts of which each asks."""
    marks = list(_PARTS.finditer(row.question))
    labels = [mark.group(1) for mark in marks]
    for first, second in _TWO_PARTS:
        if first not in labels or second not in labels[labels.index(first) :]:
            continue
        start = marks[labels.index(first)].end()
        middle = labels.index(second, labels.index(first))
        pieces = (row.question[start : marks[middle].start()], row.question[marks[middle].end() :])
        if all(_ASKS.search(piece) for piece in pieces):
            return f"({first}) and ({second})"
    return None


_LEAK = re.compile(
    r"(?:\bthe (?:final |correct )?answer is|\b(?:final |correct )?answer\s*[:=]|####|\bans\s*[:.=])"
    r"\s*\$?\s*(?:\\boxed\s*\{)?\s*([^\s$}.,;]+)"
    r"|\\boxed\s*\{([^{}]+)\}",
    re.IGNORECASE,
)


def find_leak(row: Problem) -> str | None:
    """The question states its own answer."""
    gold = re.sub(r"\s+", "", row.ground_truth).strip("$")
    for match in _LEAK.finditer(row.question):
        stated = re.sub(r"\s+", "", match.group(1) or match.group(2) or "").strip("$")
        if stated and stated == gold:
            return match.group()
    return None


_SCRIPTS = (
    ("CJK", "zh"),
    ("HIRAGANA", "ja"),
    ("KATAKANA", "ja"),
    ("HANGUL", "ko"),
    ("CYRILLIC", "ru"),
    ("ARABIC", "ar"),
    ("HEBREW", "he"),
    ("DEVANAGARI", "hi"),
    ("THAI", "th"),
)


def main_script(text: str) -> str:
    """Language of the commonest script among words, mathematics left out; "en" for Latin, and for too little text."""
    prose = re.sub(r"\$[^$]*\$|\\[A-Za-z]+|\\\(.*?\\\)|\\\[.*?\\\]", " ", text, flags=re.DOTALL)
    counts: dict[str, int] = {}
    for letter in prose:
        if letter.isalpha() and not letter.isascii():
            name = unicodedata.name(letter, "")
            language = next((code for head, code in _SCRIPTS if name.startswith(head)), None)
            if language is not None:
                counts[language] = counts.get(language, 0) + 1
    if not counts:
        return "en"
    language, most = max(counts.items(), key=lambda item: (item[1], item[0]))
    words = len(re.findall(r"[A-Za-z]{2,}", prose))
    return language if most > words else "en"
