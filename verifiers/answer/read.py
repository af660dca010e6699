"""Text of an answer to its typed readings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from verifiers.answer import calendar, regions, tree, units, wordlists
from verifiers.answer.kinds import Answer, Bag, Based, Ordered, Region, Scalar, Text, Word
from verifiers.answer.lists import listed
from verifiers.answer.notations import arrangements, rewritten
from verifiers.answer.scalars import TIGHT_UNITS
from verifiers.answer.spoken import in_signs, with_digits
from verifiers.answer.structure import structure
from verifiers.answer.tokens import Token, tokenise, without_doubled_braces
from verifiers.answer.tree import TooComplex, Unreadable
from verifiers.normalise import fold_spaces, key, plain, unfence

_WORDY = re.compile(r"(?<![\\A-Za-z])(?:[A-Za-z]{2,}|[A-Za-z]\.[A-Za-z](?![A-Za-z]))|[\u3400-\u9fff]")
_COMMAND_TEXT = re.compile(
    r"\\(?:text|textbf|textit|texttt|textsf|textsc|textup|mathrm|mathbf|mathsf|mathtt|mathit|mbox|textrm|operatorname|emph"
    r"|underline|boxed|rm|bf|it|tt|sf)\b\s?"
)
_VALUED = re.compile(r"\\[A-Za-z]")
_COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)")
_CHOICE = re.compile(
    r"\s*(?:option|choice|选项)?\s*[\[(]?\s*([A-Z])\s*(?:[\])]\s*[.:]?|[.:](?=\s|$)|$)\s*(.*)", re.S | re.I
)
_LETTERS = re.compile(r"\s*[\[(]?\s*[A-J]\s*[\])]?(?:\s*(?:,|and|&|;)\s*[\[(]?\s*[A-J]\s*[\])]?)+\s*")
_DATE_MARKS = re.compile(r"(?i:\d\s?[ap]\.?\s?m)|\d\s?[-/年:.点时]\s?\d|[A-Za-z]{3}|[年月点时周]|星期|礼拜")
_HOURS = re.compile(r"\d{1,2}h\d{2}")
_LAST_LETTER = "J"
_FILLERS = listed("on at in it is the a an day of falls was be will")
MAX_WORDS = 400
MAX_RAW = 64_000


def textual(text: str) -> str:
    """The text without LaTeX: text commands give their content, other commands a space."""
    bare = (
        _COMMAND.sub(" ", _COMMAND_TEXT.sub(" ", text))
        .replace("{", " ")
        .replace("}", " ")
        .replace("$", " ")
        .replace("~", " ")
    )
    return fold_spaces(bare)


_ISO_DATE = re.compile(r"\d{4}\s?[-/]\s?\d{1,2}\s?[-/]\s?\d{1,2}|\d{1,2}/\d{1,2}/\d{4}")


def prepared(text: str) -> str:
    """The plain form that is tokenised."""
    text = without_doubled_braces(unfence(plain(text)))
    if len(text) > tree.MAX_CHARS:
        raise TooComplex("too many characters")
    text = rewritten(text)
    if text.startswith("$") and text.count("$") == 1:
        text = "\\" + text
    return text


def readings(text: str) -> tuple[Answer, ...]:
    """Every way to read an answer, the likeliest first; empty for empty text. Raises TooComplex."""
    if len(text) > MAX_RAW:
        raise TooComplex("too many characters")
    text = prepared(text)
    if not text:
        return ()
    if _ISO_DATE.fullmatch(text):
        return tuple(Word("date", value) for value in calendar.dates(text))
    found: list[Answer] = []
    wordy = bool(_WORDY.search(text))
    if wordy:
        found.extend(_closed(text))
        if any(isinstance(answer, Word) and answer.kind in ("date", "time") for answer in found) and " to " not in text:
            return tuple(found)
    else:
        letter = _letter(text)
        if letter is not None:
            found.append(letter)
    word = wordy and _is_word(text)
    for answer in _structured(text):
        if answer not in found and not (word and isinstance(answer, Scalar) and answer.node.op == "mul"):
            found.append(answer)
    found.extend(answer for answer in _more(text, wordy) if answer not in found)
    if not wordy and (":" in text or _HOURS.fullmatch(text)) and not _VALUED.search(_COMMAND_TEXT.sub("", text)):
        bare = textual(text)
        found.extend(Word("time", value) for value in calendar.times(bare) if calendar.is_clock(bare))
    if not wordy and not found[1:] and 2 in (text.count("-") + text.count("/"), text.count(".")):
        found.extend(Word("date", value) for value in calendar.dates(text) if calendar.is_date(text))
    if not found or (wordy and _all_text(text)):
        words = _words(text)
        if words and len(words) <= MAX_WORDS:
            found.append(Text(words))
    return tuple(found)


_TIGHT_FRACTION = re.compile(
    r"(.*\d\}?\s?)\\frac\{\s?(k?m|cm|k?g|J|N|L)\s?\}\{\s?(s|h|kg|cm|m|L|K)\s?(\^\{?\d\}?)?\s?\}", re.S
)
_INDEXED = re.compile(r"([A-Za-z])(\d{1,2})")
_PRIMED = re.compile(r"(-?\d+(?:\.\d+)?(?:\s\d+/\d+)?)\s?'(?!')(?:\s?(\d+(?:\.\d+)?)\s?(?:''|\"))?")
_DOUBLE_PRIMED = re.compile(r"(-?\d+(?:\.\d+)?(?:\s\d+/\d+)?)\s?(?:''|\")")
_HOURS_MINUTES = re.compile(r"(\d{1,3})\s?h\s?(\d{1,2})\s?m(?:in)?")
_ARRANGED = re.compile(r"P\((\d{1,4}),\s?(\d{1,4})\)")


def _primes(text: str) -> Iterator[str]:
    """5'6'' as feet and inches and as minutes and seconds of arc."""
    single, double = _PRIMED.fullmatch(text), _DOUBLE_PRIMED.fullmatch(text)
    if single is not None:
        for first, second in (("feet", "inches"), ("arcminutes", "arcseconds")):
            yield f"{single.group(1)} {first}" + (f" {single.group(2)} {second}" if single.group(2) else "")
    if double is not None:
        yield f"{double.group(1)} inches"
        yield f"{double.group(1)} arcseconds"


