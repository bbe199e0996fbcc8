"""Whether rows keep their ids in a merge of a table of format version 3.

Each row of such a table has an id, which no other has: that of its file plus its position, or one
that is stored with the row if an operation has copied it from another file. A merge gives new ids
to files of the source, so those of its new rows become others. Ids that are stored cannot change,
as data files are not read. So all that the source has copied must be rows of the base, whose ids
both sides know: rows that the source has added, and copied later, would have ids that the
destination may have given to others.

Source: the Iceberg table specification, "Row Lineage", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.tables.iceberg.commits.normal_metadata import LINEAGE_VERSION
from anabranch.tables.iceberg.manifests import (
    DATA,
    FILE_FIRST_ROW_ID,
    FIRST_ROW_ID,
    read_manifest_list,
)
from anabranch.versioning.strategies.iceberg.changes import (
    SideChanges,
    TableVersion,
    live_files,
    only_appends,
)
from anabranch.versioning.strategies.side_objects import refusal

__all__ = ["require_row_ids"]


def require_row_ids(
    base: TableVersion, source: TableVersion, destination: TableVersion, changes: SideChanges
) -> None:
    """Raises Conflict if rows could not have ids of their own in the merged table."""
    if destination.metadata["format-version"] < LINEAGE_VERSION or not (
        changes.added or changes.removed
    ):
        return
    _require_ids(destination, "write to the destination first")
    if not changes.removed and only_appends(base, source, destination):
        return
    _require_ids(base, "merge only appends, or write to the table before it is branched")
    _require_copies_of_base(base, source, changes)
    for manifest in destination.manifests.manifests.values():
        is_rewritten = any(entry.key in changes.removed for entry in manifest.live)
        has_rows = is_rewritten and not manifest.is_of_deletes
        if has_rows and FILE_FIRST_ROW_ID not in manifest.file.names("data_file"):
            raise refusal(f"{manifest.address} cannot store ids of rows: rewrite manifests")


def _require_copies_of_base(base: TableVersion, source: TableVersion, changes: SideChanges) -> None:
    """Raises Conflict if the source has changed or deleted rows that it had added itself: the files
    that it has added since the base are all there, and no row of them is deleted.
    """
    before = live_files(base)
    for snapshot in _snapshots_since(base, source):
        entries = [
            entry
            for manifest in read_manifest_list(source.files, snapshot).manifests.values()
            if manifest.address not in base.manifests.manifests
            for entry in manifest.live
            if entry.key not in before
        ]
        for entry in entries:
            if entry.content == DATA and entry.key not in changes.added:
                raise refusal(f"the source changed rows of {entry.path}, which it had added")
            if entry.content != DATA and entry.deletes_from not in before:
                raise refusal("the source deleted rows that it had added, or rows of unknown files")


def _require_ids(version: TableVersion, advice: str) -> None:
    """Raises Conflict for files whose rows have no ids: the table was of an older format."""
    for manifest in version.manifests.manifests.values():
        if not manifest.is_of_deletes and manifest.value(FIRST_ROW_ID) is None:
            raise refusal(f"{manifest.address} has rows without ids: {advice}")


def _snapshots_since(base: TableVersion, source: TableVersion) -> Iterator[dict[str, Any]]:
    """Yields the source's snapshots that follow the base's current one. Raises Conflict if that is
    not how the source came about.
    """
    start = base.metadata.get("current-snapshot-id")
    snapshots = source.snapshots()
    current = source.metadata.get("current-snapshot-id")
    while current != start:
        snapshot = None if current is None else snapshots.pop(current, None)
        if snapshot is None:
            raise refusal(
                "the source did more than append to a table of format version 3, and its snapshots "
                "do not say what since the base"
            )
        yield snapshot
        current = snapshot.get("parent-snapshot-id")
