"""Text of a problem -> raw tokens: boilerplate and options taken off, Unicode and LaTeX spellings folded, words apart
from mathematics.

Most texts hold little of what is folded here, so each step is tried only where a cheap look says that it may apply.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections.abc import Iterator

from pipeline.boilerplate import ANSWER_FORMAT, INSTRUCTIONS, TRIGGERS
from pipeline.lexicon import FUNCTIONS, NUMBER_WORDS, STYLE, SYMBOLS

FIGURE = re.compile(
    r"\[asy\](.*?)(?:\[/asy\]|\Z)|\\begin\{(asy|tikzpicture)\}(.*?)(?:\\end\{\2\}|\Z)|<asy>(.*?)</asy>", re.DOTALL
)
OPTION = re.compile(
    r"(?:(?<=[\s~}$])|(?<=\\\[)|(?<=quad))(?:\\(?:text|textbf|textrm|mathrm|mathbf|rm|bf)\s*\{?\s*)?"
    r"(?:\(([A-J])\)|\b([A-J])[).:])(?:\s*\})?"
)
_FORMAT = re.compile("|".join(f"(?:{pattern})" for pattern in ANSWER_FORMAT), re.IGNORECASE)
_INSTRUCTION = re.compile("|".join(f"(?:{pattern})" for pattern in INSTRUCTIONS), re.IGNORECASE)
_PREFIX = re.compile(
    r"\A\s*(?:(?:problem|question|exercise|example|task|q)\s*\d*\s*[.:)]|\(?\d{1,3}[.)](?=\s+[A-Z\\$(\[]))\s*",
    re.IGNORECASE,
)
_FIGURE_STYLE = re.compile(
    r"\b(?:size|unitsize|defaultpen|import|dotfactor|usepackage|markscalefactor|filldrawpen)\b[^;\n]*;?"
)
_LINK = re.compile(r"https?://\S+|\\url\s*\{[^{}]*\}")
_FRACTION_WORDS = re.compile(
    r"\b(one|two|three|four|five|six|seven|eight|nine)[- ](half|halves|thirds?|fourths?|quarters?|fifths?|sixths?"
    r"|sevenths?|eighths?|ninths?|tenths?)\b|\ba(n?) (eighth|ninth|tenth|sixth|seventh)\b(?= of|[.,;])",
    re.IGNORECASE,
)
_FOLD_WORDS = re.compile(r"\b(two|three|four|five|six|seven|eight|nine|ten)-?fold\b", re.IGNORECASE)
_LETTERS = re.compile(r"(?<![A-Za-z\\{_^])[A-Z](?: [A-Z]){1,4}(?![A-Za-z])")
_HYPHEN = re.compile(r"(?<=[A-Za-z0-9])-(?=[A-Za-z]{2})")
_MONEY = re.compile(r"\A\s*[\d.,]+[^\\$=^_<>]*?(?:\b[A-Za-z]{4,}\b|\b[A-Za-z]{2,}\b[^\\$=^_<>]*?\b[A-Za-z]{2,}\b)")
_HEADING = re.compile(
    r"\A\s*(?:\[[^\]\n$]{0,60}\b(?:19|20)\d\d\b[^\]\n$]{0,60}\]|\((?=[^()]*[A-Za-z]{2})[^()$\n]{0,60}\b(?:19|20)\d\d\b[^()$\n]{0,60}\)"
    r"|[(\[]\s*\d+\s*(?:points?|marks?|pts)\.?\s*[)\]])\s*(?=\S)",
    re.IGNORECASE,
)
_ROOT_SIGN = re.compile(r"√\s*(\d+(?:\.\d+)?|[A-Za-z])")
_TEXT_IN_MATH = re.compile(r"\\(?:text|mbox|textrm|textbf|textit|hbox)\s*\{([^{}]*)\}")
_SECOND_PART = re.compile(r"(?:\s|\()2[.)]\s")
_SCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙᵢ", "0123456789+-=()ni0123456789+-=()ni")
_SUPER = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ]+")
_SUB = re.compile(r"[₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙᵢ]+")
_GREEK_LETTER = re.compile("[\u0391-\u03c9]")
_SYMBOL = re.compile("|".join(map(re.escape, SYMBOLS)))
_THOUSANDS = re.compile(r"\d(?<![\d.,(\[{]\d)(?<!\{ \d)\d{0,2}(?:,\d{3})+(?![\d,]|\.\d{4})")
_LATEX_THOUSANDS = re.compile(r"(?<=\d)(?:\{,\}|,?\\!,?|\\,|,\\,)(?=\d{3}(?!\d))")
_BBCODE = re.compile(
    r"\[/?(?:i|b|u|list|\*|quote|center|hide|color|url|img|size|code|tex|list=\w+|color=\w+)\]", re.IGNORECASE
)
_ARRAY_SPEC = re.compile(r"(\\begin\{(?:array|tabular|alignat\*?)\})\s*\{[^{}]*\}")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[a-zA-Z]+\*?\}(?:\[[a-z]+\])?")
_DISPLAY = re.compile(r"\\(begin|end)\s*\{(?:align|gather|equation|eqnarray|multline|alignat)\*?\}")
_DEGREES = re.compile(r"\^\s*\{?\s*\\(?:circ|degree)\s*\}?")
_EMPTY_SCRIPT = re.compile(r"[_^]\{\s*\}")
_NON = re.compile(r"\bnon-(?=[a-z])", re.IGNORECASE)
_MATH_SPAN = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_PROSE = re.compile(r"(?:\b[a-z]{2,}[ ,]+){3}[a-z]{2,}")
_SIGNS = r"<=|>=|!=|:=|->|==|\.\.\.|[^\s]"
_START = r"\x02[^\x03]*\x03|\d+(?:\.\d+)?|\.\d+|\\[A-Za-z]+|\\.|[^\W\d_]+"
_TOKEN = re.compile(rf"{_START}(?:[-'][^\W\d_]+)*|{_SIGNS}")
_MATH_TOKEN = re.compile(rf"{_START}|{_SIGNS}")
"""In mathematics a hyphen is a minus sign."""
_WHOLE_WORDS = FUNCTIONS | {
    "if", "for", "all", "and", "or", "of", "is", "to", "in", "on", "at", "by", "the", "are", "not", "any", "odd",
}  # fmt: skip
"""Words of up to three letters that stand in mathematics as words; others there are products of variables."""
MASK_START, MASK_END = "\x02", "\x03"
"""What a figure's hash stands between, so that it stays one token."""