def _more(text: str, wordy: bool) -> Iterator[Answer]:
    """Rarer ways to read a text: mathematics said in words, 9.8\\frac{m}{s^2}, x1, P(7,3) as arrangements."""
    if text.startswith("{") and text.endswith("}") and "{" not in text[1:]:
        text = text[1:-1].strip() or text
    rewritten_text = in_signs(text) if wordy else None
    indexed = _INDEXED.fullmatch(text)
    arranged = _ARRANGED.fullmatch(text)
    tight = _TIGHT_FRACTION.fullmatch(text) if "frac" in text else None
    if indexed:
        yield Scalar(tree.symbol("_".join(indexed.groups())))
    elif arranged and int(arranged.group(1)) >= int(arranged.group(2)):
        rewritten_text = arrangements(*map(int, arranged.groups()))
    elif tight:
        rewritten_text = "{}\\text{{ {}/{}{} }}".format(*(group or "" for group in tight.groups()))
    elif _HOURS_MINUTES.fullmatch(text):
        rewritten_text = _HOURS_MINUTES.sub(r"\1 hours \2 minutes", text)
    texts = [rewritten_text] if rewritten_text else list(_primes(text)) if text[-1] in "'\"" else []
    for answer in (answer for one in texts for answer in _structured(one)):
        if not (isinstance(answer, Scalar) and answer.unit is not None and answer.unit.counted):
            yield answer


_NAME = re.compile(r"[A-Z][a-z]{2,}|[a-z]?[bcdfghjklmnpqrstvwxz][aeiou][a-z]*[a-z]")


