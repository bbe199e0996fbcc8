"""The strategy `iceberg`: merges the metadata of an Iceberg table.

A table of the Iceberg catalog is one object, its record. A metadata file and a snapshot with the
source's changes are added to its area, and the record names the file.

Of other tables, all files in the metadata folder become those of the destination; a metadata file
and a snapshot with the source's changes are added. Data files are merged as any other paths, except
for those that one side refers to again and the other has removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from anabranch.errors import Conflict, Invalid
from anabranch.tables.iceberg.metadata_files import (
    METADATA_FOLDER,
    MetadataFiles,
    metadata_version,
)
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    PathConflict,
    Side,
)
from anabranch.versioning.strategies.iceberg.changes import (
    SideChanges,
    TableVersion,
    find_changes,
    goes_back,
    read_version,
)
from anabranch.versioning.strategies.iceberg.conflict_rules import (
    IsolationLevel,
    find_conflicts,
    isolation_level,
    require_mergeable,
)
from anabranch.versioning.strategies.iceberg.merged_snapshot import MergedSnapshot
from anabranch.versioning.strategies.iceberg.recorded_files import RecordedFiles, metadata_folder
from anabranch.versioning.strategies.iceberg.row_ids import require_row_ids
from anabranch.versioning.strategies.iceberg.settings import merged_settings
from anabranch.versioning.strategies.iceberg.side_records import (
    is_record,
    read_record,
    require_same_table,
)
from anabranch.versioning.strategies.installed_libraries import require_installed
from anabranch.versioning.strategies.side_objects import (
    SideObjects,
    refusal,
    refusing_unreadable,
)

__all__ = ["iceberg_strategy"]

_SIDES: tuple[Side, ...] = ("base", "source", "destination")
_ISOLATION_LEVELS: tuple[IsolationLevel, ...] = get_args(IsolationLevel)


def iceberg_strategy(options: Mapping[str, Any]) -> _IcebergStrategy:
    """Returns the strategy. Option `location`: the address of the table on the destination, for new
    metadata files; by default that of the metadata files of both sides, if it is the same. Option
    `isolation`: whether new rows of the destination conflict with changes of the source in the same
    partitions (`serializable`) or not (`snapshot`); by default as the table says. Raises Invalid
    for other options, NotSupported without fastavro.
    """
    unknown = sorted(options.keys() - {"isolation", "location"})
    if unknown:
        raise Invalid(
            f"the strategy iceberg has no option {unknown[0]!r}", kind="invalid_merge_options"
        )
    location = options.get("location", "")
    if not isinstance(location, str) or ("location" in options and not location.strip("/")):
        raise Invalid(
            f"option location: must be the address of the table, not {location!r}",
            kind="invalid_merge_options",
        )
    isolation = options.get("isolation")
    if "isolation" in options and isolation not in _ISOLATION_LEVELS:
        raise Invalid(
            f"option isolation: must be one of {', '.join(_ISOLATION_LEVELS)}, not {isolation!r}",
            kind="invalid_merge_options",
        )
    require_installed("the strategy iceberg", "fastavro")
    return _IcebergStrategy(location.rstrip("/"), isolation)


class _IcebergStrategy:
    def __init__(self, location: str, isolation: IsolationLevel | None) -> None:
        self._location = location
        self._isolation = isolation

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes the merged metadata, or returns the changes that conflict. Raises Conflict for
        tables that cannot be merged.
        """
        with refusing_unreadable():
            if is_record(conflict.path):
                return self._merge_records(conflict, output)
            return self._merge(conflict, output)

    def _merge_records(
        self, conflict: PathConflict, output: MergeOutput
    ) -> Sequence[ContentConflict]:
        """Merges a table of the Iceberg catalog."""
        records = [read_record(conflict, side) for side in _SIDES]
        destination = records[2]
        require_same_table(*records)
        files = [
            RecordedFiles(conflict, record, side)
            for record, side in zip(records, _SIDES, strict=True)
        ]
        versions = _, source, ours = [read_version(each) for each in files]
        changes, _, conflicts = self._changes(versions)
        if conflicts:
            return conflicts
        settings = merged_settings(*versions)
        if not (changes.added or changes.removed or settings):
            output.take(conflict.path, "destination")
            return []
        folder = metadata_folder(conflict.repository, destination)
        merged = MergedSnapshot(source, ours, changes, settings, folder.rstrip("/"))
        for name, content in merged.files().items():
            with output.create_table_file(destination.area, METADATA_FOLDER + name) as stream:
                stream.write(content)
        record = msgspec.structs.replace(destination, metadata=folder + merged.metadata_name)
        with output.create(conflict.path) as stream:
            stream.write(record.to_bytes())
        return []

    def _changes(
        self, versions: Sequence[TableVersion]
    ) -> tuple[SideChanges, SideChanges, list[ContentConflict]]:
        """Returns what the source and the destination have changed, and their conflicts."""
        base, source, destination = versions
        for side in (source, destination):
            require_mergeable(base, side)
        changes = find_changes(base, source, destination)
        others = find_changes(base, destination, source)
        changes, others = changes.without(others), others.without(changes)
        level = isolation_level(destination)
        if goes_back(base, source):
            level = "snapshot"  # what is taken back has no condition that new rows could match
        isolation = self._isolation or level
        require_row_ids(base, source, destination, changes)
        return changes, others, find_conflicts(versions, changes, others, isolation)

    def _merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        place = TablePlace(conflict.repository, _table_folder(conflict.path))
        folder = place.folder + METADATA_FOLDER
        sides = [MetadataFiles(SideObjects(conflict, side), place, side) for side in _SIDES]
        _require_tables(sides)
        _require_first(conflict.path, sides)
        versions = _, source, destination = [read_version(files) for files in sides]
        changes, others, conflicts = self._changes(versions)
        if conflicts:
            return conflicts
        _take_destination(output, sides)
        settings = merged_settings(*versions)
        if changes.added or changes.removed or settings:
            address = self._address(versions)
            merged = MergedSnapshot(source, destination, changes, settings, address)
            for name, content in merged.files().items():
                with output.create(folder + name) as stream:
                    stream.write(content)
        _keep_files(conflict, output, versions, changes, "source")
        _keep_files(conflict, output, versions, others, "destination")
        return []

    def _address(self, versions: Sequence[TableVersion]) -> str:
        """Returns the address of the folder of new metadata files."""
        if self._location:
            return f"{self._location}/metadata"
        lists = [each.snapshot["manifest-list"] for each in versions if each.snapshot is not None]
        folders = sorted({str(address).rpartition("/")[0] for address in lists})
        if not folders:  # there are no snapshots
            locations = {str(each.metadata.get("location", "")).rstrip("/") for each in versions}
            folders = sorted(f"{location}/metadata" for location in locations)
        if len(folders) == 1:
            return folders[0]
        raise refusal(
            f"the sides have metadata files at different addresses, {' and '.join(folders)}: give "
            "the table's address on the destination as the option `location` of the rule"
        )


