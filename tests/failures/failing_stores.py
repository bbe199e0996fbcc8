"""Stores of which one call fails: before it is performed, after it, or with an unknown outcome."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Iterator
from copy import deepcopy

from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Busy, OutcomeUnknown
from anabranch.keyvalue.memory import MemoryStore

__all__ = ["CountingBlocks", "CountingStore", "Failure", "Fault"]


class Failure(enum.Enum):
    """What happens at the call that fails."""

    BEFORE = "it is not performed, and the caller learns it"
    AFTER = "it is performed, and the caller does not learn it"
    UNKNOWN = "it is not performed, and the caller does not learn it"
    TORN = "a part of it is performed"
    FROM_NOW_ON = "neither it nor any later one is performed"


class Fault:
    """Counts the calls of both stores; the n-th, from 1, fails. Number 0: none does."""

    def __init__(self, number: int = 0, failure: Failure = Failure.BEFORE) -> None:
        self.calls = 0
        self.number = number
        self.failure = failure
        self.struck: str = ""
        """The call that has failed, with its subject."""

    def heal(self) -> None:
        """No further call fails."""
        self.number = 0

    def fails(self, call: str, subject: str) -> Failure | None:
        """Returns how a call fails that is made now; None if it does not."""
        self.calls += 1
        if not self.number or self.calls < self.number:
            return None
        if self.calls > self.number and self.failure is not Failure.FROM_NOW_ON:
            return None
        self.struck = self.struck or f"{call} {subject}"
        return self.failure


def unavailable() -> Busy:
    return Busy("the store cannot be reached", kind="unreachable")


class CountingStore(MemoryStore):
    """A store in memory whose calls are counted."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault

    def get(self, partition, key):
        self._read("get", partition)
        return super().get(partition, key)

    def get_many(self, partition, keys):
        self._read("get_many", partition)
        return super().get_many(partition, keys)

    def scan(self, partition, start=b"", end=None, *, limit=None):
        failure = self.fault.fails("scan", partition)
        if failure not in (None, Failure.TORN):
            raise unavailable()
        rows = list(super().scan(partition, start, end, limit=limit))
        if failure is Failure.TORN:
            return self._torn(rows)
        return iter(rows)

    def snapshot(self, partition, ranges):
        self._read("snapshot", partition)
        return super().snapshot(partition, ranges)

    def apply(self, writes, expect=()):
        failure = self.fault.fails("apply", writes[0].partition if writes else "")
        if failure in (Failure.BEFORE, Failure.FROM_NOW_ON):
            raise unavailable()
        if failure is Failure.AFTER:
            super().apply(writes, expect)
        if failure is not None:  # a transaction is never performed in part
            raise OutcomeUnknown("the connection was lost")
        return super().apply(writes, expect)

    def drop(self, partition):
        self._read("drop", partition)
        super().drop(partition)

    def _read(self, call, partition):
        if self.fault.fails(call, partition) is not None:
            raise unavailable()

    @staticmethod
    def _torn(rows):
        yield from rows[: len(rows) // 2]
        raise unavailable()

    def copy_to(self, other: CountingStore) -> None:
        """Gives another store the records of this one."""
        for partition, rows in self._partitions.items():
            for key, value in rows.values.items():
                MemoryStore.apply(other, [(partition, key, value)])


class CountingBlocks(MemoryBlocks):
    """A block store in memory whose calls are counted."""

    def __init__(self, fault: Fault, **options) -> None:
        super().__init__(**options)
        self.fault = fault

    def put(self, address, chunks, **options):
        failure = self._change("put", address)
        if failure is Failure.TORN:
            chunks = self._torn(chunks)
        stored = super().put(address, chunks, **options)
        if failure is Failure.AFTER:
            raise unavailable()
        return stored

    def get(self, address, start=0, length=None):
        self._read("get", address)
        return super().get(address, start, length)

    def read(self, address, start=0, length=None):
        self._read("read", address)
        return super().read(address, start, length)

    def stat(self, address):
        self._read("stat", address)
        return super().stat(address)

    def list(self, prefix, after=""):
        self._read("list", prefix)
        return super().list(prefix, after)

    def delete(self, addresses: Iterable[str]) -> None:
        addresses = list(addresses)
        failure = self._change("delete", ",".join(addresses))
        if failure is Failure.TORN:
            addresses = addresses[: len(addresses) // 2]
        super().delete(addresses)
        if failure is not None:
            raise unavailable()

    def copy(self, source, destination, **options):
        failure = self._change("copy", destination)
        stored = super().copy(source, destination, **options)
        if failure is not None:
            raise unavailable()
        return stored

    def open_upload(self, address):
        failure = self._change("open_upload", address)
        upload_id = super().open_upload(address)
        if failure is not None:
            raise unavailable()
        return upload_id

    def copy_part(self, address, upload_id, *arguments, **options):
        failure = self._change("copy_part", address)
        part = super().copy_part(address, upload_id, *arguments, **options)
        if failure is not None:
            raise unavailable()
        return part

    def put_part(self, address, upload_id, number, chunks, **options):
        failure = self._change("put_part", address)
        if failure is Failure.TORN:
            chunks = self._torn(chunks)
        part = super().put_part(address, upload_id, number, chunks, **options)
        if failure is not None:
            raise unavailable()
        return part

    def complete_upload(self, address, upload_id, parts):
        failure = self._change("complete_upload", address)
        stored = super().complete_upload(address, upload_id, parts)
        if failure is not None:
            raise unavailable()
        return stored

    def abort_upload(self, address, upload_id):
        failure = self._change("abort_upload", address)
        super().abort_upload(address, upload_id)
        if failure is not None:
            raise unavailable()

    def _read(self, call: str, subject: str) -> None:
        if self.fault.fails(call, subject) is not None:
            raise unavailable()

    def _change(self, call: str, subject: str) -> Failure | None:
        """Returns how a change fails that is performed, at least in part. A block store has no
        errors with an unknown outcome: not performed is the same as before.
        """
        failure = self.fault.fails(call, subject)
        if failure in (Failure.BEFORE, Failure.FROM_NOW_ON, Failure.UNKNOWN):
            raise unavailable()
        return failure

    @staticmethod
    def _torn(chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk[: len(chunk) // 2]
            raise unavailable()

    def copy_to(self, other: CountingBlocks) -> None:
        """Gives another store the blocks of this one."""
        other._blocks = dict(self._blocks)
        other._addresses = list(self._addresses)
        other._uploads._uploads = deepcopy(self._uploads._uploads)
        other._uploads._numbers = itertools.count(1000)
