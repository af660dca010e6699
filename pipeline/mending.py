"""What can be mended with certainty in a question or a gold: encoding, markup, wrappers, needless options."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace

from ftfy import fix_encoding
from ftfy.badness import is_bad

from pipeline.canonical_text import FIGURE, split_options, strip_instructions
from pipeline.fields import last_boxed
from pipeline.gold import with_meta
from pipeline.problem import Problem

_PAIRED = re.compile(r"\[(i|b|u)\](.*?)\[/\1\]", re.IGNORECASE | re.DOTALL)
_BBCODE = re.compile(r"\[/?(?:list|hide|center|quote|url|size|color)(?:=[^\]\n]{0,40})?\]|\[\*\]", re.IGNORECASE)
_CREDIT = re.compile(
    r"(?:\n\s*|\s{2,}|(?<=[.?!$\]])\s*)(?:\(?\[i\][^\[\]\n]{0,120}(?:\[/i\]\)?\.?)?|\[i\])\s*\Z|\n\s*\(\s*\Z",
    re.IGNORECASE,
)
_BLOCK_TAG = re.compile(r"</?(?:p|br|div|center)\s*/?>", re.IGNORECASE)
_INLINE_TAG = re.compile(r"</?(?:span|b|i|em|strong|u)\s*>", re.IGNORECASE)
_SCRIPT_TAG = re.compile(r"<(su[bp])>([^<>]{1,40})</\1>", re.IGNORECASE)
_ENTITY = {"&nbsp;": " ", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u200e\u200f\u2060\ufeff]")


def mend_question(text: str) -> tuple[str, list[str]]:
    """The question without mojibake, markup, credits and prompt boilerplate; and what was mended."""
    notes: list[str] = []
    steps: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("mojibake", mend_mojibake),
        ("escapes", mend_escapes),
        ("control-characters", lambda value: _CONTROL.sub("", value)),
        ("appendix", _without_appendix),
        ("credit", _without_credit),
        ("markup", _without_markup),
        ("instructions", strip_instructions),
    )
    for name, step in steps:
        mended = step(text)
        if mended.split() != text.split():
            notes.append(name)
        text = mended
    return text.strip(), notes


_ESCAPED = re.compile(
    r"\x0c(?=rac|orall)|\x08(?=egin|eta\b|inom|ar\b|oxed|ullet|igg?\b)|\t(?=imes|ext[{a-z]|heta|an\b|riangle|frac)"
    r"|\r(?=ight|ho\b)|\x07(?=lpha|ngle)|\x0b(?=ec\b|dots)"
)
_LETTER_OF = {"\x0c": "\\f", "\x08": "\\b", "\t": "\\t", "\r": "\\r", "\x07": "\\a", "\x0b": "\\v"}


def mend_escapes(text: str) -> str:
    """LaTeX commands whose backslash was read as an escape: a form feed before `rac` is `\\frac`."""
    return _ESCAPED.sub(lambda match: _LETTER_OF[match.group()], text)


def mend_mojibake(text: str) -> str:
    """UTF-8 read as something else is read rightly; nothing else is touched, and mathematics is not mojibake."""
    if text.isascii() or not is_bad(text):
        return text
    return fix_encoding(text)


_APPENDIX = re.compile(r"\n\s*(?:hints?|diagram|(?:video )?solution)\s*:?\s*\n.*\Z", re.IGNORECASE | re.DOTALL)


def _without_appendix(text: str) -> str:
    """Without a hint, a link to a drawing or a solution under a heading of its own at the end; figures stay."""
    match = _APPENDIX.search(text)
    if match is None or not text[: match.start()].strip() or FIGURE.search(match.group()):
        return text
    return text[: match.start()]


def _without_credit(text: str) -> str:
    shortened = _CREDIT.sub("", text.rstrip())
    return shortened if shortened.strip() else text


def _without_markup(text: str) -> str:
    if "[" not in text and "<" not in text and "&" not in text:
        return text
    kept: list[str] = []
    place = 0
    for figure in FIGURE.finditer(text):
        kept += [_markup(text[place : figure.start()]), figure.group()]
        place = figure.end()
    return "".join((*kept, _markup(text[place:])))


def _markup(text: str) -> str:
    text = _PAIRED.sub(r"\2", text)
    text = _SCRIPT_TAG.sub(lambda match: ("^" if match[1].lower() == "sup" else "_") + f"{{{match[2]}}}", text)
    text = _INLINE_TAG.sub("", _BLOCK_TAG.sub(" ", text))
    text = _BBCODE.sub(lambda match: "\n- " if match.group() == "[*]" else "", text)
    for entity, plain in _ENTITY.items():
        text = text.replace(entity, plain)
    return text


_AROUND_BOX = re.compile(r"[\d=+*/^<>]|\\(?![\[\]() ])")
_DELIMITED = re.compile(
    r"\\\((?P<inline>(?:(?!\\[()]).)+)\\\)\.?|\\\[(?P<display>(?:(?!\\[\[\]]).)+)\\\]\.?", re.DOTALL
)


def mend_gold(text: str) -> str:
    """The gold out of its wrappers: one \\boxed{} with prose around it, one pair of dollars or of LaTeX's brackets."""
    gold = unicodedata.normalize("NFC", mend_mojibake(mend_escapes(text))).strip()
    inner = last_boxed(gold) if gold.count("boxed") == 1 else None
    if inner and not _AROUND_BOX.search(re.sub(r"\\f?boxed\s*", "", gold.replace(inner, "", 1)).replace("{}", "")):
        gold = inner
    delimited = _DELIMITED.fullmatch(gold)
    if delimited:
        gold = next(filter(None, delimited.groups())).strip()
    if len(gold) > 2 and gold[0] == gold[-1] == "$" and "$" not in gold[1:-1]:
        gold = gold[1:-1].strip()
    return gold


