import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from pipeline.config import RecipeError, load
from pipeline.ledger import LedgerError
from pipeline.run import CurateConfig, Manifest, curate
from pipeline.shards import read_shards

ROOT = Path(__file__).resolve().parent.parent.parent
MakeRecipe = Callable[..., Path]


def run(recipe: Path, out: Path, workers: int = 1) -> Manifest:
    return curate(load(CurateConfig, [recipe]), out, console=Console(quiet=True), workers=workers)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that a reader may see and that must be byte-stable."""
    hidden = (".work", "run.json")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in hidden
    }


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def assert_law(manifest: Manifest) -> None:
    gone = sum(sum(reasons.values()) for kind in ("dropped", "quarantined") for reasons in manifest[kind].values())
    assert manifest["rows_in"] == manifest["rows_kept"] + gone
    for before, after in zip(manifest["stages"], manifest["stages"][1:], strict=False):
        assert before["rows_out"] == after["rows_in"]


def test_every_row_is_counted_and_every_defect_found(recipe: MakeRecipe, tmp_path: Path) -> None:
    manifest = run(recipe(), tmp_path / "out")
    assert_law(manifest)
    assert manifest["dropped"]["sources"] == {"empty-question": 1, "invalid-utf8": 1, "no-gold": 1, "not-json": 1}
    assert manifest["dropped"]["clean"] == {"yes-no": 1}
    assert manifest["dropped"]["dedupe"] == {"exact-duplicate": 1, "near-duplicate": 1}
    assert manifest["dropped"]["decontaminate"] == {"benchmark-item": 1}
    assert manifest["benchmarks"][0] | {"digest": ""} == {
        "name": "bench", "split": "test", "revision": "r1", "rows": 1, "digest": "", "hits": 1, "templates": 0
    }  # fmt: skip
    problems = read_shards(tmp_path / "out")
    assert len(problems) == manifest["rows_kept"] == 60
    assert all(problem.template_id and problem.integer_form == "F0" for problem in problems)


def test_drops_name_their_evidence(recipe: MakeRecipe, tmp_path: Path) -> None:
    run(recipe(), tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "dropped" / "dedupe.parquet").to_pylist()
    for row in rows:
        evidence = json.loads(row["evidence"])
        assert evidence["keeper"] != row["source_row"]
        assert evidence["rule"]
        assert 0 < evidence["score"] <= 1
    (leak,) = pq.read_table(tmp_path / "out" / "dropped" / "decontaminate.parquet").to_pylist()
    assert "How many trees live" not in json.dumps(leak)


def test_card_and_load_dataset_offline(recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    manifest = run(recipe(), tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    for text in ("configs:", "data/train-*.parquet", "MIT", "bench", "r1", "compute_score", "near-duplicate"):
        assert text in card
    data = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert isinstance(data, datasets.Dataset)
    assert data.num_rows == manifest["rows_kept"]
    assert data[0]["prompt"][-1]["role"] == "user"


def test_again_rewrites_nothing(recipe: MakeRecipe, tmp_path: Path) -> None:
    path, out = recipe(), tmp_path / "out"
    first = run(path, out)
    before = times(out)
    assert run(path, out) == first
    assert times(out) == before


def test_a_lost_shard_is_made_again_and_the_others_stay(recipe: MakeRecipe, tmp_path: Path) -> None:
    path, out = recipe(), tmp_path / "out"
    run(path, out)
    before, stamps = contents(out), times(out / "data")
    victim = sorted((out / "data").glob("*.parquet"))[1]
    victim.unlink()
    run(path, out)
    assert contents(out) == before
    assert {key: value for key, value in times(out / "data").items() if key != str(victim)} == {
        key: value for key, value in stamps.items() if key != str(victim)
    }


def test_the_bytes_do_not_depend_on_the_workers(
    recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.run.PART_ROWS", 20)
    monkeypatch.setattr("pipeline.run.code_version", lambda _: "fixed: sources may be edited while tests run")
    path = recipe()
    outputs = []
    for workers in (1, 2, 7):
        run(path, tmp_path / f"out{workers}", workers=workers)
        outputs.append(contents(tmp_path / f"out{workers}"))
    assert outputs[0] == outputs[1] == outputs[2]
    assert len([name for name in outputs[0] if name.startswith("data/")]) == 4


def committed(out: Path) -> dict[str, int]:
    """Files of the work folder whose record is written, with their time stamps."""
    found = {}
    for path in (out / ".work").rglob("*") if out.exists() else ():
        kind, _, part = path.stem.partition("-")
        record = {"kept": f"part-{part}.json", "drops": f"part-{part}.json", "verdict": "decided.json"}.get(
            kind, path.name
        )
        if path.with_name(record).is_file():
            found[str(path)] = path.stat().st_mtime_ns
    return {name: stamp for name, stamp in found.items() if Path(name).is_file()}


def test_a_changed_stage_recomputes_only_what_follows(recipe: MakeRecipe, tmp_path: Path) -> None:
    path, out = recipe(), tmp_path / "out"
    run(path, out)
    kept = {name: stamp for name, stamp in committed(out).items() if "-clean-" in name or "-sources-" in name}
    path.write_text(path.read_text().replace("[stages.dedupe]", "[stages.dedupe]\nmax_bucket = 77"))
    run(path, out)
    after = committed(out)
    assert {name: after[name] for name in kept} == kept
    assert sum("-dedupe-" in name and name.endswith("complete.json") for name in after) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[stages.dedupe]", "[stages.dedup]"), r"stages\.dedup: unknown stage; .*'dedupe'"),
        (("[stages.dedupe]", "[stages.dedupe]\nmax_buckt = 3"), r"\.toml: stages\.dedupe\.max_buckt: .*max_bu"),
        (("[stages.dedupe]", '[stages.dedupe]\nmax_bucket = "x"'), r"stages\.dedupe\.max_bucket: .*valid integer"),
        (('answer = "answer"\nanswer_pattern', 'answer = "anser"\nanswer_pattern'), r"no row has the field 'anser'"),
        (('path = "rows.jsonl.gz"', 'path = "none.jsonl.gz"'), r"none\.jsonl\.gz: does not exist \(sources 'words'\)"),
        (('path = "bench.jsonl"', 'path = "nobench.jsonl"'), r"'bench': path: .*nobench\.jsonl does not exist"),
        (("[[sources]]", "[[source]]"), r"recipe\.toml: source"),
        (("[stages.dedupe]", "[stages.select]\nweights = {wrds = 0.5}"), r"select\.weights: 'wrds' .* mean 'words'"),
        (("[stages.dedupe]", "[stages.select]\nmax_rows = {words = -1}"), r"max_rows\.words: .*greater than or equal"),
        (("[stages.dedupe]", '[stages.select]\nreward_log = "no.jsonl"'), r"select\.reward_log: .*no\.jsonl does not"),
        (("[stages.dedupe]", "[stages.balance]\nmix = {other = 1}"), r"balance\.mix: 'other' is no source"),
        (("[stages.dedupe]", "[stages.balance]\nheld_out = 1.5"), r"balance\.held_out: .* less than 1 \(got 1\.5\)"),
        (("[stages.dedupe]", '[stages."json:dumps"]'), r"stages\.json:dumps: json:dumps is no stage; give a frozen"),
        (("seed = 1", 'executor = "spark"'), r"\.toml: executor: .*'local' or 'ray' \(got 'spark'\)"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_message_with_place_and_remedy(
    recipe: MakeRecipe, tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    path = recipe()
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(RecipeError, match=message):
        run(path, tmp_path / "out")


def test_a_folder_of_something_else_is_left_alone(recipe: MakeRecipe, tmp_path: Path) -> None:
    out = tmp_path / "home"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    with pytest.raises(RecipeError, match="holds other files"):
        run(recipe(), out)


LOSING = """
from dataclasses import dataclass
from pipeline.config import STRICT
from pipeline.stage import Outcome
@dataclass(frozen=True, slots=True, kw_only=True)
class Losing:
    __pydantic_config__ = STRICT
    first: int = 1
    def __call__(self, problems, context):
        return Outcome(kept=problems[self.first:])
