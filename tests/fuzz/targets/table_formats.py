"""Iceberg and Delta Lake: the metadata of tables, of which one file at a time is damaged.

Readers either refuse the table or mean the same by it as the libraries of the formats, where these
accept it, too.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import fastavro
from fuzz.shapes import AVRO, JSON, JSON_LINES
from fuzz.target import SEEDS, Refused, Target, outcome

from anabranch.tables.delta.log_files import LOG_FOLDER, LogFiles
from anabranch.tables.delta.snapshot import read_delta_table, read_delta_versions
from anabranch.tables.iceberg.avro_files import AvroFile, read_avro, write_avro
from anabranch.tables.iceberg.metadata_files import MetadataFiles
from anabranch.tables.iceberg.named_files import (
    named_in_manifest,
    named_in_manifest_list,
    named_in_metadata,
)
from anabranch.tables.iceberg.snapshot import IcebergSnapshot, read_iceberg_versions
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.live_table import LiveTable
from anabranch.tables.live_rows.needs import ColumnCondition, Needs
from anabranch.versioning.strategies.delta.commit import parse_commit
from anabranch.versioning.strategies.delta.table_state import TableState, read_state
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

_PLACE = TablePlace("repo", "table/")
_LAST = "v5.metadata.json"
_NEEDS = Needs(((ColumnCondition("id", "=", (4,)), ColumnCondition("x", ">", (1.0,))),))


class _Objects:
    """Objects in memory, by their paths."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""
        return (path for path in sorted(self._contents) if path.startswith(prefix))

    def open(self, path: str) -> BinaryIO:
        """Returns an object's bytes."""
        if path not in self._contents:
            raise FileNotFoundError(path)
        return io.BytesIO(self._contents[path])

    def location(self, path: str) -> str:
        """Returns a name that nobody opens."""
        return path


def _seed(target: str, name: str) -> bytes:
    return (SEEDS / target / name).read_bytes()


@cache
def _iceberg() -> Mapping[str, bytes]:
    """The metadata of a table, by their paths."""
    metadata = _seed("iceberg_metadata", "current.json")
    listed = json.loads(metadata)["snapshots"][-1]["manifest-list"]
    names = {
        path.name: path.read_bytes() for path in (SEEDS / "iceberg_manifest").glob("*-m?.avro")
    }
    names[_LAST] = metadata
    names[listed.rpartition("/")[2]] = _seed("iceberg_manifest_list", "list.avro")
    return {f"table/metadata/{name}": content for name, content in names.items()}


def _read_iceberg(replaced: str, data: bytes) -> LiveTable | Refused:
    objects = _Objects({**_iceberg(), replaced: data})
    outcome(read_iceberg_versions, objects, _PLACE, 10)
    needed = outcome(lambda: IcebergSnapshot(objects, _PLACE).rows(_NEEDS))
    found = outcome(lambda: IcebergSnapshot(objects, _PLACE).rows())
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
    sound = MetadataFiles(_Objects(_iceberg()), _PLACE)
    other = MetadataFiles(_Objects({**_iceberg(), f"table/metadata/{_LAST}": data}), _PLACE)

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


@cache
def _delta() -> Mapping[str, bytes]:
    """The log of a table, by its paths: a commit, a checkpoint of it, and another commit."""
    log = {
        f"{0:020}.json": _seed("delta_commit", "first.json"),
        f"{0:020}.checkpoint.parquet": _seed("delta_checkpoint", "checkpoint.parquet"),
        f"{1:020}.json": _seed("delta_commit", "second.json"),
    }
    return {f"table/{LOG_FOLDER}{name}": content for name, content in log.items()}


def _read_delta(replaced: str, data: bytes, *, checkpoint: bool) -> LiveTable | Refused:
    log = {
        path: content
        for path, content in _delta().items()
        if checkpoint or "checkpoint" not in path
    }
    objects = _Objects({**log, f"table/{LOG_FOLDER}{replaced}": data})
    outcome(read_delta_versions, objects, _PLACE, 10)
    for version in (0, 1):
        outcome(_state_for_merges, objects, version)
    return outcome(read_delta_table, objects, _PLACE)


def _state_for_merges(objects: _Objects, version: int) -> TableState:
    log = LogFiles(objects, f"table/{LOG_FOLDER}")
    state = read_state(log, version)
    for number in (0, 1):
        commit = parse_commit("table", number, log.commit(number))
        list(state.changes(commit))
        hash((commit.operation, *map(state.partition, (*commit.adds, *commit.removes))))
    hash((state.isolation_level, state.has_commit_timestamps))
    return state


def check_commit(data: bytes) -> None:
    found = _read_delta(f"{0:020}.json", data, checkpoint=False)
    other = _read_delta(f"{1:020}.json", data, checkpoint=True)
    for table in (found, other):
        assert isinstance(table, Refused) or len(table.files) <= len(data) + 10
    if isinstance(found, Refused):
        return
    theirs = _paths_of_deltalake(data)
    assert theirs is None or theirs == sorted(each.path for each in found.files)


def _paths_of_deltalake(first: bytes) -> list[str] | None:
    """Returns the paths of the files that the library finds, None if it refuses the table."""
    from deltalake import DeltaTable

    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    try:
        log = folder / LOG_FOLDER
        log.mkdir()
        (log / f"{0:020}.json").write_bytes(first)
        (log / f"{1:020}.json").write_bytes(_delta()[f"table/{LOG_FOLDER}{1:020}.json"])
        found = DeltaTable(folder).file_uris()
        return sorted(f"table/{uri.removeprefix(f'{folder}/')}" for uri in found)
    except Exception:  # noqa: BLE001  it raises errors of many classes
        return None
    finally:
        shutil.rmtree(folder)


def check_checkpoint(data: bytes) -> None:
    found = _read_delta(f"{0:020}.checkpoint.parquet", data, checkpoint=True)
    assert isinstance(found, Refused) or len(found.files) <= len(data) + 10


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
            _seed("iceberg_metadata", "current.json"),
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
    Target(
        "delta_commit",
        check_commit,
        tokens=(
            *(b'{"remove":{"path":"a"}}', b"\n", b"deletionVector", b"storageType", b"u", b"i"),
            *(b"readerFeatures", b"columnMapping", b"delta.columnMapping.mode", b"name", b"id"),
            *(b"decimal(38,38)", b"struct", b"schemaString", b"partitionValues", b"%2e%2e/", b"%"),
        ),
        shape=JSON_LINES,
        inputs=80,
    ),
    Target("delta_checkpoint", check_checkpoint, tokens=(b"PAR1", b"add", b"path", b"SNAPPY")),
)
