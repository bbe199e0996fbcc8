"""Manifest lists and manifests of Iceberg snapshots.

Source: the Iceberg table specification, "Manifests" and "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from anabranch.tables.iceberg.avro_files import AvroFile, read_avro
from anabranch.tables.iceberg.avro_times import TimeUnit, TimeValue
from anabranch.tables.iceberg.metadata_files import MetadataFiles
from anabranch.tables.live_rows.refusals import unreadable

__all__ = [
    "DATA",
    "DELETED",
    "EQUALITY_DELETES",
    "FILE_FIRST_ROW_ID",
    "FIRST_ROW_ID",
    "POSITION_DELETES",
    "FileEntry",
    "ListedManifest",
    "ManifestList",
    "Partition",
    "read_manifest_list",
]

DATA, POSITION_DELETES, EQUALITY_DELETES = range(3)
"""What a file contains."""

DELETED = 2
"""The status of an entry whose file a snapshot has removed."""

_SEQUENCE_NUMBER = 3
"""The id of the field; version 1 of the format does not have it."""

FILE_FIRST_ROW_ID = 142
"""The id of the field of a file with the id of its first row; version 3 has it."""

FIRST_ROW_ID = 520
"""The id of the field of a manifest list with the id of the first row of a manifest's files."""

_OFFSET = 144
"""The id of the field with the place of a deletion vector in its file, which may have several."""

_SUMMARIES = 507
"""The id of the field with summaries of partitions."""

_PATH_COLUMN = 2147483546
"""The id of the column of paths in files of position deletes."""

Partition = tuple[int, tuple[tuple[str, str | None], ...]]
"""A partition: the id of the partition spec, and the values by the names of its fields."""


class FileEntry(NamedTuple):
    """A live file. `record` is its entry in the manifest, with inherited values filled in."""

    path: str
    content: int
    partition: Partition
    rows: int
    size: int
    deletes_from: str
    """The only data file that position deletes concern, "" if it is not known."""
    snapshot_id: int
    """The snapshot that added the file."""
    sequence_number: int
    record: dict[str, Any]
    about: Mapping[int, Any]
    """The description of the file, by the ids of its fields."""
    partition_values: Mapping[int, Any]
    """The values of the partition, by the ids of its fields; dates and times as `TimeValue`."""

    @property
    def key(self) -> str:
        """What no other live file has: the path; of a deletion vector with its place in the file,
        which may have those of other data files, too.
        """
        offset = self.about.get(_OFFSET)
        return self.path if offset is None else f"{self.path}#{offset}"


class ManifestList(NamedTuple):
    """The manifests of a snapshot by their addresses, and the file that lists them."""

    file: AvroFile | None
    manifests: dict[str, ListedManifest]


class ListedManifest:
    """A manifest of a snapshot. `listed` is its record in the manifest list, `summary_names` are
    the names of the fields of its summaries of partitions, by their ids.
    """

    def __init__(
        self,
        files: MetadataFiles,
        listed: dict[str, Any],
        names: dict[int, str],
        summary_names: dict[int, str],
    ) -> None:
        self.listed = listed
        self.names = names
        self.summary_names = summary_names
        self._files = files

    @property
    def address(self) -> str:
        """The address of the manifest."""
        return str(self.value(500))

    @property
    def spec_id(self) -> int:
        """The id of the partition spec of its files."""
        return int(self.value(502) or 0)

    @property
    def is_of_deletes(self) -> bool:
        """Whether its files are files of deletes."""
        return bool(self.value(517))

    def value(self, field_id: int) -> Any:
        """Returns a value of the record in the manifest list, None if it has no such field."""
        name = self.names.get(field_id)
        return None if name is None else self.listed[name]

    @cached_property
    def file(self) -> AvroFile:
        """The content of the manifest."""
        return read_avro(self.address, self._files.read_address(self.address))

    @cached_property
    def live(self) -> Sequence[FileEntry]:
        """The files that are in the table."""
        try:
            return list(self._read_live())
        except (KeyError, TypeError, StopIteration, RuntimeError) as error:
            raise unreadable(f"{self.address} is no manifest: {error!r}") from error

    def _read_live(self) -> Iterator[FileEntry]:
        names, file_names = self.file.names(), self.file.names("data_file")
        partition_name = file_names[102]
        partition_names = self.file.names("data_file", partition_name)
        units = self.file.times("data_file", partition_name)
        next_row = self.value(FIRST_ROW_ID)
        for record in self.file.records:
            if record[names[0]] == DELETED:
                continue
            described = record[names[2]]
            values = {number: described[name] for number, name in file_names.items()}
            filled = {**record, **self._inherit(record, names)}
            partition = {name: _timed(each, units.get(name)) for name, each in values[102].items()}
            if next_row is not None and values.get(FILE_FIRST_ROW_ID, 0) is None:
                values[FILE_FIRST_ROW_ID] = next_row
                filled[names[2]] = {**described, file_names[FILE_FIRST_ROW_ID]: next_row}
                next_row += values[103]
            yield FileEntry(
                path=values[100],
                content=values.get(134) or DATA,
                partition=(self.spec_id, _texts(partition)),
                rows=values[103],
                size=values[104],
                deletes_from=values.get(143) or _only_path(values.get(125), values.get(128)),
                snapshot_id=filled[names[1]],
                sequence_number=filled[names[_SEQUENCE_NUMBER]] if _SEQUENCE_NUMBER in names else 0,
                record=filled,
                about=values,
                partition_values={
                    number: partition[name] for number, name in partition_names.items()
                },
            )

    def _inherit(self, record: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
        """Returns what an entry takes from the manifest list."""
        sources = {1: 503, 3: 515, 4: 515}  # snapshot, sequence numbers of data and file
        return {
            names[number]: self.value(source)
            for number, source in sources.items()
            if number in names and record[names[number]] is None
        }


def _timed(value: Any, unit: TimeUnit | None) -> Any:
    return value if value is None or unit is None else TimeValue(value, unit)


def _texts(values: Mapping[str, Any]) -> tuple[tuple[str, str | None], ...]:
    return tuple((name, None if each is None else str(each)) for name, each in values.items())


def _only_path(lower: Any, upper: Any) -> str:
    """Returns the path whose rows a file deletes, by the bounds of its column of paths."""
    bounds = [_bound(each) for each in (lower, upper)]
    return bounds[0].decode() if bounds[0] == bounds[1] else ""


def _bound(bounds: Any) -> bytes:
    pairs = bounds or ()
    return next((bytes(each["value"]) for each in pairs if each["key"] == _PATH_COLUMN), b"")


def read_manifest_list(files: MetadataFiles, snapshot: Mapping[str, Any] | None) -> ManifestList:
    """Returns the manifests of a snapshot; there are none without one."""
    if snapshot is None:
        return ManifestList(None, {})
    if not snapshot.get("manifest-list"):
        raise unreadable(f"a snapshot of the {files.owner} has no manifest list")
    address = snapshot["manifest-list"]
    file = read_avro(address, files.read_address(address))
    names = file.names()
    if not {500, 501, 503} <= names.keys():
        raise unreadable(f"{address} is no manifest list")
    inner = file.item_names(names[_SUMMARIES]) if _SUMMARIES in names else {}
    manifests = [ListedManifest(files, record, names, inner) for record in file.records]
    return ManifestList(file, {manifest.address: manifest for manifest in manifests})
