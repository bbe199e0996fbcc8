"""The metadata files of an Iceberg table.

Hadoop tables number them (`v2.metadata.json`), catalogs add a UUID (`00002-….metadata.json`).
`version-hint.text` names the current one; without it, that is the one with the highest number.
Source: the Iceberg table specification, "Table Metadata" and "File System Tables".
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from anabranch.tables.iceberg.plain_content import plain_content
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import (
    MAX_METADATA_BYTES,
    TableObjects,
    read_metadata,
)

__all__ = ["HADOOP_NAME", "HINT", "METADATA_FOLDER", "MetadataFiles", "metadata_version"]

HINT = "version-hint.text"
METADATA_FOLDER = "metadata/"
HADOOP_NAME = re.compile(r"v(\d+)\.(?:gz\.)?metadata\.json(?:\.gz)?")
_CATALOG_NAME = re.compile(r"(\d+)-[^/]+?\.(?:gz\.)?metadata\.json(?:\.gz)?")


class _Snapshot(msgspec.Struct, rename="kebab"):
    """What is read of a snapshot."""

    snapshot_id: int
    parent_snapshot_id: int | None = None
    manifest_list: str = ""
    timestamp_ms: int | None = None
    schema_id: int | None = None
    summary: dict[str, str] | None = None


class _Metadata(msgspec.Struct, rename="kebab"):
    """What is read of a metadata file."""

    format_version: int
    location: str = ""
    last_updated_ms: int = 0
    last_sequence_number: int = 0
    current_snapshot_id: int | None = None
    current_schema_id: int | None = None
    snapshots: list[_Snapshot] | None = None
    snapshot_log: list[dict[str, Any]] | None = None
    metadata_log: list[dict[str, Any]] | None = None
    properties: dict[str, str] | None = None
    refs: dict[str, dict[str, Any]] | None = None


_DECODER = msgspec.json.Decoder(_Metadata)


def metadata_version(name: str) -> int | None:
    """Returns the version that a metadata file has, None if a name is not that of one."""
    matched = HADOOP_NAME.fullmatch(name) or _CATALOG_NAME.fullmatch(name)
    return None if matched is None else int(matched[1])


class MetadataFiles:
    """The metadata files of a table, by their names in `folder`. `owner` is what errors call the
    table.
    """

    def __init__(self, objects: TableObjects, place: TablePlace, owner: str = "table") -> None:
        self.owner = owner
        self.folder = place.folder + METADATA_FOLDER
        self._objects = objects
        self._place = place
        self.names = [path.removeprefix(self.folder) for path in objects.list(self.folder)]

    @property
    def exists(self) -> bool:
        """Whether there is a table."""
        return any(metadata_version(name) is not None for name in self.names)

    @property
    def hint(self) -> str:
        """The content of the version hint, "" without one."""
        return (self._read(HINT) or b"").decode("utf-8", "replace").strip()

    def current(self) -> str:
        """Returns the name of the current metadata file. Raises Invalid if it is not known."""
        hint, names = self.hint, set(self.names)
        if hint.isascii() and hint.isdigit():
            version = int(hint)
            while any(name in names for name in _hadoop_names(version + 1)):
                version += 1  # as Hadoop tables do: the hint may be written late, or not at all
            candidates = _hadoop_names(version)
        elif hint:
            candidates = [hint, f"{hint}.metadata.json"]
        else:
            candidates = self._highest()
        for name in candidates:
            if name in names:
                return name
        raise unreadable(f"the {self.owner} has no current metadata file")

    def metadata(self, name: str) -> dict[str, Any]:
        """Returns the content of a metadata file. Raises Invalid for a damaged one."""
        content = self._read(name) or b""
        try:
            content = plain_content(content, MAX_METADATA_BYTES)
            _DECODER.decode(content)
            metadata: dict[str, Any] = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise unreadable(f"{name} of the {self.owner} cannot be read: {error}") from error
        return {**metadata, "snapshots": metadata.get("snapshots") or []}

    def read_address(self, address: str) -> bytes:
        """Returns the bytes of a metadata file, given by its address: that of this name in the
        table's folder, or else the one at the address. Raises Invalid if there is none.
        """
        content = None
        if f"/{METADATA_FOLDER}" in address:
            content = self._read(address.rpartition(f"/{METADATA_FOLDER}")[2])
        if content is not None:
            return content
        try:
            return read_metadata(self._objects, self._place.path(address))
        except FileNotFoundError as error:
            raise unreadable(
                f"the {self.owner} refers to {address}, which does not exist"
            ) from error

    def at(self, location: str) -> MetadataFiles:
        """Sets the address of the table's folder that the metadata have; returns the files."""
        self._place = self._place.at(location)
        return self

    def _highest(self) -> list[str]:
        versions = [(metadata_version(name), name) for name in self.names]
        highest = max((version for version, _ in versions if version is not None), default=-1)
        candidates = [name for version, name in versions if version == highest]
        if len(candidates) > 1:
            raise unreadable(
                f"the {self.owner} has the metadata files {' and '.join(candidates)}, and no "
                f"{HINT} that names the current one"
            )
        return candidates

    def _read(self, name: str) -> bytes | None:
        try:
            return read_metadata(self._objects, self.folder + name)
        except FileNotFoundError:
            return None


def _hadoop_names(version: int) -> list[str]:
    ends = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
    return [f"v{version}{end}" for end in ends]
