"""Killable worker processes, and what they cost."""

from __future__ import annotations

import os


def cpu_seconds() -> float:
    """CPU seconds of this process and its children, living and ended."""
    import psutil

    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in psutil.Process().children(recursive=True):
        try:
            spent = child.cpu_times()
        except psutil.Error:
            continue
        total += spent.user + spent.system
    return total
