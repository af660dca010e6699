"""The commands that the README of the verifiers gives."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
README = ROOT / "verifiers" / "README.md"


def commands() -> list[str]:
    table = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [text for line in table for text in re.findall(r"`((?:verigold|python|pytest) [^`]+)`", line)]


def test_every_command_of_the_table_can_be_run_as_written() -> None:
    found = commands()
    assert len(found) >= 5
    for command in found:
        assert "..." not in command
        for word in command.split()[1:]:
            if "/" in word and not word.startswith("runs/"):
                assert (ROOT / word).is_file(), command