_CHOICE_GOLD = re.compile(r"\\?(?:text|textbf|mathrm|mathbf)?\s*\{?\s*\(?([A-J])\)?\s*\}?\.?")
_NEEDS_OPTIONS = re.compile(
    r"\bwhich\b(?! (?:angle|side|day|month|year|digit|number is))|\bof (?:these|the following|the above)\b"
    r"|\bfollowing\b"
    r"|\b(?:most|least) likely\b"
    r"|\bclosest\b|\bbest\b|\bnone of\b|\ball of the above\b|\bnearest to\b|\bmust be\b|\bcould be\b|\bexcept\b"
    r"|\bequals\s*:|\bapproximate(?:ly)?\b|\broughly\b|\babout how\b|\bestimate\b"
    r"|\bis\s*:?\s*\Z|\bare\s*:?\s*\Z|\bletter\b|\bchoices?\b|\boptions?\b|:\s*\Z",
    re.IGNORECASE,
)
_LETTER_WANTED = re.compile(r"\(?(?:enter|type|write|give|choose) the letter[^\n]*", re.IGNORECASE)
_LETTER_ASKED = re.compile(
    r"\b(?:enter|type|write|give|choose|select|state|identify|provide) the letters?\b|\bits letter\b"
    r"|\bwhich of (?:the following|these)\b|\bwhich (?:graph|figure|diagram|picture)\b",
    re.IGNORECASE,
)
_FREE_OPTION = re.compile(r"none of|all of the|cannot be|not enough|both |neither|\bnone\b|\bN/?A\b", re.IGNORECASE)


def open_choice(row: Problem) -> tuple[Problem, str | None]:
    """A multiple-choice row in open form when its options do not matter; (row, reason) when they do."""
    stem, options = split_options(row.question)
    if not options:
        lettered = _wants_lost_option(row)
        return row, "multiple-choice" if lettered else None
    letter = _CHOICE_GOLD.fullmatch(row.ground_truth)
    if row.verifier == "choice":
        return row, None
    *others, last = options
    last, _, tail = last.strip().partition("\n")
    if tail.strip() and not _LETTER_WANTED.fullmatch(tail.strip()):
        return row, "multiple-choice"
    values = [_option_value(option) for option in (*others, last)]
    place = ord(letter.group(1)) - ord("A") if letter is not None else None
    gold = row.ground_truth if place is None else values[place] if place < len(values) else ""
    matters = _NEEDS_OPTIONS.search(stem.strip()) or any(_FREE_OPTION.search(value) for value in values)
    if matters or not (_ASKS_OPENLY.search(stem) and _is_checkable(gold)):
        return row, "multiple-choice"
    opened = replace(row, question=_tidy_stem(stem), ground_truth=gold)
    return with_meta(opened, opened_choice=True, choice_gold=row.ground_truth), None


_ASKS_OPENLY = re.compile(
    r"\?|=\s*\$?\s*\Z|\b(?:find|compute|determine|calculate|evaluate|solve|simplify|what|how|express|write|factor)\b",
    re.IGNORECASE,
)
_CHECKABLE = re.compile(r"\d|\\[A-Za-z]|[\^_=+/*<>π√∞]|\A[A-Za-z]\Z")
_PROSE_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
MOST_WORDS = 2
"""Words of a gold up to which it is a value with its unit, and no sentence."""


def _is_checkable(gold: str) -> bool:
    """A number or formula, perhaps with a unit: what rules can compare without having seen the options."""
    return _CHECKABLE.search(gold) is not None and len(_PROSE_WORD.findall(gold)) <= MOST_WORDS


def _wants_lost_option(row: Problem) -> bool:
    """Asks for the letter of an option: of one in small letters in the text, or of one that is nowhere in it."""
    small = re.fullmatch(r"\(([a-e])\)", row.ground_truth)
    if small is not None:
        return all(f"({label})" in row.question for label in ("a", "b", small.group(1)))
    letter = _CHOICE_GOLD.fullmatch(row.ground_truth)
    if letter is None:
        return False
    if _LETTER_ASKED.search(row.question):
        return True
    shown = re.search(rf"(?<![A-Za-z]){letter.group(1)}(?![A-Za-z])", row.question)
    return shown is None and re.search(r"\bletter\b|\bwhich of\b", row.question, re.IGNORECASE) is not None


def _option_value(option: str) -> str:
    value = re.sub(r"\\(?:qquad|quad|hspace\{[^}]*\}|[ ,;!])|~", " ", option)
    value = re.sub(r"\A(?:[\s:.)}\]$]|\\(?![A-Za-z]))*(?=\S)|[\s,;.$\\]+\Z", "", value)
    return value.strip()


def _tidy_stem(stem: str) -> str:
    """The stem without the opening mark of the formula that held the options. Other dollars may be prices."""
    stem = re.sub(r"(?:\\(?:qquad|quad|hspace\{[^{}]*\}|[,;!])\s*)+\Z", "", stem.rstrip()).rstrip()
    if stem.endswith("$") and len(re.findall(r"(?<!\\)\$", stem)) % 2 == 1:
        stem = stem[:-1]
    return re.sub(r"(?:\\\[|\\\()\s*\Z", "", stem).rstrip()
