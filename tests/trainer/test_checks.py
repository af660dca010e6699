"""What is found before the first step: templates, end tokens, prompt lengths, golds that no verifier accepts."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from pipeline.config import RecipeError
from pipeline.problem import Problem
from pipeline.shards import write_problems
from trainer.checks import check_verifiers, make_tasks
from trainer.config import TrainConfig
from trainer.loop import train
from trainer.prompts import Task
from trainer.sections import Sampling, Template
from trainer.template import encode
from trainer.warmstart import build_tokenizer

Recipe = Callable[..., TrainConfig]
END = frozenset({2})


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    return build_tokenizer()


def tasks_of(
    problems: list[Problem], tokenizer: PreTrainedTokenizerFast, console: Console, sampling: Sampling | None = None
) -> list[Task]:
    return make_tasks(problems, Template(), sampling or Sampling(), tokenizer, END, console)


def text_of(tokenizer: PreTrainedTokenizerFast, ids: tuple[int, ...]) -> str:
    return str(tokenizer.decode(list(ids)))


def test_prompts_are_the_templates_own_text(tokenizer: PreTrainedTokenizerFast, problems: list[Problem]) -> None:
    ids = encode(problems[0], Template(), tokenizer)
    assert text_of(tokenizer, ids) == problems[0].question + "\n"
    assert tokenizer.bos_token_id not in ids
    with_suffix = encode(problems[0], Template(suffix=" Think.", system="Add."), tokenizer)
    assert text_of(tokenizer, with_suffix) == "Add." + problems[0].question + " Think.\n"
    own = encode(replace(problems[0], system_prompt="Own."), Template(system="Add."), tokenizer)
    assert text_of(tokenizer, own).startswith("Own.")


def test_bos_is_counted(tokenizer: PreTrainedTokenizerFast, problems: list[Problem], quiet: Console) -> None:
    """Once from the template is right; twice is refused (the tokenizer itself adds none)."""
    plain = tokenizer.chat_template
    assert isinstance(plain, str)
    tokenizer.chat_template = "{{ bos_token }}" + plain
    assert tasks_of(problems[:1], tokenizer, quiet)[0].prompt_ids.count(1) == 1
    tokenizer.chat_template = "{{ bos_token }}{{ bos_token }}" + plain
    with pytest.raises(RecipeError, match="BOS"):
        tasks_of(problems[:1], tokenizer, quiet)
    tokenizer.chat_template = "{% for turn in messages %}{{ bos_token }}{{ turn.content }}{% endfor %}{{ bos_token }}"
    assert tasks_of(problems[:1], tokenizer, quiet)[0].prompt_ids.count(1) == 2, "a token that opens every turn"
    tokenizer.chat_template = None
    with pytest.raises(RecipeError, match="no chat template"):
        tasks_of(problems[:1], tokenizer, quiet)


def test_the_question_reaches_the_model(tokenizer: PreTrainedTokenizerFast, problems: list[Problem]) -> None:
    told = StringIO()
    console = Console(file=told, width=400)
    snow = replace(problems[0], id="snow", question=problems[0].question + " \N{SNOWMAN}")
    tasks_of([snow, *problems[1:3]], tokenizer, console)
    assert told.getvalue() == ""
    words = {"<unk>": 0} | {letter: place for place, letter in enumerate(string.printable, 1)}
    letters = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    lossy = PreTrainedTokenizerFast(tokenizer_object=letters, eos_token="~", chat_template=tokenizer.chat_template)
    tasks_of([snow, *problems[1:3]], lossy, console)
    assert "loses characters of 1 of 3 questions (snow is one)" in told.getvalue()
    tokenizer.chat_template = "{% for turn in messages %}{{ turn.role }}{% endfor %}"
    with pytest.raises(RecipeError, match="does not write the question of problem"):
        tasks_of(problems[:1], tokenizer, console)


def test_overlong_and_repeated_prompts_are_dropped_and_counted(
    tokenizer: PreTrainedTokenizerFast, problems: list[Problem]
) -> None:
    text = StringIO()
    long = replace(problems[0], id="long", question="1+1=?" * 5000)
    tasks = tasks_of([*problems[:3], problems[0], long], tokenizer, Console(file=text, width=200))
    assert [task.problem.id for task in tasks] == [problem.id for problem in problems[:3]]
    assert "1 longer than sampling.max_prompt_tokens = 1024 dropped; 1 repeated ids dropped" in text.getvalue()
    with pytest.raises(RecipeError, match="all 3 prompts are longer"):
        tasks_of(problems[:3], tokenizer, Console(quiet=True), Sampling(max_prompt_tokens=2))
    with pytest.raises(RecipeError, match="no problems"):
        tasks_of([], tokenizer, Console(quiet=True))


def test_a_source_whose_golds_are_not_accepted_is_refused(problems: list[Problem]) -> None:
    good = [Task(problem=problem, prompt_ids=(1,)) for problem in problems[:3]]
    check_verifiers(good, 1)
    bad = [
        Task(problem=replace(task.problem, data_source="broken", ground_truth="", verifier="math"), prompt_ids=(1,))
        for task in good
    ]
    with pytest.raises(RecipeError, match="data source 'broken'"):
        check_verifiers([*good, *bad], 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verifier": "oracle"}, "unknown verifier 'oracle'"),
        ({"verifier_options": '{"wisdom": 1}'}, "no option 'wisdom'"),
        ({"verifier_options": "{"}, "verifier_options"),
        ({"verifier_options": "[]"}, "verifier_options"),
    ],
)
def test_a_row_with_an_unknown_verifier_or_option_is_named(
    change: dict[str, str], message: str, problems: list[Problem]
) -> None:
    with pytest.raises(RecipeError, match=message) as caught:
        check_verifiers([Task(problem=replace(problems[0], **change), prompt_ids=(1,))], 1)
    assert problems[0].id in str(caught.value)


def test_responses_must_fit_into_the_model(recipe: Recipe, quiet: Console, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="the model has 256"):
        train(recipe(sampling={"max_tokens": 250}), tmp_path / "run", console=quiet)
    with pytest.raises(RecipeError, match=r"engine\.max_model_len: .* \(got 10\)"):
        train(recipe(engine={"kind": "vllm", "max_model_len": 10}), tmp_path / "run", console=quiet)


def test_missing_inputs_are_named(recipe: Recipe, quiet: Console, tmp_path: Path, problems: list[Problem]) -> None:
    with pytest.raises(RecipeError, match=r"config\.json is missing"):
        train(recipe(model=str(tmp_path / "nothing")), tmp_path / "a", console=quiet)
    with pytest.raises(RecipeError, match="nowhere"):
        train(recipe(shards=str(tmp_path / "nowhere")), tmp_path / "b", console=quiet)
    write_problems(tmp_path / "empty", [replace(problem, ground_truth="") for problem in problems[:2]])
    with pytest.raises(RecipeError, match="give these rows another verifier"):
        train(recipe(shards=str(tmp_path / "empty")), tmp_path / "c", console=quiet)
