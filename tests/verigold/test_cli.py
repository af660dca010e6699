"""The command line: help, exit codes, and one message for every mistake of the user."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from verigold.cli import VERBS

ROOT = Path(__file__).resolve().parents[2]


def verigold(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from verigold.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120
    )


def test_help_lists_every_verb() -> None:
    done = verigold("--help")
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_shows_two_examples(verb: str) -> None:
    done = verigold(verb, "--help")
    assert done.returncode == 0
    assert done.stdout.count(f"  verigold {verb} ") >= 2
    assert not re.search(r"\\b\s", done.stdout), "click's mark of a block that is not re-wrapped is shown"


def test_help_imports_neither_torch_nor_pandas() -> None:
    program = (
        "import sys; from verigold.cli import build_app; build_app();"
        "print([name for name in ('torch', 'transformers', 'datasets', 'pandas', 'sympy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(("boxed", "status", "code"), [("0.5", "correct", 0), ("0.6", "incorrect", 1)])
def test_verify_one_pair(boxed: str, status: str, code: int) -> None:
    response = f"So the answer is \\boxed{{{boxed}}}."
    done = verigold("verify", "--ground-truth", "\\frac{1}{2}", "--response", response, "--json")
    assert (json.loads(done.stdout)["status"], done.returncode) == (status, code)


MISTAKES = {
    "no such file": (("verify", "absent.jsonl"), "absent.jsonl"),
    "no such recipe": (("curate", "absent.toml", "--out", "out"), "absent.toml"),
    "broken recipe": (("curate", "broken.toml", "--out", "out"), "broken.toml"),
    "unknown key": (("curate", "unknown.toml", "--out", "out"), "did you mean 'rows_per_shard'?"),
    "unknown stage": (("curate", "stage.toml", "--out", "out"), "dedup"),
    "no such source": (("curate", "source.toml", "--out", "out"), "absent.jsonl"),
    "wrong field": (("curate", "field.toml", "--out", "out"), "question"),
    "bad override": (("quickstart", "--set", "seed", "--dry-run"), "--set seed"),
    "unknown override": (("quickstart", "--set", "sed=1", "--dry-run"), "did you mean 'seed'?"),
    "wrong type": (("quickstart", "--set", "seed=x", "--dry-run"), "seed"),
    "unknown flag": (("verify", "--gold", "1"), "--gold"),
    "not JSON": (("audit", "broken.toml", "--out", "out"), "broken.toml"),
    "no report there": (("report", "empty"), "empty"),
    "no shards there": (("show", "empty"), "empty"),
    "no model there": (("eval", "empty", "empty"), "empty"),
    "unknown algorithm": (("train", "train.toml", "--out", "out"), "dapoo"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_message_and_exit_2(name: str, tmp_path: Path) -> None:
    source = '[[sources]]\nname = "s"\nlicense = "MIT"\nquestion = "question"\nanswer = "answer"\n'
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.jsonl").write_text('{"q": "1+1", "a": "2"}\n')
    for file, text in {
        "broken.toml": "seed = = 1",
        "unknown.toml": f'rows_per_shards = 1\n{source}path = "rows.jsonl"\n',
        "stage.toml": f'{source}path = "rows.jsonl"\n[stages.dedup]\n',
        "source.toml": f'{source}path = "absent.jsonl"\n',
        "field.toml": f'{source}path = "rows.jsonl"\n',
        "train.toml": 'algorithm = "dapoo"\nmodel = "empty"\nshards = "empty"\n',
    }.items():
        (tmp_path / file).write_text(text)
    arguments, named = MISTAKES[name]
    done = verigold(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_dry_run_works_from_another_folder(tmp_path: Path) -> None:
    done = verigold("quickstart", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "max_generated_tokens = 200000" in done.stdout
    assert list(tmp_path.iterdir()) == []
