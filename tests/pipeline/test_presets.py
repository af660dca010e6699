"""Every preset loads and is complete; the verified ones read their files with the drops they state and no others."""

from collections import Counter
from pathlib import Path

import pytest

from pipeline.config import RecipeError, load
from pipeline.fields import MISSING, value_at
from pipeline.presets import Preset, TriedFile, load_preset, presets_folder
from pipeline.problem import Problem
from pipeline.readers import read_raw
from pipeline.recipe import CurateConfig
from pipeline.sources import Source, read_source

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = (
    ROOT / "data" / "samples",
    ROOT / "data" / "samples" / "benchmarks",
    ROOT.parent / "shared" / "data" / "sources",
    ROOT.parent / "shared" / "data" / "bench",
)
NAMES = sorted(path.stem for path in presets_folder().glob("*.toml"))
NAMED = (
    *("numinamath_1_5", "deepscaler", "big_math", "dapo_math_17k", "orz_57k", "openr1_math", "openmath_reasoning"),
    *("deepmath_103k", "eurus_2_rl", "skywork_or1", "guru_92k", "synthetic_2", "limo"),
)


def found(name: str) -> Path | None:
    return next((folder / name for folder in FOLDERS if (folder / name).exists()), None)


def as_source(preset: Preset, path: Path, split: str | None = None) -> Source:
    from pipeline.config import Layer, build

    table = {key: value for key, value in preset.source.items() if key not in ("hub", "subset", "revision")}
    table |= {"name": "s", "path": str(path)} | ({"split": split} if split else {})
    return build(Source, [Layer(name="preset", base=ROOT, table=table)])


def test_the_public_sets_of_the_field_have_a_preset() -> None:
    assert set(NAMED) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_complete(name: str) -> None:
    preset = load_preset(name, "test")
    source = as_source(preset, ROOT / "rows.jsonl")
    assert source.question_fields
    assert preset.about.title
    assert preset.about.evidence
    assert preset.about.defects
    assert preset.about.verified == bool(preset.about.files)
    assert source.license != "unknown" or preset.about.not_evidenced or name in ("verl", "trl")
    assert "hub" in preset.source or preset.about.not_evidenced or name in ("verl", "trl")
    assert (presets_folder() / f"{name}.toml").read_text(encoding="utf-8").startswith("# ")


TRIED = [(name, file) for name in NAMES for file in load_preset(name, "test").about.files]


@pytest.mark.parametrize(("name", "file"), TRIED, ids=lambda value: getattr(value, "name", value))
def test_a_verified_preset_reads_its_file(name: str, file: TriedFile) -> None:
    path = found(file.name)
    if path is None:
        pytest.skip("the file is not here")
    source = as_source(load_preset(name, "test"), path, file.split)
    rows = list(read_source(source))
    drops = Counter(row.reason for row in rows if not isinstance(row, Problem))
    assert (len(rows), dict(drops)) == (file.rows, file.drops)
    first = next(read_raw(source.place, source.path, source.format, source))
    assert first.row is not None
    assert [field for field in source.meta if value_at(first.row, field) is MISSING] == []


def recipe(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_own_keys_win_over_the_preset_and_a_path_over_the_hub(tmp_path: Path) -> None:
    text = (
        '[[sources]]\npreset = "gsm8k"\n[[sources]]\npreset = "gsm8k"\nname = "mine"\npath = "x.jsonl"\nlicense = "own"'
    )
    hub, mine = load(CurateConfig, [recipe(tmp_path, text)]).sources
    assert (hub.name, hub.hub, hub.subset, hub.path) == ("gsm8k", "openai/gsm8k", "main", None)
    assert (mine.name, mine.hub, mine.subset, mine.path) == ("mine", None, None, tmp_path / "x.jsonl")
    assert (mine.license, mine.answer_pattern) == ("own", "after_hashes")


def test_benchmarks_take_presets_and_paths_lie_under_the_data_root(tmp_path: Path) -> None:
    text = """
data_root = "files"
[[sources]]
preset = "svamp"
path = "a/svamp.jsonl.gz"
[stages.decontaminate]
benchmarks = [{preset = "olympiadbench", name = "o", path = "b.jsonl"}]
"""
    for overrides, root in (([], tmp_path / "files"), ([f"data_root={tmp_path / 'other'}"], tmp_path / "other")):
        config = load(CurateConfig, [recipe(tmp_path, text)], overrides)
        assert config.sources[0].path == root / "a" / "svamp.jsonl.gz"
        ((_, stage),) = config.build_stages()
        (bench,) = stage.benchmarks
        assert (bench.path, bench.question, bench.answer) == (root / "b.jsonl", "question", "final_answer")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('preset = "gsm8"', "unknown preset 'gsm8'; did you mean 'gsm8k'?"),
        ('preset = "svamp"', "sources 'svamp': preset 'svamp' has no place on the hub; give path"),
        ('preset = "humaneval"\npath = "x.jsonl"', "its answers are programs, to be run against tests; set verifier"),
        ('preset = "svamp"\npath = "x.jsonl"\nquestoin = "q"', "questoin: unknown key; did you mean 'question'?"),
    ],
)
def test_mistakes_name_the_recipe_and_the_source(keys: str, message: str, tmp_path: Path) -> None:
    path = recipe(tmp_path, f"[[sources]]\n{keys}\n")
    with pytest.raises(RecipeError) as caught:
        load(CurateConfig, [path])
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
