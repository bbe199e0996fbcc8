"""A key-value store that records each change of references, of settings, and of who may do what,
by the write that makes the change.

All changes of these records go through `apply`: none can be made, and none can be forgotten,
without its record. What is recorded is what is written, and the values before are the conditions of
the write. Staged changes are not recorded, nor that a commit seals a staging area. Who throws some
of them away adds the record to the writes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from anabranch.keyvalue.contract import Expect, KeyRange, KeyValueStore, Row, Write
from anabranch.model.caller import current_caller
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
    SettingChanged,
    TagChanged,
)
from anabranch.versioning.operations.logged_records import (
    INSTALLATION,
    LOGGED_KEYS,
    logged,
    setting_changed,
)
from anabranch.versioning.operations.record import (
    LOG,
    SINCE,
    microseconds,
    new_id,
    operation_writes,
    operations_partition,
    since_write,
)
from anabranch.versioning.records import references
from anabranch.versioning.records.keys import all_branches, all_tags

__all__ = ["LoggingStore"]

_BRANCHES, _TAGS = all_branches()[0], all_tags()[0]
_MAX_CHANGES = 500
"""A change of more references, such as the restore of a dump, is recorded as several operations.
Settings are not: those of one change, such as a group with its members, return together.
"""

_STAGING = ":"
"""In the names of staging areas and other partitions, but not in those of repositories."""

_REFERENCES = (_BRANCHES, _TAGS)
_LOGGED = (*_REFERENCES, *LOGGED_KEYS)


class LoggingStore:
    """A store whose changes of references and settings are recorded. `clock` returns seconds since
    1970.
    """

    def __init__(self, store: KeyValueStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, int] = {}
        # bound once: each request calls them
        self.get = store.get
        self.get_many = store.get_many
        self.drop = store.drop
        self.close = store.close

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[Row]:
        """Yields pairs as the store does."""
        return self._store.scan(partition, start, end, limit=limit)

    def snapshot(self, partition: str, ranges: Sequence[KeyRange]) -> list[list[Row]]:
        """Returns pairs of one moment as the store does."""
        return self._store.snapshot(partition, ranges)

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes all writes as the store does, with records of what they change."""
        for write in writes:
            if write.key.startswith(_LOGGED) and _is_logged(write):
                return self._apply_logged(writes, expect)
        return self._store.apply(writes, expect)

    def record(self, partition: str, change: SettingChanged) -> None:
        """Records the change of a setting which another store has, of the repository with a
        partition. That it was made is not certain: it is recorded before.
        """
        self._store.apply(self._records(partition, [], [change]))

    def recorded(
        self, partition: str, change: ReferenceChanged, *, given_up_at: float = 0
    ) -> list[Write]:
        """Returns the writes that record a change of the staged changes of a branch, with which the
        branch's record does not change, as one operation of the current caller. It cannot be undone
        if it is given up at a time, in seconds since 1970.
        """
        return self._records(partition, [change], [], given_up_at)

    def _apply_logged(self, writes: Sequence[Write], expect: Sequence[Expect]) -> bool:
        changed, conditions = self._changes(writes, expect)
        records: list[Write] = []
        for partition, (changes, settings) in changed.items():
            parts = [
                changes[start : start + _MAX_CHANGES]
                for start in range(0, len(changes), _MAX_CHANGES)
            ]
            first, *others = parts or [[]]
            records += self._records(partition, first, settings)
            for part in others:
                records += self._records(partition, part, [])
        return self._store.apply([*writes, *records], [*expect, *conditions])

    def _changes(
        self, writes: Iterable[Write], expect: Iterable[Expect]
    ) -> tuple[dict[str, _Changes], list[Expect]]:
        """Returns the changes of references and settings by the partition of their repository, and
        conditions that hold for what they were before.
        """
        before = {(each.partition, each.key): each.value for each in expect}
        changed: dict[str, _Changes] = {}
        conditions: list[Expect] = []
        for write in writes:
            partition, key, value = write
            if not key.startswith(_LOGGED) or not _is_logged(write):
                continue
            if (partition, key) not in before:
                found = self._store.get(partition, key)
                conditions.append(Expect(partition, key, found))
                before[partition, key] = found
            record = None if key.startswith(_REFERENCES) else logged(partition, key)
            if record is not None:
                setting = setting_changed(record, before[partition, key], value)
                if setting is not None:
                    changed.setdefault(record.log, _Changes([], [])).settings.append(setting)
                continue
            change = _change(key, before[partition, key], value)
            if change is not None:
                changed.setdefault(partition, _Changes([], [])).references.append(change)
        return changed, conditions

    def _records(
        self,
        partition: str,
        changes: Sequence[ReferenceChanged],
        settings: Sequence[SettingChanged],
        given_up_at: float = 0,
    ) -> list[Write]:
        """Returns the writes that record changes as one operation of the current caller."""
        caller = current_caller()
        moment, is_first = self._moment(partition)
        operation = LoggedOperation(
            id=new_id(moment),
            time=moment / 1e6,
            user=caller.username,
            record_id=caller.record_id,
            request_id=caller.request_id,
            action=caller.action,
            workspace=caller.workspace,
            changes=tuple(changes),
            settings=tuple(settings),
            given_up_at=given_up_at,
        )
        writes = operation_writes(partition, operation)
        return [since_write(partition, moment), *writes] if is_first else writes

    def _moment(self, partition: str) -> tuple[int, bool]:
        """Returns the time of the next operation in microseconds since 1970, and whether it is the
        first of its repository. It is later than that of any that this process has made or found,
        also if the clock goes back. In the log of the installation it is later than all, whatever
        the clocks of other servers say: undo finds there whether a name has another owner since.
        """
        now = int(self._clock() * 1e6)
        with self._lock:
            last = self._last.get(partition)
        is_first = False
        if last is None or partition == INSTALLATION.partition:
            own = operations_partition(partition)
            newest = list(self._store.scan(own, LOG, b"log0", limit=1))
            is_first = not newest and self._store.get(own, SINCE) is None
            last = max((microseconds(key[len(LOG) :].decode()) for key, _ in newest), default=0)
        with self._lock:
            moment = max(now, last + 1, self._last.get(partition, 0) + 1)
            self._last[partition] = moment
        return moment, is_first


