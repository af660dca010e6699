"""Numbers in a written base."""

from __future__ import annotations

from verifiers.answer.kinds import Based
from verifiers.answer.slices import Tokens, enclosed, is_mark

_BASE_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "hex": 16,
    "bin": 2, "oct": 8, "dec": 10, "binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16,
}  # fmt: skip
MAX_BASE_TOKENS = 8
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def based(tokens: Tokens) -> Based | None:
    """1011_2, (1011)_{2}, 2A_{16}, 1011_{two}, 0x2A."""
    if len(tokens) == 1 and tokens[0].kind == "hex":
        letter, digits = tokens[0].value[0], tokens[0].value[1:]
        return Based(digits.lstrip("0") or "0", {"X": 16, "B": 2, "O": 8}[letter])
    place = next((place for place, token in enumerate(tokens) if is_mark(token, "_") or token.value == "base"), None)
    if place is None or place == 0:
        return None
    base = _base(tokens[place + 1 :])
    head = tokens[1 : place - 1] if enclosed(tokens[:place]) else tokens[:place]
    digits = "".join(token.value for token in head).upper()
    if base is None or not head or not digits.replace(".", "", 1).isalnum() or not digits.isascii():
        return None
    starts_like_number = head[0].kind in ("num", "hex") or (base > 10 and len(digits) > 1)
    if not starts_like_number or any(_DIGITS.index(digit) >= base for digit in digits if digit != "."):
        return None
    return Based(digits.lstrip("0") or "0", base)


def _base(tokens: Tokens) -> int | None:
    inner = list(tokens)
    if len(inner) > MAX_BASE_TOKENS:
        return None
    while enclosed(inner):
        inner = inner[1:-1]
    if len(inner) == 2 and inner[0].value.strip() == "base":
        inner = inner[1:]
    if len(inner) != 1:
        return None
    text = inner[0].value.lower().removeprefix("base").strip()
    value = int(text) if text.isdecimal() and len(text) < 3 else _BASE_WORDS.get(text, 0)
    return value if 2 <= value <= 36 else None