"""


def test_a_stage_from_outside_runs_and_may_not_lose_a_row(
    recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "losing_stage.py").write_text(LOSING)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = recipe(stages='[stages."losing_stage:Losing"]\n')
    with pytest.raises(LedgerError, match=r"lost \['words#0'\]"):
        run(path, tmp_path / "out")
    path.write_text(path.read_text() + "first = 0\n")
    assert_law(run(path, tmp_path / "out"))


def test_no_row_kept_is_a_result_and_no_row_at_all_a_mistake(recipe: MakeRecipe, tmp_path: Path) -> None:
    path = recipe(0)
    path.write_text(path.read_text().replace("rows.jsonl.gz", "few.jsonl"))
    (tmp_path / "few.jsonl").write_text('{"question": "", "answer": "#### 1"}\n')
    manifest = run(path, tmp_path / "out", workers=4)
    assert (manifest["rows_in"], manifest["rows_kept"]) == (1, 0)
    assert read_shards(tmp_path / "out") == []
    (tmp_path / "few.jsonl").write_text("")
    with pytest.raises(RecipeError, match=r"few\.jsonl: no rows"):
        run(path, tmp_path / "out", workers=4)


def test_torch_is_not_needed(recipe: MakeRecipe, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom rich.console import Console\nfrom pipeline.config import load\n"
        "from pipeline.run import CurateConfig, curate\n"
        f"curate(load(CurateConfig, [Path({str(recipe())!r})]), Path({str(tmp_path / 'out')!r}), "
        "console=Console(quiet=True), workers=1)\nassert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=120)
