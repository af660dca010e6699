"""Dynamic sampling with the real engine on a tiny model: bounds, surplus, age, and a filter that sees raw verdicts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.engine import Completion
from engines.torch_engine import TorchEngine
from pipeline.config import RecipeError
from pipeline.problem import Difficulty, Problem
from trainer.clock import Clock
from trainer.curriculum import informative_chance, keep_by_level, levels_by_rate
from trainer.groups import GroupSource, RunStoppedError
from trainer.prompts import Draw, PromptStream, Task
from trainer.rewards import shaped
from trainer.rollout_group import Group, Sample, group_from_json, group_to_json, pass_rate_histogram
from trainer.scorers import RandomScorer, Scorer, VerifierScorer
from trainer.sections import Choice, GroupFilter, PromptRules, Reward, Sampling, Stage
from verifiers.verdict import Verdict, correct, incorrect

MakeSource = Callable[..., GroupSource]


class ByProblem:
    """Right for the first sample of some problems, wrong for everything else."""

    def __init__(self, informative: Sequence[str]) -> None:
        self.informative = set(informative)

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        return [
            correct("x", None) if draw.task.problem.id in self.informative and sample == 0 else incorrect("x", None)
            for draw, sample, _ in samples
        ]


@pytest.fixture(scope="module")
def engine(model_folder: Path) -> TorchEngine:
    return TorchEngine.from_folder(model_folder)


@pytest.fixture
def make_source(engine: TorchEngine, problems: list[Problem]) -> MakeSource:
    def make(
        scorer: Scorer,
        *,
        rules: GroupFilter | None = None,
        reward: Reward | None = None,
        sampling: Sampling | None = None,
        greedy: bool = False,
    ) -> GroupSource:
        tasks = [Task(problem=p, prompt_ids=tuple(engine.encode([5, 6, 7 + i]))) for i, p in enumerate(problems)]
        return GroupSource(
            stream=PromptStream(tasks, seed=0),
            sampler=engine,
            scorer=scorer,
            sampling=sampling or Sampling(prompts=4, samples=3, max_tokens=5),
            greedy=greedy,
            rules=rules or GroupFilter(),
            reward=reward or Reward(),
            seed=0,
        )

    return make


def test_one_group_in_ten_fills_the_batch_exactly(make_source: MakeSource, problems: list[Problem]) -> None:
    source = make_source(ByProblem([problem.id for problem in problems[::10]]), rules=GroupFilter(max_gen_batches=30))
    filled = source.fill(0, Clock())
    accepted = [group for group in filled.drawn if group.informative]
    assert len(filled.kept) == 4
    assert not filled.exhausted
    assert filled.kept + filled.surplus == accepted
    assert filled.rounds <= 30


def test_surplus_comes_first_and_has_an_age_bound(
    make_source: MakeSource, problems: list[Problem], engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_source(ByProblem([problem.id for problem in problems]), rules=GroupFilter(max_age=1))
    group = source.fill(0, Clock()).kept[0]
    source.surplus = [replace(group, version=2, key="0:old"), replace(group, version=3, key="0:new")]
    monkeypatch.setattr(engine, "version", 4)
    filled = source.fill(4, Clock())
    assert filled.stale == 1
    assert filled.kept[0].key == "0:new"
    assert len(filled.drawn) == 3
    assert {group.version for group in filled.kept} == {3, 4}


def test_exhausted_rounds_train_on_what_is_there(make_source: MakeSource, problems: list[Problem]) -> None:
    source = make_source(ByProblem([]), rules=GroupFilter(max_gen_batches=3))
    filled = source.fill(0, Clock())
    assert filled.exhausted
    assert (filled.kept, filled.rounds, len(filled.drawn)) == ([], 3, 12)
    assert pass_rate_histogram(filled.drawn) == "all wrong 12, mixed 0, all right 0, undecided 0"
    strict = make_source(ByProblem([]), rules=GroupFilter(max_gen_batches=2, on_exhausted="error"))
    with pytest.raises(RunStoppedError, match="all wrong 8"):
        strict.fill(0, Clock())
    assert problems


def test_length_shaping_makes_no_group_informative(make_source: MakeSource) -> None:
    """All wrong, different lengths, soft punishment on: the shaped rewards vary, the raw verdicts do not."""

    class Wrong:
        def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
            return [incorrect("x", None) for _ in samples]

    source = make_source(Wrong(), rules=GroupFilter(max_gen_batches=2), reward=Reward(overlong_cache=4))
    filled = source.fill(0, Clock())
    assert any(sample.reward != 0 for group in filled.drawn for sample in group.samples)
    assert not filled.kept


def test_graded_scores_are_filtered_by_variance_not_by_mean() -> None:
    def group(*scores: float) -> Group:
        samples = tuple(
            Sample(response="", token_ids=(1,), logprobs=(0.0,), finish_reason="stop", status="correct", reason="",
                   score=score, reward=score)
            for score in scores
        )  # fmt: skip
        return Group(
            key="0:a", problem_id="a", question="", ground_truth="", prompt_ids=(1,), samples=samples, version=0
        )

    assert group(0.2, 0.8).informative
    assert not group(0.5, 0.5).informative


def test_samples_follow_the_visit_not_the_batch(make_source: MakeSource, problems: list[Problem]) -> None:
    """The same (seed, epoch, problem, sample) gives the same tokens whatever else is drawn; another epoch does not."""
    one = make_source(ByProblem([problem.id for problem in problems])).fill(0, Clock())
    other = make_source(ByProblem([])).fill(0, Clock())
    tokens = [{group.key: [s.token_ids for s in group.samples] for group in filled.drawn} for filled in (one, other)]
    shared = tokens[0].keys() & tokens[1].keys()
    assert shared
    assert all(tokens[0][key] == tokens[1][key] for key in shared)
    again = make_source(ByProblem([problem.id for problem in problems]))
    again.stream.restore(again.stream.state() | {"epoch": 1})
    later = {group.problem_id: [s.token_ids for s in group.samples] for group in again.fill(0, Clock()).drawn}
    first = {group.problem_id: [s.token_ids for s in group.samples] for group in one.drawn + other.drawn}
    assert all(later[key] != first[key] for key in later.keys() & first.keys())


def test_groups_survive_json(make_source: MakeSource, problems: list[Problem]) -> None:
    for group in make_source(ByProblem([problem.id for problem in problems])).fill(0, Clock()).kept:
        assert group_from_json(json.loads(json.dumps(group_to_json(group)))) == group


def test_real_verifier(make_source: MakeSource, problems: list[Problem]) -> None:
    scorer = VerifierScorer(workers=1)
    draw = Draw(task=Task(problem=problems[0], prompt_ids=(1,)), epoch=0)
    right, wrong = f"so \\boxed{{{problems[0].ground_truth}}}", "\\boxed{7}"
    completions = [
        Completion(text=text, token_ids=(1,), logprobs=(0.0,), finish_reason="stop") for text in (right, wrong, "")
    ]
    verdicts = scorer([(draw, place, completion) for place, completion in enumerate(completions)])
    assert [str(verdict.status) for verdict in verdicts] == ["correct", "incorrect", "incorrect"]
    assert make_source


def test_the_control_is_keyed_and_fair(problems: list[Problem]) -> None:
    draws = [Draw(task=Task(problem=problem, prompt_ids=(1,)), epoch=epoch) for problem in problems for epoch in (0, 1)]
    completion = Completion(text="", token_ids=(1,), logprobs=(0.0,), finish_reason="stop")
    samples = [(draw, sample, completion) for draw in draws for sample in range(8)]
    scores = [verdict.score for verdict in RandomScorer(3)(samples)]
    assert scores == [verdict.score for verdict in RandomScorer(3)(samples)]
    assert scores != [verdict.score for verdict in RandomScorer(4)(samples)]
    assert sum(scores) / len(scores) == pytest.approx(0.5, abs=0.06)


def test_an_epoch_visits_every_prompt_once_and_resumes(problems: list[Problem]) -> None:
    tasks = [Task(problem=problem, prompt_ids=(1,)) for problem in problems]
    stream = PromptStream(tasks, seed=5)
    whole = [draw.key for draw in stream.draw(120)]
    assert len(set(whole)) == 120
    assert len({key.split(":")[1] for key in whole[:50]}) == 50
    assert [key.split(":")[1] for key in whole[:50]] != [key.split(":")[1] for key in whole[50:100]]
    cut = PromptStream(list(reversed(tasks)), seed=5)
    begun = [draw.key for draw in cut.draw(70)]
    resumed = PromptStream(tasks, seed=5)
    resumed.restore(cut.state())
    assert begun + [draw.key for draw in resumed.draw(50)] == whole


@dataclass(frozen=True, kw_only=True)
class Visit:
    problem_id: str
    scores: list[float]


def stream_of(problems: list[Problem], **rules: Any) -> PromptStream:
    tasks = [Task(problem=problem, prompt_ids=(1,)) for problem in problems]
    return PromptStream(tasks, seed=1, rules=PromptRules(**rules))


def test_greso_leaves_out_constant_prompts_from_the_second_epoch(problems: list[Problem]) -> None:
    stream = stream_of(problems, skip="greso")
    mixed = {problem.id for problem in problems[:10]}

    def visit(count: int) -> list[str]:
        draws = stream.draw(count)
        found = [
            Visit(problem_id=draw.task.problem.id, scores=[0.0, 1.0 if draw.task.problem.id in mixed else 0.0])
            for draw in draws
        ]
        stream.observe(found)
        stream.adapt(found)
        return [item.problem_id for item in found]

    assert len(set(visit(50))) == 50
    assert stream.skipped == 0
    later = [problem_id for _ in range(20) for problem_id in visit(10)]
    assert sum(problem_id in mixed for problem_id in later) / len(later) > 2 * 10 / 50
    assert stream.skipped > 100
    assert any(problem_id not in mixed for problem_id in later)
    resumed = stream_of(problems, skip="greso")
    resumed.restore(json.loads(json.dumps(stream.state())))
    assert [draw.key for draw in resumed.draw(30)] == [draw.key for draw in stream.draw(30)]


def test_mastered_prompts_never_come_back_but_a_mastered_pool_still_draws(problems: list[Problem]) -> None:
    stream = stream_of(problems, drop_above=0.9)
    stream.observe([Visit(problem_id=problem.id, scores=[1.0, 1.0]) for problem in problems[5:]])
    assert {draw.task.problem.id for draw in stream.draw(20)} == {problem.id for problem in problems[:5]}
    stream.observe([Visit(problem_id=problem.id, scores=[1.0, 1.0]) for problem in problems])
    assert len(stream.draw(7)) == 7


def test_the_shards_pass_rates_decide_the_first_visit(problems: list[Problem]) -> None:
    def measured(problem: Problem, correct: int) -> Problem:
        entry = Difficulty(model="m", sampler_digest="d", correct=correct, attempts=16, truncated=0, low=0.0, high=1.0,
                           bucket="")  # fmt: skip
        return replace(problem, difficulty=(entry,))

    pool = [measured(problem, (0, 16, 8, 8, 8)[place % 5]) for place, problem in enumerate(problems)]
    drawn = [draw.task.problem.difficulty[-1].correct for draw in stream_of(pool, prior=True).draw(30)]
    assert drawn.count(8) > 0.75 * len(drawn)
    plain = [draw.task.problem.difficulty[-1].correct for draw in stream_of(pool).draw(50)]
    assert plain.count(8) == 30
    assert informative_chance(8, 16, 8) > 0.95
    assert informative_chance(0, 16, 8) == pytest.approx(informative_chance(16, 16, 8))
    assert informative_chance(0, 16, 8) < 0.25
    assert informative_chance(0, 0, 2) == pytest.approx(0.25)


class Planted:
    """The problems' own verifiers, on texts written by a planted policy."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        written = [
            (draw, sample, replace(completion, text=self.texts[sample % len(self.texts)]))
            for draw, sample, completion in samples
        ]
        return VerifierScorer(1)(written)


