from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from pipeline.problem import Problem
from pipeline.stage import Context, Drop
from pipeline.stages.balance import Balance
from pipeline.stages.select import Select

Make = Callable[..., Problem]


def rows(make: Make) -> list[Problem]:
    return [
        make(f"Tom has {number} {'cats' if number % 2 else 'dogs'} in {name}.", str(number), number, name)
        for name, count in (("a", 60), ("b", 30))
        for number in range(count)
    ]


def drops(stage: Select | Balance, problems: list[Problem], context: Context) -> dict[str, Drop]:
    by_row = {problem.source_row: problem for problem in problems}
    found = stage.drops(stage.keys(problems), lambda names: [by_row[name] for name in names], context)
    return {drop.source_row: drop for drop in found}


def kept_by_source(problems: list[Problem], gone: dict[str, Drop]) -> Counter[str]:
    return Counter(problem.data_source for problem in problems if problem.source_row not in gone)


def test_nothing_asked_nothing_dropped(make: Make, context: Context) -> None:
    assert drops(Select(), rows(make), context) == drops(Balance(), rows(make), context) == {}


def test_caps_and_weights(make: Make, context: Context) -> None:
    problems = rows(make)
    gone = drops(Select(max_rows={"a": 10}, weights={"b": 0.0}), problems, context)
    assert kept_by_source(problems, gone) == Counter(a=10)
    assert Counter(drop.reason for drop in gone.values()) == {"source-cap": 50, "source-weight": 30}
    gone = drops(Select(max_per_template=5), problems, context)
    assert kept_by_source(problems, gone) == Counter(a=10, b=10)
    gone = drops(Select(max_total=7), problems, context)
    assert sum(kept_by_source(problems, gone).values()) == 7


def test_the_choice_follows_the_seed_and_not_the_order(make: Make, context: Context) -> None:
    problems = rows(make)
    stage = Select(max_total=20)
    assert set(drops(stage, problems, context)) == set(drops(stage, problems[::-1], context))
    assert set(drops(stage, problems, context)) != set(drops(stage, problems, replace(context, seed=1)))


def test_a_mix_is_cut_to_its_scarcest_source(make: Make, context: Context) -> None:
    problems = rows(make)
    gone = drops(Balance(mix={"a": 0.5, "b": 0.5}), problems, context)
    assert kept_by_source(problems, gone) == Counter(a=30, b=30)


def test_held_out_templates_go_whole(make: Make, context: Context) -> None:
    problems = [
        make(f"Story {n // 4} of {'abcdefghijklmnopqrstuvwxyz'[n // 4 % 26]}x has {n} steps.", "1", n)
        for n in range(100)
    ]
    gone = drops(Balance(held_out=0.5), problems, context)
    assert 0 < len(gone) < 100
    templates = dict(
        zip((p.source_row for p in problems), Balance().keys(problems).column("template_id").to_pylist(), strict=True)
    )
    assert {templates[row] for row in gone}.isdisjoint({mark for row, mark in templates.items() if row not in gone})
