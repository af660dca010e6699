"""reasoning-gym's own scorers beside our verifiers on reference answers and on answers of other entries.

  python benchmarks/gym_scorers.py                # the ten tasks of data/recipes/curate/reasoning_gym.toml
  python benchmarks/gym_scorers.py --all --n 5    # every task that is taken

Columns: share of answers accepted. `own` is the package's scorer in this process at 1.0, `ours` the verifier
`reasoning_gym` (the same scorer in a worker, on rows that went through JSON), `math` and `qa` our rule-based verifiers
on the same texts. References should all be accepted. Of the answers of other entries some are right by chance (a
relation, a puzzle with several solutions): there `ours` must equal `own`.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # not benchmarks/: a file there is named like a package

from pipeline.reasoning_gym import GymTask, entries, scorer_options
from verifiers import Request, Status, verify_many
from verifiers.reasoning_gym import ALLOWED

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "data" / "recipes" / "curate" / "reasoning_gym.toml"


def tasks(everything: bool) -> list[GymTask]:
    """The recipe's tasks, or every task that is taken with its default settings."""
    if everything:
        return [GymTask(task=name) for name in sorted(ALLOWED)]
    sources = tomllib.loads(RECIPE.read_text(encoding="utf-8"))["sources"]
    return [GymTask(**source["reasoning_gym"]) for source in sources]


def own_scores(gym: GymTask, rows: list[dict], answers: list[str]) -> list[bool]:
    """What the package says in this process."""
    from reasoning_gym.factory import create_dataset

    dataset = create_dataset(gym.task, **{**gym.config, "seed": gym.seed, "size": len(rows)})
    return [float(dataset.score_answer(answer, dataset[place])) >= 1.0 for place, answer in enumerate(answers)]


def our_verdicts(gym: GymTask, rows: list[dict], answers: list[str], verifier: str) -> list[bool]:
    requests = []
    for row, answer in zip(rows, answers, strict=True):
        text = f"\\boxed{{{answer}}}" if verifier == "math" else f"<answer>{answer}</answer>"
        options = scorer_options(gym, row) if verifier == "reasoning_gym" else {}
        requests.append(Request(response=text, ground_truth=row["answer"], verifier=verifier, options=options))
    return [verdict.status is Status.CORRECT for verdict in verify_many(requests, workers=1)]


def compare(gym: GymTask, n: int) -> dict[str, list[bool]]:
    """Column -> accepted or not, for the references and for the answers of the entry before (`other`)."""
    sized = GymTask(task=gym.task, size=n, seed=gym.seed, config=gym.config)
    rows = [raw.row for raw in entries(sized, gym.task) if raw.row is not None]
    references = [row["answer"] for row in rows]
    others = [references[place - 1] for place in range(len(rows))]
    found: dict[str, list[bool]] = {}
    for label, answers in (("reference", references), ("other", others)):
        found[f"{label} own"] = own_scores(sized, rows, answers)
        for name, verifier in (("ours", "reasoning_gym"), ("math", "math"), ("qa", "qa")):
            found[f"{label} {name}"] = our_verdicts(sized, rows, answers, verifier)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20, help="entries of each task")
    parser.add_argument("--all", action="store_true", help="every task that is taken")
    options = parser.parse_args()
    columns = [f"{label} {name}" for label in ("reference", "other") for name in ("own", "ours", "math", "qa")]
    print("task".ljust(26) + "".join(column.rjust(15) for column in columns))
    disagreements = 0
    for gym in tasks(options.all):
        found = compare(gym, options.n)
        shares = [sum(found[column]) / len(found[column]) for column in columns]
        print(gym.task.ljust(26) + "".join(f"{share:15.3f}" for share in shares), flush=True)
        for label in ("reference", "other"):
            pairs = zip(found[f"{label} own"], found[f"{label} ours"], strict=True)
            disagreements += sum(own != ours for own, ours in pairs)
    print(f"verdicts in which the verifier differs from the package's scorer: {disagreements}")
    sys.exit(1 if disagreements else 0)


if __name__ == "__main__":
    main()
