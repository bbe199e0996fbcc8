"""S3 Inventories as a bucket gets them, for tests: in every format, with versions or without."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq

__all__ = ["FORMATS", "WHEN", "Version", "write_inventory"]

FORMATS = ("CSV", "ORC", "Parquet")
WHEN = datetime(2024, 5, 6, 7, 8, 9, 123_000, UTC)
"""When all objects were stored."""

_TYPES = {
    "size": pa.int64(),
    "is_latest": pa.bool_(),
    "is_delete_marker": pa.bool_(),
    "last_modified_date": pa.timestamp("ms", "UTC"),
}


class Version(NamedTuple):
    """A version of a key: its size, None for a deletion; its ETag is `etag-SIZE`."""

    key: str
    size: int | None
    latest: bool = True


def write_inventory(
    folder: Path,
    kind: str,
    rows: Sequence[Version],
    *,
    versions: bool = False,
    files: int = 2,
    encode: Callable[[str], str] = quote_plus,
    **changes: Any,
) -> Path:
    """Writes an inventory of the bucket `lake` as it lies in its own, below a folder, with
    `changes` to the manifest; returns the folder of that.
    """
    names = _column_names(kind, versions=versions)
    entries = []
    for number in range(files):
        lines = [_cells(kind, row, versions=versions, encode=encode) for row in rows[number::files]]
        key = f"inventories/lake/all/data/{number}.{'csv.gz' if kind == 'CSV' else kind.lower()}"
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "CSV":
            text = "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)
            path.write_bytes(gzip.compress(text.encode()))
        else:
            _write_table(path, kind, names, lines)
        md5 = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        entries.append({"key": key, "size": path.stat().st_size, "MD5checksum": md5})
    manifest = {
        "sourceBucket": "lake",
        "destinationBucket": "arn:aws:s3:::kept",
        "version": "2016-11-30",
        "creationTimestamp": "1514944800000",
        "fileFormat": kind,
        "fileSchema": ", ".join(names) if kind == "CSV" else "…",
        "files": entries,
        **changes,
    }
    place = folder / "inventories/lake/all/2024-05-06T00-00Z"
    place.mkdir(parents=True)
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return place


def _write_table(path: Path, kind: str, names: Sequence[str], lines: Sequence[Any]) -> None:
    schema = pa.schema([(name, _TYPES.get(name, pa.string())) for name in names])
    columns = list(zip(*lines, strict=True)) or [()] * len(names)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=schema)
    if kind == "Parquet":
        pq.write_table(table, path)
        return
    # the type `timestamp` of the real ones, which says nothing of a zone
    place = schema.get_field_index("last_modified_date")
    times = table.column(place).cast(pa.timestamp("ms"))
    pa_orc.write_table(table.set_column(place, "last_modified_date", times), path)


def _column_names(kind: str, *, versions: bool) -> list[str]:
    names = ["Bucket", "Key"]
    names += ["VersionId", "IsLatest", "IsDeleteMarker"] if versions else []
    names += ["Size", "LastModifiedDate", "ETag", "StorageClass"]
    return names if kind == "CSV" else [_with_underscores(name) for name in names]


def _with_underscores(name: str) -> str:
    if name == "ETag":
        return "e_tag"
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)[1:]


def _cells(kind: str, row: Version, *, versions: bool, encode: Callable[[str], str]) -> list[Any]:
    """Returns what an inventory says of a version of a key."""
    deleted = row.size is None
    etag = f"etag-{row.size}"
    if kind == "CSV":
        flags = ["v", str(row.latest).lower(), str(deleted).lower()] if versions else []
        when = WHEN.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return ["lake", encode(row.key), *flags, "" if deleted else row.size, when, etag, "S"]
    marks = ["v", row.latest, deleted] if versions else []
    return ["lake", row.key, *marks, row.size, WHEN, etag, "S"]
