"""Scorers beyond the rules: a judge behind them, and the majority of a group as its label."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from engines.engine import Completion
from pipeline.judging import JudgeConfig, Panel, open_panel
from pipeline.rollouts import request_for
from trainer.majority import label_free
from trainer.prompts import Draw
from verifiers.hybrid import Asked, Counts
from verifiers.verdict import Verdict

ANSWERS_FILE = "judge.sqlite"
"""In the run folder: what a served judge has answered."""

Samples = Sequence[tuple[Draw, int, Completion]]


class JudgedScorer:
    """Each problem's own verifier, and a judge for what it left undecided or refused (verifiers/hybrid.py)."""

    def __init__(self, panel: Panel, workers: int | None) -> None:
        self.panel = panel
        self.workers = workers
        self._counts: dict[str, Counts] = {}
        self._samples = 0

    def __call__(self, samples: Samples, /) -> Sequence[Verdict]:
        asked = [
            Asked(
                request=request_for(draw.task.problem, completion.text),
                question=draw.task.problem.question,
                cut=completion.finish_reason == "length",
            )
            for draw, _, completion in samples
        ]
        found = self.panel(asked, workers=self.workers)
        self._samples += len(samples)
        for reason, counts in found.counts.items():
            self._counts.setdefault(reason, Counts()).add(counts)
        return found.verdicts

    def take(self) -> dict[str, float]:
        """Shares of all samples that were judged, turned, split and failed; and counts for each reason of the rules."""
        counts, samples = self._counts, max(self._samples, 1)
        self._counts, self._samples = {}, 0
        found: dict[str, float] = {
            f"judge/{name}_share": sum(getattr(count, name) for count in counts.values()) / samples
            for name in ("drawn", "turned", "split", "failed")
        }
        for reason, count in sorted(counts.items()):
            if count.eligible:
                found |= {f"judge/{name}/{reason}": getattr(count, name) for name in ("eligible", "drawn", "turned")}
        return found


def open_judged(config: JudgeConfig, seed: int, folder: Path, workers: int | None) -> JudgedScorer:
    """Raises RecipeError for a judge that cannot be asked."""
    return JudgedScorer(open_panel(config, seed=seed, cache=folder / ANSWERS_FILE), workers)


def judge_of(scorer: object) -> dict[str, str]:
    """For a run's environment: the judge, its prompts with their digests and its share, which a resume must find."""
    if not isinstance(scorer, JudgedScorer):
        return {}
    return {"judge": json.dumps(scorer.panel.describe(), sort_keys=True)}


class MajorityScorer:
    """The answer that most samples of a prompt give is taken for right (TTRL, arXiv 2504.16084). No gold is read."""

    def __init__(self, workers: int | None) -> None:
        self.workers = workers
        self._shares: list[float] = []
        self._abstained = 0
        self._samples = 0

    def __call__(self, samples: Samples, /) -> Sequence[Verdict]:
        places: dict[str, list[int]] = {}
        for place, (draw, _, _) in enumerate(samples):
            places.setdefault(draw.key, []).append(place)
        problems = [samples[group[0]][0].task.problem for group in places.values()]
        texts = [[samples[place][2].text for place in group] for group in places.values()]
        found: list[Verdict | None] = [None] * len(samples)
        for group, judged in zip(places.values(), label_free(problems, texts, workers=self.workers), strict=True):
            self._shares.append(judged.agreement)
            self._abstained += judged.abstained
            self._samples += len(group)
            for place, verdict in zip(group, judged.verdicts, strict=True):
                found[place] = verdict
        return [verdict for verdict in found if verdict is not None]

    def take(self) -> dict[str, float]:
        """Mean share of a group's samples that gave its majority's answer, and of samples that did not vote."""
        shares, abstained, samples = self._shares, self._abstained, self._samples
        self._shares, self._abstained, self._samples = [], 0, 0
        if not samples:
            return {}
        return {"majority/agreement": sum(shares) / len(shares), "majority/abstained_share": abstained / samples}
