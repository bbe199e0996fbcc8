"""Which files the metadata of an Iceberg table name. Garbage collection must not miss one.

A metadata file names manifest lists (in version 1 also manifests), those name manifests, and these
the files with data and deletes. In metadata, every text counts, whatever field it is in: so do
statistics, earlier metadata, and fields that are added later. What is not understood raises
Invalid.

Source: the Iceberg table specification, "Table Metadata", "Manifest Lists" and "Manifests".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from anabranch.tables.iceberg.avro_files import read_avro
from anabranch.tables.iceberg.manifests import DELETED
from anabranch.tables.iceberg.plain_content import plain_content
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import MAX_METADATA_BYTES

__all__ = [
    "NamedFiles",
    "named_in_manifest",
    "named_in_manifest_list",
    "named_in_metadata",
    "needed_by_manifest",
]

_TABLE_VERSIONS = (1, 2, 3)
_VIEW_VERSIONS = (1,)
_STATUSES = (0, 1, DELETED)
_MANIFEST_PATH = 500
_STATUS, _DATA_FILE, _FILE_PATH = 0, 2, 100
"""The ids of the fields."""


class NamedFiles(NamedTuple):
    """What a metadata file names: all its texts, and of these the manifest lists and the manifests,
    which name more, and the files with statistics.
    """

    texts: frozenset[str] = frozenset()
    manifest_lists: Sequence[str] = ()
    manifests: Sequence[str] = ()
    statistics: Sequence[str] = ()


def named_in_metadata(name: str, content: bytes) -> NamedFiles:
    """Returns what the metadata of a table or a view name. Raises Invalid, with the file's `name`,
    for a format that is not known and for damaged metadata.
    """
    try:
        metadata = msgspec.json.decode(plain_content(content, MAX_METADATA_BYTES))
        texts = frozenset(_texts(metadata))
    except (ValueError, RecursionError) as error:
        raise unreadable(f"{name} is no metadata file: {error}") from error
    if not isinstance(metadata, dict):
        raise unreadable(f"{name} is no metadata file")
    is_view = "view-uuid" in metadata
    version = metadata.get("format-version")
    if version not in (_VIEW_VERSIONS if is_view else _TABLE_VERSIONS) or version is True:
        raise unreadable(f"{name} has the format version {version!r:.40}, which is not known")
    lists, manifests = [], []
    for snapshot in _snapshots(name, metadata):
        listed, inline = snapshot.get("manifest-list"), snapshot.get("manifests")
        if listed is not None:
            lists.append(_path(name, listed))
        if inline is not None:
            if not isinstance(inline, list):
                raise unreadable(f"{name} has a snapshot whose manifests are no list")
            manifests += [_path(name, each) for each in inline]
        if listed is None and inline is None:
            raise unreadable(f"{name} has a snapshot without manifests")
    return NamedFiles(texts, lists, manifests, list(_statistics(metadata)))


def named_in_manifest_list(name: str, content: bytes) -> Sequence[str]:
    """Returns the manifests in a manifest list. Raises Invalid."""
    file = read_avro(name, content)
    try:
        field = file.names()[_MANIFEST_PATH]
        return [_path(name, record[field]) for record in file.records]
    except (KeyError, TypeError) as error:
        raise unreadable(f"{name} is no manifest list: {error!r}") from error


def named_in_manifest(name: str, content: bytes) -> frozenset[str]:
    """Returns the files of the entries of a manifest that its snapshots need, and what these name:
    the data files of deletes. Raises Invalid.
    """
    found: set[str] = set()
    for path, about in _entries(name, content):
        found.add(path)
        found.update(value for value in about.values() if isinstance(value, str))
    return frozenset(found)


def needed_by_manifest(name: str, content: bytes) -> frozenset[str]:
    """Returns the files of the entries of a manifest that its snapshots need. Raises Invalid."""
    return frozenset(path for path, _ in _entries(name, content))


def _entries(name: str, content: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the path of each file that a manifest adds or keeps, and what it says of the file."""
    file = read_avro(name, content)
    try:
        names = file.names()
        status, data_file = names[_STATUS], names[_DATA_FILE]
        path = file.names(data_file)[_FILE_PATH]
        for record in file.records:
            if record[status] not in _STATUSES:
                raise unreadable(f"{name} has an entry with the status {record[status]!r:.40}")
            if record[status] != DELETED:
                about = record[data_file]
                yield _path(name, about[path]), dict(about.items())
    except (KeyError, TypeError, AttributeError, StopIteration) as error:
        raise unreadable(f"{name} is no manifest: {error!r}") from error


def _snapshots(name: str, metadata: dict[str, Any]) -> Sequence[dict[str, Any]]:
    snapshots = metadata.get("snapshots")
    if snapshots is None:
        return ()
    if not isinstance(snapshots, list) or not all(isinstance(each, dict) for each in snapshots):
        raise unreadable(f"{name} has snapshots that are not understood")
    return snapshots


def _statistics(metadata: dict[str, Any]) -> Iterator[str]:
    """Yields the files with statistics, as far as they are understood: the texts have them all."""
    for field in ("statistics", "partition-statistics"):
        listed = metadata.get(field)
        for each in listed if isinstance(listed, list) else ():
            path = each.get("statistics-path") if isinstance(each, dict) else None
            if isinstance(path, str):
                yield path


def _path(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise unreadable(f"{name} names a file by {value!r:.40}")
    return value


def _texts(value: object) -> Iterator[str]:
    """Yields all texts in a value of JSON, keys included."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            pending += each.keys()
            pending += each.values()
        elif isinstance(each, list):
            pending += each