def _is_word(text: str) -> bool:
    """red, Bob: no product of letters; abc and mgh are."""
    bare = _COMMAND_TEXT.sub("", text).strip("{} ")
    return len(bare) > 2 and _NAME.fullmatch(bare) is not None and bare != "".join(sorted(bare))


def _words(text: str) -> tuple[str, ...]:
    """Words of prose; for anything with signs that words would lose, the whole string as one word."""
    bare = textual(text)
    if _SIGNS.search(bare) or _COMMAND.search(_COMMAND_TEXT.sub(" ", text)):
        return (key(text),)
    return wordlists.words_of(bare)


def listed_words(text: str) -> Bag | None:
    """red, green and blue: a list of short phrases, in any order."""
    bare = textual(prepared(text))
    parts = [part for part in _LIST_MARKS.split(bare) if part.strip()]
    if not 2 <= len(parts) <= 20 or not all(_PHRASE.fullmatch(part.strip()) for part in parts):
        return None
    return Bag(tuple(Text(wordlists.words_of(part)) for part in parts))


_LIST_MARKS = re.compile(r"\s*(?:[,;]|\band\b|&)\s*")
_PHRASE = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,3}")
_ALL_TEXT = re.compile(r"(?:[^\W\d_]+|\d{1,3}(?:st|nd|rd|th) [^\W\d_]+)(?: [^\W\d_]+)*\.?")


def _all_text(text: str) -> bool:
    """Whether a text is words and nothing else, whatever their fonts."""
    bare = _COMMAND_TEXT.sub("", text)
    return "\\" not in bare and _ALL_TEXT.fullmatch(bare.strip("{}`'\" ")) is not None


_SIGNS = re.compile(r"[-+*/^_=<>|\\&%!]")


gold_readings = lru_cache(maxsize=8192)(readings)
"""A gold is read once; responses are not cached."""


def _structured(text: str) -> Iterator[Answer]:
    """Mathematics, with thousands separators and with commas that separate, with and without tight units."""
    seen: list[list[Token]] = []
    for group_commas in (True, False):
        try:
            tokens = tokenise(text, group_commas=group_commas)
        except Unreadable:
            return
        if tokens in seen:
            continue
        seen.append(tokens)
        for tight_units in (False, True) if _tight_unit(tokens) else (False,):
            try:
                yield structure(tokens, tight_units=tight_units)
            except Unreadable:
                continue
        if "," not in text:
            return


def _tight_unit(tokens: list[Token]) -> bool:
    """5m, 20g: a letter glued to a number may be a unit."""
    if len(tokens) < 2:
        return False
    place = len(tokens) - 1
    while place > 1 and (tokens[place].value in ("{", "}", "^", "-") or tokens[place].kind == "num"):
        place -= 1
    token, before = tokens[place], tokens[place - 1]
    known = token.value in TIGHT_UNITS or (token.kind == "letter" and token.value in "mgshLlNJWVKA")
    return known and not token.spaced and before.kind == "num"


def _letter(text: str) -> Word | None:
    bare = textual(text).strip()
    if _LETTERS.fullmatch(bare):
        return Word("letters", "".join(sorted(set(re.findall(r"[A-J]", bare)))))
    match = _CHOICE.fullmatch(bare)
    if match is None or not match.group(1).isupper() or match.group(1) > _LAST_LETTER:
        return None
    return Word("letter", match.group(1)) if not match.group(2) else None


