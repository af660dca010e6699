"""The numbers on the pages are those of the files."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from pipeline.config import RecipeError
from verigold.report import audit, curation, quickstart, training
from verigold.report.blocks import Block, Document, Example, Figure, Gallery, Paragraph, Section, Table
from verigold.report.findings import read
from verigold.report.folders import Kind, detect, read_json, read_run
from verigold.report.make import render
from verigold.report.sources import unusual_sources
from verigold.report.words import count, interval, percent


def walk(blocks: Any) -> list[Block]:
    found: list[Block] = []
    for block in blocks:
        found.append(block)
        if isinstance(block, Figure):
            found.append(block.table)
        inner = block.figures if isinstance(block, Gallery) else getattr(block, "blocks", ())
        found.extend(walk(inner))
    return found


def tables(document: Document) -> dict[str, list[list[str]]]:
    return {b.caption: [[c.text for c in row] for row in b.rows] for b in walk(document.blocks) if isinstance(b, Table)}


def test_curation_numbers(root: Path) -> None:
    manifest = read_json(root / "real" / "manifest.json")
    document = curation.document(root / "real")
    found = tables(document)
    for row, stage in zip(found["Rows through the stages"], manifest["stages"], strict=True):
        dropped, quarantined = (sum(stage[kind].values()) for kind in ("dropped", "quarantined"))
        assert row == [stage["name"], *map(count, (stage["rows_in"], dropped, quarantined, stage["rows_out"]))]
    assert sum(int(row[3]) for row in found["Why rows were removed"]) == manifest["rows_in"] - manifest["rows_kept"]
    by_source = {row[0]: row for row in found["Rows kept and lost by source"]}
    assert by_source["math_train"][1:5] == ["MIT", "300", "230", percent(70 / 300)]
    assert by_source["math_train"][5] == "near-duplicate (dedupe)"
    assert {name for name, row in by_source.items() if row[6]} == {"omni_math"}
    assert found["Benchmarks that rows were checked against"] == [["gsm8k_test", "test", "e53f048", "1,319", "2"]]
    assert ["dedupe.threshold", "0.8"] in found["Thresholds and inputs"]
    html = curation.render(root / "real")
    assert f"{manifest['rows_kept']:,}" in html


def test_curation_shows_keeper_of_a_duplicate(root: Path) -> None:
    examples = [b for b in walk(curation.document(root / "real").blocks) if isinstance(b, Example)]
    fields = {field.label: field.text for example in examples for field in example.fields}
    of_a_pair = {"dropped", "kept", "rule"}
    assert {"question", "gold", "keeper", "score", "keeper's question"} | of_a_pair == set(fields)
    assert "<script>" in fields["keeper's question"]


def test_counts_that_do_not_add_up_are_an_alarm(root: Path, tmp_path: Path) -> None:
    manifest = read_json(root / "real" / "manifest.json") | {"rows_kept": 1}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    alarms = [
        b.text for b in walk(curation.document(tmp_path).blocks) if isinstance(b, Paragraph) and b.kind == "alarm"
    ]
    assert any("do not add up" in text for text in alarms)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({"a": (1000, 900), "b": (1000, 920)}, set()),
        ({"a": (1000, 900), "b": (1000, 600)}, {"b"}),
        ({"a": (10, 4)}, set()),
        ({"a": (1000, 400)}, {"a"}),
        ({"a": (100, 0), "b": (0, 0)}, {"a"}),
    ],
)
def test_alarm_when_a_source_loses_an_unusual_share(rows: dict[str, tuple[int, int]], expected: set[str]) -> None:
    alarms = unusual_sources({name: {"rows_in": i, "rows_kept": k} for name, (i, k) in rows.items()})
    assert {name for name, alarm in alarms.items() if alarm} == expected


def test_audit_numbers(root: Path) -> None:
    data = read_json(root / "audit" / "audit.json")
    found = tables(audit.document(data))
    assert found["Verdicts against labels"] == [
        ["labelled correct", "685", "13", "2", "700"],
        ["labelled wrong", "5", "615", "0", "620"],
    ]
    assert found["Error rates of the verifier"][0][:2] == ["false negatives", percent(data["fnr"]["estimate"])]
    assert found["Verdicts by their reason"][0] == ["exact", "700", "4", percent(4 / 700)]
    assert [row[0] for row in found["Error rates by category of answer"]][:2] == ["integer", "fraction"]
    examples = [b for b in walk(audit.document(data).blocks) if isinstance(b, Example)]
    assert [example.title.split(":")[0] for example in examples] == ["False positive", "False negative"]


def test_audit_of_an_empty_object_still_renders() -> None:
    assert "0 labelled responses" in audit.render({}).replace("\u00a0", " ")


def test_training_numbers(root: Path) -> None:
    run = read_run(root / "runs" / "dapo")
    assert len(run.metrics) == 33
    found = tables(training.document([root / "runs" / "dapo"]))
    assert found["Runs"] == [["dapo", "33", "198,000", "33 s", "token budget used"]]
    reward = found["Reward while training"]
    assert [row[0] for row in reward] == [count(row["generated_tokens_total"]) for row in run.metrics]
    assert float(reward[-1][1]) == pytest.approx(run.metrics[-1]["reward/mean"], rel=0.01)


def test_compared_runs_show_the_settings_that_differ(root: Path) -> None:
    found = tables(training.document([root / "runs" / "dapo", root / "runs" / "control"]))
    assert found["Settings that differ"] == [["seed", "1", "2"]]
    assert ["loss.clip_high", "0.28", "0.28"] in found["Resolved recipe"]


def test_evaluations_in_training_carry_their_interval(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dapo"
    shutil.copytree(root / "runs" / "dapo", folder)
    (folder / "eval").mkdir()
    told = {"pass_at_1": {"estimate": 0.5, "low": 0.45, "high": 0.55}, "greedy": None}
    (folder / "eval" / "step-00005.json").write_text(json.dumps(told), encoding="utf-8")
    points = training.points(read_run(folder), "eval/pass_at_1")
    assert (points[0].low, points[0].high) == (0.45, 0.55)
    assert points[1].low is None
    assert "step-00005" in training.render([folder])


def test_majorities_parts_and_monitors_are_shown_where_they_were_measured(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dapo"
    shutil.copytree(root / "runs" / "dapo", folder)
    (folder / "eval").mkdir()
    half = {"estimate": 0.5, "low": 0.45, "high": 0.55}
    told = {"n": 9, "greedy": None, "pass_at_1": half, "pass_at_k": {"1": half}, "generated_tokens": 7,
            "maj_at_k": {"4": half, "16": half | {"estimate": 0.75}},
            "parts": {"clean": {"n": 8, "pass_at_1": half | {"estimate": 0.25}}}}  # fmt: skip
    (folder / "eval" / "final.json").write_text(json.dumps(told), encoding="utf-8")
    rows = read_run(folder).metrics
    more = [row | {"groups/rollouts_per_kept": 16.0, "reward/hedged_share": 0.125} for row in rows]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in more), encoding="utf-8")
    document = training.document([folder])
    (found,) = [b for b in walk(document.blocks) if isinstance(b, Table) and b.caption.startswith("Evaluations on")]
    assert [column.title for column in found.columns][-3:-1] == ["maj@16", "pass@1, clean"]
    assert [cell.text for cell in found.rows[0]][-3:-1] == [percent(0.75), percent(0.25)]
    titles = {block.title for block in walk(document.blocks) if isinstance(block, Figure)}
    assert {"Responses drawn for a kept group", "Responses with several answers to choose from"} <= titles


def test_a_batch_drawn_ahead_costs_what_was_waited_for_it(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ahead"
    shutil.copytree(root / "runs" / "dapo", folder)
    rows = read_run(folder).metrics
    ahead = {"time/drawing_s": 0.8, "time/wait_s": 0.2, "time/overlap_share": 0.75, "time/weights_s": 0.1}
    told = [rows[0], *(row | ahead for row in rows[1:])]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told), encoding="utf-8")
    speed = training.points(read_run(folder), "throughput")
    assert speed[0].y == pytest.approx(6000 / (0.6 + 0.01 + 0.5))
    assert speed[1].y == pytest.approx(6000 / (0.2 + 0.1 + 0.5))
    found = tables(training.document([folder]))
    assert {row[1] for row in found["Drawing hidden behind training"]} == {percent(0.75)}
    assert "Drawing hidden behind training" not in tables(training.document([root / "runs" / "dapo"]))


def test_runs_of_the_same_name_are_told_apart(root: Path, tmp_path: Path) -> None:
    folders = [tmp_path / part / "run" for part in ("one", "two")]
    for folder in folders:
        shutil.copytree(root / "runs" / "dapo", folder)
    assert [run.name for run in training.read_runs(folders)] == ["one/run", "two/run"]


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("", encoding="utf-8")
    assert "Not run." in training.render([tmp_path])


def test_quickstart_numbers(root: Path) -> None:
    found = tables(quickstart.document(root))
    rows = {row[0]: row for row in found["The embedded model before and after training"]}
    for model, name in (("base", "base model"), ("dapo", "DAPO"), ("control", "random rewards (control)")):
        data = read_json(root / "eval" / f"{model}.json")
        assert rows[name][1:3] == [percent(data[key]["estimate"]) for key in ("greedy", "pass_at_1")]
        assert rows[name][3:5] == [percent(data["pass_at_k"][k]["estimate"]) for k in ("4", "16")]
    assert rows["base model"][5:] == ["0", "0"]
    assert rows["DAPO"][5:] == ["198,000", "64,500"]
    planted = found["Planted rows and what curation removed"]
    assert planted[0] == ["wrong-gold", "80", "71", percent(71 / 80)]
    assert planted[-1][0] == "no defect"


def test_quickstart_curves_begin_at_the_base_and_end_at_the_final_model(root: Path) -> None:
    dapo, control = quickstart.heldout_series(read(root), "pass_at_1")
    base = interval(read_json(root / "eval" / "base.json")["pass_at_1"])
    assert base
    assert (dapo.points[0].x, dapo.points[0].y) == (0, base.estimate)
    assert (control.points[-1].x, control.points[-1].y) == (198_000, 0.221)
    assert [p.x for p in dapo.points] == sorted({p.x for p in dapo.points})


def test_quickstart_words_follow_the_data(root: Path, tmp_path: Path) -> None:
    words = " ".join(b.text for b in walk(quickstart.document(root).blocks) if isinstance(b, Paragraph))
    assert "styles of answer" in words
    shutil.copytree(root, tmp_path / "other")
    path = tmp_path / "other" / "eval" / "control.json"
    value = read_json(path)
    value["greedy"] = value["pass_at_1"] = {"estimate": 0.3, "low": 0.28, "high": 0.32}
    path.write_text(json.dumps(value), encoding="utf-8")
    words = " ".join(b.text for b in walk(quickstart.document(tmp_path / "other").blocks) if isinstance(b, Paragraph))
    assert "styles of answer" not in words
    assert "does not come from training as such" in words
    assert f"to {percent(0.3)}" in words


def test_transcripts_tell_the_verdict_in_words(root: Path) -> None:
    html = quickstart.render(root)
    for words in ("✗ incorrect (exact)", "✓ correct (exact)", "? undecided (exact)"):
        assert words in html


PARTS = ("real", "audit", "pool", "runs", "eval", "transcripts.json", "summary.json")


@pytest.mark.parametrize("part", PARTS)
def test_quickstart_copes_with_a_missing_part(part: str, root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "root")
    path = tmp_path / "root" / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    for form in ("html", "md"):
        assert render([tmp_path / "root"], form)
    missing = [
        b
        for b in walk(quickstart.document(tmp_path / "root").blocks)
        if isinstance(b, Paragraph) and b.kind == "missing"
    ]
    assert missing or part == "summary.json"


def test_quickstart_of_an_empty_folder(tmp_path: Path) -> None:
    sections = [b for b in quickstart.document(tmp_path).blocks if isinstance(b, Section)]
    assert len(sections) == 7
    assert quickstart.render(tmp_path).count("Not run.") >= 5


def test_kinds_of_folders(root: Path) -> None:
    expected = {".": Kind.QUICKSTART, "real": Kind.CURATED, "audit": Kind.AUDIT, "runs/dapo": Kind.RUN}
    assert {part: detect(root / part) for part in expected} == expected
    assert detect(root / "audit" / "audit.json") is Kind.AUDIT


def test_damaged_files_are_user_errors_that_name_the_file(root: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"manifest\.json: not JSON"):
        render([tmp_path])
    shutil.copytree(root / "real", tmp_path / "real")
    (tmp_path / "real" / "dropped" / "dedupe.parquet").write_bytes(b"no parquet")
    with pytest.raises(RecipeError, match=r"dedupe\.parquet: not a readable Parquet file"):
        render([tmp_path / "real"])
    with pytest.raises(RecipeError, match="there is no such"):
        render([tmp_path / "absent"])
    with pytest.raises(RecipeError, match="compared only when all are run folders"):
        render([root / "real", root / "runs" / "dapo"])


@pytest.mark.parametrize("part", [".", "real", "audit", "runs/dapo"])
def test_markdown_twin(part: str, root: Path) -> None:
    text = render([root / part], "md")
    assert text.startswith("# ")
    kinds = {
        token.type
        for block in MarkdownIt("commonmark", {"html": True}).parse(text)
        for token in [block, *(block.children or [])]
    }
    assert not kinds & {"html_block", "html_inline", "link_open", "image"}
