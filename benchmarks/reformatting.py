"""Reformatted copies of benchmark problems: other LaTeX, Unicode, layout or wrapping, never another problem.

Every function maps one text to one text and is fixed by (text, index): no random state. The code of figures stays as it
is, for other code is another drawing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

UNICODE = {
    "\\le ": "≤ ",
    "\\leq ": "≤ ",
    "\\ge ": "≥ ",
    "\\geq ": "≥ ",
    "\\cdot": "·",
    "\\times": "×",
    "\\pi": "π",
    "\\theta": "θ",
    "\\alpha": "α",
    "\\beta": "β",
    "\\infty": "∞",
    "^2": "²",
    "^3": "³",
    "^\\circ": "°",
    "\\ne ": "≠ ",
    "\\neq ": "≠ ",
}
PREFIXES = ("Problem {n}. ", "Question: ", "{n}. ", "Solve the following math problem step by step. ")
SUFFIXES = (
    " Let's think step by step and output the final answer within \\boxed{}.",
    "\n\nPlease reason step by step, and put your final answer within \\boxed{}.",
    ' Remember to put your answer on its own line after "Answer:".',
)
STORIES = (
    "The following exercise was set at the end of a term. {text} Explain every step to a friend who missed the class.",
    "{text}\n\nHere is one more remark: a clear drawing and a table of small cases often help with such questions.",
)


_FIGURE = re.compile(r"(\[asy\].*?\[/asy\])", re.DOTALL)


def latex_style(text: str, _index: int) -> str:
    """Display fractions, plain brackets, other spellings of relations, other delimiters."""
    pieces = _FIGURE.split(text)
    return "".join(piece if piece.startswith("[asy]") else _style(piece) for piece in pieces)


def _style(text: str) -> str:
    text = re.sub(r"\\frac(?![a-z])", r"\\dfrac", text)
    text = text.replace("\\left(", "(").replace("\\right)", ")").replace("\\le ", "\\leq ").replace("\\ge ", "\\geq ")
    text = re.sub(r"(?<!\\)\$\$(.+?)(?<!\\)\$\$", r"\\[\1\\]", text, flags=re.DOTALL)
    return re.sub(r"(?<!\\)\$([^$]+?)(?<!\\)\$", r"\\(\1\\)", text)


def unicode_symbols(text: str, _index: int) -> str:
    """Commands as the characters they stand for, straight quotes as curly ones."""
    pieces = _FIGURE.split(text)
    return "".join(piece if piece.startswith("[asy]") else _symbols(piece) for piece in pieces)


def _symbols(text: str) -> str:
    for command, character in UNICODE.items():
        text = re.sub(re.escape(command) + r"(?![a-z])", character, text)
    return text.replace("'", "’")


def layout(text: str, index: int) -> str:
    """Line breaks, doubled spaces, spaces around operators."""
    if "[asy]" in text:
        return "  " + text + "\n"
    words = text.split(" ")
    broken = [
        word + ("\n" if (place + index) % 7 == 6 else "  " if place % 5 == 4 else " ")
        for place, word in enumerate(words)
    ]
    return "".join(broken).rstrip().replace("=", " = ")


def wrapped(text: str, index: int) -> str:
    """A problem number or a greeting before it, an instruction after it."""
    return PREFIXES[index % len(PREFIXES)].format(n=index + 1) + text + SUFFIXES[index % len(SUFFIXES)]


def embedded(text: str, index: int) -> str:
    """In the middle of a longer text."""
    return STORIES[index % len(STORIES)].format(text=text)


def mixed(text: str, index: int) -> str:
    """Style, symbols, layout and wrapping at once."""
    return wrapped(layout(unicode_symbols(latex_style(text, index), index), index), index)


PERTURBATIONS: dict[str, Callable[[str, int], str]] = {
    "verbatim": lambda text, _index: text,
    "latex_style": latex_style,
    "unicode_symbols": unicode_symbols,
    "layout": layout,
    "wrapped": wrapped,
    "embedded": embedded,
    "mixed": mixed,
}
