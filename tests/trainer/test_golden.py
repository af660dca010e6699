"""Losses, gradients and advantages against an independent float64 reference (tests/golden).

`pytest tests/trainer/test_golden.py --golden PATH` reads another file of the same form.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from trainer import curriculum, rewards
from trainer.advantages import pass_at_k_advantages, pkpo_rewards
from trainer.corrections import effective_sample_size
from trainer.evaluate import pass_at_k
from trainer.losses.dppo import binary_kl, binary_tv, bucketed
from trainer.losses.kl import KL
from trainer.losses.reduce import AGGREGATIONS, reduce
from trainer.objective import Objective, Prepared, StepRows, loss, prepare
from trainer.policy import self_certainty, token_entropy
from trainer.sections import EntropyTerm
from trainer.step_tensors import StepTensors
from trainer.update import adapt_entropy

RTOL_LOSS, RTOL_GRAD, ATOL = 1e-9, 1e-8, 1e-12
CRITIC = {"gae"}
EXTRA = Path(__file__).resolve().parent.parent / "golden" / "policy_loss_extra.json"
"""Written by tests/golden/reference.py, which shares no code with the trainer."""

BASELINES = {
    "none": "reward",
    "batch_mean": "batch_mean",
    "remax": "greedy",
    "rloo": "leave_one_out",
    "reinforce_pp": "return_to_go",
    "reinforce_pp_baseline": "centred_whitened",
    "passk": "pass_at_k",
}
SCALES = {
    "group": "group_z",
    "none": "centred",
    "batch": "batch_std",
    "batch_centered": "batch_centred",
    "mean": "mean_normalised",
}
CORRECTION_NAMES = {"tis": "tis", "seq_tis": "tis_sequence", "icepop": "icepop", "seq_mis": "mis_sequence"}
OPTION_NAMES = {
    "eps_low": "clip_low",
    "eps_high": "clip_high",
    "log_eps_low": "log_clip_low",
    "log_eps_high": "log_clip_high",
    "div": "divergence",
    "ratio_cap": "ratio_max",
    "a": "weight_min",
    "b": "weight_max",
    "lb": "band_low",
    "ub": "band_high",
    "lo": "low",
    "hi": "high",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    golden = json.loads(Path(str(metafunc.config.getoption("--golden"))).read_text(encoding="utf-8"))
    if "policy_case" in metafunc.fixturenames:
        extra = json.loads(EXTRA.read_text(encoding="utf-8"))
        found = [
            (case, file["instances"][case["instance"]])
            for file in (golden, extra)
            for case in file["policy_cases"]
            if not _critic(case)
        ]
        metafunc.parametrize(("policy_case", "instance"), found, ids=[case["id"] for case, _ in found])
    for name, key in (("aggregation_case", "aggregation_cases"), ("estimator_case", "estimator_cases")):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, golden[key])
    if "kl_row" in metafunc.fixturenames:
        metafunc.parametrize("kl_row", golden["kl_cases"]["rows"])
    for name, key in (("shaping_case", "shaping_cases"), ("sampler_case", "sampler_cases")):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, golden[key], ids=[case["kind"] for case in golden[key]])


def _critic(case: dict[str, Any]) -> bool:
    return case["spec"]["advantage"]["name"] in CRITIC


def array(value: Any) -> Tensor:
    def number(item: Any) -> Any:
        return [number(part) for part in item] if isinstance(item, list) else float(item)

    return torch.tensor(number(value), dtype=torch.float64)


def options(spec: dict[str, Any], *, without: tuple[str, ...]) -> dict[str, Any]:
    return {OPTION_NAMES.get(key, key): value for key, value in spec.items() if key not in without}


def objective_of(spec: dict[str, Any]) -> Objective:
    advantage, policy, correction = spec["advantage"], spec["loss"], spec.get("mismatch")
    given = str(advantage["name"])
    name = SCALES[advantage["scale"]] if given == "group" else BASELINES.get(given, given)
    skip = ("name", "scale", "binarize") if name not in ("centred", "mean_normalised") else ("name", "scale", "eps")
    loss_name = "clip" if policy["name"] == "ppo" else policy["name"]
    if policy.get("anchor") == "rollout" and loss_name == "cispo":
        loss_name = "cispo_rollout"
    mode = spec["agg"]["mode"]
    kl = spec.get("kl", {})
    return Objective(
        advantage=name,
        advantage_options=options(advantage, without=skip),
        loss=str(loss_name),
        loss_options=options(policy, without=("name", "anchor")),
        aggregation="seq_mean_token_mean" if mode == "seq_mean" else mode,
        max_length=spec["agg"].get("const"),
        correction=None if correction is None else CORRECTION_NAMES.get(correction["kind"], correction["kind"]),
        correction_options={} if correction is None else options(correction, without=("kind",)),
        kl=kl.get("type", "k3"),
        kl_coef=kl.get("coef", 0.0),
        high_entropy_share=spec.get("high_entropy_top"),
        drop_zero_variance=spec.get("drop_zero_variance", False),
    )


def rows_of(spec: dict[str, Any], instance: dict[str, Any]) -> StepRows:
    groups_B = torch.tensor(instance["group_ids"])
    rewards_B = array(instance["rewards"])
    greedy = instance["greedy_reward"]
    return StepRows(
        rewards_B=2 * rewards_B - 1 if spec.get("reward_map") else rewards_B,
        groups_B=groups_B,
        mask_BT=array(instance["mask"]).bool(),
        logp_old_BT=array(instance["logp_old"]),
        logp_rollout_BT=array(instance["logp_rollout"]),
        logp_ref_BT=array(instance["logp_ref"]),
        logp_new_BT=array(instance["logp_new"]),
        entropy_BT=array(instance["entropy"]),
        greedy_B=torch.tensor([greedy[str(int(group))] for group in groups_B], dtype=torch.float64),
        demonstration_B=array(instance["is_offpolicy"]).bool() if "is_offpolicy" in instance else None,
    )


def run(
    objective: Objective, prepared: Prepared, logp_new_BT: Tensor, splits: list[list[int]]
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Loss, gradient and metric sums over micro-batches of the given rows."""
    leaf_BT = logp_new_BT.clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    sums: dict[str, Tensor] = {}
    for index in splits:
        index_M = torch.tensor(index)
        part = prepared.step.rows(index_M, leaf_BT[index_M], None)
        value, metrics = loss(objective, part)
        value.backward()
        total = total + value.detach()
        sums = {key: sums.get(key, torch.zeros(())) + amount for key, amount in metrics.items()}
    assert leaf_BT.grad is not None
    return total, leaf_BT.grad, sums