def test_undecidable_towers_pay_no_more_than_wrong_answers(make_source: MakeSource) -> None:
    """No sample of such a policy is left out, rewarded, or makes a group that would be trained on."""
    tower, wrong = r"\boxed{9^{9^{9^{9^9}}}}", r"\boxed{-123456}"
    for texts in ((tower,), (wrong,), (tower, r"\boxed{((99!)!)!}", wrong)):
        filled = make_source(Planted(*texts), rules=GroupFilter(max_gen_batches=1)).fill(0, Clock())
        assert [group.scores for group in filled.drawn] == [[0.0] * 3] * 4
        assert {sample.reward for group in filled.drawn for sample in group.samples} == {0.0}
        assert not filled.kept
        assert pass_rate_histogram(filled.drawn) == "all wrong 4, mixed 0, all right 0, undecided 0"


def test_copies_of_informative_groups_replace_missing_ones(make_source: MakeSource, problems: list[Problem]) -> None:
    """POLARIS: one round, and the batch keeps its size; without an informative group there is nothing to copy."""
    rules = GroupFilter(max_gen_batches=1, on_exhausted="replace")
    first = make_source(ByProblem([])).fill(0, Clock()).drawn[:2]
    filled = make_source(ByProblem([group.problem_id for group in first[:1]]), rules=rules).fill(0, Clock())
    assert [group.key for group in filled.kept] == [first[0].key] * 4
    assert (filled.copies, filled.rounds, filled.surplus) == (3, 1, [])
    assert make_source(ByProblem([]), rules=rules).fill(0, Clock()).kept == []
    assert problems


