"""One side of trainer_vs_trl.py, in a process of its own: `python benchmarks/grpo_sides.py ours|trl JOB`, JOB in JSON.

Both sides get the same model folder, shards and settings and call the same Meter where they want rewards, once a step.
What passes between two calls is one whole step: update, metrics, next prompts, sampling. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

MIB = 1024  # ru_maxrss counts KiB on Linux


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """reward: `coin`, a hash of the response's ids, which costs nothing, or `verifier`.  rows: of a forward pass.

    recompute: TRL's gradient checkpointing, which it does unless told otherwise.
    """

    model: str
    shards: str
    out: str
    steps: int
    prompts: int
    samples: int
    max_tokens: int
    lr: float
    reward: str
    rows: int
    recompute: bool = False
    share_prompts: bool = False
    seed: int = 0


@dataclass(slots=True, kw_only=True)
class Meter:
    """What was seen each time rewards were asked for. cpu_s: user and system of this process so far.

    child_cpu_s: of its children, the verifier's workers, running or ended.
    """

    cpu_s: list[float] = field(default_factory=list)
    child_cpu_s: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    responses: list[int] = field(default_factory=list)

    def __call__(self, rewards: Sequence[float | None], ids: Sequence[Sequence[int]]) -> None:
        decided = [reward for reward in rewards if reward is not None]
        self.rewards.append(statistics.fmean(decided))
        self.tokens.append(statistics.fmean(map(len, ids)))
        self.responses.append(len(ids))
        times = os.times()
        self.cpu_s.append(times.user + times.system)
        self.child_cpu_s.append(times.children_user + times.children_system + _running_children())


def _running_children() -> float:
    import psutil

    found = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        found += times.user + times.system
    return found


def _children_peak() -> int:
    """Highest resident set of any one child, in KiB: of those that ended, and of those still there by their status."""
    import psutil

    peaks = [resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]
    for child in psutil.Process().children(recursive=True):
        status = Path(f"/proc/{child.pid}/status")
        lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
        peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return max(peaks)


def coin(ids: Sequence[int]) -> float:
    """0 or 1 by a hash of the response, so that groups have variance whatever the model writes."""
    return float(blake2b(repr(list(ids)).encode()).digest()[0] & 1)


def ours(job: Job, meter: Meter) -> None:
    from pipeline.progress import stderr_console
    from pipeline.rollouts import request_for
    from trainer.config import load_recipe
    from trainer.loop import train
    from verifiers import verify_many
    from verifiers.verdict import Status, Verdict

    def score(samples: Sequence[Any]) -> list[Verdict]:
        ids = [completion.token_ids for _, _, completion in samples]
        if job.reward == "verifier":
            verdicts = verify_many([request_for(draw.task.problem, done.text) for draw, _, done in samples])
        else:
            verdicts = [_verdict(coin(each), Verdict, Status) for each in ids]
        meter([verdict.score for verdict in verdicts], ids)
        return verdicts

    longest = 64  # columns of a row, prompt included, at most: the budget is in tokens
    settings = {
        "algorithm": "grpo",
        "advantage.options.eps": 1e-4,  # TRL's
        "model": job.model,
        "shards": job.shards,
        "seed": job.seed,
        "steps": job.steps,
        "threads": 1,
        "sampling.prompts": job.prompts,
        "sampling.samples": job.samples,
        "sampling.max_tokens": job.max_tokens,
        "optimiser.lr": job.lr,
        "optimiser.warmup_steps": 0,
        "optimiser.beta2": 0.999,
        "optimiser.microbatch_tokens": job.rows * longest,
        "optimiser.share_prompts": str(job.share_prompts).lower(),
        "checkpoints.every": job.steps + 1,
    }
    config = load_recipe([], [f"{key}={value}" for key, value in settings.items()])
    train(config, Path(job.out), console=stderr_console(quiet=True), fresh=True, scorer=score)


def _verdict(reward: float, verdict: Any, status: Any) -> Any:
    outcome = status.CORRECT if reward else status.INCORRECT
    return verdict(status=outcome, score=reward, reason="coin", extracted=None)


def trl(job: Job, meter: Meter) -> None:
    from datasets import load_dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportMissingImports]

    from verifiers.reward import trl_reward

    def score(completions: list[Any], completion_ids: list[list[int]], **columns: list[Any]) -> list[float | None]:
        rewards: list[float | None] = [coin(ids) for ids in completion_ids]
        if job.reward == "verifier":
            rewards = trl_reward(completions, **columns)
        meter(rewards, completion_ids)
        return rewards

    data: Any = load_dataset(job.shards, split="train", cache_dir=f"{job.out}/cache")
    settings = GRPOConfig(
        output_dir=job.out,
        seed=job.seed,
        max_steps=job.steps,
        per_device_train_batch_size=job.rows,
        gradient_accumulation_steps=job.prompts * job.samples // job.rows,
        num_generations=job.samples,
        max_completion_length=job.max_tokens,
        loss_type="grpo",
        scale_rewards="group",
        epsilon=0.2,
        beta=0.0,
        temperature=1.0,
        learning_rate=job.lr,
        lr_scheduler_type="constant",
        adam_beta1=0.9,
        adam_beta2=0.999,
        adam_epsilon=1e-8,
        weight_decay=0.0,
        max_grad_norm=1.0,
        gradient_checkpointing=job.recompute,
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    trainer = GRPOTrainer(
        model=job.model,
        processing_class=AutoTokenizer.from_pretrained(job.model),
        reward_funcs=[score],
        train_dataset=data,
        args=settings,
    )
    trainer.train()


SIDES: dict[str, Callable[[Job, Meter], None]] = {"ours": ours, "trl": trl}


def main() -> None:
    import torch

    torch.set_num_threads(1)
    side, job, meter = sys.argv[1], Job(**json.loads(sys.argv[2])), Meter()
    SIDES[side](job, meter)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peaks = {"peak_mib": peak / MIB, "child_peak_mib": _children_peak() / MIB}
    print(json.dumps(asdict(meter) | peaks))


if __name__ == "__main__":
    main()