def test_policy_case(policy_case: dict[str, Any], instance: dict[str, Any]) -> None:
    spec, expect = policy_case["spec"], policy_case["expect"]
    objective, rows = objective_of(spec), rows_of(spec, instance)
    prepared = prepare(objective, rows)
    assert rows.logp_new_BT is not None
    count = len(rows.groups_B)
    value, gradient, sums = run(objective, prepared, rows.logp_new_BT, [list(range(count))])
    advantages = prepared.advantages
    expected = array(expect["advantages"])
    torch.testing.assert_close(advantages, expected, rtol=RTOL_LOSS, atol=ATOL)
    torch.testing.assert_close(value, array(expect["loss"]), rtol=RTOL_LOSS, atol=ATOL)
    torch.testing.assert_close(gradient, array(expect["grad"]), rtol=RTOL_GRAD, atol=ATOL)
    check_metrics(expect["metrics"], prepared, sums)

    # The same loss and gradient row by row and in two uneven micro-batches, in any order.
    order = torch.randperm(count, generator=torch.Generator().manual_seed(1)).tolist()
    for splits in ([[row] for row in order], [order[:3], order[3:]]):
        again, gradient_again, _ = run(objective, prepared, rows.logp_new_BT, [part for part in splits if part])
        torch.testing.assert_close(again, value, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(gradient_again, gradient, rtol=1e-10, atol=1e-10)


def check_metrics(expect: dict[str, Any], prepared: Prepared, sums: dict[str, Tensor]) -> None:
    step: StepTensors = prepared.step
    tokens = max(int(step.mask_BT.sum()), 1)
    assert prepared.nonfinite_tokens == expect["nonfinite_tokens"]
    if "kept_sequences" in expect:
        assert int(prepared.present_B.sum()) == expect["kept_sequences"]
    if "is_weights" in expect:
        assert step.correction_BT is not None
        torch.testing.assert_close(step.correction_BT, array(expect["is_weights"]), rtol=RTOL_LOSS, atol=ATOL)
        ess = effective_sample_size(step.correction_BT, step.mask_BT)
        assert ess == pytest.approx(expect["ess"], rel=RTOL_LOSS, abs=ATOL)
    if "selected" in expect and expect["selected"] is not None:
        assert step.selected_BT is not None
        assert step.selected_BT.nonzero().tolist() == sorted(expect["selected"])
    if "kept_tokens" in expect:
        assert step.kept_BT is not None
        assert int(step.kept_BT.sum()) == expect["kept_tokens"]
    if "kl" in expect:
        assert float(sums["kl/reference"]) / tokens == pytest.approx(expect["kl"], rel=RTOL_LOSS, abs=ATOL)
    if "approx_kl_old_new_k1" in expect:
        assert float(sums["kl/old_new"]) / tokens == pytest.approx(expect["approx_kl_old_new_k1"], rel=1e-9, abs=1e-12)
    # Where an advantage is 0 the reference still calls a token masked; here nothing is stopped there.
    if "masked_or_clipped_fraction" in expect and bool((prepared.advantages != 0).all()):
        keys = ("loss/selected_share",) if "loss/selected_share" in sums else ("clip/low_share", "clip/high_share")
        clipped = sum(float(sums[key]) for key in keys)
        assert clipped / tokens == pytest.approx(expect["masked_or_clipped_fraction"], rel=RTOL_LOSS, abs=ATOL)


@pytest.mark.parametrize("cut", ["whole", "rows", "uneven", "empty rank"])
def test_aggregation_case(aggregation_case: dict[str, Any], cut: str) -> None:
    """Two ranks, one of them empty, are two micro-batches of the same step."""
    values_BT, mask_BT = array(aggregation_case["values"]), array(aggregation_case["mask"]).bool()
    rows = len(values_BT)
    uneven = rows // 2 + 1
    splits = {"whole": [rows], "rows": [1] * rows, "uneven": [uneven, rows - uneven], "empty rank": [0, rows]}[cut]
    groups_B = torch.tensor(aggregation_case["group_ids"])
    present_B = torch.ones(len(groups_B), dtype=torch.bool)
    for mode, expected in aggregation_case["expect"].items():
        weight_B = AGGREGATIONS[mode](mask_BT, groups_B, present_B, aggregation_case["const_L_max"])
        parts = zip(values_BT.split(splits), mask_BT.split(splits), weight_B.split(splits), strict=True)
        total = sum(float(reduce(*part)) for part in parts)
        assert total == pytest.approx(expected, rel=RTOL_LOSS, abs=ATOL), mode


def test_every_case_of_the_file_is_run(request: pytest.FixtureRequest) -> None:
    """Left out are policy cases with a critic, whose advantage is `gae`; a kind that no test knows is told."""
    golden = json.loads(Path(str(request.config.getoption("--golden"))).read_text(encoding="utf-8"))
    known = {"policy_cases", "aggregation_cases", "kl_cases", "shaping_cases", "sampler_cases", "estimator_cases"}
    assert {key for key in golden if key.endswith("_cases")} <= known
    for key, tests in (("shaping_cases", SHAPING), ("sampler_cases", SAMPLERS), ("estimator_cases", ESTIMATORS)):
        assert {case["kind"] for case in golden[key]} <= tests.keys()


def test_kl_case(kl_row: dict[str, float]) -> None:
    for name, estimator in KL.items():
        logp = torch.tensor(kl_row["logp"], dtype=torch.float64, requires_grad=True)
        value = estimator(logp - kl_row["logp_ref"])
        value.backward()
        assert logp.grad is not None
        assert float(value.detach()) == pytest.approx(kl_row[name], rel=RTOL_LOSS, abs=ATOL)
        assert float(logp.grad) == pytest.approx(kl_row[f"d{name}"], rel=RTOL_GRAD, abs=ATOL)


def test_estimator_case(estimator_case: dict[str, Any]) -> None:
    ESTIMATORS[estimator_case["kind"]](estimator_case)


def passk_advantage(case: dict[str, Any]) -> None:
    rewards = case["rewards"]
    n, c = len(rewards), sum(rewards)
    right, wrong = pass_at_k_advantages(n, c, case["k"])
    assert [right if r else wrong for r in rewards] == pytest.approx(case["expect"], rel=RTOL_LOSS, abs=ATOL)
    right, wrong = pkpo_rewards(n, c, case["k"])
    assert [right if r else wrong for r in rewards] == pytest.approx(
        case["expect_pkpo_reward"], rel=RTOL_LOSS, abs=ATOL
    )


def unbiased_pass_at_k(case: dict[str, Any]) -> None:
    assert pass_at_k(case["n"], case["c"], case["k"]) == pytest.approx(case["expect"], rel=RTOL_LOSS, abs=ATOL)


def topk_divergence(case: dict[str, Any]) -> None:
    old, new = array(case["old_probs_of_K_tokens"]), array(case["new_probs_of_same_tokens"])
    variation, divergence = bucketed(old, new)
    assert float(variation) == pytest.approx(case["expect_tv"], rel=RTOL_LOSS, abs=ATOL)
    assert float(divergence) == pytest.approx(case["expect_kl_old_new"], rel=RTOL_LOSS, abs=ATOL)


def entropy_and_self_certainty(case: dict[str, Any]) -> None:
    logits = array(case["logits"])
    assert float(token_entropy(logits, 1.0)) == pytest.approx(case["expect_entropy"], rel=RTOL_LOSS, abs=ATOL)
    assert float(self_certainty(logits)) == pytest.approx(case["expect_self_certainty"], rel=RTOL_LOSS, abs=ATOL)


def binary_divergence(case: dict[str, Any]) -> None:
    old, new = array(case["old_prob"]), array(case["new_prob"])
    assert float(binary_tv(old, new)) == pytest.approx(case["expect_tv"], rel=RTOL_LOSS)
    assert float(binary_kl(old, new)) == pytest.approx(case["expect_kl_old_new"], rel=RTOL_LOSS)


ESTIMATORS = {
    "pass_at_k": unbiased_pass_at_k,
    "passk_advantage": passk_advantage,
    "topk_divergence": topk_divergence,
    "binary_divergence": binary_divergence,
    "entropy_and_self_certainty": entropy_and_self_certainty,
}


def test_shaping_case(shaping_case: dict[str, Any]) -> None:
    found, expected = SHAPING[shaping_case["kind"]](shaping_case)
    assert found == pytest.approx(expected, rel=RTOL_LOSS, abs=ATOL)


SHAPING: dict[str, Callable[[dict[str, Any]], tuple[Any, Any]]] = {
    "dapo_soft_overlong": lambda c: (rewards.soft_overlong(c["length"], c["L_max"], c["L_cache"]), c["expect"]),
    "kimi_k15_length_reward": lambda c: (rewards.kimi_length(c["lengths"], c["correct"]), c["expect"]),
    "l1_exact": lambda c: (
        rewards.l1_exact(c["n_gold"], c["n_y"], bool(c["correct"]), alpha=c["alpha"]),
        c["expect"],
    ),
    "l1_max": lambda c: (
        rewards.l1_max(c["n_gold"], c["n_y"], bool(c["correct"]), alpha=c["alpha"], delta=c["delta"]),
        c["expect"],
    ),
    "multi_turn_discounted_sum": lambda c: (rewards.turn_returns(c["turn_scores"], gamma=c["gamma"]), c["expect"]),
    "rubric_explicit": lambda c: (rewards.rubric(c["weights"], c["satisfied"]), c["expect"]),
    "ttrl_majority_vote": lambda c: (
        rewards.majority_rewards(c["answers"])[1] + [rewards.majority_rewards(c["answers"])[2]],
        c["expect_rewards"] + [c["expect_majority_ratio"]],
    ),
}


def test_majority_label(shaping_case: dict[str, Any]) -> None:
    if shaping_case["kind"] == "ttrl_majority_vote":
        assert rewards.majority_rewards(shaping_case["answers"])[0] == shaping_case["expect_label"]


def test_sampler_case(sampler_case: dict[str, Any]) -> None:
    SAMPLERS[sampler_case["kind"]](sampler_case)


def greso_controller(case: dict[str, Any]) -> None:
    explore, found = case["start"], []
    low, high = case["clip"]
    for observed in case["observed_easy_ratio"]:
        explore = curriculum.greso_explore(explore, observed, case["target"], step=case["step"], low=low, high=high)
        found.append(explore)
    assert found == pytest.approx(case["expect_p"], rel=RTOL_LOSS)


def group_filter(case: dict[str, Any]) -> None:
    band = None if case["accuracy_band"] is None else tuple(case["accuracy_band"])
    assert curriculum.keeps_group(case["rewards"], band=band) == case["expect_keep"]


def adaptive_entropy(case: dict[str, Any]) -> None:
    term = EntropyTerm(target=case["target"], delta=case["delta"], max_coef=case["clip"][1])
    coef, found = case["start"], []
    for entropy in case["observed_entropy"]:
        coef, active = adapt_entropy(term, coef, entropy)
        found.append([coef, int(active)])
    for pair, expected in zip(found, case["expect_coef_and_active"], strict=True):
        assert pair == pytest.approx(expected, rel=RTOL_LOSS, abs=ATOL)


def numbers(found: Any, case: dict[str, Any]) -> None:
    assert found == pytest.approx(case["expect"], rel=RTOL_LOSS, abs=ATOL)


SAMPLERS: dict[str, Callable[[dict[str, Any]], None]] = {
    "greso_skip_probability": lambda c: numbers(
        curriculum.greso_skip(c["consecutive_zero_variance"], c["p_explore"]), c
    ),
    "greso_p_easy_controller": greso_controller,
    "prioritized_1_minus_s": lambda c: numbers(curriculum.prioritised(c["success"]), c),
    "e2h_cosine": lambda c: numbers(curriculum.e2h_cosine(c["step"], c["total"], c["levels"]), c),
    "e2h_gaussian": lambda c: numbers(
        curriculum.e2h_gaussian(
            c["step"], c["total"], c["levels"], mu_exp=c["mu_exp"], sigma=c["sigma"], min_prob=c["min_prob"]
        ),
        c,
    ),
    "group_filter": group_filter,
    "adaptive_entropy": adaptive_entropy,
    "starpo_s_filter": lambda c: numbers(
        curriculum.widest_groups(c["group_reward_variance"], c["keep_fraction"]), c | {"expect": c["expect_groups"]}
    ),
    "no_positive_resampling": lambda c: numbers(
        [
            key == name
            for key, name in zip(
                curriculum.mastered(c["pass_rate_history"], c["threshold"]), c["expect_dropped"], strict=True
            )
        ],
        {"expect": [True] * len(c["expect_dropped"])},
    ),
}
