import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verigold.report.words import (
    Interval,
    bounds,
    interval,
    listing,
    number,
    one_line,
    percent,
    short_count,
    shorten,
    visible,
)


@given(st.text())
def test_visible_text_has_no_control_characters(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in shown if c not in "\n\t")
    shown.encode("utf-8")


@given(st.text())
def test_visible_is_idempotent(text: str) -> None:
    assert visible(visible(text)) == visible(text)


def test_visible_names_code_points() -> None:
    assert visible("a\x1b[31m\u202eb\ud800") == "a⟨U+001B⟩[31m⟨U+202E⟩b⟨U+D800⟩"
    assert visible("a\r\nb\r") == "a\nb⟨U+000D⟩"
    assert visible("x²+1\n\té 中") == "x²+1\n\té 中"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0.0 %"), (0.00001, "< 0.01 %"), (0.0042, "0.42 %"), (0.336, "33.6 %"), (1, "100.0 %"), (None, "–")],
)
def test_percent(value: float | None, shown: str) -> None:
    assert percent(value).replace("\u00a0", " ") == shown


@given(st.floats(min_value=1e-9, max_value=1))
def test_a_positive_share_never_reads_as_zero(value: float) -> None:
    assert percent(value) != percent(0)


def test_bounds() -> None:
    assert bounds(Interval(estimate=0.5, low=0.41, high=0.59)) == "[41.0,\u00a059.0]"
    assert bounds(Interval(estimate=0.001, low=0.0002, high=0.002)) == "[0.02,\u00a00.20]"
    assert bounds(Interval(estimate=0.5)) == bounds(None) == ""


@pytest.mark.parametrize("value", [math.nan, math.inf, "0.5", None, True, [1], {}])
def test_number_takes_only_finite_numbers(value: object) -> None:
    assert number(value) is None


def test_interval_reads_objects_and_bare_numbers() -> None:
    assert interval({"estimate": 0.5, "low": 0.4, "high": 0.6, "n": 10}) == Interval(
        estimate=0.5, low=0.4, high=0.6, n=10
    )
    assert interval(0.25) == Interval(estimate=0.25)
    assert interval({"estimate": math.nan}) is interval("x") is None


def test_short_forms() -> None:
    assert [short_count(v) for v in (0, 950, 12_000, 1_500_000, 2e9)] == ["0", "950", "12k", "1.5M", "2G"]
    assert listing(["a", "b", "c"]) == "a, b and c"
    assert shorten("abcdef", 3) == "abc … (3 more characters)"
    assert one_line("a\n b\x00", 20) == "a b⟨U+0000⟩"
    assert one_line("abcdef", 4) == "abc…"
