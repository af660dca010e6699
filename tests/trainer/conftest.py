"""Options and tiny real models for the trainer's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "policy_loss_golden.json"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", default=str(GOLDEN), help="JSON file of golden policy-loss cases")
