"""The updates of a commit to a table, as the catalog's protocol has them, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anabranch.tables.iceberg.commits import added_definitions, snapshots, table_fields
from anabranch.tables.iceberg.commits.draft import Draft
from anabranch.tables.iceberg.commits.encoded_metadata import check_depth
from anabranch.tables.iceberg.commits.forms import (
    ENCRYPTION_KEY,
    INT32,
    INT64,
    INTS32,
    INTS64,
    NAMES,
    NUMBER,
    OBJECTS,
    PARTITION_STATISTICS,
    STATISTICS,
    TEXT,
    TEXTS,
)
from anabranch.tables.iceberg.commits.normal_metadata import DEFAULT_VERSION
from anabranch.tables.iceberg.commits.refusals import checked
from anabranch.tables.iceberg.commits.shapes import (
    Int32,
    Int64,
)
from anabranch.tables.iceberg.commits.update_fields import apply_all, field_of, object_of

__all__ = ["apply_updates"]

_Object = dict[str, Any]
_Change = Callable[[Draft, Mapping[str, Any]], None]


def apply_updates(
    metadata: Mapping[str, Any] | None,
    updates: Sequence[Mapping[str, Any]],
    now_ms: int,
    *,
    metadata_location: str | None = None,
) -> Mapping[str, Any]:
    """Returns the metadata of a table after the updates of a commit, which is made at `now_ms`, in
    milliseconds since 1970; the given metadata themselves if the updates change nothing. None
    stands for a table that the commit creates. `metadata_location` is the address of the given
    metadata, for the log of metadata files. Raises Invalid for an update that is malformed, not
    known or impossible, Conflict for one whose numbers another commit has taken.
    """
    check_depth(updates, "updates")
    if metadata is None:
        draft = Draft.empty(_first_version(updates), now_ms)
    else:
        draft = Draft.of(metadata, now_ms)
    apply_all(draft, updates, _CHANGES)
    if metadata is not None and not draft.changes_something:
        return metadata
    return draft.finish(metadata_location if metadata is not None else None)


def _first_version(updates: Sequence[Mapping[str, Any]]) -> int:
    """Returns the format version of a table that updates create."""
    for update in checked(updates, OBJECTS, "updates"):
        if update.get("action") == "upgrade-format-version":
            return field_of(update, "format-version", NUMBER)
    return DEFAULT_VERSION


def _add_schema(draft: Draft, update: Mapping[str, Any]) -> None:
    last = update.get("last-column-id")  # of clients that add and drop a column in one commit
    last_column = 0 if last is None else field_of(update, "last-column-id", INT32)
    added_definitions.add_schema(draft, object_of(update, "schema"), last_column)


def _set_statistics(draft: Draft, update: Mapping[str, Any]) -> None:
    table_fields.set_statistics(draft, "statistics", object_of(update, "statistics", STATISTICS))


def _set_partition_statistics(draft: Draft, update: Mapping[str, Any]) -> None:
    name = "partition-statistics"
    table_fields.set_statistics(draft, name, object_of(update, name, PARTITION_STATISTICS))


_INT32: Any = Int32
_INT64: Any = Int64
_INTS32: Any = list[Int32]
_INTS64: Any = list[Int64]
_TEXTS: Any = dict[str, str]
_NAMES: Any = list[str]

_CHANGES: Mapping[str, _Change] = {
    "assign-uuid": lambda draft, update: table_fields.assign_uuid(
        draft, field_of(update, "uuid", TEXT)
    ),
    "upgrade-format-version": lambda draft, update: table_fields.upgrade(
        draft, field_of(update, "format-version", NUMBER)
    ),
    "add-schema": _add_schema,
    "set-current-schema": lambda draft, update: draft.schemas.choose(
        field_of(update, "schema-id", INT32)
    ),
    "add-spec": lambda draft, update: added_definitions.add_spec(draft, object_of(update, "spec")),
    "set-default-spec": lambda draft, update: draft.specs.choose(
        field_of(update, "spec-id", INT32)
    ),
    "add-sort-order": lambda draft, update: added_definitions.add_order(
        draft, object_of(update, "sort-order")
    ),
    "set-default-sort-order": lambda draft, update: draft.orders.choose(
        field_of(update, "sort-order-id", INT32)
    ),
    "add-snapshot": lambda draft, update: snapshots.add_snapshot(
        draft, object_of(update, "snapshot")
    ),
    "set-snapshot-ref": lambda draft, update: snapshots.set_ref(
        draft, field_of(update, "ref-name", TEXT), update
    ),
    "remove-snapshots": lambda draft, update: snapshots.remove_snapshots(
        draft, field_of(update, "snapshot-ids", INTS64)
    ),
    "remove-snapshot-ref": lambda draft, update: snapshots.remove_ref(
        draft, field_of(update, "ref-name", TEXT)
    ),
    "set-location": lambda draft, update: table_fields.set_location(
        draft, field_of(update, "location", TEXT)
    ),
    "set-properties": lambda draft, update: table_fields.set_properties(
        draft, field_of(update, "updates", TEXTS)
    ),
    "remove-properties": lambda draft, update: table_fields.remove_properties(
        draft, field_of(update, "removals", NAMES)
    ),
    "set-statistics": _set_statistics,
    "remove-statistics": lambda draft, update: table_fields.remove_statistics(
        draft, "statistics", field_of(update, "snapshot-id", INT64)
    ),
    "set-partition-statistics": _set_partition_statistics,
    "remove-partition-statistics": lambda draft, update: table_fields.remove_statistics(
        draft, "partition-statistics", field_of(update, "snapshot-id", INT64)
    ),
    "remove-partition-specs": lambda draft, update: draft.specs.remove(
        field_of(update, "spec-ids", INTS32)
    ),
    "remove-schemas": lambda draft, update: draft.schemas.remove(
        field_of(update, "schema-ids", INTS32)
    ),
    "enable-row-lineage": lambda draft, _: table_fields.require_row_lineage(draft),
    "add-encryption-key": lambda draft, update: table_fields.add_encryption_key(
        draft, object_of(update, "encryption-key", ENCRYPTION_KEY)
    ),
    "remove-encryption-key": lambda draft, update: table_fields.remove_encryption_key(
        draft, field_of(update, "key-id", TEXT)
    ),
}
