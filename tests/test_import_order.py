"""The rooms import each other in one direction only."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "verifiers": set(),
    "engines": set(),
    "pipeline": {"verifiers", "engines"},
    "trainer": {"verifiers", "engines", "pipeline"},
    "verigold": {"verifiers", "engines", "pipeline", "trainer"},
}
NEVER = {"data", "tests", "benchmarks"}


def imported_rooms(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add((node.module or "").split(".")[0])
    return found & (ALLOWED.keys() | NEVER)


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_imports_go_one_way(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    for path in files:
        foreign = imported_rooms(path) - {room} - ALLOWED[room]
        assert not foreign, f"{path.relative_to(ROOT)} imports {sorted(foreign)}"
