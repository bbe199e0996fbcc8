"""Copier of repositories to another database.

A repository's record is written last, on condition that its name is still unused; until then the
repository is not visible. An interrupted copy can be continued: each partition is compared with the
source key by key, and only differences are written. Every write has the condition that no other
migration into the database has started since.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from anabranch.errors import Busy, Conflict
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.pipelines.migration import repository_records
from anabranch.pipelines.migration.report import Target
from anabranch.pipelines.migration.survey import Source, SurveyedRepository
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.records import keys, references
from anabranch.versioning.repositories.repositories import forget_deletion

__all__ = ["Copier", "Fence"]

_FENCE_PARTITION, _FENCE_KEY = "anabranch", b"migration"
_MAX_WRITES, _MAX_BYTES = 500, 1 << 20
_MAX_ATTEMPTS = 100
_PULLS = "pulls"

Row = tuple[bytes, bytes]


class Fence:
    """Applies the writes of one migration, until another migration has started."""

    def __init__(self, target: KeyValueStore) -> None:
        self._target = target
        self._value = b""

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Applies the writes if the conditions hold, and returns whether they did. Raises Conflict
        (kind other_migration) if another migration has started.
        """
        if not self._value:
            self._start()
        own = Expect(_FENCE_PARTITION, _FENCE_KEY, self._value)
        if self._target.apply(writes, [own, *expect]):
            return True
        if self._target.get(_FENCE_PARTITION, _FENCE_KEY) != self._value:
            raise Conflict(
                "another migration into this database has started",
                kind="other_migration",
                hint="Wait until it has ended. The records that this one has written are kept.",
            )
        return False

    def end(self) -> None:
        """Removes the record of the migration, if one was written."""
        if self._value:
            own = Expect(_FENCE_PARTITION, _FENCE_KEY, self._value)
            self._target.apply([Write(_FENCE_PARTITION, _FENCE_KEY, None)], [own])

    def _start(self) -> None:
        """Replaces the record of an earlier migration, which fails at its next write if it is still
        running.
        """
        self._value = secrets.token_hex(16).encode()
        write = Write(_FENCE_PARTITION, _FENCE_KEY, self._value)
        while True:
            current = self._target.get(_FENCE_PARTITION, _FENCE_KEY)
            if self._target.apply([write], [Expect(_FENCE_PARTITION, _FENCE_KEY, current)]):
                return


class Copier:
    """Copies repositories from a source to a target. `copied` is the number of written records."""

    def __init__(self, source: Source, target: KeyValueStore, fence: Fence) -> None:
        self._sweeps = SweepRecords(target, time.time)
        self._source = source
        self._target = target
        self._fence = fence
        self.copied = 0

    def compare(self, surveyed: SurveyedRepository, record: bytes) -> Target:
        """Compares a surveyed repository, whose record in the target would be `record`, with the
        target's repository of that name.
        """
        raw = self._target.get(keys.GRAVELER, keys.repository(surveyed.repository.id))
        if raw is None:
            return "absent"
        if references.repository_from(raw).partition != surveyed.repository.partition:
            return "taken"
        if raw != record or any(True for _ in self._differences(surveyed)):
            return "differs"
        return "same"

    def copy(self, surveyed: SurveyedRepository, record: bytes) -> None:
        """Copies a repository that the target does not have, with this record. Raises Conflict if
        a repository of that name was created meanwhile, Busy while garbage is being collected in
        the target.
        """
        forget_deletion(self._target, surveyed.repository, time.time)
        dropped = self._finish_drops(surveyed.staging)
        self._write_differences(surveyed)
        if dropped:
            self._write_differences(surveyed)  # a server may have dropped the areas meanwhile
        key = keys.repository(surveyed.repository.id)
        publish = Write(keys.GRAVELER, key, record)
        for _ in range(_MAX_ATTEMPTS):
            sweeps, no_others = self._sweeps.running()
            if sweeps:
                raise Busy(
                    "garbage is being collected in the target",
                    kind="sweep_under_way",
                    hint="Run the command again after the collection; the copy is continued.",
                )
            if self._fence.apply([publish], [Expect(keys.GRAVELER, key, None), no_others]):
                self.copied += 1
                return
            if self._target.get(keys.GRAVELER, key) is not None:
                raise Conflict(
                    f"a repository {surveyed.repository.id} was created during the migration",
                    kind="repository_already_exists",
                    hint="Delete it, and migrate again.",
                )
        raise Busy("too many concurrent changes of the target's record of sweeps")

    def _finish_drops(self, tokens: Sequence[str]) -> bool:
        """Drops staging areas that the target has scheduled to be dropped, because it had the
        repository before; returns whether there were any.
        """
        dropped = False
        for token in tokens:
            if self._target.get(keys.CLEANUP, token.encode()) is not None:
                self._target.drop(token)
                self._fence.apply([Write(keys.CLEANUP, token.encode(), None)])
                dropped = True
        return dropped

    def _write_differences(self, surveyed: SurveyedRepository) -> None:
        batch: list[Write] = []
        size = 0
        for write in self._differences(surveyed):
            batch.append(write)
            size += len(write.key) + len(write.value or b"")
            if len(batch) >= _MAX_WRITES or size >= _MAX_BYTES:
                self._write(batch)
                batch, size = [], 0
        self._write(batch)

    def _write(self, batch: Sequence[Write]) -> None:
        if batch:
            self._fence.apply(batch)
            self.copied += len(batch)

    def _differences(self, surveyed: SurveyedRepository) -> Iterator[Write]:
        """Yields the writes that make the target's partitions of a repository equal, and its parts
        of shared ones: the index of pull requests, and the runs of hooks.
        """
        partition = surveyed.repository.partition
        shared = (
            (_PULLS, f"repos/{partition}/".encode()),
            (keys.ACTIONS, keys.repository_actions(surveyed.repository.id)),
        )
        return chain(
            *(
                _changes(token, self._source.scan(token), self._target.scan(token))
                for token in surveyed.staging
            ),
            _changes(partition, self._records(partition), self._target.scan(partition)),
            *(
                _changes(
                    name,
                    self._source.scan(name, start, upper_bound(start)),
                    self._target.scan(name, start, upper_bound(start)),
                )
                for name, start in shared
            ),
        )

    def _records(self, partition: str) -> Iterator[Row]:
        """Yields the records in a repository's partition that are migrated."""
        for key, value in self._source.scan(partition):
            kind = repository_records.classify(key)
            if kind is not None and not repository_records.omission(kind, key, value):
                yield key, value


def _changes(partition: str, expected: Iterable[Row], stored: Iterable[Row]) -> Iterator[Write]:
    """Yields the writes that make the stored rows equal to the expected ones; both are sorted."""
    rows = iter(stored)
    row = next(rows, None)
    for key, value in expected:
        while row is not None and row[0] < key:
            yield Write(partition, row[0], None)
            row = next(rows, None)
        if row is not None and row[0] == key:
            same = row[1] == value
            row = next(rows, None)
            if same:
                continue
        yield Write(partition, key, value)
    while row is not None:
        yield Write(partition, row[0], None)
        row = next(rows, None)
