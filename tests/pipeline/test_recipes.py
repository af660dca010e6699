from pathlib import Path

import pytest

from pipeline.config import RecipeError, dump, load, read_toml
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


SOURCE = "[[sources]]\nname = 's'\npath = 'rows.jsonl'\nquestion = 'q'\nanswer = 'a'\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("verifier = 'mth'", "sources 's': verifier: unknown verifier 'mth'; did you mean 'math'?"),
        ("verifier = 'zzz'", "unknown verifier 'zzz'; known: choice, format, math, qa"),
        (
            "verifier_options = {rel_tl = 1}",
            "sources 's': verifier_options: verifier 'math' has no option 'rel_tl'; did you mean 'rel_tol'?",
        ),
    ],
)
def test_a_source_names_a_verifier_and_its_options(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(SOURCE + line, encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        load(CurateConfig, [path], ["seed=1"])
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_known_verifier_with_its_option_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(SOURCE + "verifier_options = {rel_tol = 0.01}", encoding="utf-8")
    assert load(CurateConfig, [path]).sources[0].verifier_options == {"rel_tol": 0.01}


@pytest.mark.parametrize(
    ("text", "found"), [("algorithm = 'dapo'\n", "algorithm"), ("model = 'm'\nshards = 's'\n", "model and shards")]
)
def test_a_training_recipe_is_sent_to_its_verb(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text + "steps = 1\n", encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        load(CurateConfig, [path], ["seed=1"])
    assert str(caught.value) == f"{path}: is a training recipe (it has {found}); give it to `verigold train`"
