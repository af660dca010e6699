"""Progress as lines: counts, rates, and what an earlier run had done."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pipeline.progress import progress


def lines(*steps: int, total: int | None, done: int = 0, **options: bool) -> list[str]:
    console = Console(file=io.StringIO(), width=120, highlight=False, **options)  # pyright: ignore[reportArgumentType]
    with progress(console, "clean", total, done=done) as advance:
        for step in steps:
            advance(step)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_line_tells_rows_and_rate() -> None:
    (line,) = lines(1200, 34, total=1234)
    assert line.startswith("clean: 1,234 rows, ")
    assert line.endswith(" rows/s")


def test_what_was_done_before_is_told_and_no_part_of_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 2.0, 2.0, 2.0])
    monkeypatch.setattr("pipeline.progress.time.monotonic", lambda: next(clock))
    (line,) = lines(100, total=1000, done=900)
    assert line == "clean: 1,000 rows (900 done before), 50 rows/s"


def test_a_terminal_gets_a_bar_with_counts_and_rate() -> None:
    (line,) = {
        text for text in lines(40, total=100, done=50, force_terminal=True, legacy_windows=False) if "90/100" in text
    }
    assert "rows/s" in line


def test_quiet_is_quiet() -> None:
    assert lines(5, total=5, quiet=True) == []
