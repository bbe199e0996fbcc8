"""Snapshots of a table, its branches and tags, as a commit changes them.

Source: the Iceberg table specification, "Snapshots", "Sequence Numbers", "Row Lineage" and
"Snapshot References".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from anabranch.tables.iceberg.commits.draft import Draft
from anabranch.tables.iceberg.commits.forms import REF, SNAPSHOT
from anabranch.tables.iceberg.commits.normal_metadata import LINEAGE_VERSION, MAIN
from anabranch.tables.iceberg.commits.refusals import changed_meanwhile, checked, refused
from anabranch.tables.iceberg.commits.shapes import SnapshotShape

__all__ = ["add_snapshot", "remove_ref", "remove_snapshots", "set_ref"]

_REF_FIELDS = (
    "snapshot-id",
    "type",
    "min-snapshots-to-keep",
    "max-snapshot-age-ms",
    "max-ref-age-ms",
)


def add_snapshot(draft: Draft, given: Mapping[str, Any]) -> None:
    """Adds a snapshot. Raises Invalid for one that the table has already or cannot have, Conflict
    if numbers in it were taken by another commit meanwhile.
    """
    shape = checked(given, SNAPSHOT, "snapshot")
    if not (draft.schemas and draft.specs and draft.orders):
        raise refused("a snapshot comes after a schema, a partition spec and a sort order")
    if shape.snapshot_id in draft.snapshots:
        raise refused(f"the table has the snapshot {shape.snapshot_id} already")
    if not shape.manifest_list and (draft.version > 1 or shape.manifests is None):
        raise refused(f"snapshot {shape.snapshot_id} has no manifest-list")
    snapshot = dict(given)
    if draft.version == 1:
        snapshot.pop("sequence-number", None)  # readers of version 1 do not know it
    else:
        _take_sequence_number(draft, shape)
    if draft.version >= LINEAGE_VERSION:
        _take_row_ids(draft, shape)
    draft.snapshots[shape.snapshot_id] = snapshot
    draft.is_changed = True
    draft.added_snapshots.add(shape.snapshot_id)
    draft.updated_ms = shape.timestamp_ms


def _take_sequence_number(draft: Draft, shape: SnapshotShape) -> None:
    number, last = shape.sequence_number or 0, draft.get("last-sequence-number")
    if number <= last and shape.parent_snapshot_id is not None:
        raise changed_meanwhile(
            f"snapshot {shape.snapshot_id} has the sequence number {number}, the table is at {last}"
        )
    draft.set(last_sequence_number=max(number, last))


def _take_row_ids(draft: Draft, shape: SnapshotShape) -> None:
    first, rows, following = shape.first_row_id, shape.added_rows, draft.get("next-row-id")
    if first is None or rows is None:
        raise refused(f"snapshot {shape.snapshot_id} has no first-row-id, or no added-rows")
    if first < following:
        raise changed_meanwhile(
            f"snapshot {shape.snapshot_id} has the first-row-id {first}, the table is at "
            f"{following}"
        )
    draft.set(next_row_id=first + rows)


def set_ref(draft: Draft, name: str, given: Mapping[str, Any]) -> None:
    """Creates or changes a branch or a tag. Raises Invalid for a snapshot that is not there."""
    shape = checked(given, REF, f"reference {name!r}")
    ref = {field: given[field] for field in _REF_FIELDS if given.get(field) is not None}
    if draft.refs.get(name) == ref:
        return
    number = shape.snapshot_id
    snapshot = draft.snapshots.get(number)
    if snapshot is None:
        raise refused(f"reference {name!r}: the table has no snapshot {number}")
    if shape.type == "tag":
        if name == MAIN:
            raise refused(f"{MAIN} is a branch")
        if shape.min_snapshots_to_keep is not None or shape.max_snapshot_age_ms is not None:
            raise refused(f"the tag {name!r} cannot keep snapshots: only branches can")
    if number in draft.added_snapshots:
        draft.updated_ms = snapshot["timestamp-ms"]
    draft.refs[name] = ref
    draft.is_changed = True
    if name == MAIN:
        draft.snapshot_log.append({"timestamp-ms": draft.time(), "snapshot-id": number})


def remove_ref(draft: Draft, name: str) -> None:
    """Removes a branch or a tag, if it is there."""
    if draft.refs.pop(name, None) is not None:
        draft.is_changed = True


def remove_snapshots(draft: Draft, numbers: Collection[int]) -> None:
    """Removes the snapshots that are there, and their statistics. Branches and tags that are left
    without a snapshot are removed when the commit is finished.
    """
    for number in numbers:
        if draft.snapshots.pop(number, None) is not None:
            draft.has_removed_snapshots = draft.is_changed = True
            for each in draft.statistics.values():
                each.pop(number, None)
