"""Progress on stderr: a bar with counts and rates on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

PLAIN_LINE_EVERY_S = 10.0


def stderr_console(*, quiet: bool = False) -> Console:
    """A quiet console prints nothing."""
    return Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True, color_system=colours())


def stdout_console() -> Console:
    """For results: texts of rows are printed as they are, never as markup."""
    return Console(highlight=False, markup=False, emoji=False, color_system=colours())


def colours() -> Literal["auto"] | None:
    """None with NO_COLOR: not only no colour then, but no bold and no dim either."""
    return None if os.environ.get("NO_COLOR") else "auto"


@contextmanager
def progress(
    console: Console, label: str, total: int | None, *, unit: str = "rows", done: int = 0
) -> Iterator[Callable[[int], None]]:
    """Yields `advance(n)`. done: what an earlier run has done; it is shown, and no part of the rate."""
    shown = _bar if console.is_terminal and not console.quiet else _lines
    with shown(console, label, total, unit, done) as advance:
        yield advance


@contextmanager
def _bar(console: Console, label: str, total: int | None, unit: str, done: int) -> Iterator[Callable[[int], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(label, total=total, rate="", completed=done)

        def advance(count: int) -> None:
            now = bar.tasks[task].completed + count
            bar.update(task, advance=count, rate=_rate(now - done, started, unit))

        yield advance


@contextmanager
def _lines(console: Console, label: str, total: int | None, unit: str, done: int) -> Iterator[Callable[[int], None]]:
    started = last = time.monotonic()
    now = done

    def advance(count: int) -> None:
        nonlocal now, last
        now += count
        if time.monotonic() - last >= PLAIN_LINE_EVERY_S:
            last = time.monotonic()
            of_total = f" of {total:,}" if total is not None else ""
            console.print(f"{label}: {now:,}{of_total} {unit}, {_rate(now - done, started, unit)}")

    yield advance
    earlier = f" ({done:,} done before)" if done else ""
    console.print(f"{label}: {now:,} {unit}{earlier}, {_rate(now - done, started, unit)}")


def _rate(done: float, started: float, unit: str) -> str:
    return f"{done / max(time.monotonic() - started, 1e-9):,.0f} {unit}/s"
