"""The data-set card of a curated folder: README.md with the YAML head that `datasets` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LARGEST = "1M<n<10M"
COMMON_LICENSES = {"MIT": "mit", "Apache-2.0": "apache-2.0", "CC-BY-4.0": "cc-by-4.0", "CC-BY-SA-4.0": "cc-by-sa-4.0"}


def render_card(manifest: Mapping[str, Any]) -> str:
    """Markdown; a pure function of the manifest."""
    sections = (
        _head(manifest),
        _intro(manifest),
        _sources(manifest["sources"], manifest["by_source"]),
        _stages(manifest["stages"]),
        _benchmarks(manifest["benchmarks"]),
        _use(),
        _limits(manifest),
    )
    return "\n".join(sections)


def _head(manifest: Mapping[str, Any]) -> str:
    rows = manifest["rows_kept"]
    size = next((label for bound, label in SIZES if rows < bound), LARGEST)
    licenses = {source["license"] for source in manifest["sources"]}
    known = COMMON_LICENSES.get(next(iter(licenses)), "other") if len(licenses) == 1 else "other"
    files = "\n".join(f"  - split: {name}\n    path: data/{name}-*.parquet" for name in manifest["splits"])
    return f"""---
license: {known}
task_categories:
- text-generation
size_categories:
- {size}
tags:
- reinforcement-learning
- verifiable-rewards
configs:
- config_name: default
  data_files:
{files}
---
"""


def _intro(manifest: Mapping[str, Any]) -> str:
    dropped = sum(sum(reasons.values()) for reasons in manifest["dropped"].values())
    aside = sum(sum(reasons.values()) for reasons in manifest["quarantined"].values())
    return f"""# Problems with verifiable answers

{manifest["rows_kept"]:,} problems kept of {manifest["rows_in"]:,} raw rows; {dropped:,} dropped and {aside:,} set aside
for review, each with its reason and evidence in `dropped/` and `quarantined/`. {_split_words(manifest["splits"])}
`manifest.json` holds every count, threshold and digest.

Made by verigold; seed {manifest["seed"]}, recipe `{manifest["recipe_digest"]}`, code
`{manifest["code_version"]}`.
"""


def _split_words(splits: Mapping[str, int]) -> str:
    if len(splits) == 1:
        return "All are in one split."
    told = ", ".join(f"{name} {rows:,}" for name, rows in splits.items())
    return f"Splits: {told}; rows that differ in numbers only are in the same one."


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _sources(sources: Sequence[Mapping[str, Any]], by_source: Mapping[str, Any]) -> str:
    rows = [
        (source["name"], source["license"], source["path"], source["rows"], by_source[source["name"]]["rows_kept"])
        for source in sources
    ]
    return "## Sources and licences\n\n" + _table(("source", "licence", "file", "rows", "kept"), rows)


def _stages(stages: Sequence[Mapping[str, Any]]) -> str:
    funnel = [
        (stage["name"], stage["rows_in"], stage["rows_out"], _reasons(stage["dropped"]), _reasons(stage["quarantined"]))
        for stage in stages
    ]
    settings = [(stage["name"], f"`{_settings(stage['params'])}`") for stage in stages if stage["params"]]
    parts = ["## Stages\n", _table(("stage", "in", "out", "dropped", "quarantined"), funnel)]
    if settings:
        parts += ["## Thresholds\n", _table(("stage", "parameters"), settings)]
    return "\n".join(parts)


def _settings(params: Mapping[str, Any]) -> str:
    shown = {key: value for key, value in params.items() if key != "benchmarks"}
    return json.dumps(shown, sort_keys=True, ensure_ascii=False)


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {number:,}" for reason, number in counts.items()) or "-"


def _benchmarks(benchmarks: Sequence[Mapping[str, Any]]) -> str:
    if not benchmarks:
        return "## Benchmarks\n\nNot decontaminated against any benchmark.\n"
    rows = [
        (item["name"], item["split"], item["revision"], item["rows"], item["hits"], f"`{item['digest'][:16]}`")
        for item in benchmarks
    ]
    head = ("benchmark", "split", "revision", "rows", "hits removed", "digest")
    return "## Benchmarks decontaminated against\n\n" + _table(head, rows)


def _use() -> str:
    return """## How to train on it

- `datasets.load_dataset("this/folder")` reads it as it is.
- `croissant.json` describes files, columns and licences as Croissant JSON-LD; with mlcroissant,
  `Dataset("croissant.json").records("problems")` reads the rows.
- verl: `prompt`, `data_source`, `reward_model`, `ability` and `extra_info` are there; set `custom_reward_function` to
  `verifiers/reward.py` and `compute_score`. `data_source` names the true source, which verl's own scorers do not know.
- TRL: `prompt` is a chat; use the reward function of `verifiers/reward.py`. `solution` is `\\boxed{ground_truth}` for
  TRL's own `accuracy_reward`, which is right for integers and rationals only.
- `difficulty` and `pass_rate` are about the model named there and no other.
"""


def _limits(manifest: Mapping[str, Any]) -> str:
    lines = [
        "## Limits",
        "",
        "- Near-duplicates that are translations or deep paraphrases with another answer form can remain.",
        "- Golds are checked to be readable and equal to themselves, not to be true.",
        "- Benchmarks that are not in the table above were not searched for.",
    ]
    if manifest["integer_forms"]:
        lines.append(
            "- Where `integer_form` is set and not F0, the question may end with an added sentence that asks for an"
            " integer; `extra_info.original_answer` holds the answer as the source gave it."
        )
    return "\n".join(lines) + "\n"
