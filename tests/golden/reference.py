"""Golden cases of algorithms that policy_loss_golden.json does not hold, in plain Python loops over float64 numbers.

    python tests/golden/reference.py > tests/golden/policy_loss_extra.json

Shares no code with trainer/: gradients come from forward-mode dual numbers, one derivative a log-probability.
Inputs are instances of policy_loss_golden.json without non-finite numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "policy_loss_golden.json"
INSTANCES = ("basic", "zero_variance_group", "all_masked_sequence", "group_of_one", "tool_tokens",
             "negative_advantage_huge_ratio", "float_rewards_interleaved", "worked")  # fmt: skip

Matrix = list[list[float]]


class Dual:
    """A number and its derivatives by every log-probability of the batch."""

    def __init__(self, value: float, slopes: dict[tuple[int, int], float] | None = None) -> None:
        self.value = value
        self.slopes = slopes or {}

    def _joined(self, value: float, own: float, other: Dual, its: float) -> Dual:
        keys = self.slopes.keys() | other.slopes.keys()
        return Dual(value, {k: own * self.slopes.get(k, 0.0) + its * other.slopes.get(k, 0.0) for k in keys})

    def __add__(self, other: Dual) -> Dual:
        return self._joined(self.value + other.value, 1.0, other, 1.0)

    def __mul__(self, other: Dual) -> Dual:
        return self._joined(self.value * other.value, other.value, other, self.value)

    def times(self, factor: float) -> Dual:
        return Dual(self.value * factor, {k: factor * slope for k, slope in self.slopes.items()})

    def plus(self, term: float) -> Dual:
        return Dual(self.value + term, self.slopes)

    def exp(self) -> Dual:
        value = math.exp(self.value)
        return Dual(value, {k: value * slope for k, slope in self.slopes.items()})

    def inverse(self) -> Dual:
        return Dual(1 / self.value, {k: -slope / self.value**2 for k, slope in self.slopes.items()})

    def clip(self, low: float, high: float) -> Dual:
        return self if low <= self.value <= high else Dual(min(max(self.value, low), high))


def sum_of(terms: list[Dual]) -> Dual:
    total = Dual(0.0)
    for term in terms:
        total = total + term
    return total


def larger(one: Dual, other: Dual) -> Dual:
    """Torch's convention at a tie: half of each slope; the two agree wherever the clip is not active."""
    if one.value == other.value:
        return (one + other).times(0.5)
    return one if one.value > other.value else other


