"""Which changes of an Iceberg table conflict.

The destination's changes come first. Files that a side appended never conflict with files that the
other appended. Both sides may change rows, if they do so in different partitions. A file that was
removed, or from which rows were deleted, may not be touched by the other side.

With Iceberg's isolation level serializable, its default for DELETE, UPDATE and MERGE, such an
operation fails if new files may contain rows that match its condition. The metadata of a table do
not have the conditions. So a change of rows by the source conflicts with new rows of the
destination in the same partitions; with the level snapshot, it does not.

Source: the Iceberg documentation, "Configuration", "Write properties", and the documentation of the
class IsolationLevel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from anabranch.versioning.strategies.contract import ContentConflict
from anabranch.versioning.strategies.iceberg.changes import (
    SideChanges,
    TableVersion,
)
from anabranch.versioning.strategies.iceberg.settings import settings_conflicts
from anabranch.versioning.strategies.side_objects import refusal

__all__ = [
    "IsolationLevel",
    "find_conflicts",
    "isolation_level",
    "require_mergeable",
]

IsolationLevel = Literal["serializable", "snapshot"]
_ISOLATION_PROPERTIES = tuple(
    f"write.{operation}.isolation-level" for operation in ("delete", "update", "merge")
)

_MAX_CONFLICTS = 1000
_FORMAT_VERSIONS = (1, 2, 3)
_FORMAT = "format version", "format-version"
"""What neither side may change: its name, and its field."""

_OWN = {"location": "location", "encryption keys": "encryption-keys"}
"""What only the destination may change, since its metadata is continued."""


def require_mergeable(base: TableVersion, side: TableVersion) -> None:
    """Raises Conflict unless a side has a version of the same table, of a known format."""
    version = side.metadata.get("format-version")
    if version not in _FORMAT_VERSIONS:
        raise refusal(f"tables of format version {version} are not merged")
    if side.metadata.get("table-uuid") != base.metadata.get("table-uuid"):
        raise refusal(f"the {side.files.owner} created the table anew")


def isolation_level(version: TableVersion) -> IsolationLevel:
    """Returns a table's isolation level: snapshot if that is the level of all operations, because
    the metadata do not say which operation has changed rows.
    """
    properties: Mapping[str, Any] = version.metadata.get("properties") or {}
    levels = {str(properties.get(name, "")).lower() for name in _ISOLATION_PROPERTIES}
    return "snapshot" if levels == {"snapshot"} else "serializable"


def find_conflicts(
    versions: Sequence[TableVersion],
    source: SideChanges,
    destination: SideChanges,
    isolation: IsolationLevel,
) -> list[ContentConflict]:
    """Returns the first conflicts of two sides. `versions` are the base, source and destination."""
    found = itertools.chain(
        _metadata_conflicts(*versions),
        _equality_conflicts(source, destination),
        _file_conflicts(source, destination),
        _partition_conflicts(source, destination),
        _new_row_conflicts(source, destination) if isolation == "serializable" else (),
    )
    return list(itertools.islice(found, _MAX_CONFLICTS))


def _metadata_conflicts(
    base: TableVersion, source: TableVersion, destination: TableVersion
) -> Iterator[ContentConflict]:
    yield from settings_conflicts(base, source, destination)
    for side in (source, destination):
        for part, name in (_FORMAT, *(_OWN.items() if side is source else ())):
            if _value(side, name) != _value(base, name):
                yield _conflict({"metadata": part}, f"the {side.files.owner} changed the {part}")
    if _references(source) != _references(base):
        yield _conflict(
            {"metadata": "refs"}, "the source changed the branches and tags of the table"
        )


def _value(version: TableVersion, name: str) -> Any:
    return version.metadata.get(name) or None  # what is empty may be left out


def _references(version: TableVersion) -> dict[str, Any]:
    refs: Mapping[str, Any] = version.metadata.get("refs") or {}
    return {name: each for name, each in refs.items() if name != "main"}


def _equality_conflicts(source: SideChanges, destination: SideChanges) -> Iterator[ContentConflict]:
    """Yields deletions by value. They concern all rows that are older, in whatever file: in a
    merged snapshot, those would be other rows.
    """
    if source.has_equality_deletes:
        yield _conflict({"deletes": "source"}, "the source deletes rows by their values")
    if destination.has_equality_deletes and source.removed:
        yield _conflict(
            {"deletes": "destination"},
            "the destination deletes rows by their values, and the source rewrote files",
        )


def _file_conflicts(source: SideChanges, destination: SideChanges) -> Iterator[ContentConflict]:
    theirs, ours = source.touched(), destination.touched()
    for path in sorted(theirs.keys() & ours.keys() - {""}):
        yield _conflict({"file": path}, "both sides removed or replaced rows of the file")
    for one, other in ((theirs, ours), (ours, theirs)):
        if "" in one and other:
            yield _conflict(
                {"file": one[""].path},
                "the rows that the file deletes may be in files that the other side changed",
            )


def _partition_conflicts(
    source: SideChanges, destination: SideChanges
) -> Iterator[ContentConflict]:
    specs = {spec for spec, _ in (*source.changed, *destination.changed)}
    if source.changed and destination.changed and len(specs) > 1:
        message = "both sides changed rows, in partitions by different specs"
        yield _conflict({"specs": sorted(specs)}, message)
    for spec, values in sorted(source.changed & destination.changed, key=repr):
        message = "both sides changed rows of the partition"
        yield _conflict({"spec": spec, "partition": dict(values)}, message)


def _new_row_conflicts(source: SideChanges, destination: SideChanges) -> Iterator[ContentConflict]:
    """Yields the partitions in which the source changed rows and the destination added some."""
    new = {entry.partition for entry in destination.with_new_rows.values()} - destination.changed
    specs = {spec for spec, _ in (*source.changed, *new)}
    if source.changed and new and len(specs) > 1:
        message = "the source changed rows and the destination added rows, by different specs"
        yield _conflict({"specs": sorted(specs)}, message)
    for spec, values in sorted(source.changed & new, key=repr):
        message = (
            "the source changed rows of the partition, and the destination added rows, which the "
            "source's operation may concern"
        )
        yield _conflict({"spec": spec, "partition": dict(values)}, message)


def _conflict(key: dict[str, Any], message: str) -> ContentConflict:
    return ContentConflict(key=key, message=message)
