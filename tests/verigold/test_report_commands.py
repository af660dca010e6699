from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from pipeline.config import RecipeError
from verigold.commands import report, show


def call(module: object, *arguments: object) -> Result:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command("verb", help=module.__doc__)(module.command)  # pyright: ignore[reportAttributeAccessIssue]
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200", "NO_COLOR": "1"})


def error(module: object, *arguments: object) -> str:
    result = call(module, *arguments)
    assert isinstance(result.exception, RecipeError), result.output
    return str(result.exception)


def test_report_writes_html_and_markdown(root: Path, tmp_path: Path) -> None:
    html, markdown = tmp_path / "a.html", tmp_path / "b.md"
    assert call(report, root / "real", "--out", html).stdout.strip() == str(html)
    assert html.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert call(report, root / "real", "--out", markdown, "--quiet").stdout == ""
    assert markdown.read_text(encoding="utf-8").startswith("# Curation report")


def test_report_compares_runs(root: Path) -> None:
    result = call(report, root / "runs/dapo", root / "runs/control", "--out", "-", "--format", "md")
    assert result.stdout.startswith("# Training runs compared")


def test_report_errors_name_the_remedy(root: Path, tmp_path: Path) -> None:
    assert "--out" in error(report, root / "runs/dapo", root / "runs/control")
    assert "is a folder" in error(report, root / "real", "--out", tmp_path)
    assert "no manifest.json" in error(report, tmp_path)


def test_show_prints_kept_rows_with_control_characters_shown(root: Path) -> None:
    output = call(show, root / "real", "--limit", 2).output
    assert "gsm8k_train" in output
    assert "2 of 595 rows" in output
    assert "\x1b" not in output
    assert "⟨U+001B⟩" in output


def test_show_prints_dropped_rows(root: Path) -> None:
    output = call(show, root / "real", "--dropped", "dedupe", "--reason", "exact-duplicate").output
    assert "9 of 9 rows" in output
    assert "near-duplicate" not in output
    assert "keeper" in output
    assert "12 rows" in call(show, root / "real", "--quarantined", "decontaminate").output


def test_show_prints_transcripts(root: Path) -> None:
    output = call(show, root / "runs/dapo", "--step", 2, "--wrong").output
    assert "✗ incorrect (numeric)" in output
    assert "✓ correct" not in output
    assert "3 of 3 transcripts of step-00002" in output
    assert "\x1b" not in output
    assert "of step-00010" in call(show, root / "runs/dapo").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("real", "--dropped", "nothing"), "there are: --dropped clean"),
        (("real", "--dropped", "dedupe", "--reason", "no"), "reasons here: exact-duplicate, near-duplicate"),
        (("real", "--reason", "no"), "add --dropped STAGE"),
        (("real", "--dropped", "dedupe", "--quarantined", "dedupe"), "give one of them"),
        (("real", "--wrong"), "do not apply"),
        (("runs/dapo", "--dropped", "dedupe"), "do not apply"),
        (("runs/dapo", "--step", "3"), "stored steps: 1 to 10"),
        (("audit",), "is an audit; show takes a curated folder"),
        (("absent",), "no such file"),
    ],
)
def test_show_errors_name_the_remedy(root: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in error(show, root / arguments[0], *arguments[1:])