def _table_folder(path: str) -> str:
    """Returns the folder of the table whose metadata a path belongs to, with a slash at its end
    unless it is the root. Raises Conflict if it belongs to none.
    """
    start, folder, _ = f"/{path}".rpartition(f"/{METADATA_FOLDER}")
    if not folder:
        raise Conflict(
            "the path is not in the metadata of an Iceberg table",
            kind="merge_failed",
            hint="Use the strategy iceberg for paths like tables/events/metadata/**.",
        )
    return f"{start}/"[1:]


def _require_tables(sides: Sequence[MetadataFiles]) -> None:
    base, *others = sides
    if not base.exists:
        raise refusal("both sides created the table")
    for files in others:
        if not files.exists:
            raise refusal(f"the {files.owner} deleted the table")


def _require_first(path: str, sides: Sequence[MetadataFiles]) -> None:
    """Raises Conflict for a path of a table that could not be merged when an earlier path of it was
    settled: it would fail for the same reason.
    """
    base, source, destination = (set(files.names) for files in sides)
    added_twice = (source & destination) - base
    folder = sides[0].folder
    earlier = [folder + name for name in added_twice if metadata_version(name) is not None]
    if min(earlier, default=path) < path:
        raise refusal(f"the metadata is merged as a whole: see {min(earlier)}")


def _take_destination(output: MergeOutput, sides: Sequence[MetadataFiles]) -> None:
    """Makes all metadata files those of the destination."""
    names = [set(files.names) for files in sides]
    in_all = set.intersection(*names)
    for name in sorted(set.union(*names)):
        if name not in in_all or not name.endswith(".avro"):
            output.take(sides[0].folder + name, "destination")


def _keep_files(
    conflict: PathConflict,
    output: MergeOutput,
    versions: Sequence[TableVersion],
    changes: SideChanges,
    side: Side,
) -> None:
    """Keeps the files of the base that a side has added again and the other side has removed."""
    other: Side = "destination" if side == "source" else "source"
    table = versions[0].files.folder.removesuffix(METADATA_FOLDER)
    locations = {str(version.metadata.get("location", "")).rstrip("/") for version in versions}
    for entry in changes.added.values():
        for location in locations:
            path = table + entry.path.removeprefix(f"{location}/")
            is_lost = conflict.read(other, path) is None and conflict.read("base", path) is not None
            if is_lost:
                output.take(path, side)
