"""A snapshot of an Iceberg table: its columns, live files, and the deletes that concern them.

Source: the Iceberg table specification, "Scan Planning", "Column Projection" and "Deletes".
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from anabranch.tables.iceberg.manifests import (
    DATA,
    EQUALITY_DELETES,
    POSITION_DELETES,
    FileEntry,
    read_manifest_list,
)
from anabranch.tables.iceberg.metadata_files import MetadataFiles
from anabranch.tables.iceberg.table_schema import (
    all_columns,
    identity_fields,
    read_columns,
    value_literal,
)
from anabranch.tables.iceberg.value_bounds import is_file_needed, is_manifest_needed
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.columns import Column
from anabranch.tables.live_rows.file_fields import NameMapping
from anabranch.tables.live_rows.live_table import (
    MAX_LIVE_FILES,
    EqualityDeletes,
    LiveFile,
    LiveTable,
    PositionDeletes,
    TableVersion,
    VectorPlace,
)
from anabranch.tables.live_rows.needs import EVERYTHING, Needs
from anabranch.tables.live_rows.refusals import damage_refused, unreadable
from anabranch.tables.live_rows.table_objects import TableObjects

__all__ = ["IcebergSnapshot", "read_iceberg_table", "read_iceberg_versions"]

_FORMAT_VERSIONS = (1, 2, 3)
_NAME_MAPPING = "schema.name-mapping.default"
_NO_SNAPSHOT = -1
_MAX_DIGITS = 18
_TO_NAME_MAPPING = msgspec.json.Decoder(tuple[NameMapping, ...])


class IcebergSnapshot:
    """A snapshot of the table at a place: the current one, or one given by its id or by the name of
    a branch or tag of the table. Its metadata and its list of manifests are read once. Raises
    Invalid for what is no Iceberg table, for a damaged one, and for one that needs what is unknown
    here.
    """

    def __init__(
        self, objects: TableObjects, place: TablePlace, wanted: int | str | None = None
    ) -> None:
        files = MetadataFiles(objects, place)
        self.objects = objects
        self._metadata = metadata = _current(files)
        self._place = place.at(str(metadata.get("location") or ""))
        files.at(self._place.location)
        with damage_refused():
            self._found, is_current = _snapshot(metadata, wanted)
            schema, self._known = _schemas(metadata, self._found, is_current=is_current)
            self._specs = _specs(metadata)
            mapping = (metadata.get("properties") or {}).get(_NAME_MAPPING)
            self._mapping = _TO_NAME_MAPPING.decode(mapping) if mapping else ()
            self.columns = read_columns(schema)
            self._partition_columns = self._names_of_partitions()
            self._manifests = read_manifest_list(files, self._found).manifests.values()

    def rows(self, needs: Needs = EVERYTHING) -> LiveTable:
        """Returns the table with the files that `needs` may need, as far as bounds in the
        manifests, and summaries of manifests, say it. Raises Invalid.
        """
        with damage_refused():
            return self._rows(needs)

    def _rows(self, needs: Needs) -> LiveTable:
        by_name = {column.name: column for column in self.columns}
        entries = [
            entry
            for manifest in self._manifests
            if is_manifest_needed(manifest, self._specs.get(manifest.spec_id), by_name, needs)
            for entry in manifest.live
            if is_file_needed(entry, self._specs.get(manifest.spec_id), by_name, needs)
        ]
        if len(entries) > MAX_LIVE_FILES:
            raise unreadable(
                f"the table has more than {MAX_LIVE_FILES:,} files", "Compact the table."
            )
        for entry in entries:
            _require_readable(entry)
        deletes = _Deletes(self._place, entries, self._specs)
        return LiveTable(
            table_format="iceberg",
            version=None if self._found is None else self._found["snapshot-id"],
            columns=self.columns,
            partition_columns=self._partition_columns,
            partitioning=self._partitioning(),
            location=self._place.location,
            files=[
                _live_file(self._place, entry, self._specs, self._known, deletes)
                for entry in entries
                if entry.content == DATA
            ],
            by_id=True,
            values_first=False,
            name_mapping=self._mapping,
            all_columns=self._known,
            equality_deletes=deletes.by_value,
            properties=self._metadata.get("properties") or {},
        )

    def _partitioning(self) -> tuple[str, ...]:
        names = {column.field_id: column.name for column in self.columns}
        spec = self._specs.get(self._metadata.get("default-spec-id", 0), {"fields": []})
        return tuple(_transformed(field, names) for field in spec["fields"])

    def _names_of_partitions(self) -> tuple[str, ...]:
        spec = self._specs.get(self._metadata.get("default-spec-id", 0), {"fields": []})
        names = {column.field_id: column.name for column in self.columns}
        return tuple(
            names[field["source-id"]] for field in spec["fields"] if field.get("source-id") in names
        )


def read_iceberg_table(
    objects: TableObjects, place: TablePlace, snapshot: int | str | None = None
) -> LiveTable:
    """Returns a snapshot of the table at a place with all of its files. Raises Invalid as
    `IcebergSnapshot` does.
    """
    return IcebergSnapshot(objects, place, snapshot).rows()


def read_iceberg_versions(
    objects: TableObjects, place: TablePlace, amount: int
) -> list[TableVersion]:
    """Returns the last snapshots, at most `amount`, the newest first."""
    metadata = _current(MetadataFiles(objects, place))
    found = [
        TableVersion(
            version=each["snapshot-id"],
            time=each.get("timestamp-ms"),
            operation=(each.get("summary") or {}).get("operation", ""),
            rows=_number(each, "total-records"),
            added_rows=_number(each, "added-records"),
            removed_rows=_number(each, "deleted-records"),
        )
        for each in metadata["snapshots"]
    ]
    return found[: -amount - 1 : -1]


def _current(files: MetadataFiles) -> dict[str, Any]:
    if not files.exists:
        raise unreadable(f"there is no Iceberg table: {files.folder} has no metadata file")
    metadata = files.metadata(files.current())
    if metadata.get("format-version") not in _FORMAT_VERSIONS:
        version = metadata.get("format-version")
        raise unreadable(f"the table has the format version {version}, which is not read")
    return metadata


def _schemas(
    metadata: Mapping[str, Any], found: Mapping[str, Any] | None, *, is_current: bool
) -> tuple[Mapping[str, Any], Mapping[int, Column]]:
    """Returns the schema of a snapshot, and the columns of all schemas by their ids."""
    schemas = _by_id(metadata.get("schemas") or (), "schema-id")
    current = metadata["schema"] if not schemas else schemas[metadata["current-schema-id"]]
    schema = current
    if found is not None and not is_current:
        schema = schemas.get(found.get("schema-id"), current)
    return schema, all_columns((*schemas.values(), current, schema))


def _snapshot(
    metadata: Mapping[str, Any], wanted: int | str | None
) -> tuple[Mapping[str, Any] | None, bool]:
    """Returns a snapshot, and whether it is read with the current schema: so are the current one
    and branches, but not tags.
    """
    by_id = _by_id(metadata["snapshots"], "snapshot-id")
    if wanted is None:
        current = metadata.get("current-snapshot-id")
        if current in (None, _NO_SNAPSHOT):
            return None, True
        if current not in by_id:
            raise unreadable("the table does not have its current snapshot")
        return by_id[current], True
    number, is_branch = wanted, False
    if isinstance(wanted, str):
        reference = (metadata.get("refs") or {}).get(wanted)
        if reference is None:
            raise unreadable(f"the table has no branch or tag {wanted!r}")
        number, is_branch = reference["snapshot-id"], reference.get("type") == "branch"
    if number not in by_id:
        raise unreadable(f"the table has no snapshot {number}")
    return by_id[number], is_branch


def _by_id(given: Iterable[Mapping[str, Any]], name: str) -> dict[Any, Mapping[str, Any]]:
    """Returns parts of the metadata by their ids. Raises ValueError if two have one id: libraries
    differ in which they take.
    """
    found: dict[Any, Mapping[str, Any]] = {}
    for each in given:
        if found.setdefault(each.get(name, 0), each) != each:
            raise ValueError(f"two parts have the {name} {each.get(name, 0)}")
    return found


def _transformed(field: Mapping[str, Any], names: Mapping[int | None, str]) -> str:
    source = names.get(field.get("source-id"), f"#{field.get('source-id')}")
    transform = field.get("transform", "identity")
    return source if transform == "identity" else f"{transform}({source})"


def _number(snapshot: Mapping[str, Any], name: str) -> int | None:
    """Returns a number of a snapshot's summary, which has texts; None if there is none."""
    text = str((snapshot.get("summary") or {}).get(name, ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def _specs(metadata: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    given = metadata.get("partition-specs")
    if given:
        return _by_id(given, "spec-id")
    fields = metadata.get("partition-spec") or []
    numbered = [{"field-id": 1000 + number, **field} for number, field in enumerate(fields)]
    return {0: {"spec-id": 0, "fields": numbered}}


def _require_readable(entry: FileEntry) -> None:
    """Raises Invalid for a file in another format than Parquet, and for an encrypted one."""
    file_format = str(entry.about.get(101)).upper()
    is_vector = entry.content == POSITION_DELETES and file_format == "PUFFIN"
    if file_format != "PARQUET" and not is_vector:
        raise unreadable(f"the table has {entry.path}, which is in the format {file_format}")
    if entry.about.get(131) is not None:
        raise unreadable(f"the table has {entry.path}, which is encrypted")


class _Deletes:
    """The deletes of a snapshot, by what they concern."""

    def __init__(
        self,
        place: TablePlace,
        entries: Sequence[FileEntry],
        specs: Mapping[int, Mapping[str, Any]],
    ) -> None:
        self._specs = specs
        self._vectors: dict[str, VectorPlace] = {}
        self._by_file: dict[str, list[tuple[int, PositionDeletes]]] = {}
        self._by_scope: dict[str, list[tuple[int, PositionDeletes]]] = {}
        self._shared: dict[tuple[str, int], tuple[PositionDeletes, ...]] = {}
        by_value = []
        for entry in entries:
            path = place.path(entry.path) if entry.content != DATA else ""
            if entry.content == EQUALITY_DELETES:
                field_ids = tuple(sorted(map(int, entry.about.get(135) or ())))
                if not field_ids:
                    raise unreadable(f"{entry.path} does not say which columns it deletes by")
                scope = self.scope(entry)
                by_value.append(EqualityDeletes(path, field_ids, entry.sequence_number, scope))
            elif entry.content == POSITION_DELETES and entry.about.get(144) is not None:
                offset, length = int(entry.about[144]), int(entry.about.get(145) or 0)
                if offset < 0 or length < 0 or not entry.about.get(143):
                    raise unreadable(f"the table has a deletion vector in {entry.path} for no file")
                self._vectors[entry.about[143]] = VectorPlace(
                    path=path, offset=offset, length=length, rows=entry.rows
                )
            elif entry.content == POSITION_DELETES:
                deletes = (entry.sequence_number, PositionDeletes(path))
                if entry.deletes_from:
                    self._by_file.setdefault(entry.deletes_from, []).append(deletes)
                else:
                    scope = self.scope(entry, everywhere=False)
                    self._by_scope.setdefault(scope, []).append(deletes)
        for found in self._by_scope.values():
            found.sort()
        self.by_value = tuple(by_value)

    def scope(self, entry: FileEntry, *, everywhere: bool = True) -> str:
        """Returns a name of an entry's partition, "" if it has none and concerns `everywhere`."""
        spec, values = entry.partition
        fields = self._specs.get(spec, {"fields": []})["fields"]
        is_partitioned = any(field.get("transform") != "void" for field in fields)
        return repr((spec, values)) if is_partitioned or not everywhere else ""

    def of_file(self, entry: FileEntry) -> tuple[VectorPlace | None, tuple[PositionDeletes, ...]]:
        """Returns the deletes by position that concern a data file."""
        vector = self._vectors.get(entry.path)
        if vector is not None:
            return vector, ()
        own = tuple(
            deletes
            for number, deletes in self._by_file.get(entry.path, ())
            if number >= entry.sequence_number
        )
        scope = self.scope(entry, everywhere=False)
        listed = self._by_scope.get(scope, [])
        first = bisect.bisect_left(listed, entry.sequence_number, key=lambda each: each[0])
        shared = self._shared.setdefault(
            (scope, first), tuple(deletes for _, deletes in listed[first:])
        )
        return None, own + shared


def _live_file(
    place: TablePlace,
    entry: FileEntry,
    specs: Mapping[int, Mapping[str, Any]],
    columns: Mapping[int, Column],
    deletes: _Deletes,
) -> LiveFile:
    spec_id, texts = entry.partition
    values = {}
    for field_id, source_id in identity_fields(specs.get(spec_id, {"fields": []})):
        column = columns.get(source_id)
        if column is not None and field_id in entry.partition_values:
            value = entry.partition_values[field_id]
            values[column.name] = value_literal(column, value)
    vector, listed = deletes.of_file(entry)
    return LiveFile(
        path=place.path(entry.path),
        address=entry.path,
        rows=entry.rows,
        size=entry.size if isinstance(entry.size, int) else None,
        values=values,
        partition=dict(texts),
        vector=vector,
        position_deletes=listed,
        sequence_number=entry.sequence_number,
        scope=deletes.scope(entry),
    )