def _closed(text: str) -> list[Answer]:
    """Closed classes of words that make up the whole answer."""
    bare = textual(text)
    words = wordlists.words_of(bare)
    if len(words) > MAX_WORDS or not words:
        return []
    found: list[Answer] = []
    if _LETTERS.fullmatch(bare):
        found.append(Word("letters", "".join(sorted(set(re.findall(r"\b[A-J]\b", bare))))))
    closed = wordlists.closed_class(words)
    if closed is not None:
        found.append(Word(*closed))
    sign = wordlists.infinite(words)
    if sign and not any(letter.isdecimal() for letter in bare):
        infinity = tree.constant("inf")
        found.append(Scalar(infinity if sign > 0 else tree.Node("neg", (infinity,))))
    if len(words) <= 2 and any(word in wordlists.TRUE or word in wordlists.FALSE for word in words):
        value = wordlists.truth(words)
        found.extend([Word("truth", value)] if value else [])
    number = wordlists.cardinal(words)
    if number is None:
        counted = words[1:] if words[:1] == ("the",) else words
        number = wordlists.ordinal(counted) if len(counted) <= 2 else None
    if number is None and len(words) == 1:
        number = wordlists.han(words[0].removeprefix("第"))
    unit = None
    if number is None and len(words) > 1:
        unit = units.noun(words[-1])
        head = words[:-1]
        while head and head[-1] in ("of", "a", "an", "the"):
            head = head[:-1]
        unit = None if " of the " in f" {' '.join(words)} " and unit is not None and unit.counted else unit
        number = wordlists.cardinal(head) if unit is not None else None
    if number is not None:
        found.append(Scalar(tree.number(number.numerator if number.denominator == 1 else number), unit))
    if words in (("origin",), ("the", "origin")):
        found.extend(Ordered((Scalar(tree.number(0)),) * size, "(", ")") for size in (2, 3))
    region = _reals(bare)
    if region is not None:
        found.append(region)
    found.extend(_moments(bare, words))
    return found


_EXCEPT = re.compile(
    r"(?:the set of )?(?:all )?(?:reals?(?: numbers?)?(?: x)?|x),? (?:except|excluding|other than)(?: for)? (.+)", re.I
)
_SIGNED = re.compile(
    r"(?:the set of )?(?:all |the )?(non-?negative|non-?positive|non-?zero|positive|negative) reals?(?: numbers?)?",
    re.I,
)
_SIGN_MARKS = {"nonnegative": r"\ge", "nonpositive": r"\le", "nonzero": r"\ne", "positive": ">", "negative": "<"}


def _reals(bare: str) -> Region | None:
    """All real numbers except 0; the positive reals."""
    signed = _SIGNED.fullmatch(bare.rstrip("."))
    if signed:
        return regions.half_line(_SIGN_MARKS[signed.group(1).lower().replace("-", "")], tree.number(0))
    spared = _EXCEPT.fullmatch(bare.rstrip("."))
    if spared is None:
        return None
    try:
        answer = structure(tokenise(spared.group(1)))
        return regions.without(regions.LINE, regions.region_of(answer))
    except Unreadable:
        return None


def _moments(bare: str, words: tuple[str, ...]) -> list[Answer]:
    if not _DATE_MARKS.search(bare) or len(words) > 12 or wordlists.NEGATIONS.intersection(words):
        return []
    content = [word for word in words if word not in _FILLERS]
    bare = with_digits(bare) if "clock" in bare else bare
    found: list[Answer] = []
    finders: tuple[tuple[str, Callable[[str], frozenset[str]]], ...] = (
        ("date", calendar.dates),
        ("time", calendar.times),
        ("weekday", calendar.weekdays),
        ("month", calendar.months),
    )
    for kind, finder in finders:
        values = finder(bare) if calendar.lone(kind, bare) else ()
        if len(values) == 1 and (kind in ("date", "time") or len(content) == 1):
            found.extend(Word(kind, value) for value in values)
    return found


def based(text: str, base: int) -> Based | None:
    """Digits without a written base, read towards a gold that has one."""
    digits = textual(text).strip().replace(" ", "").upper()
    if not all(digit.isdecimal() or ("A" <= digit <= "Z" and ord(digit) - 55 < base) for digit in digits):
        return None
    if not digits or not digits.isalnum() or not digits.isascii():
        return None
    return Based(digits.lstrip("0") or "0", 0)


__all__ = ["TooComplex", "based", "gold_readings", "prepared", "readings", "textual"]
