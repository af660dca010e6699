"""What a kept group costs: rollouts per informative group with plain over-sampling, GRESO, and the shards' pass rates.

    python benchmarks/sampling.py --json
    python benchmarks/sampling.py --problems 2000 --epochs 6

The real group source and prompt rules, with samples drawn from each problem's known pass rate instead of a model: two
fifths of the pool are solved, two fifths hopeless, the rest has pass rates between 0.1 and 0.9. The prior's own samples
(what curation spends to measure pass rates) are charged to it. Seconds on one core; prints a table, or JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from engines.engine import Completion, Prompt, SamplingParams
from pipeline.problem import Difficulty, Problem
from trainer.clock import Clock
from trainer.groups import GroupSource
from trainer.prompts import Draw, PromptStream, Task
from trainer.sections import GroupFilter, PromptRules, Reward, Sampling
from verifiers.verdict import Verdict, correct, incorrect

GROUP = 8
BATCH = 16
PRIOR_SAMPLES = 8
RULES = {
    "plain": PromptRules(),
    "greso": PromptRules(skip="greso"),
    "prior": PromptRules(prior=True),
    "prior and greso": PromptRules(prior=True, skip="greso"),
}


def uniform(*key: object) -> float:
    digest = hashlib.blake2b(":".join(map(str, key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


class Rates:
    """Sampler and scorer in one: a response is right with its problem's pass rate."""

    def __init__(self, rates: dict[str, float]) -> None:
        self.rates = rates

    @property
    def digest(self) -> str:
        return "simulated"

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Iterator[tuple[int, int, Completion]]:
        for place in range(len(prompts)):
            for sample in range(params.n):
                yield place, sample, Completion(text="", token_ids=(1,), logprobs=(0.0,), finish_reason="stop")

    def __call__(self, samples: Sequence[tuple[Draw, int, Completion]], /) -> Sequence[Verdict]:
        return [
            correct("simulated", None)
            if uniform("score", draw.key, sample) < self.rates[draw.task.problem.id]
            else incorrect("simulated", None)
            for draw, sample, _ in samples
        ]


def pool(size: int) -> tuple[list[Problem], dict[str, float]]:
    """Problems with a measured pass rate (PRIOR_SAMPLES samples each) and their true ones."""
    problems, rates = [], {}
    for index in range(size):
        rate = (1.0, 1.0, 0.0, 0.0, 0.1 + 0.8 * uniform("rate", index))[index % 5]
        rates[str(index)] = rate
        hits = sum(uniform("prior", index, sample) < rate for sample in range(PRIOR_SAMPLES))
        measured = Difficulty(
            model="simulated", sampler_digest="", correct=hits, attempts=PRIOR_SAMPLES, truncated=0, low=0.0, high=1.0,
            bucket="",
        )  # fmt: skip
        plain = Problem(
            id=str(index), data_source="simulated", source_row=f"simulated#{index}", index=index, question="",
            ground_truth="", original_answer="", license="",
        )  # fmt: skip
        problems.append(replace(plain, difficulty=(measured,)))
    return problems, rates


def run(rules: PromptRules, size: int, epochs: int) -> dict[str, Any]:
    """Rollouts and kept groups by epoch."""
    problems, rates = pool(size)
    simulated = Rates(rates)
    source = GroupSource(
        stream=PromptStream([Task(problem=p, prompt_ids=(1,)) for p in problems], seed=0, rules=rules, samples=GROUP),
        sampler=simulated,
        scorer=simulated,
        sampling=Sampling(prompts=BATCH, samples=GROUP, max_tokens=1),
        rules=GroupFilter(max_gen_batches=50),
        reward=Reward(),
        seed=0,
    )
    rollouts, kept = [0] * epochs, [0] * epochs
    while (epoch := source.stream.epoch) < epochs:
        filled = source.fill(0, Clock())
        rollouts[epoch] += GROUP * len(filled.drawn)
        kept[epoch] += sum(group.informative for group in filled.drawn)
    return {
        "rollouts": rollouts,
        "kept": kept,
        "per_kept_group": [round(r / max(k, 1), 1) for r, k in zip(rollouts, kept, strict=True)],
    }


def break_even(found: dict[str, dict[str, Any]], size: int) -> float | None:
    """Epochs of plain sampling's kept groups after which the prior's own samples are saved."""
    plain, prior = found["plain"], found["prior"]
    per_group = sum(plain["rollouts"]) / sum(plain["kept"]) - sum(prior["rollouts"]) / sum(prior["kept"])
    kept_an_epoch = sum(plain["kept"]) / len(plain["kept"])
    return round(PRIOR_SAMPLES * size / (per_group * kept_an_epoch), 2) if per_group > 0 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = {name: run(rules, arguments.problems, arguments.epochs) for name, rules in RULES.items()}
    epochs = break_even(found, arguments.problems)
    if arguments.json:
        print(json.dumps({"problems": arguments.problems, "runs": found, "prior_breaks_even_after_epochs": epochs}))
        return
    print("| rollouts per kept group | " + " | ".join(f"epoch {e + 1}" for e in range(arguments.epochs)) + " |")
    print("|---" * (arguments.epochs + 1) + "|")
    for name, result in found.items():
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in result["per_kept_group"]) + " |")
    print(f"The prior's {PRIOR_SAMPLES} samples a problem are saved after {epochs} epochs of plain sampling.")


if __name__ == "__main__":
    sys.exit(main())
