"""States of long-running jobs in the key-value store, where every server can read them.

A record is replaced on condition that it is unchanged since it was read. The server that runs a job
so learns when another server cancels it, and the write that moves a reference also completes the
job, so that a cancelled job never moves a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tasks.job import JobStatus

__all__ = ["JobFormat", "JobRecord", "JobRecords"]


class JobRecord(NamedTuple):
    """A state and the bytes that it was read from, which compare-and-set compares."""

    status: JobStatus
    raw: bytes


class JobFormat(NamedTuple):
    """Where and how the states of one kind of job are stored: the prefix of their keys in the
    partition of the repository, and the encoding of the records.
    """

    prefix: bytes
    encode: Callable[[JobStatus], bytes]
    decode: Callable[[bytes], JobStatus]
    """Raises Corrupt for bytes that are no record."""

    def key(self, job_id: str) -> bytes:
        """Returns the key of a job's state."""
        return self.prefix + job_id.encode("utf-8", "surrogateescape")


class JobRecords:
    """The states of one kind of job, of all repositories."""

    def __init__(self, keyvalue: KeyValueStore, stored_as: JobFormat) -> None:
        self._keyvalue = keyvalue
        self._format = stored_as

    def find(self, repository: Repository, job_id: str) -> JobRecord | None:
        """Returns the record of a job, or None. Raises Corrupt."""
        raw = self._keyvalue.get(repository.partition, self._format.key(job_id))
        return None if raw is None else JobRecord(self._format.decode(raw), raw)

    def all(self, repository: Repository) -> Iterator[JobRecord]:
        """Yields the records of a repository's jobs. Raises Corrupt."""
        prefix = self._format.prefix
        for _, raw in self._keyvalue.scan(repository.partition, prefix, upper_bound(prefix)):
            yield JobRecord(self._format.decode(raw), raw)

    def replacement(
        self, repository: Repository, record: JobRecord | None, status: JobStatus
    ) -> tuple[Write, Expect]:
        """Returns the write that replaces a record, or creates it for None, and the condition that
        the record is unchanged.
        """
        key = self._format.key(status.id)
        write = Write(repository.partition, key, self._format.encode(status))
        expected = None if record is None else record.raw
        return write, Expect(repository.partition, key, expected)

    def create(
        self,
        repository: Repository,
        status: JobStatus,
        writes: Sequence[Write] = (),
        expect: Sequence[Expect] = (),
    ) -> bool:
        """Creates a record, together with other writes; returns False if it exists, or if one of
        the other conditions does not hold.
        """
        write, absent = self.replacement(repository, None, status)
        return self._keyvalue.apply([write, *writes], [absent, *expect])

    def replace(self, repository: Repository, record: JobRecord | None, status: JobStatus) -> bool:
        """Replaces a record, or creates it for None; returns False if it has changed meanwhile."""
        write, expect = self.replacement(repository, record, status)
        return self._keyvalue.apply([write], [expect])

    def remove(self, repository: Repository, record: JobRecord) -> None:
        """Removes a record, unless it has changed meanwhile."""
        key = self._format.key(record.status.id)
        self._keyvalue.apply(
            [Write(repository.partition, key, None)],
            [Expect(repository.partition, key, record.raw)],
        )
