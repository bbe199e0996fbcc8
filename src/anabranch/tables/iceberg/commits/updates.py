"""The updates of a commit to a table, as the catalog's protocol has them, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from anabranch.tables.iceberg.commits import definitions, snapshots, table_fields
from anabranch.tables.iceberg.commits.draft import DEFAULT_VERSION, Draft
from anabranch.tables.iceberg.commits.encoded_metadata import check_depth
from anabranch.tables.iceberg.commits.refusals import checked, refused
from anabranch.tables.iceberg.commits.shapes import (
    EncryptionKey,
    Int32,
    Int64,
    PartitionStatistics,
    StatisticsShape,
)

__all__ = ["apply_updates"]

T = TypeVar("T")
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
    for number, update in enumerate(checked(updates, list[_Object], "updates")):
        action = update.get("action")
        change = _CHANGES.get(action) if isinstance(action, str) else None
        if change is None:
            raise refused(f"update {number + 1} has an unknown action: {action!r:.100}")
        change(draft, update)
    if metadata is not None and not draft.is_changed:
        return metadata
    return draft.finish(metadata_location if metadata is not None else None)


def _first_version(updates: Sequence[Mapping[str, Any]]) -> int:
    """Returns the format version of a table that updates create."""
    for update in checked(updates, list[_Object], "updates"):
        if update.get("action") == "upgrade-format-version":
            return _field(update, "format-version", int)
    return DEFAULT_VERSION


def _field(update: Mapping[str, Any], name: str, shape: type[T]) -> T:
    """Returns a field that an update must have. Raises Invalid without it."""
    what = f"{name} of the update {update['action']}"
    if name not in update:
        raise refused(f"{what}: it is missing")
    return checked(update[name], shape, what)


def _object(update: Mapping[str, Any], name: str, shape: type[Any] | None = None) -> _Object:
    """Returns a field that is an object, as it was given."""
    given: _Object = _field(update, name, dict)
    if shape is not None:
        checked(given, shape, f"{name} of the update {update['action']}")
    return given


def _add_schema(draft: Draft, update: Mapping[str, Any]) -> None:
    last = update.get("last-column-id")  # of clients that add and drop a column in one commit
    last_column = 0 if last is None else _field(update, "last-column-id", _INT32)
    definitions.add_schema(draft, _object(update, "schema"), last_column)


def _set_statistics(draft: Draft, update: Mapping[str, Any]) -> None:
    table_fields.set_statistics(draft, "statistics", _object(update, "statistics", StatisticsShape))


def _set_partition_statistics(draft: Draft, update: Mapping[str, Any]) -> None:
    name = "partition-statistics"
    table_fields.set_statistics(draft, name, _object(update, name, PartitionStatistics))


_INT32: Any = Int32
_INT64: Any = Int64
_INTS32: Any = list[Int32]
_INTS64: Any = list[Int64]
_TEXTS: Any = dict[str, str]
_NAMES: Any = list[str]

_CHANGES: Mapping[str, _Change] = {
    "assign-uuid": lambda draft, update: table_fields.assign_uuid(
        draft, _field(update, "uuid", str)
    ),
    "upgrade-format-version": lambda draft, update: table_fields.upgrade(
        draft, _field(update, "format-version", int)
    ),
    "add-schema": _add_schema,
    "set-current-schema": lambda draft, update: definitions.set_current_schema(
        draft, _field(update, "schema-id", _INT32)
    ),
    "add-spec": lambda draft, update: definitions.add_spec(draft, _object(update, "spec")),
    "set-default-spec": lambda draft, update: definitions.set_default_spec(
        draft, _field(update, "spec-id", _INT32)
    ),
    "add-sort-order": lambda draft, update: definitions.add_order(
        draft, _object(update, "sort-order")
    ),
    "set-default-sort-order": lambda draft, update: definitions.set_default_order(
        draft, _field(update, "sort-order-id", _INT32)
    ),
    "add-snapshot": lambda draft, update: snapshots.add_snapshot(
        draft, _object(update, "snapshot")
    ),
    "set-snapshot-ref": lambda draft, update: snapshots.set_ref(
        draft, _field(update, "ref-name", str), update
    ),
    "remove-snapshots": lambda draft, update: snapshots.remove_snapshots(
        draft, _field(update, "snapshot-ids", _INTS64)
    ),
    "remove-snapshot-ref": lambda draft, update: snapshots.remove_ref(
        draft, _field(update, "ref-name", str)
    ),
    "set-location": lambda draft, update: table_fields.set_location(
        draft, _field(update, "location", str)
    ),
    "set-properties": lambda draft, update: table_fields.set_properties(
        draft, _field(update, "updates", _TEXTS)
    ),
    "remove-properties": lambda draft, update: table_fields.remove_properties(
        draft, _field(update, "removals", _NAMES)
    ),
    "set-statistics": _set_statistics,
    "remove-statistics": lambda draft, update: table_fields.remove_statistics(
        draft, "statistics", _field(update, "snapshot-id", _INT64)
    ),
    "set-partition-statistics": _set_partition_statistics,
    "remove-partition-statistics": lambda draft, update: table_fields.remove_statistics(
        draft, "partition-statistics", _field(update, "snapshot-id", _INT64)
    ),
    "remove-partition-specs": lambda draft, update: definitions.remove_specs(
        draft, _field(update, "spec-ids", _INTS32)
    ),
    "remove-schemas": lambda draft, update: definitions.remove_schemas(
        draft, _field(update, "schema-ids", _INTS32)
    ),
    "enable-row-lineage": lambda draft, _: table_fields.require_row_lineage(draft),
    "add-encryption-key": lambda draft, update: table_fields.add_encryption_key(
        draft, _object(update, "encryption-key", EncryptionKey)
    ),
    "remove-encryption-key": lambda draft, update: table_fields.remove_encryption_key(
        draft, _field(update, "key-id", str)
    ),
}
