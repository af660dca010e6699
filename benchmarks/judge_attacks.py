"""What a model judge pays for responses without an answer, alone and behind the rules.

  python benchmarks/judge_attacks.py --worst-case
  python benchmarks/judge_attacks.py --engine runs/smollm2 --prompt xverify --targets 1 --json
  python benchmarks/judge_attacks.py --engine '{kind = "endpoint", base_url = "http://localhost:8000/v1", model = "m"}'

Every response is wrong. `one order` is a judge as it is mostly used; `both` must agree in two orders. Of the hybrid the
first pair counts what the rules decided (accepted must be 0, and exit 1 says that it is not), the second what they left
to the judge. `--worst-case` is a judge that says yes to everything.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console
from rich.table import Table

from verifiers.judge import Judge, Message, Reader
from verifiers.judge_attacks import TARGETS, measure
from verifiers.judge_prompts import INSTRUCT, PROMPTS
from verigold.judging import HYBRID, open_panel

COLUMNS = {
    "n": "responses",
    "rules": "rules accept",
    "judge_one_order": "judge accepts, one order",
    "judge_both_orders": "both orders",
    "judge_failed": "unreadable",
    "hybrid_by_rules": "hybrid: rules decide",
    "hybrid_by_rules_accepted": "accepted",
    "hybrid_asked": "hybrid: judge asked",
    "hybrid_asked_accepted": "accepted ",
}


class YesToAll:
    """Says in either order that the answer is right."""

    def choice_logprobs(self, prompts: Sequence[Sequence[Message]], choices: Sequence[str]) -> list[list[float]]:
        """The letter that means yes is told by the words before it."""
        return [self._scores(messages[0]["content"], choices) for messages in prompts]

    def _scores(self, text: str, choices: Sequence[str]) -> list[float]:
        first, second = INSTRUCT.orders
        wording = first if text.index("Reference answer:") < text.index("Student's answer:") else second
        return [0.0 if choice == wording.yes else -10.0 for choice in choices]


def worst_case() -> Judge:
    return Judge([Reader(engine=YesToAll(), prompt=INSTRUCT, name="yes to all", digest="yes")])


def total(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": "all", **{key: sum(row[key] for row in rows) for key in COLUMNS}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", help="model folder, or a recipe's engine table")
    parser.add_argument("--prompt", default="instruct", choices=list(PROMPTS))
    parser.add_argument("--worst-case", action="store_true")
    parser.add_argument("--targets", type=int, default=len(TARGETS), help="problems attacked, the first so many")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if (arguments.engine is None) == (not arguments.worst_case):
        parser.error("give --engine or --worst-case")
    if arguments.worst_case:
        judge = worst_case()
    else:
        with tempfile.TemporaryDirectory() as folder:
            panel = open_panel([HYBRID], [arguments.engine], [arguments.prompt], 1.0, out=Path(folder))
            assert panel is not None
            judge = panel.judge
    rows = measure(judge, TARGETS[: arguments.targets])
    rows.append(total(rows))
    if arguments.json:
        print(json.dumps({"judges": judge.describe(), "rows": rows}))
    else:
        shown = Table("attack", *COLUMNS.values())
        for row in rows:
            shown.add_row(row["kind"], *(str(row[key]) for key in COLUMNS))
        Console(width=150).print(shown)
    sys.exit(1 if rows[-1]["hybrid_by_rules_accepted"] > rows[-1]["rules"] else 0)


if __name__ == "__main__":
    main()
