"""Defects of a problem that no mend can cure: each test returns what it found, or None."""

from __future__ import annotations

import re
import unicodedata

from pipeline.canonical_text import FIGURE
from pipeline.problem import Problem

_HYPERLINK = re.compile(
    r"(?:https?|ftp)://|\bwww\.|\\(?:url|href|includegraphics)\b|!\[[^\]]*\]\(|\bimage\d*\.(?:png|jpg|gif)|<img\b",
    re.IGNORECASE,
)
_SELF_CONTAINED = re.compile(
    r"\\begin\{(?:array|tabular|tikzpicture|asy|table|matrix|pmatrix|bmatrix|vmatrix|align|cases)"
    r"|\[asy\]|<asy>|\|\s*-{2,}"
)
_FIGURE_WORDS = re.compile(
    r"\b(?:figure|diagram|picture|drawing|image|histogram)\b(?: \w+){0,3} (?:below|above|shown)"
    r"|\b(?:see|refer to|look at|consult) the (?:figure|diagram|picture|image)\b"
    r"|\b(?:in|from) the (?:given |following |accompanying )?(?:figure|diagram|picture|image)\b"
    r"|\bas (?:shown|illustrated|pictured|depicted)\b(?! (?:by|earlier|previously|that)\b)"
    r"|\b(?:is|are) (?:shown|pictured|graphed|illustrated|depicted)"
    r"(?:(?: \w+){0,3} (?:below|above|here)\b|\s*(?:[.,:]|\Z))"
    r"|\b(?:figure|diagram|graph) shows\b|\b(?:pictured|shown|graphed) below\b|\bgraph (?:below|above|shown)",
    re.IGNORECASE,
)


_TABLE_WORDS = re.compile(
    r"\b(?:based on|according to|from|in|use|using) the (?:table|chart|spreadsheet)\b(?: \w+){0,3}"
    r" (?:below|above|shown)"
    r"|\b(?:table|chart) (?:below|above) (?:shows|gives|lists)\b",
    re.IGNORECASE,
)
_TEXT_TABLE = re.compile(r"(?:^[^\n]*\d[^\n\d]+\d[^\n]*(?:\n|\Z)){2}", re.MULTILINE)


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
    if match is None and not _TEXT_TABLE.search(row.question):
        match = _TABLE_WORDS.search(row.question)
    return match.group() if match else None


_PROOF = re.compile(
    r"\b(?:dis)?prove(?: or disprove)?\b(?: (?:that|the|why|whether|if|there)\b)?|\bgive (?:a|the) proof\b"
    r"|\b(?:show|demonstrate|justify|verify|establish)(?:,? with proof,)?(?: (?:that|the|why|whether|if|there)\b"
    r"|(?=:? ?(?:\$|\\\()))",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\b(?:find|compute|determine|calculate|evaluate|what|how (?:many|much|long|far|old)|solve|simplify|express|give"
    r"|state|list)\b",
    re.IGNORECASE,
)


def find_proof(row: Problem) -> str | None:
    """Asks for a proof and for nothing that could be checked."""
    match = _PROOF.search(row.question) if row.verifier == "math" else None
    return match.group() if match and not _ASKS.search(_PROOF.sub(" ", row.question)) else None


_YES_NO = re.compile(
    r"\\?(?:text|textbf|mathrm|mathbf)?\s*\{?\s*(?:yes|no|true|false)\s*\}?(?:\.?|[,;:.]\s.*)",
    re.IGNORECASE | re.DOTALL,
)


def find_yes_no(row: Problem) -> str | None:
    return row.ground_truth if _YES_NO.fullmatch(row.ground_truth) else None


_PARTS = re.compile(
    r"(?:^|\n|\s)(?:\(?([a-d]|i{1,3}|iv|[1-4])[).]|\(([A-D]|I{1,3}|IV)\)|(?:Part|Question|Problem) ([1-4])[:.])"
    r"\s+(?=[A-Z\\$])"
)
_PART_ASKS = re.compile(
    r"\?|(?:\A|[.;:]\s+)(?:what|how|which)\b"
    r"|(?:\A|[.;,:]\s+|\b(?:then|and|to)\s+)(?:find|compute|determine|calculate|evaluate|solve|simplify|express|give|state"
    r"|list|prove|show|write|use)\b",
    re.IGNORECASE,
)
_TWO_PARTS = (("a", "b"), ("i", "ii"), ("1", "2"), ("A", "B"), ("I", "II"))


def find_parts(row: Problem) -> str | None:
    """Several questions in one: lettered parts of which each asks."""
    marks = list(_PARTS.finditer(row.question))
    labels = [next(filter(None, mark.groups())) for mark in marks]
    for first, second in _TWO_PARTS:
        if first not in labels or second not in labels[labels.index(first) :]:
            continue
        start = marks[labels.index(first)].end()
        middle = labels.index(second, labels.index(first))
        pieces = (row.question[start : marks[middle].start()], row.question[marks[middle].end() :])
        if all(_PART_ASKS.search(piece) for piece in pieces):
            return f"({first}) and ({second})"
    return None


_STATED = re.compile(
    r"(?P<open>####|\b(?:final |correct )?answer\s*[:=]|\bans\s*[:.=])|\bthe (?:final |correct )?answer is:?"
    r"|(?P<box>\\boxed\s*\{)",
    re.IGNORECASE,
)
_BEFORE_VALUE = re.compile(r"[\s$]*(?:\\boxed\s*\{)?[\s$]*")
_VALUE_ENDS = re.compile(r"[\s$}]*(?:[.,](?!\d)|[;:!)\]]|\Z)|[$} \t]*\n")
_WORD_FOLLOWS = re.compile(r"[$}]*\s+[A-Za-z]")
_COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LONGEST_STATED = 300


def find_leak(row: Problem) -> str | None:
    """The question states its own answer: `the answer is 5 less than 10` does not, `Answer: 5 apples` does."""
    gold = _COMMA.sub("", row.ground_truth.strip().strip("$"))
    for mark in _STATED.finditer(row.question) if gold else ():
        start = _BEFORE_VALUE.match(row.question, mark.end())
        tail = _COMMA.sub("", row.question[start.end() if start else mark.end() :][: len(gold) + _LONGEST_STATED])
        if not tail.startswith(gold):
            continue
        after = tail[len(gold) :]
        ends = after.startswith("}") if mark["box"] else _VALUE_ENDS.match(after)
        if ends or (mark["open"] and _WORD_FOLLOWS.match(after)):
            return mark.group()
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
    ("GREEK", "el"),
    ("ARMENIAN", "hy"),
    ("GEORGIAN", "ka"),
    ("BENGALI", "bn"),
    ("TAMIL", "ta"),
    ("TELUGU", "te"),
    ("KANNADA", "kn"),
    ("MALAYALAM", "ml"),
    ("GUJARATI", "gu"),
    ("GURMUKHI", "pa"),
    ("SINHALA", "si"),
    ("MYANMAR", "my"),
    ("KHMER", "km"),
    ("LAO", "lo"),
    ("ETHIOPIC", "am"),
)
_GREEK_SYMBOL = re.compile("(?<![\u0370-\u03ff\u1f00-\u1fff])[\u0370-\u03ff]{1,2}(?![\u0370-\u03ff\u1f00-\u1fff])")
_MATHEMATICS = re.compile(r"\$[^$]*\$|\\[A-Za-z]+|\\\(.*?\\\)|\\\[.*?\\\]", re.DOTALL)


