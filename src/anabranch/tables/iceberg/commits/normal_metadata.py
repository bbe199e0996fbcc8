"""The metadata of tables of any format version in one form, that of version 2.

Source: the Iceberg table specification, "Table Metadata Fields", and the appendix "Format version
changes".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.tables.iceberg.commits.definitions.partition_specs import (
    FIRST_FIELD_ID,
    highest_field_id,
)
from anabranch.tables.iceberg.commits.definitions.sort_orders import UNSORTED
from anabranch.tables.iceberg.commits.forms import METADATA
from anabranch.tables.iceberg.commits.refusals import checked, refused
from anabranch.tables.iceberg.commits.shapes import MetadataShape

__all__ = [
    "DEFAULT_VERSION",
    "LINEAGE_VERSION",
    "MAIN",
    "check_version",
    "empty_metadata",
    "normal_metadata",
]

DEFAULT_VERSION = 2
"""The format version of tables that ask for none."""

LINEAGE_VERSION = 3
"""The first format version whose rows have ids."""

_LAST_VERSION = 3

MAIN = "main"
"""The branch of a table that is its current state."""

_LISTS = ("snapshots", "statistics", "partition-statistics", "snapshot-log", "metadata-log")
_CHOSEN = (
    ("current-schema-id", "schemas", "schema-id"),
    ("default-spec-id", "partition-specs", "spec-id"),
    ("default-sort-order-id", "sort-orders", "order-id"),
)


def check_version(version: int) -> None:
    """Raises Invalid for a format version that is not known."""
    if not 1 <= version <= _LAST_VERSION:
        raise refused(f"there is no format version {version}: 1 to {_LAST_VERSION} are known")


def empty_metadata(format_version: int) -> dict[str, Any]:
    """Returns the metadata of a table that does not exist yet."""
    check_version(format_version)
    metadata = {
        "format-version": format_version,
        "last-updated-ms": 0,
        "last-column-id": 0,
        "last-partition-id": highest_field_id(()),
        "schemas": [],
        "partition-specs": [],
        "sort-orders": [],
        "properties": {},
        "refs": {},
        **{name: [] for name in _LISTS},
    }
    if format_version > 1:
        metadata["last-sequence-number"] = 0
    if format_version >= LINEAGE_VERSION:
        metadata["next-row-id"] = 0
    return metadata


def normal_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the metadata of a table with all fields that version 2 has, for whatever version;
    other fields are kept. Raises Invalid if they are damaged.
    """
    shape = checked(metadata, METADATA, "table metadata")
    check_version(shape.format_version)
    given = {name: value for name, value in metadata.items() if value is not None}
    normal = {**given, **{name: given.get(name, []) for name in _LISTS}}
    _set_definitions(normal, shape)
    known = highest_field_id(normal["partition-specs"])
    normal["last-partition-id"] = given.get("last-partition-id", known)
    normal.setdefault("properties", {})
    _set_current(normal)
    if shape.format_version > 1:
        normal["last-sequence-number"] = shape.last_sequence_number
    if shape.format_version >= LINEAGE_VERSION:
        normal["next-row-id"] = shape.next_row_id or 0
    return normal


def _set_definitions(normal: dict[str, Any], shape: MetadataShape) -> None:
    """Sets the lists of schemas, partition specs and sort orders, which version 1 may not have."""
    if not normal.get("schemas"):
        if shape.schema is None:
            raise refused("table metadata: there is no schema")
        number = shape.schema.schema_id or 0
        normal["schemas"] = [{**normal["schema"], "schema-id": number}]
        normal["current-schema-id"] = number
    if not normal.get("partition-specs"):
        fields = _with_ids(normal.get("partition-spec", []))
        normal["partition-specs"] = [{"spec-id": 0, "fields": fields}]
        normal["default-spec-id"] = 0
    if not normal.get("sort-orders"):
        normal["sort-orders"] = [dict(UNSORTED)]
        normal["default-sort-order-id"] = UNSORTED["order-id"]
    for name, kind, number_name in _CHOSEN:
        normal.setdefault(name, 0)
        numbers = [each.get(number_name) for each in normal[kind]]
        if None in numbers or len(set(numbers)) != len(numbers):
            raise refused(f"table metadata: each of the {kind} needs a {number_name} of its own")
        if normal[name] not in numbers:
            raise refused(f"table metadata: there is no {number_name} {normal[name]}")


def _set_current(normal: dict[str, Any]) -> None:
    """Sets the branch main and the current snapshot, by each other."""
    refs = normal.setdefault("refs", {})
    current = normal.pop("current-snapshot-id", None)
    if current in (None, -1):  # -1 stands for none in files of older libraries
        current = refs[MAIN]["snapshot-id"] if MAIN in refs else None
    elif MAIN not in refs:
        normal["refs"] = {**refs, MAIN: {"snapshot-id": current, "type": "branch"}}
    if current is not None:
        normal["current-snapshot-id"] = current
    ids = {each["snapshot-id"] for each in normal["snapshots"]}
    for name, ref in normal["refs"].items():
        if ref["snapshot-id"] not in ids:
            raise refused(f"table metadata: there is no snapshot of the reference {name!r}")
    if current is not None and normal["refs"][MAIN]["snapshot-id"] != current:
        raise refused("table metadata: the current snapshot is not that of the branch main")


def _with_ids(fields: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the fields of a spec of version 1, which may have no ids of their own."""
    return [{"field-id": FIRST_FIELD_ID + number, **field} for number, field in enumerate(fields)]
