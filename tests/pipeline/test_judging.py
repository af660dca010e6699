"""A judge behind the rules in stages that sample: whose verdicts are stored, and what the manifest says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engines.build import TorchConfig
from pipeline import addition
from pipeline.config import Layer, RecipeError, build
from pipeline.judging import JudgeConfig, open_panel
from pipeline.rollouts import Rollout, judge, judge_digest
from pipeline.sampling import Sampling, spent_entry
from pipeline.sources import Source, read_source
from pipeline.stages.guessable import Guessable
from tests.verifiers.judges import save_tiny_judge


@pytest.fixture(scope="module")
def judge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_judge(tmp_path_factory.mktemp("judge") / "tiny")


def rollout(text: str, finish_reason: str = "stop") -> Rollout:
    return Rollout(
        id="p", sampler_digest="s", prompt_digest="q", sample=0, stage="guessable", prefix="", text=text,
        token_ids=None, logprobs=None, finish_reason=finish_reason, tokens=1,
    )  # fmt: skip


def test_verdicts_name_the_judge_that_stood_behind_them(judge_folder: Path) -> None:
    config = JudgeConfig(engine=TorchConfig(model=judge_folder), share=1.0)
    panel = open_panel(config, seed=0)
    problem = replace(addition.problems(1, 1, split="pool")[0], ground_truth="x+1")
    alone, judged = (judge([(problem, rollout("\\boxed{x-1}"))], one)[0] for one in (None, panel))
    assert alone.status == "incorrect"
    assert judged.judged_by == judge_digest(problem, panel) != alone.judged_by
    other = open_panel(replace(config, share=0.5), seed=0)
    assert judge_digest(problem, other) != judge_digest(problem, panel)
    cut = judge([(problem, rollout("\\boxed{x-1}", "length"))], panel)[0]
    assert (cut.status, cut.reason) == (alone.status, alone.reason)


def test_the_manifest_holds_the_digests_of_the_prompts(judge_folder: Path) -> None:
    engine = TorchConfig(model=judge_folder)
    config = JudgeConfig(engine=engine, prompt="xverify", second=engine, second_prompt="instruct")
    stage = Guessable(sampling=Sampling(engine=engine, judge=config))
    found = spent_entry(stage, 3, 40)
    assert found["judge_prompts"] == config.prompt_digests()
    assert sorted(found["judge_prompts"]) == ["instruct", "xverify"]
    assert spent_entry(Guessable(sampling=Sampling(engine=engine)), 3, 40) == {"samples": 3, "generated_tokens": 40}


def test_a_source_brings_its_rubrics(tmp_path: Path) -> None:
    rubric = [{"criterion": "Names the river", "weight": 3}, {"criterion": "Is rude", "weight": -1}]
    rows = [{"q": "Where?", "a": "At the Rhine.", "r": rubric}, {"q": "When?", "a": "In 1815.", "r": []}]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    source = Source(name="s", path=path, question="q", answer="a", verifier="rubric", criteria="r")
    found = list(read_source(source))
    assert [type(one).__name__ for one in found] == ["Problem", "Drop"]
    assert json.loads(found[0].verifier_options)["criteria"][0]["weight"] == 3.0  # pyright: ignore
    assert found[1].reason == "no-gold"  # pyright: ignore


def test_an_unknown_kind_of_engine_is_told_all_kinds() -> None:
    layer = Layer(name="r.toml", base=Path.cwd(), table={"engine": {"kind": "vlm"}})
    with pytest.raises(RecipeError, match=r"r\.toml: engine\.kind: must be 'torch' or 'endpoint' or 'vllm', got 'vlm'"):
        build(JudgeConfig, [layer])
