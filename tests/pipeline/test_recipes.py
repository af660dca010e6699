from pathlib import Path

import pytest

from pipeline.config import dump, load, read_toml
from pipeline.run import CurateConfig

ROOT = Path(__file__).resolve().parent.parent.parent / "data" / "recipes"
RECIPES = [path for path in sorted(ROOT.rglob("*.toml")) if "sources" in read_toml(path).table]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_curation_recipe_loads_and_its_resolved_form_too(path: Path, tmp_path: Path) -> None:
    config = load(CurateConfig, [path])
    assert path.read_text(encoding="utf-8").startswith("# ")
    again = tmp_path / "resolved.toml"
    again.write_text(dump(config), encoding="utf-8")
    assert load(CurateConfig, [again]) == config


def test_overrides_reach_into_stages() -> None:
    path = ROOT / "curate" / "real.toml"
    config = load(CurateConfig, [path], ["stages.dedupe.max_bucket=7", "seed=5", "stages.integers=false"])
    stages = dict(config.build_stages())
    assert (stages["dedupe"].max_bucket, config.seed) == (7, 5)
    assert "integers" not in stages
