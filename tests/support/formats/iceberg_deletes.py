"""Deletes that the package pyiceberg does not write: by positions, by values, and vectors.

A commit of its own adds the files of deletes to a table in a folder: a manifest and a manifest list
like those that pyiceberg has written, a snapshot and a metadata file.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet as pq
from pyroaring import BitMap64

from anabranch.tables.iceberg.avro_files import read_avro, write_avro

__all__ = ["IcebergDeletes", "field_with_id"]

_POSITIONS, _VALUES = 1, 2
_MAGIC = struct.pack("<I", 1681511377)


def field_with_id(name: str, data_type: pa.DataType, number: int) -> pa.Field:
    """Returns an Arrow field with the id of an Iceberg column."""
    return pa.field(name, data_type, metadata={"PARQUET:field_id": str(number)})


class IcebergDeletes:
    """Adds deletes to the table in a folder, whose metadata files are those of Hadoop tables."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def data_files(self) -> list[str]:
        """Returns the addresses of the live data files, the oldest first."""
        entries = [entry for manifest in self._manifests() for entry in manifest]
        entries.sort(key=lambda each: (each[0], each[1]["file_path"]))
        return [described["file_path"] for _, described in entries if not described["content"]]

    def delete_positions(self, rows: Sequence[tuple[str, int]], *, only: str = "") -> None:
        """Deletes rows by the addresses of their files and their positions."""
        table = pa.table(
            [[path for path, _ in rows], pa.array([at for _, at in rows], pa.int64())],
            schema=pa.schema(
                [
                    field_with_id("file_path", pa.string(), 2147483546),
                    field_with_id("pos", pa.int64(), 2147483545),
                ]
            ),
        )
        self._commit(self._write("positions", table), _POSITIONS, len(rows), only=only)

    def delete_values(self, table: pa.Table, **partition: Any) -> None:
        """Deletes rows by values of columns, whose fields have ids."""
        numbers = [int(field.metadata[b"PARQUET:field_id"]) for field in table.schema]
        address = self._write("values", table)
        self._commit(address, _VALUES, len(table), equality_ids=numbers, partition=partition)

    def delete_vector(self, address: str, positions: Sequence[int]) -> None:
        """Deletes rows of a file by a deletion vector in a Puffin file."""
        vector = _MAGIC + BitMap64(positions).serialize()
        blob = struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))
        path = self._folder / "data" / f"vector-{len(list(self._folder.rglob('*')))}.puffin"
        path.write_bytes(b"PFA1" + blob)
        place = {"content_offset": 4, "content_size_in_bytes": len(blob)}
        self._commit(
            *(path.as_uri(), _POSITIONS, len(positions)),
            only=address,
            file_format="PUFFIN",
            place=place,
        )

    def change_metadata(self, **changes: Any) -> None:
        """Writes a metadata file with other members."""
        metadata, version = self._metadata()
        self._write_metadata({**metadata, **changes}, version + 1)

    def metadata(self) -> dict[str, Any]:
        """Returns the current metadata."""
        return self._metadata()[0]

    def _write(self, name: str, table: pa.Table) -> str:
        path = self._folder / "data" / f"{name}-{len(list(self._folder.rglob('*')))}.parquet"
        pq.write_table(table, path)
        return path.as_uri()

    def _metadata(self) -> tuple[dict[str, Any], int]:
        version = int((self._folder / "metadata" / "version-hint.text").read_text())
        path = self._folder / "metadata" / f"v{version}.metadata.json"
        return json.loads(path.read_text()), version

    def _write_metadata(self, metadata: dict[str, Any], version: int) -> None:
        folder = self._folder / "metadata"
        (folder / f"v{version}.metadata.json").write_text(json.dumps(metadata))
        (folder / "version-hint.text").write_text(str(version))

    def _local(self, address: str) -> Path:
        return Path(address.removeprefix("file://"))

    def _list(self) -> tuple[dict[str, Any], Any]:
        metadata, _ = self._metadata()
        current = metadata["current-snapshot-id"]
        found = next(each for each in metadata["snapshots"] if each["snapshot-id"] == current)
        content = self._local(found["manifest-list"]).read_bytes()
        return found, read_avro("list", content)

    def _manifests(self) -> list[list[tuple[int, dict[str, Any]]]]:
        found = []
        for listed in self._list()[1].records:
            file = read_avro("m", self._local(listed["manifest_path"]).read_bytes())
            found.append(
                [
                    (record["sequence_number"] or listed["sequence_number"], record["data_file"])
                    for record in file.records
                    if record["status"] != 2
                ]
            )
        return found

    def _commit(
        self,
        address: str,
        content: int,
        rows: int,
        *,
        only: str = "",
        equality_ids: Sequence[int] | None = None,
        partition: dict[str, Any] | None = None,
        file_format: str = "PARQUET",
        place: dict[str, int] | None = None,
    ) -> None:
        metadata, version = self._metadata()
        snapshot, listing = self._list()
        like = listing.records[0]
        manifest = read_avro("m", self._local(like["manifest_path"]).read_bytes())
        record = json.loads(json.dumps(manifest.schema))
        described = next(f for f in record["fields"] if f["name"] == "data_file")["type"]
        known = {field["name"] for field in described["fields"]}
        for name, number, kind in (
            ("referenced_data_file", 143, "string"),
            ("content_offset", 144, "long"),
            ("content_size_in_bytes", 145, "long"),
        ):
            if name not in known:
                described["fields"].append(
                    {"name": name, "field-id": number, "type": ["null", kind], "default": None}
                )
        sequence = metadata["last-sequence-number"] + 1
        number = snapshot["snapshot-id"] + 1
        values = manifest.records[0]["data_file"]["partition"]
        entry = {
            "status": 1,
            "snapshot_id": number,
            "sequence_number": None,
            "file_sequence_number": None,
            "data_file": {
                **{field["name"]: None for field in described["fields"]},
                "content": content,
                "file_path": address,
                "file_format": file_format,
                "partition": dict.fromkeys(values) | (partition or {}),
                "record_count": rows,
                "file_size_in_bytes": self._local(address).stat().st_size,
                "equality_ids": equality_ids,
                "referenced_data_file": only or None,
                **(place or {}),
            },
        }
        folder = self._folder / "metadata"
        path = folder / f"deletes-{sequence}.avro"
        path.write_bytes(write_avro(record, {**manifest.metadata, "content": "deletes"}, [entry]))
        listed = {
            **like,
            "manifest_path": path.as_uri(),
            "manifest_length": path.stat().st_size,
            "content": 1,
            "sequence_number": sequence,
            "min_sequence_number": sequence,
            "added_snapshot_id": number,
        }
        list_path = folder / f"snap-{number}-deletes.avro"
        records = [*listing.records, listed]
        list_path.write_bytes(write_avro(listing.schema, listing.metadata, records))
        added = {
            **snapshot,
            "snapshot-id": number,
            "parent-snapshot-id": snapshot["snapshot-id"],
            "sequence-number": sequence,
            "manifest-list": list_path.as_uri(),
            "summary": {"operation": "delete"},
        }
        changed = {
            **metadata,
            "last-sequence-number": sequence,
            "current-snapshot-id": number,
            "snapshots": [*metadata["snapshots"], added],
            "refs": {**metadata["refs"], "main": {"type": "branch", "snapshot-id": number}},
        }
        self._write_metadata(changed, version + 1)