def test_the_greedy_response_is_a_baseline_and_is_charged(make_source: MakeSource, problems: list[Problem]) -> None:
    class GreedyRight:
        """Only the response that no group holds is right."""

        def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
            return [correct("x", None) if sample == 3 else incorrect("x", None) for _, sample, _ in samples]

    filled = make_source(GreedyRight(), rules=GroupFilter(keep="all"), greedy=True).fill(0, Clock())
    for group in filled.kept:
        assert group.greedy == 1.0
        assert group.scores == [0.0] * 3
        assert group.tokens == sum(len(sample.token_ids) for sample in group.samples) + group.greedy_tokens
        assert group.greedy_tokens > 0
        assert group_from_json(json.loads(json.dumps(group_to_json(group)))) == group
    again = make_source(ByProblem([]), rules=GroupFilter(keep="all"), greedy=True)
    assert [g.greedy_tokens for g in again.fill(0, Clock()).kept] == [g.greedy_tokens for g in filled.kept]
    assert problems


def test_stages_give_the_budget_of_the_step(make_source: MakeSource) -> None:
    stages = (Stage(until_step=2, max_tokens=2), Stage(until_step=3, max_tokens=3))
    sampling = Sampling(prompts=2, samples=2, max_tokens=5, stages=stages)
    assert [sampling.budget(step) for step in range(5)] == [2, 2, 3, 5, 5]
    source = make_source(ByProblem([]), rules=GroupFilter(keep="all"), sampling=sampling)
    for step, budget in ((0, 2), (2, 3), (3, 5)):
        drawn = source.fill(0, Clock(), step=step).drawn
        assert max(len(sample.token_ids) for group in drawn for sample in group.samples) == budget


