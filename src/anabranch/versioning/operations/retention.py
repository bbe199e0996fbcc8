"""Retention of operations: how long they can be undone, and what garbage collection keeps for that.

An operation keeps the commits that its references named before it, and the staging areas that it
has discarded, until its repository's days are over: then it is given up. It is forgotten with its
record after that, but not before LOG_DAYS. The record alone decides, not a clock: collectors give
up what is over before they read what is kept, and undo is made on condition that the record has not
changed since. So whatever comes back was found by each collector that has read it before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from anabranch.errors import Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import (
    DEFAULT_UNDO_DAYS,
    MAX_UNDO_DAYS,
    BranchChanged,
    LoggedOperation,
    SettingChanged,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.operations.log import OperationLog, StoredOperation
from anabranch.versioning.operations.logged_records import PULL_REQUEST
from anabranch.versioning.operations.pull_changes import without_texts
from anabranch.versioning.operations.record import (
    UNDO_DAYS,
    LogOwner,
    after_moment,
    log_write,
    operations_partition,
    reference_key,
    reference_range,
    since_write,
)
from anabranch.versioning.staging.cleanup import discard

__all__ = ["LOG_DAYS", "Kept", "OperationRetention"]

LOG_DAYS = 30
"""Operations that cannot be undone any more are listed until they are so many days old."""

_DAY_SECONDS = 86_400
_BATCH = 500


class Kept(NamedTuple):
    """What operations can bring back: branches before they were deleted, moved or reset, newest
    first, with the staging areas that were discarded and no others (`staging_token` is empty if
    there are none), and the commits of deleted and moved tags.
    """

    branches: Sequence[Branch]
    tagged: frozenset[str]


class OperationRetention:
    """The retention of operations of all repositories: `undo_days`, where a repository has no
    number of its own. `clock` returns seconds since 1970.
    """

    def __init__(
        self,
        keyvalue: KeyValueStore,
        log: OperationLog,
        clock: Callable[[], float],
        undo_days: int = DEFAULT_UNDO_DAYS,
    ) -> None:
        self._keyvalue = keyvalue
        self._log = log
        self._clock = clock
        self._undo_days = undo_days

    def undo_days(self, owner: LogOwner) -> int:
        """Returns for how many days operations of a repository can be undone."""
        raw = self._keyvalue.get(operations_partition(owner.partition), UNDO_DAYS)
        return self._undo_days if raw is None else int(raw)

    def set_undo_days(self, repository: Repository, days: int | None) -> None:
        """Sets for how many days operations of a repository can be undone; None is the default.
        Raises Invalid.
        """
        if days is not None and not 0 <= days <= MAX_UNDO_DAYS:
            raise Invalid(
                f"{days} is no number of days from 0 to {MAX_UNDO_DAYS}", kind="invalid_undo_days"
            )
        value = None if days is None else b"%d" % days
        own = operations_partition(repository.partition)
        while not self._keyvalue.apply([Write(own, UNDO_DAYS, value)]):
            pass  # it is recorded with what it was before, which has changed meanwhile

    def kept(self, repository: Repository) -> Kept:
        """Returns what the operations of a repository can bring back."""
        branches: list[Branch] = []
        tagged: set[str] = set()
        for operation in self._log.all(repository):
            for change in () if operation.given_up_at else operation.changes:
                if change.before is None:
                    continue
                if isinstance(change, BranchChanged):
                    branches.append(_former(change, change.before))
                else:
                    tagged.add(change.before.commit_id)
        return Kept(branches, frozenset(tagged))

    def give_up(self, owner: LogOwner, operation_id: str) -> LoggedOperation:
        """Gives up what only an operation needs to garbage collection, and returns the operation:
        it can no longer be undone. Raises NotFound.
        """
        while True:
            operation, unchanged = self._log.read(owner, operation_id)
            if operation.given_up_at:
                return operation
            given_up, writes = self._given_up(operation)
            record = log_write(owner.partition, given_up)
            if self._keyvalue.apply([record, *writes], [unchanged]):
                return given_up

    def compact(self, owner: LogOwner) -> int:
        """Gives up operations that can no longer be undone, forgets those that need not be listed
        either, and returns how many it has forgotten.
        """
        now, undo_days = self._clock(), self.undo_days(owner)
        since = now - max(undo_days, LOG_DAYS) * _DAY_SECONDS
        if undo_days < LOG_DAYS:
            # all, without a day: a clock that was set back has made some that are later than now
            after = after_moment(now - undo_days * _DAY_SECONDS) if undo_days else ""
            for batch in self._batches(owner, after):
                self._give_up_batch(owner, batch)
        forgotten = 0
        for batch in self._batches(owner, after_moment(since)):
            forgotten += self._forget_batch(owner, batch, int(since * 1e6))
        return forgotten

    def _batches(self, owner: LogOwner, after: str) -> Iterator[Sequence[StoredOperation]]:
        """Yields batches of the operations that follow an id, or the beginning of one."""
        while batch := self._log.stored(owner, after, limit=_BATCH):
            yield batch
            after = batch[-1][0].id

    def _give_up_batch(self, owner: LogOwner, batch: Sequence[StoredOperation]) -> None:
        """Gives up operations. One that changes meanwhile is left to the next compaction."""
        writes: list[Write] = []
        conditions: list[Expect] = []
        for operation, unchanged in batch:
            if not operation.given_up_at:
                given_up, discards = self._given_up(operation)
                writes += [log_write(owner.partition, given_up), *discards]
                conditions.append(unchanged)
        if writes:
            self._keyvalue.apply(writes, conditions)

    def _forget_batch(self, owner: LogOwner, batch: Sequence[StoredOperation], since: int) -> int:
        partition = operations_partition(owner.partition)
        writes: list[Write] = []
        for operation, unchanged in batch:
            writes += [Write(partition, unchanged.key, None), *self._given_up(operation)[1]]
            for change in operation.changes:
                own = reference_range(reference_key(change))[0] + operation.id.encode()
                writes.append(Write(partition, own, None))
        writes.append(since_write(owner.partition, since))
        done = self._keyvalue.apply(writes, [unchanged for _, unchanged in batch])
        return len(batch) if done else 0

    def _given_up(self, operation: LoggedOperation) -> tuple[LoggedOperation, list[Write]]:
        """Returns an operation as it is once it is given up, and the writes that discard what it
        has kept.
        """
        now = self._clock()
        kept = operation.without_areas_of(operation.changes)
        settings = tuple(_without_texts(each) for each in operation.settings)
        given_up = msgspec.structs.replace(kept, given_up_at=now, settings=settings)
        return given_up, discard(operation.discarded, now)


def _without_texts(change: SettingChanged) -> SettingChanged:
    """Returns a change without texts that only its undo needs: they may have to be erased."""
    if change.kind != PULL_REQUEST:
        return change
    before, after = without_texts(change.before), without_texts(change.after)
    return msgspec.structs.replace(change, before=before, after=after)


def _former(change: BranchChanged, before: Branch) -> Branch:
    token, *sealed = change.discarded or ("",)
    return msgspec.structs.replace(before, staging_token=token, sealed_tokens=tuple(sealed))
