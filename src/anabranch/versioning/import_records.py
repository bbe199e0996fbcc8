"""The states of imports in the key-value store, as lakeFS keeps them: any server can tell of an
import that another runs, and cancel it.

A record is replaced on condition that it is still what its writer read. The server that runs an
import so learns that it was cancelled; and the step that moves the branch completes the import, so
that a cancelled one never moves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.message import DecodeError

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.imports import ImportStatus
from anabranch.model.repository import Repository
from anabranch.records import lakefs_pb2 as records
from anabranch.records.timestamps import read_time, write_time
from anabranch.versioning import encoding, keys

__all__ = ["ImportRecords", "StoredImport"]


class StoredImport(NamedTuple):
    """A state with the record that it was read from, which compare-and-set compares."""

    status: ImportStatus
    record: bytes


class ImportRecords:
    """The states of all repositories' imports."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def find(self, repository: Repository, import_id: str) -> StoredImport | None:
        """Returns the state of an import, or None."""
        raw = self._keyvalue.get(repository.partition, keys.import_(import_id))
        return None if raw is None else StoredImport(_status_from(raw), raw)

    def all(self, repository: Repository) -> Iterator[StoredImport]:
        """Yields the states of a repository's imports."""
        for _, raw in self._keyvalue.scan(repository.partition, *keys.all_imports()):
            yield StoredImport(_status_from(raw), raw)

    def replacing(
        self, repository: Repository, stored: StoredImport | None, status: ImportStatus
    ) -> tuple[Write, Expect]:
        """Returns the write that puts a state in the place of one that was read, or of none, and
        the condition that nobody has done so meanwhile.
        """
        key = keys.import_(status.id)
        write = Write(repository.partition, key, _status_bytes(status))
        expected = None if stored is None else stored.record
        return write, Expect(repository.partition, key, expected)

    def replace(
        self, repository: Repository, stored: StoredImport | None, status: ImportStatus
    ) -> bool:
        """Puts a state in the place of one that was read, or of none; returns whether it did."""
        write, expect = self.replacing(repository, stored, status)
        return self._keyvalue.apply([write], [expect])

    def remove(self, repository: Repository, stored: StoredImport) -> None:
        """Removes a state, if it is still as it was read."""
        key = keys.import_(stored.status.id)
        self._keyvalue.apply(
            [Write(repository.partition, key, None)],
            [Expect(repository.partition, key, stored.record)],
        )


def _status_bytes(status: ImportStatus) -> bytes:
    message = records.ImportStatusData(
        id=status.id,
        completed=status.completed,
        progress=status.progress,
        metarange_id=status.metarange_id,
        error=status.error,
    )
    write_time(message.updated_at, status.updated_at)
    if status.commit is not None:
        message.commit.ParseFromString(encoding.commit_bytes(status.commit))
    return message.SerializeToString(deterministic=True)


def _status_from(raw: bytes) -> ImportStatus:
    message = records.ImportStatusData()
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise Corrupt(f"the record of an import cannot be read: {error}") from error
    commit = None
    if message.HasField("commit"):
        commit = encoding.commit_from(message.commit.SerializeToString())
    return ImportStatus(
        id=message.id,
        updated_at=read_time(message.updated_at),
        completed=message.completed,
        progress=message.progress,
        metarange_id=message.metarange_id,
        commit=commit,
        error=message.error,
    )