def measured(problem: Problem, right: int) -> Problem:
    entry = Difficulty(model="m", sampler_digest="d", correct=right, attempts=50, truncated=0, low=0.0, high=1.0,
                       bucket="")  # fmt: skip
    return replace(problem, difficulty=(entry,))


@pytest.mark.parametrize("name", ["e2h_cosine", "e2h_gaussian"])
def test_easy_prompts_come_first(name: str, problems: list[Problem]) -> None:
    """E2H: the mean difficulty of what is drawn rises over the run, and a resumed stream draws the same."""
    pool = [measured(problem, place) for place, problem in enumerate(problems)]
    stream = stream_of(pool, curriculum=Choice(name=name, options={"levels": 5}))
    means = []
    for progress in (0.0, 0.5, 1.0):
        drawn = [draw.task.problem.difficulty[-1].correct for draw in stream.draw(200, progress)]
        means.append(sum(drawn) / len(drawn))
    assert means[0] > means[1] + 3 > means[2] + 6
    resumed = stream_of(pool, curriculum=Choice(name=name, options={"levels": 5}))
    resumed.restore(json.loads(json.dumps(stream.state())))
    assert [d.key for d in resumed.draw(20, 1.0)] == [d.key for d in stream.draw(20, 1.0)]
    with pytest.raises(RecipeError, match="no pass rate"):
        stream_of(problems, curriculum=Choice(name=name, options={"levels": 5}))


