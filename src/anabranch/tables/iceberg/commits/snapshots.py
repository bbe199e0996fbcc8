"""Snapshots of a table, its branches and tags, as a commit changes them.

Source: the Iceberg table specification, "Snapshots", "Sequence Numbers", "Row Lineage" and
"Snapshot References".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from anabranch.tables.iceberg.commits.draft import LINEAGE_VERSION, MAIN, Draft
from anabranch.tables.iceberg.commits.refusals import changed_meanwhile, checked, refused
from anabranch.tables.iceberg.commits.shapes import RefShape, SnapshotShape

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
    shape = checked(given, SnapshotShape, "snapshot")
    for name in ("schemas", "partition-specs", "sort-orders"):
        if not draft.get(name):
            raise refused(f"a snapshot cannot be added before there are {name}")
    if draft.snapshot(shape.snapshot_id) is not None:
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
    draft.append("snapshots", snapshot)
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
    shape = checked(given, RefShape, f"reference {name!r}")
    ref = {field: given[field] for field in _REF_FIELDS if given.get(field) is not None}
    if draft.get("refs").get(name) == ref:
        return
    number = shape.snapshot_id
    snapshot = draft.snapshot(number)
    if snapshot is None:
        raise refused(f"reference {name!r}: the table has no snapshot {number}")
    if shape.type == "tag":
        if name == MAIN:
            raise refused(f"{MAIN} is a branch")
        if shape.min_snapshots_to_keep is not None or shape.max_snapshot_age_ms is not None:
            raise refused(f"the tag {name!r} cannot keep snapshots: only branches can")
    if number in draft.added_snapshots:
        draft.updated_ms = snapshot["timestamp-ms"]
    draft.set(refs={**draft.get("refs"), name: ref})
    if name == MAIN:
        draft.set(current_snapshot_id=number)
        draft.append("snapshot-log", {"timestamp-ms": draft.time(), "snapshot-id": number})
        if number in draft.added_snapshots:
            draft.replaced_snapshots.add(number)


def remove_ref(draft: Draft, name: str) -> None:
    """Removes a branch or a tag, if it is there."""
    refs = draft.get("refs")
    if name in refs:
        draft.set(refs={each: ref for each, ref in refs.items() if each != name})
        if name == MAIN:
            draft.set(current_snapshot_id=None)


def remove_snapshots(draft: Draft, numbers: Collection[int]) -> None:
    """Removes the snapshots that are there, with their statistics, branches and tags."""
    gone = set(numbers) & {each["snapshot-id"] for each in draft.get("snapshots")}
    if not gone:
        return
    for name in ("snapshots", "statistics", "partition-statistics"):
        kept = [each for each in draft.get(name) if each["snapshot-id"] not in gone]
        draft.set(**{name.replace("-", "_"): kept})
    for name, ref in list(draft.get("refs").items()):
        if ref["snapshot-id"] in gone:
            remove_ref(draft, name)
    draft.has_removed_snapshots = True