class _Changes(NamedTuple):
    references: list[ReferenceChanged]
    settings: list[SettingChanged]


def _is_logged(write: Write) -> bool:
    if write.key.startswith(_REFERENCES):
        return _STAGING not in write.partition
    return logged(write.partition, write.key) is not None


def _change(key: bytes, before: bytes | None, after: bytes | None) -> ReferenceChanged | None:
    """Returns the change of a reference, or None if it names the same commit, and no staged changes
    were discarded.
    """
    if key.startswith(_TAGS):
        if before == after:
            return None
        return TagChanged(
            None if before is None else references.tag_from(before),
            None if after is None else references.tag_from(after),
        )
    old = None if before is None else references.branch_from(before)
    new = None if after is None else references.branch_from(after)
    discarded = _discarded(old, new)
    if old is not None and new is not None and not discarded:
        is_same = _state(old) == _state(new)
        if is_same and set(new.sealed_tokens) <= set(old.tokens):  # no area has returned to it
            return None
    elif old is new:
        return None
    return BranchChanged(old, new, discarded)


def _state(branch: Branch) -> tuple[str, bool, int]:
    return branch.commit_id, branch.hidden, branch.expires_at


def _discarded(old: Branch | None, new: Branch | None) -> tuple[str, ...]:
    """Returns the staging areas that a change takes from a branch without committing them: all, if
    the branch is deleted or reset. A commit seals the active area before it drops it.
    """
    if old is None or (new is not None and old.staging_token in new.tokens):
        return ()
    return old.tokens