def test_levels_are_equal_in_size_and_kept_in_their_shares() -> None:
    levels = levels_by_rate({f"p{i}": i / 10 for i in range(10)}, 3)
    assert (levels["p9"], levels["p0"]) == (0, 2)
    assert sorted(levels.values()) == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    keep = keep_by_level([0.5, 0.3, 0.2], levels)
    kept = [size * chance for size, chance in zip((4, 3, 3), keep, strict=True)]
    assert [value / sum(kept) for value in kept] == pytest.approx([0.5, 0.3, 0.2])


def test_prompts_come_in_proportion_to_what_is_missing(problems: list[Problem]) -> None:
    stream = stream_of(problems, skip="success")
    half = {problem.id for problem in problems[:25]}
    stream.observe(
        [Visit(problem_id=p.id, scores=[1.0] * 6 + [0.0] * 2 if p.id in half else [0.0] * 8) for p in problems]
    )
    drawn = [draw.task.problem.id in half for draw in stream.draw(800)]
    assert sum(drawn) / len(drawn) == pytest.approx(0.2, abs=0.05)  # 1/4 against 1


LENGTHS: list[Choice | None] = [
    None,
    Choice(name="kimi", options={"weight": 9.0}),
    Choice(name="l1_exact", options={"target": 3, "alpha": 0.7}),
    Choice(name="l1_max", options={"target": 2, "alpha": 0.7}),
]


@given(
    rows=st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=6),
    length=st.sampled_from(LENGTHS),
    cache=st.integers(0, 5),
    wrong=st.sampled_from([0.0, -1.0]),
)
def test_length_never_outweighs_correctness(
    rows: list[tuple[bool, int]], length: Choice | None, cache: int, wrong: float
) -> None:
    reward = Reward(length=length, overlong_cache=cache, wrong=wrong)
    right, lengths = [r for r, _ in rows], [n for _, n in rows]
    found = shaped([1.0 if r else wrong for r in right], right, lengths, max_tokens=8, reward=reward)
    values = [value for value in found if value is not None]
    assert len(values) == len(rows)
    assert all(value >= wrong - 1e-12 for value, r in zip(values, right, strict=True) if r)
    assert all(value <= wrong + 1e-12 for value, r in zip(values, right, strict=True) if not r)


def test_length_terms_begin_when_asked_and_undecided_rows_are_absent() -> None:
    reward = Reward(length=Choice(name="kimi"), length_after=2)
    outcomes, right, lengths = [1.0, math.nan, 1.0, 0.0], [True, False, True, False], [2, 100, 6, 4]
    before = shaped(outcomes, right, lengths, max_tokens=8, reward=reward, updates=1)
    assert before == [1.0, None, 1.0, 0.0]
    after = shaped(outcomes, right, lengths, max_tokens=8, reward=reward, updates=2)
    assert after == [1.5, None, 0.5, 0.0]
    l1 = Reward(length=Choice(name="l1_max", options={"target": 4, "alpha": 0.25}))
    assert shaped([1.0, 1.0], [True, True], [4, 6], max_tokens=8, reward=l1) == [0.5, 0.0]
