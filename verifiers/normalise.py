"""Unicode mathematics, spaces and markdown marks to one plain form: ASCII with LaTeX commands.

Everything here is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata

_SYMBOLS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "﹣": "-", "－": "-", "➖": "-", "×": r"\times ",
    "✕": r"\times ", "✖": r"\times ", "⨯": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ",
    "•": r"\cdot ", "÷": r"\div ", "∕": "/", "⁄": "/", "±": r"\pm ", "∓": r"\mp ", "∗": "*", "≤": r"\le ",
    "≥": r"\ge ", "≦": r"\le ", "≧": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
    "≃": r"\approx ", "≅": r"\cong ", "≡": r"\equiv ", "∞": r"\infty ", "∪": r"\cup ", "⋃": r"\cup ", "∩": r"\cap ",
    "∖": r"\setminus ", "∈": r"\in ", "∉": r"\notin ", "∅": r"\emptyset ", "⌀": r"\emptyset ", "ø": r"\emptyset ",
    "√": r"\sqrt ", "∛": r"\sqrt[3]", "∜": r"\sqrt[4]", "°": r"^{\circ}", "˚": r"^{\circ}", "º": r"^{\circ}",
    "∘": r"\circ ", "℃": r"^{\circ}\text{C}", "℉": r"^{\circ}\text{F}", "′": "'", "″": "''", "’": "'", "‘": "'",
    "“": '"', "”": '"', "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}", "∠": r"\angle ", "△": r"\triangle ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ",
    "∂": r"\partial ", "∣": "|", "｜": "|", "‖": r"\|", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ",
    "⌉": r"\rceil ", "⟨": r"\langle ", "⟩": r"\rangle ", "…": r"\ldots ", "⋯": r"\ldots ", "→": r"\to ",
    "⇒": r"\Rightarrow ", "⊥": r"\perp ", "∥": r"\parallel ", "∀": r"\forall ", "∃": r"\exists ", "¬": r"\neg ",
    "∧": r"\land ", "∨": r"\lor ", "。": ".", "、": ",", "∶": ":", "ℓ": r"\ell ", "ℯ": "e", "ⅈ": "i", "µ": r"\mu ",
    "∆": r"\Delta ", "Ω": r"\Omega ", "【": "[", "】": "]", "「": '"', "」": '"', "¢": r"\text{ cents}",
    "Ø": r"\emptyset ", "⊆": r"\subseteq ", "⊂": r"\subset ",
    "∴": r"\therefore ", "ℏ": r"\hbar ", "ħ": r"\hbar ",
    "⇔": r"\Leftrightarrow ", "㎡": r"\text{ m}^2", "㎥": r"\text{ m}^3", "﹪": "%", "⟂": r"\perp ",
}  # fmt: skip

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi "
    "psi omega"
)

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣʸᵏᵐ", "0123456789+-=()nixykm", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙₐₑₒₓₖₘᵢⱼ", "0123456789+-=()naeoxkmij", strict=True))
_RUN = re.compile(f"[{''.join(map(re.escape, _SUPERSCRIPTS))}]+|[{''.join(map(re.escape, _SUBSCRIPTS))}]+")
_SLANTED = re.compile("([⁰¹²³⁴⁵⁶⁷⁸⁹]+)[⁄/∕]([₀₁₂₃₄₅₆₇₈₉]+)")
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00ad\ufe00-\ufe0f\u061c\u20e3]")
_SPACES = re.compile(r"[^\S\n]+")


def _greek_table() -> dict[str, str]:
    table: dict[str, str] = {}
    for name in _GREEK_NAMES.split():
        for case, command in (("SMALL", name), ("CAPITAL", name.capitalize())):
            letter = unicodedata.lookup(f"GREEK {case} LETTER {'LAMDA' if name == 'lambda' else name.upper()}")
            table[letter] = f"\\{command} "
    return table | {"ϕ": r"\phi ", "ϵ": r"\epsilon ", "ϑ": r"\theta ", "ς": r"\sigma ", "ϱ": r"\rho "}


_TABLE = str.maketrans(_SYMBOLS | _greek_table())


def _run(match: re.Match[str]) -> str:
    text = match.group()
    mark, table = ("^", _SUPERSCRIPTS) if text[0] in _SUPERSCRIPTS else ("_", _SUBSCRIPTS)
    return f"{mark}{{{''.join(table[letter] for letter in text)}}}"


def _slanted(match: re.Match[str]) -> str:
    """³⁄₇"""
    top = "".join(_SUPERSCRIPTS[digit] for digit in match.group(1))
    return rf"\frac{{{top}}}{{{''.join(_SUBSCRIPTS[digit] for digit in match.group(2))}}}"


def _vulgar(letter: str) -> str:
    """½ -> \\frac{1}{2}; anything else unchanged."""
    parts = unicodedata.normalize("NFKC", letter).split("⁄")
    return rf"\frac{{{parts[0]}}}{{{parts[1]}}}" if len(parts) == 2 and all(parts) else letter


def plain(text: str) -> str:
    """Unicode mathematics as ASCII and LaTeX; other scripts (Chinese words, accented letters) stay, in NFKC."""
    if text.isascii():
        return text
    text = _INVISIBLE.sub("", text)
    text = _RUN.sub(_run, _SLANTED.sub(_slanted, text)).translate(_TABLE)
    if not text.isascii():
        text = "".join(_vulgar(letter) if unicodedata.category(letter) == "No" else letter for letter in text)
        text = unicodedata.normalize("NFKC", text).translate(_TABLE)
    return text


_MARKDOWN = re.compile(r"(?<![\w)}])\*\*(?=\S)|(?<=\S)\*\*(?![\w({\\])|`|^\*\*|\*\*$")
_HTML = re.compile(r"<([a-z]{1,10})>([^<>]*)</\1>")
_HASHES = re.compile(r"^\s*#{2,}\s*")


def fold_spaces(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def unfence(text: str) -> str:
    """Without markdown marks, one enclosing pair of mathematics fences, leading hashes and a trailing full stop."""
    text = _HASHES.sub("", _MARKDOWN.sub("", text)) if any(mark in text for mark in "*_`#") else text
    text = text.strip()
    for opening, closing in (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")):
        inner = text[len(opening) : -len(closing)]
        if len(text) > len(opening) + len(closing) - 1 and text.startswith(opening) and text.endswith(closing):
            if closing in inner and opening != r"\[":
                break
            text = inner.strip()
    if len(text) > 4 and text.startswith("__") and text.endswith("__"):
        text = text[2:-2].strip()
    while len(text) > 2 and text[0] == text[-1] and text[0] in "\"'*_" and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    tagged = _HTML.fullmatch(text) if text.startswith("<") else None
    text = tagged.group(2).strip() if tagged else text
    return _without_stop(text)


def _without_stop(text: str) -> str:
    while True:
        shorter = text if text.endswith((r"\right.", "..")) else text.rstrip(" \t\n.。")
        shorter = shorter[:-2] if shorter.endswith("\\\\") else shorter
        if shorter.endswith("\\") and not shorter.endswith("\\\\"):
            # a control space that lost its space
            shorter = shorter[:-1]
        if shorter == text:
            return text
        text = shorter


_BETWEEN_DIGITS = re.compile(r"(?<![\d\s])\s+|\s+(?![\d\s])")
_THIN_SPACES = re.compile(r"\\[,;:! ]|~")


def key(text: str) -> str:
    """A form for the equality of strings: plain, no spaces, no LaTeX spacing, sizes or styles; case kept."""
    text = plain(text)
    text = _THIN_SPACES.sub(" ", text)
    for old in (r"\left", r"\right", r"\displaystyle", r"\dfrac", r"\tfrac", r"\cfrac", "$"):
        if old in text:
            text = text.replace(old, r"\frac" if old.endswith("frac") else "")
    return _BETWEEN_DIGITS.sub("", text.strip())
