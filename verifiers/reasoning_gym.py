"""Procedural problems of reasoning-gym (Apache-2.0), judged by the task's own scorer in a killable worker.

A row carries what the scorer reads: the task, its configuration and the entry's metadata, as verifier options. A score
of 1.0 is correct; what is below is incorrect, with the score in `detail`.

The scorers were read one by one. Refused are those that run text as code, those that accept more than is right, those
that do not accept their own reference once the entry has been through JSON, and those whose entries differ from one
process to the next.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from verifiers import extract
from verifiers.verdict import Verdict, correct, incorrect, undecided
from verifiers.workers import WorkerFailure, ask

EXTRA = "reasoning-gym"
TASK = "reasoning-gym"
"""Name of the request that a worker answers with `scores`."""
CPU_LIMIT_S = 2.0
WALL_LIMIT_S = 60.0
MAX_ANSWER = 20_000
SHOWN = 400

_ALLOWED = """
ab acre advanced_geometry aiw arc_1d base_conversion basic_arithmetic bf binary_alternation caesar_cipher
calendar_arithmetic chain_sum circuit_logic coin_flip color_cube_rotation complex_arithmetic count_bits count_primes
course_schedule cryptarithm decimal_arithmetic decimal_chain_sum dice emoji_mystery family_relationships figlet_font
fraction_simplification futoshiki game_of_life gcd group_anagrams gsm_symbolic jugs kakurasu knights_knaves
largest_island lcm leg_counting letter_counting letter_jumble list_functions mahjong_puzzle manipulate_matrix maze
mini_sudoku modulo_grid needle_haystack number_filtering number_format number_sequence palindrome_generation
palindrome_partitioning path_star polynomial_equations pool_matrix power_function prime_factorization products
quantum_lock rectangle_count rotate_matrix rotten_oranges self_reference sentence_reordering shortest_path
simple_equations simple_geometry sokoban spell_backward string_manipulation string_splitting string_synthesis sudoku
survo syllogism time_intervals tower_of_hanoi tsumego word_sequence_reversal word_sorting zebra_puzzles
"""
ALLOWED = frozenset(_ALLOWED.split())
"""Tasks whose scorer reads text without running it. Read in 0.1.25."""

_RUNS_TEXT = "its scorer runs text as Python code"
_NOT_OWN = "its scorer does not accept its own reference once the entry has been stored as JSON"
_NOT_SAME = "its entries differ from one process to the next"
REFUSED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("binary_matrix", "n_queens", "spiral_matrix", "string_insertion"), f"{_RUNS_TEXT} (eval)"),
        **dict.fromkeys(("bitwise_arithmetic", "number_sorting"), f"{_RUNS_TEXT} (eval of the stored entry)"),
        **dict.fromkeys(
            ("countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24", "simple_integration"),
            f"{_RUNS_TEXT} (sympy's parse_expr)",
        ),
        **dict.fromkeys(("arc_agi", "boxnet", "graph_color", "propositional_logic", "rearc"), _NOT_OWN),
        **dict.fromkeys(("rubiks_cube", "rush_hour"), _NOT_OWN),
        **dict.fromkeys(("isomorphic_strings", "knight_swap", "ransom_note", "word_ladder"), _NOT_SAME),
        "codeio": "its entries come from running programs of a data file",
        "composite": "give its tasks as sources of their own",
        "game_of_life_halting": "its scorer accepts every answer where the right one is True",
    }
)
"""Task -> why it is not taken."""


def refusal(task: str) -> str:
    """Why a task is not taken; empty when it is."""
    if task in ALLOWED:
        return ""
    return REFUSED.get(task, "no task of that name was reviewed")


def available() -> bool:
    """Whether the package is installed (the extra `reasoning-gym`)."""
    return importlib.util.find_spec("reasoning_gym") is not None


def verify_reasoning_gym(
    response: str,
    ground_truth: str | Sequence[str],
    /,
    *,
    task: str | None = None,
    config: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Verdict:
    """Whether the task's own scorer gives the answer 1.0.

    task: name in reasoning-gym; without one, as when two golds are compared, only equal texts are correct.
    config: what the data set was made with.  metadata: of the entry; both as they come out of JSON. The first
    ground truth is the entry's answer; an entry whose own answer does not score 1.0, and a task that is not taken, are
    undecided. Never raises for bad text; raises ModuleNotFoundError without the package.
    """
    gold = ground_truth if isinstance(ground_truth, str) else next(iter(ground_truth), "")
    if not gold.strip():
        return undecided("gold-empty")
    if task is not None and refusal(task):
        return undecided("task-refused", detail=f"{task}: {refusal(task)}")
    if not isinstance(metadata or {}, Mapping) or not isinstance(config or {}, Mapping):
        return undecided("gold-unparsable", detail="metadata and config must be objects")
    answer, reason = answer_text(response)
    if answer is None:
        return incorrect(reason, None)
    if len(answer) > MAX_ANSWER:
        return incorrect("response-too-complex", answer[:SHOWN], detail=f"{len(answer)} characters")
    if task is None:
        same = answer.split() == gold.split()
        return correct("exact", answer[:SHOWN]) if same else incorrect("different", answer[:SHOWN])
    entry = {"answer": gold, "metadata": dict(metadata or {})}
    request = {"task": TASK, "name": task, "config": dict(config or {}), "entry": entry, "cpu_s": CPU_LIMIT_S}
    return _judged(request, gold, answer)


def check_own(ground_truth: str, options: Mapping[str, Any]) -> Verdict:
    """Correct when the entry's own answer scores 1.0; otherwise undecided."""
    return verify_reasoning_gym(f"<answer>{ground_truth}</answer>", ground_truth, **options)


