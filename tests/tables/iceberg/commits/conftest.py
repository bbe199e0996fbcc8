"""Generated schemas, requests and metadata of Iceberg tables, and pyiceberg's view of them."""

import copy
import itertools
import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from anabranch.tables.iceberg.commits.new_table import new_table_metadata

UUID = "0b8d5b3c-5d0a-4a1d-9d93-6e0c2d9a9a11"
LOCATION = "s3://lake/.tables/0123456789abcdef0123456789abcdef"
NOW = 1_790_000_000_000

PRIMITIVES = [
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "string",
    "uuid",
    "binary",
    "fixed[7]",
    "decimal(9, 2)",
    "decimal(38, 0)",
]


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A schema with types of any depth, whose ids are distinct and in no order."""
    ids = iter(draw(st.permutations(range(1, 200))))
    names = (f"c{number}" for number in itertools.count())

    def any_type(depth: int) -> Any:
        kind = draw(st.integers(0, 9 if depth < 3 else 6))
        if kind <= 6:
            return draw(st.sampled_from(PRIMITIVES))
        if kind == 7:
            return {"type": "struct", "fields": fields(depth + 1, most=3)}
        if kind == 8:
            return {
                "type": "list",
                "element-id": next(ids),
                "element": any_type(depth + 1),
                "element-required": draw(st.booleans()),
            }
        return {
            "type": "map",
            "key-id": next(ids),
            "key": draw(st.sampled_from(PRIMITIVES)),
            "value-id": next(ids),
            "value": any_type(depth + 1),
            "value-required": draw(st.booleans()),
        }

    def fields(depth: int, most: int) -> list[dict[str, Any]]:
        return [
            {
                "id": next(ids),
                "name": next(names),
                "required": draw(st.booleans()),
                "type": any_type(depth),
                **draw(st.sampled_from([{}, {"doc": "what it means"}])),
            }
            for _ in range(draw(st.integers(1, most)))
        ]

    columns = fields(0, most=6)
    schema = {"type": "struct", "schema-id": draw(st.integers(0, 5)), "fields": columns}
    fit = [
        field["id"]
        for field in columns
        if field["required"] and isinstance(field["type"], str)
        if field["type"] not in ("float", "double")
    ]
    chosen = draw(st.lists(st.sampled_from(fit), unique=True)) if fit else []
    if chosen:
        schema["identifier-field-ids"] = sorted(chosen)
    return schema


def transforms_of(name: str) -> list[str]:
    """The transforms that a primitive type can have."""
    base = name.split("(", maxsplit=1)[0].split("[", maxsplit=1)[0]
    found = ["identity", "void"]
    if base in ("date", "timestamp", "timestamptz"):
        found += ["year", "month", "day"]
    if base in ("timestamp", "timestamptz"):
        found.append("hour")
    if base not in ("boolean", "float", "double"):
        found.append("bucket[16]")
    if base in ("int", "long", "string", "binary", "decimal"):
        found.append("truncate[4]")
    return found


def primitive_columns(schema: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """The top-level columns of primitive types: their ids, names and types."""
    return [
        (field["id"], field["name"], field["type"])
        for field in schema["fields"]
        if isinstance(field["type"], str)
    ]


@st.composite
def specs(draw: st.DrawFn, schema: Mapping[str, Any], first_id: int = 1000) -> dict[str, Any]:
    """A partition spec for a schema."""
    columns = primitive_columns(schema)
    chosen = draw(st.lists(st.sampled_from(columns), max_size=3, unique=True)) if columns else []
    fields = []
    for number, (column, name, kind) in enumerate(chosen):
        transform = draw(st.sampled_from([each for each in transforms_of(kind) if each != "void"]))
        fields.append(
            {
                "source-id": column,
                "field-id": first_id + number,
                "name": name if transform == "identity" else f"{name}_part",
                "transform": transform,
            }
        )
    return {"spec-id": 0, "fields": fields}


@st.composite
def orders(draw: st.DrawFn, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A sort order for a schema."""
    columns = primitive_columns(schema)
    chosen = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True)) if columns else []
    fields = [
        {
            "source-id": column,
            "transform": draw(st.sampled_from([e for e in transforms_of(kind) if e != "void"])),
            "direction": draw(st.sampled_from(["asc", "desc"])),
            "null-order": draw(st.sampled_from(["nulls-first", "nulls-last"])),
        }
        for column, _, kind in chosen
    ]
    return {"order-id": 1 if fields else 0, "fields": fields}


@st.composite
def requests(draw: st.DrawFn, versions: tuple[int, ...] = (1, 2)) -> dict[str, Any]:
    """A request that creates a table."""
    schema = draw(schemas())
    request = {
        "name": "trips",
        "schema": schema,
        "properties": {"format-version": str(draw(st.sampled_from(versions))), "owner": "city"},
    }
    if draw(st.booleans()):
        request["partition-spec"] = draw(specs(schema))
    if draw(st.booleans()):
        request["write-order"] = draw(orders(schema))
    return request


def created(request: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of the table that a request creates."""
    return new_table_metadata(request, location=LOCATION, uuid=UUID, now_ms=NOW)


def simple_request(version: int = 2, **fields: Any) -> dict[str, Any]:
    """A request that creates a table of three columns."""
    return {
        "name": "trips",
        "schema": {
            "type": "struct",
            "schema-id": 0,
            "fields": [
                {"id": 1, "name": "id", "required": True, "type": "long"},
                {"id": 2, "name": "at", "required": False, "type": "timestamp"},
                {"id": 3, "name": "note", "required": False, "type": "string"},
            ],
        },
        "properties": {"format-version": str(version)},
        **fields,
    }


def snapshot(number: int, sequence: int, **fields: Any) -> dict[str, Any]:
    """A snapshot as clients add it."""
    return {
        "snapshot-id": number,
        "sequence-number": sequence,
        "timestamp-ms": NOW + 1000 * sequence,
        "manifest-list": f"{LOCATION}/metadata/snap-{number}.avro",
        "summary": {"operation": "append", "added-records": str(2**60 + number)},
        "schema-id": 0,
        **fields,
    }


def adding(number: int, sequence: int, ref: str = "main", **fields: Any) -> list[dict[str, Any]]:
    """The updates of a commit that adds a snapshot to a branch."""
    return [
        {"action": "add-snapshot", "snapshot": snapshot(number, sequence, **fields)},
        {
            "action": "set-snapshot-ref",
            "ref-name": ref,
            "type": "branch",
            "snapshot-id": number,
        },
    ]


def statistics(number: int) -> dict[str, Any]:
    """A file of statistics of a snapshot."""
    return {
        "snapshot-id": number,
        "statistics-path": f"{LOCATION}/metadata/{number}.puffin",
        "file-size-in-bytes": 413,
        "file-footer-size-in-bytes": 42,
        "blob-metadata": [
            {
                "type": "apache-datasketches-theta-v1",
                "snapshot-id": number,
                "sequence-number": 1,
                "fields": [1],
                "properties": {"ndv": "9"},
            }
        ],
    }


def parsed(metadata: Mapping[str, Any]) -> TableMetadata:
    """Metadata as pyiceberg reads them from a file."""
    return TableMetadataUtil.parse_obj(json.loads(json.dumps(metadata)))


def comparable(metadata: TableMetadata) -> dict[str, Any]:
    """The fields of pyiceberg's metadata that can be compared."""
    fields = json.loads(json.dumps(metadata.model_dump(mode="json")))
    fields.pop("last-updated-ms", None)
    return copy.deepcopy(fields)
