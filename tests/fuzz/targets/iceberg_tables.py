"""Iceberg: the metadata of a table, of which one file at a time is damaged.

Readers either refuse the table or mean the same by it as the library of the format, where this
accepts it, too.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import fastavro
from fuzz.shapes import AVRO, JSON
from fuzz.target import SEEDS, Refused, Target, outcome
from fuzz.targets.memory_objects import PLACE, MemoryObjects, seed_of

from anabranch.tables.iceberg.avro_files import AvroFile, read_avro, write_avro
from anabranch.tables.iceberg.metadata_files import MetadataFiles
from anabranch.tables.iceberg.named_files import (
    named_in_manifest,
    named_in_manifest_list,
    named_in_metadata,
)
from anabranch.tables.iceberg.snapshot import IcebergSnapshot, read_iceberg_versions
from anabranch.tables.live_rows.live_table import LiveTable
from anabranch.tables.live_rows.needs import ColumnCondition, Needs
from anabranch.versioning.strategies.iceberg.changes import (
    find_changes,
    goes_back,
    only_appends,
    read_version,
)
from anabranch.versioning.strategies.iceberg.conflict_rules import require_mergeable
from anabranch.versioning.strategies.iceberg.settings import merged_settings, settings_conflicts
from anabranch.versioning.strategies.side_objects import refusing_unreadable

__all__ = ["TARGETS"]

_LAST = "v5.metadata.json"
_NEEDS = Needs(((ColumnCondition("id", "=", (4,)), ColumnCondition("x", ">", (1.0,))),))


@cache
def _iceberg() -> Mapping[str, bytes]:
    """The metadata of a table, by their paths."""
    metadata = seed_of("iceberg_metadata", "current.json")
    listed = json.loads(metadata)["snapshots"][-1]["manifest-list"]
    names = {
        path.name: path.read_bytes() for path in (SEEDS / "iceberg_manifest").glob("*-m?.avro")
    }
    names[_LAST] = metadata
    names[listed.rpartition("/")[2]] = seed_of("iceberg_manifest_list", "list.avro")
    return {f"table/metadata/{name}": content for name, content in names.items()}


def _read_iceberg(replaced: str, data: bytes) -> LiveTable | Refused:
    objects = MemoryObjects({**_iceberg(), replaced: data})
    outcome(read_iceberg_versions, objects, PLACE, 10)
    needed = outcome(lambda: IcebergSnapshot(objects, PLACE).rows(_NEEDS))
    found = outcome(lambda: IcebergSnapshot(objects, PLACE).rows())
    if isinstance(found, LiveTable):
        assert len(found.files) <= len(data) + 10
        if isinstance(needed, LiveTable):
            assert {each.path for each in needed.files} <= {each.path for each in found.files}
    return found


def check_metadata(data: bytes) -> None:
    outcome(named_in_metadata, _LAST, data)
    found = _read_iceberg(f"table/metadata/{_LAST}", data)
    if isinstance(found, Refused):
        return
    theirs = _metadata_of_pyiceberg(data)
    if theirs is None:
        return
    assert found.version == theirs.current_snapshot_id
    names = [field.name for field in theirs.schema().fields]
    assert [column.name for column in found.columns] == names


def check_merge(data: bytes) -> None:
    """The input is the source's metadata; the base and the destination have the table's."""
    sound = MetadataFiles(MemoryObjects(_iceberg()), PLACE)
    other = MetadataFiles(MemoryObjects({**_iceberg(), f"table/metadata/{_LAST}": data}), PLACE)

    def merge() -> None:
        with refusing_unreadable():
            base, source = read_version(sound), read_version(other)
            for side, against in ((source, base), (base, source)):
                require_mergeable(base, side)
                find_changes(base, side, against).touched()
                goes_back(base, side)
                only_appends(base, side, against)
                list(settings_conflicts(base, side, against))
                json.dumps(merged_settings(base, side, against))

    outcome(merge)


def _metadata_of_pyiceberg(data: bytes) -> Any:
    from pyiceberg.table.metadata import TableMetadataUtil

    try:
        with warnings.catch_warnings(action="ignore"):
            return TableMetadataUtil.parse_raw(data.decode())
    except Exception:  # noqa: BLE001  it raises errors of many classes
        return None


def _check_avro(data: bytes) -> AvroFile | None:
    """Compares the records with those of the library, and reads them again when written."""
    found = outcome(read_avro, "a.avro", data)
    if isinstance(found, Refused):
        return None
    assert repr([*fastavro.reader(io.BytesIO(data))]) == repr([*found.records])
    with suppress(ValueError, TypeError, OverflowError, AttributeError, KeyError):
        written = write_avro(found.schema, found.metadata, found.records)
        again = outcome(read_avro, "b.avro", written)  # records without bytes are refused
        assert isinstance(again, Refused) or repr(again.records) == repr(found.records)
    return found


def check_manifest_list(data: bytes) -> None:
    outcome(named_in_manifest_list, "list.avro", data)
    _check_avro(data)
    path = next(path for path in _iceberg() if "/snap-" in path)
    _read_iceberg(path, data)


def check_manifest(data: bytes) -> None:
    outcome(named_in_manifest, "manifest.avro", data)
    _check_avro(data)
    path = next(path for path in _iceberg() if path.endswith("-m0.avro"))
    _read_iceberg(path, data)


TARGETS = (
    Target(
        "iceberg_metadata",
        check_metadata,
        tokens=(
            *(b"format-version", b"current-snapshot-id", b"identity", b"bucket[4]", b"timestamptz"),
            *(b"decimal(38, 2)", b"struct", b"list", b"map", b"unknown", b"initial-default"),
            *(b"schema.name-mapping.default", b'[{"field-id": 1, "names": ["a"]}]', b"void"),
            *(b"../metadata/", b"s3://repo/main/table/metadata/", b"partition-spec", b"manifests"),
        ),
        shape=JSON,
    ),
    Target(
        "iceberg_merge",
        check_merge,
        lambda: (
            seed_of("iceberg_metadata", "current.json"),
            (
                b'{"format-version": 2, "current-snapshot-id": 1, "snapshots": ['
                b'{"snapshot-id": 1, "parent-snapshot-id": 1, "manifest-list": ""}]}'
            ),
        ),
        (b"parent-snapshot-id", b"current-snapshot-id", b"operation", b"replace", b"append"),
        JSON,
        inputs=100,
    ),
    Target(
        "iceberg_manifest_list",
        check_manifest_list,
        tokens=(b"avro.codec", b"null", b"deflate", b"snappy", b"zstandard", b"field-id", b"array"),
        shape=AVRO,
    ),
    Target(
        "iceberg_manifest",
        check_manifest,
        tokens=(b"null", b"record", b"map", b"fixed", b"size", b"logicalType", b"decimal", b"date"),
        shape=AVRO,
        inputs=100,
    ),
)
