"""Numbers and untrusted text in the form in which a person reads them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NBSP = "\u00a0"
MISSING = "–"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its 95 % bounds (None where they were not computed) and the number of rows behind it."""

    estimate: float
    low: float | None = None
    high: float | None = None
    n: int | None = None


def number(value: Any) -> float | None:
    """A finite number, or None for everything else that a damaged or partial file may hold."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def interval(value: Any) -> Interval | None:
    """`{"estimate", "low", "high", "n"}` or a bare number."""
    if not isinstance(value, dict):
        plain = number(value)
        return None if plain is None else Interval(estimate=plain)
    estimate = number(value.get("estimate"))
    if estimate is None:
        return None
    n = number(value.get("n"))
    return Interval(
        estimate=estimate,
        low=number(value.get("low")),
        high=number(value.get("high")),
        n=None if n is None else int(n),
    )


def visible(text: str) -> str:
    """Shows by code point what would otherwise be invisible, or obeyed by a terminal or a browser: control characters,
    direction overrides, zero-width characters, lone surrogates. A Windows line end is a line end."""
    if text.isascii() and text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    return "".join(_visible_character(character) for character in text.replace("\r\n", "\n"))


def _visible_character(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return character
    return f"⟨U+{ord(character):04X}⟩"


def shorten(text: str, limit: int) -> str:
    """The first `limit` characters, and in words how many more there are."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()} … ({count(len(text) - limit)} more characters)"


def one_line(text: str, limit: int) -> str:
    """Visible, white space collapsed, cut with an ellipsis."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def count(value: float | None) -> str:
    return MISSING if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """One decimal; two below one per cent, so that small shares do not read as zero."""
    if value is None:
        return MISSING
    scaled = value * 100
    if 0 < scaled < 0.005:
        return f"<{NBSP}0.01{NBSP}%"
    return f"{scaled:.2f}{NBSP}%" if 0 < scaled < 0.995 else f"{scaled:.1f}{NBSP}%"


def tick_percent(value: float) -> str:
    """`20 %`, `2.5 %`: for axes."""
    return f"{value * 100:.3g}{NBSP}%"


def bounds(value: Interval | None) -> str:
    """`[30.7, 36.5]`, in per cent; empty when there are none."""
    if value is None or value.low is None or value.high is None:
        return ""
    decimals = 2 if value.high < 0.00995 else 1
    return f"[{value.low * 100:.{decimals}f},{NBSP}{value.high * 100:.{decimals}f}]"


def percent_with_bounds(value: Interval | None) -> str:
    if value is None:
        return MISSING
    return f"{percent(value.estimate)}{NBSP}{bounds(value)}".rstrip(NBSP)


def short_count(value: float) -> str:
    """`950`, `12k`, `1.5M`: for axes."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"


def plural(value: int, noun: str, many: str | None = None) -> str:
    """`1 row`, `12,000 rows`."""
    return f"{count(value)} {noun if value == 1 else (many or noun + 's')}"


def listing(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