def answer_text(response: str) -> tuple[str | None, str]:
    """The last answer tag (what reasoning-gym asks for), a box, a marker, else all that follows the thoughts."""
    rest = extract.after_thoughts(response)
    if rest is None:
        return None, "truncated"
    start = rest.rfind("<answer>")
    if start >= 0:
        inner = rest[start + len("<answer>") :]
        end = inner.find("</answer>")
        return (inner[:end].strip("\r\n"), "") if end >= 0 else (None, "truncated")
    answer = extract.final_answer(response)
    if answer.source in ("box", "boxes", "marker"):
        return answer.text, answer.reason
    text = rest.strip()
    return (text, "") if text else (None, "no-answer")


def _judged(request: dict[str, Any], gold: str, answer: str) -> Verdict:
    if not available():
        raise ModuleNotFoundError(f"reasoning-gym is not installed; pip install 'verigold[{EXTRA}]'")
    shown = answer[:SHOWN]
    try:
        found = ask({**request, "answers": [gold, answer]}, WALL_LIMIT_S)
    except WorkerFailure as failure:
        return _killed(request, gold, shown, failure.kind)
    own, score = (found.get("scores") or [None, None])[:2]
    if own != 1.0:
        return undecided(
            "gold-unequal-to-itself", detail=f"the reference scores {own}; {found.get('detail', '')}"[:200]
        )
    if score is None:
        return incorrect("unreadable", shown, detail=found.get("detail", ""))
    return correct("scorer", shown) if score >= 1.0 else incorrect("different", shown, detail=f"score {score:.3f}")


def _killed(request: dict[str, Any], gold: str, shown: str, kind: str) -> Verdict:
    """Whose fault a dead worker is: the response's, when the reference alone can be scored."""
    try:
        found = ask({**request, "answers": [gold]}, WALL_LIMIT_S)
    except WorkerFailure as failure:
        return undecided(failure.kind)
    if found.get("scores") != [1.0]:
        return undecided("gold-unequal-to-itself")
    return incorrect("response-too-complex", shown, detail=kind)


# ---- in the worker -------------------------------------------------------------------------------------------------


def scores(request: Mapping[str, Any]) -> dict[str, Any]:
    """Scores in [0, 1] of `answers`, None where the scorer raises."""
    with _timer_off():
        dataset = _dataset(request["name"], json.dumps(request["config"], sort_keys=True))
    found: list[float | None] = []
    detail = ""
    for answer in request["answers"]:
        try:
            found.append(float(dataset.score_answer(answer, copy.deepcopy(request["entry"]))))
        except Exception as error:
            # a scorer may raise anything on odd text; to the parent this answer has no score
            found.append(None)
            detail = f"{type(error).__name__}: {error}"[:200]
    return {"scores": found, "detail": detail}


@lru_cache(maxsize=32)
def _dataset(name: str, config: str) -> Any:
    from reasoning_gym.factory import create_dataset

    if refusal(name):
        raise ValueError(f"{name}: {refusal(name)}")
    return create_dataset(name, **{**json.loads(config), "seed": 0, "size": 1})


@contextmanager
def _timer_off() -> Iterator[None]:
    """Importing the package and reading its word lists is not part of a request's CPU budget."""
    left, every = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, left, every)