def strip_instructions(text: str) -> str:
    """Without prompt boilerplate and a leading problem number. Never empty unless the text was."""
    bare = _INSTRUCTION.sub(" ", text) if _mentions(text, TRIGGERS) else text
    has_parts = _mentions(bare, ("2.", "2)")) and _SECOND_PART.search(bare)
    stripped = (bare if has_parts else _HEADING.sub("", _PREFIX.sub("", _HEADING.sub("", bare)))).strip()
    return stripped or text.strip()


def strip_answer_format(text: str) -> str:
    """Without sentences on how to write the answer. Never empty unless the text was."""
    if not _mentions(text, TRIGGERS):
        return text
    return _FORMAT.sub(" ", text).strip() or text


def _mentions(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words (in lower case) stands in the text, in whatever case."""
    lower = text.lower()
    return any(word in lower for word in words)


def split_options(text: str) -> tuple[str, list[str]]:
    """(stem, options) when labels A, B, C ... stand in order and at least three of them do; else (text, [])."""
    if not all(any(label + end in text for end in ").:") for label in "ABC"):
        return text, []
    marks = list(OPTION.finditer(text))
    labels = [match.group(1) or match.group(2) for match in marks]
    for first in range(len(marks) - 2):
        if labels[first] != "A":
            continue
        last = first
        while last + 1 < len(marks) and labels[last + 1] == chr(ord(labels[last]) + 1):
            last += 1
        if last - first >= 2:
            edges = [*(mark.start() for mark in marks[first : last + 1]), len(text)]
            pieces = [text[marks[first + place].end() : edges[place + 1]] for place in range(last - first + 1)]
            return text[: edges[0]], pieces
    return text, []


def raw_tokens(text: str) -> list[str]:
    """LaTeX commands, words, numbers and signs in order; commands of mere style are gone."""
    return list(itertools.chain.from_iterable(_split(piece, in_math) for piece, in_math in _spans(_prepare(text))))


def _prepare(text: str) -> str:
    if MASK_START in text or MASK_END in text:
        text = text.replace(MASK_START, " ").replace(MASK_END, " ")
    if "asy" in text or "tikz" in text:
        text = FIGURE.sub(_figure_mark, text)
    if "http" in text or "\\url" in text:
        text = _LINK.sub(" ", text)
    text = _spelled_numbers(text)
    if not text.isascii():
        text = _plain_unicode(text)
    if "[" in text:
        text = _BBCODE.sub(" ", text)
    if "\\" in text or "{,}" in text or "{}" in text:
        text = _plain_latex(text)
    return _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text) if "," in text else text


_PART_STEMS = ("hal", "third", "fourth", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _counted(words: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * place for place, word in enumerate(words.split(" "))}


_UNITS = _counted("one two three four five six seven eight nine", 1)
_TEENS = _counted("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10)
_TENS = _counted("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
_SMALL = _UNITS | _TEENS | _TENS
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "dozen": 12}
_TENS_AND_UNITS = rf"(?:{'|'.join(_TENS)})[- ](?:{'|'.join(_UNITS)})"
_BELOW_100 = rf"(?:{_TENS_AND_UNITS}|{'|'.join(_SMALL)})"
_SCALE = rf"(?:{'|'.join(_SCALES)})"
_SCALED = rf"(?:{_BELOW_100}|a|\d+(?:\.\d+)?)[- ]{_SCALE}(?:(?: and)? {_BELOW_100}(?![- ]{_SCALE}))?"
_COMPOUND = re.compile(rf"\b(?:{_SCALED}|{_TENS_AND_UNITS})\b", re.IGNORECASE)
_COMPOUND_CLUES = (*_SCALES, *_TENS)
_NOT_ZERO = re.compile(r"\b(?:not|non)[- ](?:equal to )?(?:zero|0)\b", re.IGNORECASE)


def _compound(match: re.Match[str]) -> str:
    """`twenty-one`, `three hundred and five`, `2 dozen`, `2.5 million` as a number."""
    value = 0.0
    for word in match.group().lower().replace("-", " ").split():
        if word in _SCALES:
            value = (value or 1) * _SCALES[word]
        elif word not in ("a", "and"):
            value += _SMALL[word] if word in _SMALL else float(word)
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _spelled_numbers(text: str) -> str:
    lower = text.lower()
    if "non-" in lower:
        text = _NON.sub("non", text)
    if "zero" in lower or "not 0" in lower:
        text = _NOT_ZERO.sub("nonzero", text)
    if any(word in lower for word in _COMPOUND_CLUES):
        text = _COMPOUND.sub(_compound, text)
    if "fold" in lower:
        text = _FOLD_WORDS.sub(r"\1 times", text)
    if any(part in lower for part in _PART_STEMS):
        text = _FRACTION_WORDS.sub(_spelled_fraction, text)
    return text


def _plain_unicode(text: str) -> str:
    """Scripts and symbols before NFKC, which would make `x2` of a square; symbols again for what it uncovers."""
    text = _ROOT_SIGN.sub(r"\\sqrt{\1}", text)
    text = _SUPER.sub(lambda match: "^{" + match.group().translate(_SCRIPTS) + "}", text)
    text = _SUB.sub(lambda match: "_{" + match.group().translate(_SCRIPTS) + "}", text)
    text = _SYMBOL.sub(lambda match: SYMBOLS[match.group()], text)
    text = _GREEK_LETTER.sub(_greek_name, unicodedata.normalize("NFKC", text))
    return _SYMBOL.sub(lambda match: SYMBOLS[match.group()], text)


def _plain_latex(text: str) -> str:
    if "{}" in text:
        text = _EMPTY_SCRIPT.sub("", text)
    if "\\begin" in text or "\\end" in text:
        text = _DISPLAY.sub(_display_mark, _ARRAY_SPEC.sub(r"\1", text))
        text = _ENVIRONMENT.sub(" ", text)
    text = text.replace("\\$", " ").replace("\\%", "%").replace("\\\\", " ").replace("\\#", "#").replace("\\&", " and ")
    return _LATEX_THOUSANDS.sub("", _DEGREES.sub(" degrees ", text))


def _display_mark(match: re.Match[str]) -> str:
    return " \\[ " if match.group(1) == "begin" else " \\] "


_PART_NAMES = ("half", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _spelled_fraction(match: re.Match[str]) -> str:
    top, part = (match.group(1) or "one").lower(), (match.group(2) or match.group(4)).lower()
    part = {"halves": "half", "quarter": "fourth", "quarters": "fourth"}.get(part, part.removesuffix("s"))
    return f" \\frac{{{NUMBER_WORDS.get(top, '1')}}}{{{_PART_NAMES.index(part) + 2}}} "


def _greek_name(match: re.Match[str]) -> str:
    name = unicodedata.name(match.group(), "").split(" ")
    word = name[3] if len(name) == 4 else "unknown"
    word = word.lower().replace("lamda", "lambda")
    return f" \\{word.capitalize() if 'CAPITAL' in name else word} "


def _figure_mark(match: re.Match[str]) -> str:
    """A figure as the hash of its code without comments, sizes, pens and white space."""
    body = next(group for group in (match.group(1), match.group(3), match.group(4), "") if group is not None)
    body = _FIGURE_STYLE.sub("", re.sub(r"//[^\n]*", "", body))
    digest = hashlib.blake2b(re.sub(r"\s+", "", body).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f" {MASK_START}fig{digest}{MASK_END} "


def _spans(text: str) -> Iterator[tuple[str, bool]]:
    """Pieces of the text with whether they are mathematics; a dollar sign before prose is money."""
    place = 0
    while match := _MATH_SPAN.search(text, place):
        body = next(group for group in match.groups() if group is not None)
        if match.group(2) is not None and _is_prose(body):
            cut = match.start() + 1
            yield text[place : cut - 1], False
            place = cut
            continue
        yield text[place : match.start()], False
        yield body, True
        place = match.end()
    yield text[place:], False


def _is_prose(body: str) -> bool:
    """Whether what stands between two dollar signs is a sentence between two prices."""
    bare = re.sub(r"\\(?:text|mbox|textrm)\s*\{[^{}]*\}", "", body)
    return bool(_PROSE.search(bare) or _MONEY.match(bare))


def _split(piece: str, in_math: bool) -> list[str]:
    if in_math and "\\" in piece and _TEXT_IN_MATH.search(piece):
        parts = _TEXT_IN_MATH.split(piece)
        return [token for place, part in enumerate(parts) for token in _split(part, place % 2 == 0)]
    if not in_math:
        found = _TOKEN.findall(_HYPHEN.sub(" ", piece) if "-" in piece else piece)
        return [token for token in found if not _is_style(token)] if "\\" in piece else found
    out: list[str] = []
    for token in _MATH_TOKEN.findall(_LETTERS.sub(lambda match: match.group().replace(" ", ""), piece)):
        if token.isalpha() and _is_product(token):
            out += token
        elif not _is_style(token):
            out.append(token)
    return out


def _is_product(token: str) -> bool:
    """Letters in mathematics that are variables side by side: `xy`, `xyzR`; no label of points, no word."""
    if token.islower():
        return len(token) <= 3 and token not in _WHOLE_WORDS
    return len(token) <= 4 and not token.isupper() and not token[1:].islower()


def _is_style(token: str) -> bool:
    return token[0] == "\\" and token[1:] in STYLE
