"""How much of what: source weights, caps per source and per template, and problems that learning followed.

Rows are chosen by a hash of seed and id, never by their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from pipeline.canonical import canonical
from pipeline.chance import chances, codes, hash_order
from pipeline.config import STRICT, RecipeError
from pipeline.learning import alignment_scores, read_reward_log
from pipeline.problem import Problem
from pipeline.stage import Context, Removal, check_source_names

Share = Annotated[float, Field(ge=0, le=1)]
Cap = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """weights: share of a source's rows that stays (0 to 1), by source name; sources not named stay whole.
    max_rows: rows of a source that stay at most, by source name.  max_per_template: rows that differ in numbers only.
    max_total: rows in all.
    reward_log: rewards of an earlier training run, as `pipeline.learning.read_reward_log` reads them; rows whose
    learning-alignment score (LIMR) is below min_alignment go. The paper takes 0.6. unlogged: what becomes of rows that
    are not in the log.
    """

    __pydantic_config__ = STRICT
    weights: dict[str, Share] = field(default_factory=dict)
    max_rows: dict[str, Cap] = field(default_factory=dict)
    max_per_template: Cap | None = None
    max_total: Cap | None = None
    reward_log: Path | None = None
    min_alignment: float = 0.6
    unlogged: Literal["keep", "drop"] = "keep"

    def check(self, where: str, sources: Sequence[str]) -> None:
        """Raises RecipeError for a name that is no source, and for a reward log that is not there."""
        check_source_names(f"{where}.weights", self.weights, sources)
        check_source_names(f"{where}.max_rows", self.max_rows, sources)
        if self.reward_log is not None and not self.reward_log.exists():
            raise RecipeError(f"{where}.reward_log: {self.reward_log} does not exist; check the path")

    def keys(self, problems: Sequence[Problem]) -> pa.Table:
        columns = {
            "source_row": [problem.source_row for problem in problems],
            "id": [problem.id for problem in problems],
            "data_source": [problem.data_source for problem in problems],
            "template": [self._template(problem) for problem in problems],
        }
        return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})

    def _template(self, problem: Problem) -> str:
        if self.max_per_template is None:
            return ""
        return problem.template_id or canonical(problem.question).template_id

    def drops(
        self, keys: pa.Table, _fetch: Callable[[Sequence[str]], Sequence[Problem]], context: Context
    ) -> Iterator[Removal]:
        """Each row in the order of its hash, against the first rule that it breaks."""
        keys = keys.combine_chunks()
        lots = chances(context.seed, keys.column("id"), "select")
        sources, names = codes(keys.column("data_source"))
        templates, _ = codes(keys.column("template"))
        scores = alignment_scores(read_reward_log(self.reward_log)) if self.reward_log is not None else None
        taken_of_source, taken_of_template = Counter[int](), Counter[int]()
        total = 0
        for place in hash_order(lots, keys.column("source_row")).tolist():
            source, template = int(sources[place]), int(templates[place])
            reason, evidence = self._unaligned(scores, keys.column("id")[place].as_py()) if scores is not None else _NO
            if not reason:
                caps = (taken_of_source[source], taken_of_template[template], total)
                reason, evidence = self._surplus(names[source], float(lots[place]), caps)
            if reason:
                yield Removal(source_row=keys.column("source_row")[place].as_py(), reason=reason, evidence=evidence)
                continue
            taken_of_source[source] += 1
            taken_of_template[template] += 1
            total += 1

    def _unaligned(self, scores: Mapping[str, float], row_id: str) -> tuple[str, dict[str, Any]]:
        score = scores.get(row_id)
        if score is None:
            return ("not-in-reward-log", {}) if self.unlogged == "drop" else _NO
        if score < self.min_alignment:
            return "learning-alignment", {"score": round(score, 4), "min_alignment": self.min_alignment}
        return _NO

    def _surplus(self, source: str, lot: float, taken: tuple[int, int, int]) -> tuple[str, dict[str, Any]]:
        """taken: rows that stay so far, of the source, of the template, and in all."""
        of_source, of_template, total = taken
        weight, cap = self.weights.get(source, 1.0), self.max_rows.get(source)
        if lot >= weight:
            return "source-weight", {"weight": weight}
        if cap is not None and of_source >= cap:
            return "source-cap", {"cap": cap}
        if self.max_per_template is not None and of_template >= self.max_per_template:
            return "template-cap", {"cap": self.max_per_template}
        if self.max_total is not None and total >= self.max_total:
            return "total-cap", {"cap": self.max_total}
        return _NO


_NO: tuple[str, dict[str, Any]] = ("", {})
