"""The command `verigold`: verbs and flags. No torch is imported for --help."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import typer

VERBS = ("curate", "doctor", "export", "verify", "audit", "train", "eval", "report", "show", "serve", "quickstart")
"""One module of `verigold.commands` a verb; each has a function `command` that typer turns into flags."""

INTERRUPTED = 130
"""What typer makes of Ctrl-C."""


def build_app() -> typer.Typer:
    app = typer.Typer(
        name="verigold",
        help="Verifiable training sets for reinforcement learning, and a trainer for them.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for verb in VERBS:
        module = importlib.import_module(f"verigold.commands.{verb}")
        app.command(verb, help=module.__doc__)(module.command)
    return app


def check_import_names() -> None:
    """PyPI has another package `verifiers`; say so in one sentence instead of failing somewhere inside."""
    import verifiers

    ours = Path(__file__).resolve().parent.parent / "verifiers"
    if verifiers.__file__ is None or Path(verifiers.__file__).resolve().parent != ours:
        sys.exit(
            f"verigold: another package named 'verifiers' is installed ({verifiers.__file__}) and hides ours; "
            "install verigold in an environment of its own"
        )


def main() -> None:
    """Entry point. Exit codes: 0 done; 1 ran and a check failed; 2 recipe, flag or input error; 130 interrupted."""
    check_import_names()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from pipeline.config import RecipeError

    try:
        build_app()()
    except RecipeError as error:
        print(f"verigold: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.filename is None:
            raise
        print(f"verigold: {error.filename}: {error.strerror}; check the path and its permissions", file=sys.stderr)
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            print("verigold: interrupted; the same command goes on from here", file=sys.stderr)
        raise
