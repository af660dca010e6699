"""Words with one meaning: truth values, nothing, undefined, numbers, ordinals. Data, and lookups in it."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from verifiers.answer.lists import listed

TRUE = listed("yes yeah yep true correct right 正确 对 是 真 是的 对的 成立 holds valid affirmative y")
FALSE = listed("no nope false incorrect wrong 不正确 错误 错 否 假 不是 不对 不成立 invalid negative n")
NEGATIONS = listed("not never n't cannot isn't doesn't don't no without neither nor non 不 没有 非 except unless")
HEDGES = listed(
    "or either maybe perhaps possibly probably likely presumably 或 或者 may might could unless depends unknown"
)

_NOTHING = frozenset(
    (
        "no solution", "no solutions", "none", "no real solution", "no real solutions", "empty set", "empty",
        "无解", "空集", "no real root", "no real roots", "no root", "no roots", "null set", "null",
        "no such number", "no such numbers", "no integer solutions", "no solution exists", "no solutions exist",
        "no such integer", "no such integers", "no value", "no values", "无实数解", "无实根", "没有解",
        "no positive integer solutions", "no positive integers", "no such function", "no such functions",
        "no integers", "none exist", "nothing", "inconsistent", "不存在解", "impossible",
    )
)  # fmt: skip
_NO_THING = re.compile(
    r"no (?:such |real |positive |integer |rational |valid |possible )*(?:solution|root|value|number|integer|pair|"
    r"function|answer|triple|triangle|point|x|n)s?(?: exists?| satisf(?:y|ies).*)?"
    r"|(?:equation |system |inequality |it |problem )?(?:does not|do not|doesn't|don't) have (?:any )?(?:real )?"
    r"(?:solution|root)s?"
)
_UNDEFINED = frozenset(
    (
        "does not exist", "dne", "doesn't exist", "undefined", "not defined", "limit does not exist", "不存在",
        "no limit", "do not exist", "is undefined", "indeterminate", "diverges", "divergent", "nonexistent",
        "极限不存在", "it does not exist", "limit doesn't exist", "not exist", "no such limit", "无定义",
        "doesnt exist",
    )
)  # fmt: skip
_ALL = frozenset(
    (
        "all real numbers", "all reals", "real numbers", "set of real numbers", "any real number",
        "every real number", "all real", "set of all real numbers", "全体实数", "实数集", "任意实数",
        "all real values", "entire real line", "real line", "reals", "all real x",
    )
)  # fmt: skip
_SETS = {
    "all integers": "Z", "integers": "Z", "set of integers": "Z", "set of all integers": "Z", "整数集": "Z",
    "全体整数": "Z", "all natural numbers": "N", "natural numbers": "N", "all rational numbers": "Q",
    "rational numbers": "Q", "all complex numbers": "C", "complex numbers": "C", "自然数集": "N", "有理数集": "Q",
}  # fmt: skip
_INFINITY = {
    "infinity": 1, "positive infinity": 1, "diverges to infinity": 1, "diverges to": 1, "infinite": 1, "无穷": 1,
    "无穷大": 1,
    "正无穷大": 1, "负无穷大": -1, "正无穷": 1, "plus infinity": 1, "negative infinity": -1, "minus infinity": -1,
    "负无穷": -1,
    "diverges to positive infinity": 1, "diverges to negative infinity": -1, "approaches infinity": 1,
    "tends to infinity": 1, "infinitely many": 1, "infinitely many solutions": 1, "无穷多个": 1, "无数个": 1,
    "无穷多": 1, "infinite number": 1, "infinite number of solutions": 1, "infinitely many values": 1, "无数": 1,
    "无穷多个解": 1, "无数个解": 1, "infinite solutions": 1,
}  # fmt: skip

_UNITS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40,
    "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_ORDINALS = {
    "zeroth": 0, "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14,
    "fifteenth": 15, "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20,
    "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80,
    "ninetieth": 90, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4} | {
    word + plural: value for word, value in _ORDINALS.items() if value > 2 for plural in ("", "s")
}
NUMBER_WORDS = frozenset(_UNITS) | frozenset(_SCALES) | frozenset(_PARTS)
_HAN = {letter: value for value, letter in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000}
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}
_ORDINAL_DIGITS = re.compile(r"(\d{1,9})(?:st|nd|rd|th)")
_DOTTED = re.compile(r"(?<![^\W\d_])([a-z])\.(?=[a-z](?![a-z]))")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
ARTICLES = frozenset(("a", "an", "the"))


def words_of(text: str) -> tuple[str, ...]:
    """Lower-case words and numbers, without punctuation."""
    return tuple(_WORD.findall(_DOTTED.sub(r"\1", text.lower())))


def phrase(words: tuple[str, ...]) -> str:
    return " ".join(word for word in words if word not in ARTICLES)


def closed_class(words: tuple[str, ...]) -> tuple[str, str] | None:
    """(kind, value) for phrases that mean nothing, undefined or all reals."""
    text = _told(words)
    if text in _NOTHING or _NO_THING.fullmatch(text):
        return "nothing", ""
    if text in _UNDEFINED:
        return "undefined", ""
    if text in _SETS:
        return "numbers", _SETS[text]
    return ("all", "") if text in _ALL else None


def _told(words: tuple[str, ...]) -> str:
    """The phrase without the start of its sentence."""
    text = phrase(words)
    for prefix in (
        "series ",
        "integral ",
        "sequence ",
        "it ",
        "there is ",
        "there are ",
        "there exists ",
        "there exist ",
        "equation has ",
        "it has ",
        "answer is ",
    ):
        text = text.removeprefix(prefix)
    return text


def infinite(words: tuple[str, ...]) -> int:
    """1 or -1 for words that mean infinity, 0 for others."""
    return _INFINITY.get(_told(words), 0)


def truth(words: tuple[str, ...]) -> str | None:
    """ "true", "false", or None; each negation before the last word flips it. Hedges have no truth value."""
    if len(words) > 1:
        words = tuple(_BASE_FORMS.get(word, word) for word in words if word not in ("y", "n"))
    if len(words) == 1 and len(words[0]) > 2 and not words[0].isascii():
        return _han_truth(words[0])
    found = [word in TRUE for word in words if word in TRUE or word in FALSE]
    if not found or len(words) > 24 or any(word in HEDGES for word in words):
        return None
    if len(set(found)) > 1:
        return None
    place = next(place for place, word in enumerate(words) if word in TRUE or word in FALSE)
    before = words[:place]
    if "wait" in words[place:] or "actually" in words[place:]:
        return None
    flips = sum(word in NEGATIONS or word.endswith("n't") for word in before)
    return "true" if found[0] == (flips % 2 == 0) else "false"


_BASE_FORMS = {"hold": "holds"}
_HAN_TRUTH = re.compile(r"(不|没有|不是|并非)?(正确|成立|对的|真的)|(错误|错的|假的)")


def _han_truth(text: str) -> str | None:
    """这个说法是正确的: one judgement, perhaps negated."""
    if text in TRUE or text in FALSE:
        return "true" if text in TRUE else "false"
    found = {bool(good) != bool(negated) for negated, good, _ in _HAN_TRUTH.findall(text)}
    return None if len(found) != 1 or "或" in text else "true" if found.pop() else "false"


@lru_cache(maxsize=4096)
def cardinal(words: tuple[str, ...]) -> Fraction | None:
    """seven, twenty-one, a dozen, one half, three fourths, two and a half, three hundred and five."""
    words = tuple(word for word in words if word not in ("and", "exactly"))
    if words[:1] in (("minus",), ("negative",)):
        value = cardinal(words[1:]) if words[1:2] not in (("minus",), ("negative",)) else None
        return None if value is None else -value
    if words[:1] in (("a",), ("an",)):
        words = ("one", *words[1:])
    if not words or len(words) > 12:
        return None
    if len(words) == 1 and words[0] in ("half", "quarter"):
        return Fraction(1, _PARTS[words[0]])
    if len(words) > 1 and words[-1] in _PARTS:
        return _with_parts(words)
    return _whole(words)


def _with_parts(words: tuple[str, ...]) -> Fraction | None:
    divisor, head = _PARTS[words[-1]], tuple("one" if word in ("a", "an") else word for word in words[:-1])
    top = _whole(head[-1:])
    if top is None or ((top > 1) != words[-1].endswith("s") and words[-1] not in ("halves", "half")):
        return None
    whole = _whole(head[:-1]) if len(head) > 1 else Fraction(0)
    if whole is None:
        return _whole_parts(head, divisor)
    if len(head) > 1 and top >= divisor:
        return None
    return whole + top / divisor


def _whole_parts(head: tuple[str, ...], divisor: int) -> Fraction | None:
    top = _whole(head)
    return None if top is None else top / divisor


def _whole(words: tuple[str, ...]) -> Fraction | None:
    total = current = 0
    previous = 100
    for word in words:
        if word in _UNITS:
            value = _UNITS[word]
            if current % 100 and not (previous >= 20 and value < 10 and current % 10 == 0):
                return None
            current += value
            previous = value
        elif word in _SCALES:
            scale = _SCALES[word]
            if scale == 100 or word == "dozen":
                current = max(current, 1) * scale
            else:
                total, current = total + max(current, 1) * scale, 0
            previous = 100
        else:
            return None
    return Fraction(total + current) if words else None


def ordinal(words: tuple[str, ...]) -> int | None:
    """fifth, 5th, twenty-first."""
    if len(words) == 1:
        match = _ORDINAL_DIGITS.fullmatch(words[0])
        return int(match.group(1)) if match else _ORDINALS.get(words[0])
    if len(words) == 2 and words[1] in _ORDINALS and _UNITS.get(words[0], 0) >= 20 and _ORDINALS[words[1]] < 10:
        return _UNITS[words[0]] + _ORDINALS[words[1]]
    return None


def roman(word: str) -> int | None:
    return _ROMAN.get(word)


def han(text: str) -> int | None:
    """Chinese numerals below ten thousand."""
    if not text or len(text) > 8 or any(letter not in _HAN and letter not in _HAN_SCALES for letter in text):
        return None
    total = current = 0
    for letter in text:
        if letter in _HAN:
            current = _HAN[letter]
        else:
            total, current = total + (current or 1) * _HAN_SCALES[letter], 0
    return total + current