def rows_of_groups(instance: dict[str, Any]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for row, group in enumerate(instance["group_ids"]):
        groups.setdefault(group, []).append(row)
    return list(groups.values())


def opo(instance: dict[str, Any]) -> list[float]:
    """R - length-weighted mean of the group."""
    rewards, lengths = instance["rewards"], [sum(row) for row in instance["mask"]]
    found = [0.0] * len(rewards)
    for rows in rows_of_groups(instance):
        if len({rewards[row] for row in rows}) > 1:
            whole = sum(lengths[row] for row in rows)
            baseline = sum(lengths[row] * rewards[row] for row in rows) / max(whole, 1)
            for row in rows:
                found[row] = rewards[row] - baseline
    return found


def best_of_group(instance: dict[str, Any]) -> list[float]:
    rewards = instance["rewards"]
    found = [0.0] * len(rewards)
    for rows in rows_of_groups(instance):
        ranked = sorted(rows, key=lambda row: (-rewards[row], row))
        if len(ranked) > 1:
            found[ranked[0]] = rewards[ranked[0]] - rewards[ranked[1]]
    return found


def raft(instance: dict[str, Any]) -> list[float]:
    return [1.0 if reward > 0 else 0.0 for reward in instance["rewards"]]


def centred(instance: dict[str, Any]) -> list[float]:
    rewards = instance["rewards"]
    found = [0.0] * len(rewards)
    for rows in rows_of_groups(instance):
        if len({rewards[row] for row in rows}) > 1:
            for row in rows:
                found[row] = rewards[row] - sum(rewards[other] for other in rows) / len(rows)
    return found


def reinforce(new: list[Dual], _old: list[float], advantage: float) -> Dual:
    return sum_of([token.times(-advantage) for token in new])


def kimi(new: list[Dual], old: list[float], advantage: float, *, tau: float) -> Dual:
    distance = sum_of([token.plus(-anchor) for token, anchor in zip(new, old, strict=True)])
    return reinforce(new, old, advantage) + (distance * distance).times(tau / 2)


def gspo_token(new: list[Dual], old: list[float], advantage: float, *, low: float, high: float) -> Dual:
    """Sum over the tokens of the clipped surrogate in sg(s) pi / sg(pi)."""
    sequence = math.exp(sum(token.value - anchor for token, anchor in zip(new, old, strict=True)) / len(new))
    terms = []
    for token in new:
        ratio = token.plus(-token.value).exp().times(sequence)
        terms.append(larger(ratio.times(-advantage), ratio.clip(1 - low, 1 + high).times(-advantage)))
    return sum_of(terms)


def sapo(new: list[Dual], old: list[float], advantage: float, *, tau_pos: float, tau_neg: float) -> Dual:
    """Sum over the tokens of -A 4/tau sigmoid(tau (r - 1)); the log ratio is bounded by 20."""
    tau = tau_pos if advantage > 0 else tau_neg
    terms = []
    for token, anchor in zip(new, old, strict=True):
        ratio = token.plus(-anchor).clip(-20.0, 20.0).exp()
        sigmoid = ratio.plus(-1.0).times(-tau).exp().plus(1.0).inverse()
        terms.append(sigmoid.times(-advantage * 4 / tau))
    return sum_of(terms)


Row = Callable[[list[Dual], list[float], float], Dual]


def case(name: str, instance: dict[str, Any], advantages: list[float], row_loss: Row, mode: str) -> dict[str, Any]:
    """Loss and gradient of one algorithm on one instance."""
    mask, old, new = instance["mask"], instance["logp_old"], instance["logp_new"]
    rows = [row for row, flags in enumerate(mask) if sum(flags) > 0]
    tokens = sum(map(sum, mask))
    total = Dual(0.0)
    for row in rows:
        places = [t for t, flag in enumerate(mask[row]) if flag]
        duals = [Dual(new[row][t], {(row, t): 1.0}) for t in places]
        weight = {"seq_mean_token_sum": 1 / len(rows), "token_mean": 1 / tokens,
                  "seq_mean_token_mean": 1 / (len(rows) * len(places))}[mode]  # fmt: skip
        total = total + row_loss(duals, [old[row][t] for t in places], advantages[row]).times(weight)
    gradient = [[total.slopes.get((row, t), 0.0) for t in range(len(flags))] for row, flags in enumerate(mask)]
    return {"algo": name, "expect": {"advantages": advantages, "loss": total.value, "grad": gradient,
                                     "metrics": {"nonfinite_tokens": 0}}}  # fmt: skip


def main() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    cases = []
    for place in INSTANCES:
        instance = golden["instances"][place]
        for found, spec in algorithms(instance):
            cases.append({"id": f"{place}/{found['algo']}", "instance": place, "spec": spec} | found)
    instances = {place: golden["instances"][place] for place in INSTANCES}
    print(json.dumps({"format": "rlvr-policy-loss-golden/1", "instances": instances, "policy_cases": cases}))


def algorithms(instance: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    def spec(advantage: str, loss: dict[str, Any], mode: str) -> dict[str, Any]:
        return {"advantage": {"name": advantage}, "loss": loss, "agg": {"mode": mode}}

    def pull(new: list[Dual], old: list[float], advantage: float) -> Dual:
        return kimi(new, old, advantage, tau=0.3)

    def tight(new: list[Dual], old: list[float], advantage: float) -> Dual:
        return gspo_token(new, old, advantage, low=3e-4, high=4e-4)

    def gated(new: list[Dual], old: list[float], advantage: float) -> Dual:
        return sapo(new, old, advantage, tau_pos=1.0, tau_neg=1.5)

    plain = {"name": "reinforce"}
    narrow = {"name": "gspo_token", "eps_low": 3e-4, "eps_high": 4e-4}
    total, mean = "seq_mean_token_sum", "seq_mean_token_mean"
    return [
        (case("opo", instance, opo(instance), reinforce, total), spec("length_weighted", plain, total)),
        (case("raft", instance, raft(instance), reinforce, mean), spec("positives", plain, mean)),
        (case("best_of_group", instance, best_of_group(instance), reinforce, total),
         spec("best_of_group", plain, total)),
        (case("kimi", instance, centred(instance), pull, total), spec("centred", {"name": "kimi", "tau": 0.3}, total)),
        (case("sapo", instance, centred(instance), gated, mean),
         spec("centred", {"name": "sapo", "tau_pos": 1.0, "tau_neg": 1.5}, mean)),
        (case("gspo_token", instance, centred(instance), tight, mean), spec("centred", narrow, mean)),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
