"""The requirements of a commit: what its client assumes about the state of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from anabranch.converter import Converter
from anabranch.tables.iceberg.commits.normal_metadata import normal_metadata
from anabranch.tables.iceberg.commits.refusals import changed_meanwhile, checked
from anabranch.tables.iceberg.commits.shapes import Int32, Int64

__all__ = ["check_requirements"]


class _Requirement(msgspec.Struct, rename="kebab", tag_field="type"):
    pass


class _Create(_Requirement, tag="assert-create"):
    pass


class _TableUuid(_Requirement, tag="assert-table-uuid"):
    uuid: str


class _RefSnapshotId(_Requirement, tag="assert-ref-snapshot-id"):
    ref: str
    snapshot_id: Int64 | None = None


class _LastAssignedFieldId(_Requirement, tag="assert-last-assigned-field-id"):
    last_assigned_field_id: Int32


class _CurrentSchemaId(_Requirement, tag="assert-current-schema-id"):
    current_schema_id: Int32


class _LastAssignedPartitionId(_Requirement, tag="assert-last-assigned-partition-id"):
    last_assigned_partition_id: Int32


class _DefaultSpecId(_Requirement, tag="assert-default-spec-id"):
    default_spec_id: Int32


class _DefaultSortOrderId(_Requirement, tag="assert-default-sort-order-id"):
    default_sort_order_id: Int32


_Any = (
    _Create
    | _TableUuid
    | _RefSnapshotId
    | _LastAssignedFieldId
    | _CurrentSchemaId
    | _LastAssignedPartitionId
    | _DefaultSpecId
    | _DefaultSortOrderId
)
_REQUIREMENTS: Converter[list[Any]] = Converter(list[_Any])
_FIELDS = {
    "last-assigned-field-id": "last-column-id",
    "last-assigned-partition-id": "last-partition-id",
}
"""The fields of the metadata that have other names than in requirements."""


_CHANGED = {
    "last-assigned-field-id": "last assigned field id changed",
    "current-schema-id": "current schema changed",
    "last-assigned-partition-id": "last assigned partition id changed",
    "default-spec-id": "default partition spec changed",
    "default-sort-order-id": "default sort order changed",
}


def check_requirements(
    metadata: Mapping[str, Any] | None, requirements: Sequence[Mapping[str, Any]]
) -> None:
    """Raises Conflict of the kind `table_changed` if a requirement does not hold for the metadata
    of a table, None if it does not exist; Invalid for a requirement that is malformed or not known.
    """
    given = checked(requirements, _REQUIREMENTS, "requirements")
    known = None if metadata is None else normal_metadata(metadata)
    for each in given:
        if known is None:
            _check_missing(each)
        else:
            _check(each, known)


def _check_missing(requirement: Any) -> None:
    # the highest ids of a table that does not exist may be whatever the client thinks, as in Java
    fine = _Create | _LastAssignedFieldId | _LastAssignedPartitionId
    if isinstance(requirement, fine):
        return
    if isinstance(requirement, _RefSnapshotId) and requirement.snapshot_id is None:
        return
    raise changed_meanwhile("the table does not exist")


def _check(requirement: Any, known: Mapping[str, Any]) -> None:
    if isinstance(requirement, _Create):
        raise changed_meanwhile("Requirement failed: table already exists")
    if isinstance(requirement, _TableUuid):
        now = str(known.get("table-uuid")).lower()
        _require_same("UUID does not match", requirement.uuid.lower(), now)
    elif isinstance(requirement, _RefSnapshotId):
        ref = known["refs"].get(requirement.ref)
        snapshot = None if ref is None else ref["snapshot-id"]
        kind = "branch" if ref is None else ref.get("type", "branch")
        _require_same(f"{kind} {requirement.ref} has changed", requirement.snapshot_id, snapshot)
    else:
        ((name, expected),) = (
            (name, value)
            for name, value in msgspec.to_builtins(requirement).items()
            if name != "type"
        )
        _require_same(_CHANGED[name], expected, known.get(_FIELDS.get(name, name)))


def _require_same(what: str, expected: Any, now: Any) -> None:
    """Raises Conflict, in the words of Iceberg's library, unless both are equal."""
    if expected != now:
        raise changed_meanwhile(f"Requirement failed: {what}: expected {expected} != {now}")
