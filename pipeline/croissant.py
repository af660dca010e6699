"""The folder as Croissant 1.1 JSON-LD (`croissant.json`): files with their sha256, and a field for every column.

Format: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html. A pure function of the manifest, so the
same run writes the same bytes; there is no date in it, because there is none in the manifest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.problem import DROP_SCHEMA, SHARD_SCHEMA

Json = dict[str, Any]

CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context of the format's version 1.1, whole: readers warn about any other."""

SPDX = frozenset(
    {
        "Apache-2.0",
        "BSD-3-Clause",
        "CC-BY-4.0",
        "CC-BY-NC-4.0",
        "CC-BY-NC-SA-4.0",
        "CC-BY-SA-3.0",
        "CC-BY-SA-4.0",
        "CC0-1.0",
        "MIT",
        "ODC-By-1.0",
    }
)
"""Names of licences that problem sets come under, as https://spdx.org/licenses spells them."""
PARQUET = "application/x-parquet"
DATA_TYPES: Mapping[pa.DataType, str] = {
    pa.string(): "sc:Text",
    pa.int32(): "cr:Int32",
    pa.int64(): "cr:Int64",
    pa.float64(): "cr:Float64",
}
DESCRIPTIONS = {
    "id": "Hash of the raw question and the raw gold.",
    "data_source": "The source that the row comes from.",
    "prompt": "Chat messages: the question, after a system prompt where there is one.",
    "ability": "What is asked for, in verl's sense.",
    "reward_model": "The gold as verl reads it.",
    "extra_info": "Where the row comes from and what was done to it.",
    "solution": "The gold in a box, for rewards that read LaTeX.",
    "verifier": "The verifier that judges answers to this row.",
    "verifier_options": "Options of the verifier, a JSON object.",
    "pass_rate": "Share of correct attempts of the target model, where one sampled.",
    "difficulty": "What each sampling model did on the row.",
    "source_row": "The row's place in its source: name#index.",
    "kind": "dropped, or quarantined for review.",
    "stage": "The stage that removed the row.",
    "reason": "Why, as a stable code.",
    "evidence": "On which evidence, a JSON object.",
    "question": "The question.",
    "ground_truth": "The gold.",
}


def describe_folder(manifest: Mapping[str, Any]) -> Json:
    """The JSON-LD object of a curated folder."""
    kinds = [kind for kind in ("dropped", "quarantined") if manifest[kind]]
    sets = [_file_set("shards", "data/*.parquet"), *(_file_set(kind, f"{kind}/*.parquet") for kind in kinds)]
    records = [_record_set("problems", "The curated problems.", "shards", SHARD_SCHEMA, key="id")]
    records += [_record_set(f"{kind}-rows", f"Rows that were {kind}.", kind, DROP_SCHEMA) for kind in kinds]
    licenses = sorted({str(source["license"]) for source in manifest["sources"]})
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": "problems-with-verifiable-answers",
        "description": f"{manifest['rows_kept']} problems with verifiable answers, curated from "
        f"{manifest['rows_in']} rows of {len(manifest['sources'])} sources.",
        "version": f"{manifest['schema_version']}.0.0",
        "license": [_license(name) for name in licenses],
        "citeAs": "Curated with verigold; cite the sources named under isBasedOn.",
        "keywords": ["reinforcement learning", "verifiable rewards", "mathematics"],
        "isBasedOn": [
            {"@type": "sc:CreativeWork", "name": source["name"], "license": _license(str(source["license"]))}
            for source in manifest["sources"]
        ],
        "isLiveDataset": False,
        "distribution": [*sets, *(_file_object(file) for file in manifest["files"])],
        "recordSet": [*records, _sources(manifest)],
    }


def _license(name: str) -> str:
    """SPDX names as their address; anything else as it was told."""
    return f"https://spdx.org/licenses/{name}" if name in SPDX else name


def _file_set(name: str, includes: str) -> Json:
    return {"@type": "cr:FileSet", "@id": name, "name": name, "encodingFormat": PARQUET, "includes": includes}


def _file_object(file: Mapping[str, Any]) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": file["path"],
        "name": file["path"],
        "contentUrl": file["path"],
        "encodingFormat": PARQUET,
        "sha256": file["sha256"],
    }


def _record_set(name: str, description: str, files: str, schema: pa.Schema, *, key: str | None = None) -> Json:
    found: Json = {"@type": "cr:RecordSet", "@id": name, "name": name, "description": description}
    if key is not None:
        found["key"] = {"@id": f"{name}/{key}"}
    found["field"] = [_field(name, files, column) for column in schema]
    return found


def _field(record_set: str, files: str, column: pa.Field) -> Json:
    """A column; structs and lists of structs get a sub-field a member, taken out of the column by a JSON path."""
    found = _named(f"{record_set}/{column.name}", column.name)
    is_list = pa.types.is_list(column.type)
    inner = column.type.value_type if is_list else column.type
    if is_list:
        found |= {"isArray": True, "arrayShape": "-1"}
    source: Json = {"fileSet": {"@id": files}, "extract": {"column": column.name}}
    if not pa.types.is_struct(inner):
        return found | {"dataType": DATA_TYPES[inner], "source": source}
    members = [inner.field(place) for place in range(inner.num_fields)]
    found["subField"] = [
        _named(f"{record_set}/{column.name}/{member.name}", f"{column.name}.{member.name}")
        | {"dataType": DATA_TYPES[member.type], "source": source | {"transform": {"jsonPath": member.name}}}
        for member in members
    ]
    return found


def _named(identity: str, name: str) -> Json:
    found: Json = {"@type": "cr:Field", "@id": identity, "name": name}
    return found | ({"description": DESCRIPTIONS[name]} if name in DESCRIPTIONS else {})


def _sources(manifest: Mapping[str, Any]) -> Json:
    """The sources with their licences, as rows inside the description."""
    columns = {"name": "sc:Text", "license": "sc:Text", "rows": "sc:Integer", "digest": "sc:Text"}
    rows: Sequence[Json] = [
        {f"sources/{column}": source[column] for column in columns} for source in manifest["sources"]
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": "sources",
        "name": "sources",
        "description": "What the problems were curated from, each with its licence and the sha256 of its file.",
        "key": {"@id": "sources/name"},
        "field": [
            {"@type": "cr:Field", "@id": f"sources/{column}", "name": column, "dataType": kind}
            for column, kind in columns.items()
        ],
        "data": rows,
    }
