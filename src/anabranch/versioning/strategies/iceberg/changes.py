"""What a side of a merge has changed in an Iceberg table since the base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from anabranch.tables.iceberg.manifests import (
    DATA,
    EQUALITY_DELETES,
    POSITION_DELETES,
    FileEntry,
    ListedManifest,
    ManifestList,
    Partition,
    read_manifest_list,
)
from anabranch.tables.iceberg.metadata_files import MetadataFiles
from anabranch.versioning.strategies.side_objects import refusal

__all__ = [
    "SideChanges",
    "TableVersion",
    "find_changes",
    "goes_back",
    "live_files",
    "only_appends",
    "read_version",
]

_COMPACTION = "replace"
_ROWS_STAY = ("append", _COMPACTION)
"""Operations that change no rows of the table."""


class TableVersion(NamedTuple):
    """A table on one side: its current metadata, and the manifests of its current snapshot."""

    files: MetadataFiles
    name: str
    metadata: dict[str, Any]
    snapshot: dict[str, Any] | None
    manifests: ManifestList

    def snapshots(self) -> dict[int, dict[str, Any]]:
        """Returns the snapshots by their ids."""
        return {snapshot["snapshot-id"]: snapshot for snapshot in self.metadata["snapshots"]}


class SideChanges(NamedTuple):
    """The files that a side has added and removed, by their keys; the partitions in which it has
    changed or removed rows, or may have; and those of the added files that have new rows, or may
    have: compactions add files without new rows.
    """

    added: Mapping[str, FileEntry]
    removed: Mapping[str, FileEntry]
    changed: AbstractSet[Partition]
    with_new_rows: Mapping[str, FileEntry]

    @property
    def has_equality_deletes(self) -> bool:
        """Whether rows are deleted by their values, in whatever file they are."""
        return any(entry.content == EQUALITY_DELETES for entry in self.added.values())

    def without(self, other: SideChanges) -> SideChanges:
        """Returns the changes without the files that the other side has added, too."""

        def own(files: Mapping[str, FileEntry]) -> dict[str, FileEntry]:
            return {key: entry for key, entry in files.items() if key not in other.added}

        return self._replace(added=own(self.added), with_new_rows=own(self.with_new_rows))

    def touched(self) -> dict[str, FileEntry]:
        """Returns the files that were removed, by their keys, and those from which rows were
        deleted, by their paths, which are the keys of data files. For deletions from unknown files,
        the path is "".
        """
        deletes = [each for each in self.added.values() if each.content == POSITION_DELETES]
        return {**self.removed, **{each.deletes_from: each for each in deletes}}


def read_version(files: MetadataFiles) -> TableVersion:
    """Returns the current version of a table. Raises Conflict if it cannot be read."""
    name = files.current()
    metadata = files.metadata(name)
    current = metadata.get("current-snapshot-id")
    by_id = {snapshot.get("snapshot-id"): snapshot for snapshot in metadata["snapshots"]}
    if current not in (None, -1) and current not in by_id:
        raise refusal(f"{name} of the {files.owner} does not have its current snapshot")
    snapshot = by_id.get(current)
    return TableVersion(files, name, metadata, snapshot, read_manifest_list(files, snapshot))


def find_changes(base: TableVersion, side: TableVersion, other: TableVersion) -> SideChanges:
    """Returns what a side has changed since the base."""
    # a file is live in one manifest, so manifests that both have make no difference
    was, now = base.manifests.manifests, side.manifests.manifests
    before = _live(was[address] for address in was.keys() - now.keys())
    after = _live(now[address] for address in now.keys() - was.keys())
    added = {key: entry for key, entry in after.items() if key not in before}
    removed = {key: entry for key, entry in before.items() if key not in after}
    operations = _operations(base, side, other)
    if operations is None:  # the files do not tell a compaction from a change
        is_append = not removed and all(entry.content == DATA for entry in added.values())
        entries = [] if is_append else [*added.values(), *removed.values()]
    elif all(operation in _ROWS_STAY for operation in operations.values()):
        entries = []
    else:
        new = added.values()
        entries = [each for each in new if operations.get(each.snapshot_id) not in _ROWS_STAY]
        entries += removed.values()
    compactions = {
        each for each, operation in (operations or {}).items() if operation == _COMPACTION
    }
    with_new_rows = {
        key: entry
        for key, entry in added.items()
        if entry.content == DATA and entry.snapshot_id not in compactions
    }
    return SideChanges(added, removed, {entry.partition for entry in entries}, with_new_rows)


def goes_back(base: TableVersion, side: TableVersion) -> bool:
    """Returns whether a side has an earlier snapshot of the base, or none: its changes are those of
    the base taken back, as by a revert, and not of operations that have read the table.
    """
    snapshots = base.snapshots()
    current = base.metadata.get("current-snapshot-id")
    wanted = side.metadata.get("current-snapshot-id") if side.snapshot is not None else None
    seen: set[Any] = set()
    while current in snapshots and current not in seen:
        seen.add(current)
        current = snapshots[current].get("parent-snapshot-id")
        if current == wanted:
            return True
    return False


def only_appends(base: TableVersion, side: TableVersion, other: TableVersion) -> bool:
    """Returns whether a side has only appended files since the base, as far as is known."""
    operations = _operations(base, side, other)
    return operations is not None and set(operations.values()) <= {"append"}


def live_files(version: TableVersion) -> dict[str, FileEntry]:
    """Returns the files of a version of a table by their keys."""
    return _live(iter(version.manifests.manifests.values()))


def _live(manifests: Iterator[ListedManifest]) -> dict[str, FileEntry]:
    return {entry.key: entry for manifest in manifests for entry in manifest.live}


def _operations(
    base: TableVersion, side: TableVersion, other: TableVersion
) -> dict[int, str] | None:
    """Returns the operations, by the ids of snapshots, that follow the base's current snapshot or
    one of the other side. Returns None if that is not how the table came about: snapshots have
    expired, the side went back to an earlier one, or damaged snapshots are their own ancestors.
    """
    start = base.metadata.get("current-snapshot-id")
    known = other.snapshots().keys() - base.snapshots().keys()
    snapshots = side.snapshots()
    current = side.metadata.get("current-snapshot-id")
    operations: dict[int, str] = {}
    while current != start and current not in known:
        snapshot = None if current is None else snapshots.get(current)
        if current is None or snapshot is None:
            return None if start not in (None, -1) else operations
        if current in operations:
            return None
        operations[current] = (snapshot.get("summary") or {}).get("operation", "")
        current = snapshot.get("parent-snapshot-id")
    return operations
