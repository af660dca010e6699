"""The recipe over every public file: minutes long, skipped where the files are absent."""

from pathlib import Path

import pytest
from rich.console import Console

from pipeline.config import RecipeError, load
from pipeline.recipe import CurateConfig
from pipeline.run import curate
from pipeline.shards import read_shards

ROOT = Path(__file__).resolve().parent.parent.parent
RECIPE = ROOT / "data" / "recipes" / "full.toml"
DATA = ROOT.parent / "shared" / "data"


def test_the_data_folder_is_a_setting(tmp_path: Path) -> None:
    config = load(CurateConfig, [RECIPE], [f"data_root={tmp_path}"])
    assert {source.path.parent.parent for source in config.sources if source.path} == {tmp_path}
    with pytest.raises(RecipeError, match=r"sources/gsm8k_train\.jsonl\.gz: does not exist \(sources 'gsm8k_train'\)"):
        curate(config, tmp_path / "out", console=Console(quiet=True), workers=1)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the shared data are not here")
def test_every_public_file_through_every_stage_without_a_model(tmp_path: Path) -> None:
    config = load(CurateConfig, [RECIPE], [f"data_root={DATA}"])
    manifest = curate(config, tmp_path / "out", console=Console(quiet=True), workers=2)
    assert manifest["rows_in"] == 59_683
    gone = sum(sum(reasons.values()) for kind in ("dropped", "quarantined") for reasons in manifest[kind].values())
    assert manifest["rows_in"] == manifest["rows_kept"] + gone
    stages = ["sources", "clean", "dedupe", "decontaminate", "select", "integers", "balance"]
    assert [stage["name"] for stage in manifest["stages"]] == stages
    for before, after in zip(manifest["stages"], manifest["stages"][1:], strict=False):
        assert before["rows_out"] == after["rows_in"]
    assert manifest["by_source"]["math_test"] == {"rows_in": 5000, "rows_kept": 0}
    assert manifest["by_source"]["gsm8k_test_rephrased"]["rows_kept"] <= 66
    assert manifest["integer_refused"]["unit-not-in-question"] > 0
    assert len(manifest["benchmarks"]) == 17
    rows = read_shards(tmp_path / "out")
    assert len(rows) == manifest["rows_kept"] == len({row.source_row for row in rows})