def main_script(text: str) -> str:
    """Language of the commonest script among words, mathematics left out; "en" for Latin, and for too little text."""
    if text.isascii():
        return "en"
    prose = _GREEK_SYMBOL.sub(" ", _MATHEMATICS.sub(" ", text))
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


_BARE = re.compile(r"\\(?:text|mbox|textrm|textbf|mathrm)\s*\{[^{}]*\}")
_DANGLING = re.compile(
    r"(?:\\[dt]?frac\s*(?:\{[^{}]*\}|\w)?|\\sqrt|\\cdot|\\times|\\pm|[*/^_]|=|(?<=[\d\s}])\+)\s*\Z|=\s+=|[+=]\s*[*/]"
)


def find_broken_gold(gold: str) -> str | None:
    """What shows that a formula is cut off or garbled: brackets that do not balance, operators without operands."""
    bare = _BARE.sub("t", gold)
    delimited = len(re.findall(r"\\left(?![a-z])", bare)), len(re.findall(r"\\right(?![a-z])", bare))
    if delimited[0] != delimited[1]:
        return "\\left without \\right"
    if bare.count("\\begin{") != bare.count("\\end{"):
        return "\\begin without \\end"
    plain = re.sub(r"\\[{}]", "", bare)
    if plain.count("{") != plain.count("}"):
        return "braces"
    opened, closed = (sum(map(plain.count, marks)) for marks in ("([", ")]"))
    if opened != closed and not delimited[0] and "begin{" not in bare:
        return "brackets"
    match = _DANGLING.search(bare)
    return match.group() if match else None


_ZERO = r"0+(?:\.0*)?(?![\d.^!])"
_NO_VALUE = re.compile(
    rf"\\[dt]?frac\s*\{{[^{{}}]*\}}\s*\{{\s*{_ZERO}\s*\}}|(?:/|\\div)\s*{_ZERO}|\\(?:log|ln|lg)\s*[({{]?\s*{_ZERO}(?!\s*[+*])"
    rf"|(?<![\d.])0\s*\^\s*\{{?\s*-|\\infty\s*(?:-|/|\\div)\s*\\infty|(?<![\d.])0\s*(?:\*|\\cdot|\\times)\s*\\infty"
    r"|\\frac\s*\{\s*\\infty\s*\}\s*\{\s*\\infty\s*\}"
)


def find_undefined_gold(gold: str) -> str | None:
    """A quotient by zero, a logarithm of zero and their like: no value, so equal to nothing, not even to itself."""
    match = _NO_VALUE.search(gold)
    return match.group() if match else None
