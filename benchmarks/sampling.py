"""What a kept group costs: rollouts per informative group with plain over-sampling, GRESO, and the shards' pass rates.

    python benchmarks/sampling.py --json
    python benchmarks/sampling.py --problems 4000 --seeds 3 --epochs 6

The real group source and prompt rules, with samples drawn from each problem's known pass rate instead of a model: two
fifths of the pool are solved, two fifths hopeless, the rest has pass rates between 0.1 and 0.9. Each seed has another
pool, order and luck. `charged` adds the prior's own samples (what curation spends to measure pass rates) to those of
the epochs so far. Exit code 1 when the recommended rules (`prior and greso`) take more than half of plain
over-sampling's rollouts a kept group in any epoch from the second on, with any seed. A table, or JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
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
OURS = "prior and greso"
LIMIT = 0.5


def uniform(*key: object) -> float:
    digest = hashlib.blake2b(":".join(map(str, key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


class Rates:
    """Sampler and scorer in one: a response is right with its problem's pass rate."""

    def __init__(self, rates: dict[str, float], seed: int) -> None:
        self.rates = rates
        self.seed = seed

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
            if uniform("score", self.seed, draw.key, sample) < self.rates[draw.task.problem.id]
            else incorrect("simulated", None)
            for draw, sample, _ in samples
        ]


def pool(size: int, seed: int) -> tuple[list[Problem], dict[str, float]]:
    """Problems with a measured pass rate (PRIOR_SAMPLES samples each) and their true ones."""
    problems, rates = [], {}
    for index in range(size):
        rate = (1.0, 1.0, 0.0, 0.0, 0.1 + 0.8 * uniform("rate", seed, index))[index % 5]
        rates[str(index)] = rate
        hits = sum(uniform("prior", seed, index, sample) < rate for sample in range(PRIOR_SAMPLES))
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


def run(rules: PromptRules, size: int, epochs: int, seed: int) -> dict[str, list[int]]:
    """Rollouts and kept groups by epoch."""
    problems, rates = pool(size, seed)
    simulated = Rates(rates, seed)
    tasks = [Task(problem=problem, prompt_ids=(1,)) for problem in problems]
    source = GroupSource(
        stream=PromptStream(tasks, seed=seed, rules=rules, samples=GROUP),
        sampler=simulated,
        scorer=simulated,
        sampling=Sampling(prompts=BATCH, samples=GROUP, max_tokens=1),
        rules=GroupFilter(max_gen_batches=50),
        reward=Reward(),
        seed=seed,
    )
    rollouts, kept = [0] * epochs, [0] * epochs
    while (epoch := source.stream.epoch) < epochs:
        filled = source.fill(0, Clock())
        rollouts[epoch] += GROUP * len(filled.drawn)
        kept[epoch] += sum(group.informative for group in filled.drawn)
    return {"rollouts": rollouts, "kept": kept}


def measure(size: int, epochs: int, seed: int) -> dict[str, Any]:
    """Every rule on one pool: per epoch rollouts a kept group, their share of plain's, and with the prior charged."""
    found = {name: run(rules, size, epochs, seed) for name, rules in RULES.items()}
    per_group = {name: _ratios(one["rollouts"], one["kept"]) for name, one in found.items()}
    for name, one in found.items():
        paid = PRIOR_SAMPLES * size if RULES[name].prior else 0
        spent, kept = (list(accumulate(one[key])) for key in ("rollouts", "kept"))
        charged = _ratios([paid + rollouts for rollouts in spent], kept)
        own = {"per_kept_group": per_group[name], "of_plain": _ratios(per_group[name], per_group["plain"])}
        one |= own | {"prior_samples": paid, "charged_per_kept_group_so_far": charged}
    breaks_even = {name: break_even(found["plain"], found[name]) for name in RULES if RULES[name].prior}
    return {"seed": seed, "runs": found, "breaks_even_after_epochs": breaks_even}


def _ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    return [round(one / max(other, 1e-9), 3) for one, other in zip(above, below, strict=True)]


def break_even(plain: dict[str, Any], prior: dict[str, Any]) -> float | None:
    """Epochs of plain sampling's kept groups after which the prior's own samples are saved; None: never."""
    per_group = sum(plain["rollouts"]) / sum(plain["kept"]) - sum(prior["rollouts"]) / sum(prior["kept"])
    kept_an_epoch = sum(plain["kept"]) / len(plain["kept"])
    return round(prior["prior_samples"] / (per_group * kept_an_epoch), 2) if per_group > 0 else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    seeds = [measure(arguments.problems, arguments.epochs, seed) for seed in range(arguments.seeds)]
    worst = max((share for one in seeds for share in one["runs"][OURS]["of_plain"][1:]), default=0.0)
    result = {"problems": arguments.problems, "group": GROUP, "recommended": OURS, "worst_of_plain": worst,
              "limit": LIMIT, "seeds": seeds}  # fmt: skip
    print(json.dumps(result, indent=1) if arguments.json else table(result, arguments.epochs))
    return int(worst > LIMIT)


def table(result: dict[str, Any], epochs: int) -> str:
    def row(title: str, name: str, key: str) -> str:
        by_epoch = zip(*(one["runs"][name][key] for one in result["seeds"]), strict=True)
        return f"| {title} | " + " | ".join(f"{statistics.fmean(values):.1f}" for values in by_epoch) + " |"

    lines = ["| rollouts per kept group | " + " | ".join(f"epoch {epoch + 1}" for epoch in range(epochs)) + " |"]
    lines += ["|---" * (epochs + 1) + "|"]
    lines += [row(name, name, "per_kept_group") for name in RULES]
    lines += [row(f"{name}, charged, so far", name, "charged_per_kept_group_so_far") for name in RULES]
    worst, seeds = result["worst_of_plain"], len(result["seeds"])
    lines += ["", f"{OURS}: at most {worst:.0%} of plain's from the second epoch on, whatever the seed ({seeds})."]
    for name in (name for name, rules in RULES.items() if rules.prior):
        epochs_by_seed = [one["breaks_even_after_epochs"][name] for one in result["seeds"]]
        lines.append(f"{name}: the {PRIOR_SAMPLES} samples a problem are saved after "
                     f"{', '.join(map(str, epochs_by_seed))} epochs of plain sampling.")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
