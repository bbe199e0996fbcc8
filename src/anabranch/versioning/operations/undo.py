"""Undo: changes references and settings back to what they were before an operation, or references
to what they were right after one.

First a plan is made, which has the change of each reference: who asks for it is to be admitted to
each of them. Then one write makes all changes, on condition that nothing has changed since. A
deleted branch returns with what was staged on it, and a branch that was reset with what the reset
has discarded. A commit that is undone stays in the store: its branch returns to the commit before,
and the changes can be read by the commit's id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import msgspec

from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
    SettingChanged,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.operations.changes_since import changes_since
from anabranch.versioning.operations.log import OperationLog, StoredOperation
from anabranch.versioning.operations.logged_records import GARBAGE_RULES
from anabranch.versioning.operations.logging_store import LoggingStore
from anabranch.versioning.operations.planner import Planner, UndoPlan
from anabranch.versioning.operations.record import log_write, reference_key
from anabranch.versioning.operations.refusals import given_up, require_kept
from anabranch.versioning.staging.area import Staging

__all__ = ["Undo", "undone"]


class Undo:
    """Undoes operations. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: LoggingStore,
        log: OperationLog,
        identifiers: Identifiers,
        staging: Staging,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._log = log
        self._identifiers = identifiers
        self._staging = staging
        self._clock = clock

    def plan_undo(
        self, repository: Repository, operation_id: str, only: bytes | None = None
    ) -> UndoPlan:
        """Returns the plan that changes the references and settings of an operation back to what
        they were before it: all of them, or the reference with the key `only`. The rules of garbage
        collection are not among these settings: another store has them.

        Raises NotFound for an operation that is not in the log, and Conflict if it is undone
        already or given up, or if one of its references or settings has changed since.
        """
        stored = self._log.read(repository, operation_id)
        require_kept(stored.operation)
        changes = [each for each in stored.operation.changes if only in (None, reference_key(each))]
        settings = stored.operation.settings if only is None else ()
        return self._plan(repository, stored, changes, settings)

    def plan_restore(self, repository: Repository, operation_id: str) -> UndoPlan:
        """Returns the plan that changes all references back to what they were right after an
        operation, and branches that were deleted or reset next back to what was staged on them.
        Pull requests that were merged then, or were not, are so again; those that would be open
        without their branches are closed.

        Raises NotFound for an operation that is not in the log, and Conflict if it is given up, if
        a branch that is to change has uncommitted changes, or if what a reference was is not known.
        """
        restored = self._log.read(repository, operation_id)
        if restored.operation.given_up_at:
            raise given_up(restored.operation)
        since = changes_since(self._log.since(repository, restored.operation.id))
        planner = self._planner(repository)
        emptied: dict[str, tuple[StoredOperation, list[ReferenceChanged]]] = {}
        for each in since.references:
            change = each.first
            if planner.restore(each) and isinstance(change, BranchChanged) and change.discarded:
                emptied.setdefault(each.stored.operation.id, (each.stored, []))[1].append(change)
        for stored, returned in emptied.values():
            taken = stored.operation.without_areas_of(returned)
            planner.writes.append(log_write(repository.partition, taken))
            planner.unchanged.append(stored.unchanged)
        planner.unchanged.append(restored.unchanged)
        planner.restore_pulls(since.merges)
        return planner.plan(restored.operation)

    def apply(
        self, plan: UndoPlan, writes: Sequence[Write] = (), expect: Sequence[Expect] = ()
    ) -> bool:
        """Makes the changes of a plan with other writes, all or none; returns whether its
        conditions and the others held.
        """
        records = [self._keyvalue.recorded(plan.partition, each) for each in plan.refilled]
        return self._keyvalue.apply(
            [*plan.writes, *writes, *chain.from_iterable(records)], [*plan.unchanged, *expect]
        )

    def _planner(self, repository: Repository) -> Planner:
        return Planner(
            *(self._keyvalue, self._identifiers, self._staging, repository, self._clock())
        )

    def _plan(
        self,
        repository: Repository,
        stored: StoredOperation,
        changes: Sequence[ReferenceChanged],
        settings: Sequence[SettingChanged],
    ) -> UndoPlan:
        """Returns the plan that undoes changes of an operation: all of them, or some."""
        operation = stored.operation
        planner = self._planner(repository)
        for change in changes:
            planner.undo(change)
        for setting in settings:
            if setting.kind != GARBAGE_RULES:
                planner.undo_setting(setting)
        taken = operation.without_areas_of(changes)
        if len(changes) == len(operation.changes):
            taken = undone(taken, self._clock())
        planner.writes.append(log_write(repository.partition, taken))
        planner.unchanged.append(stored.unchanged)
        return planner.plan(taken, changes)


def undone(operation: LoggedOperation, now: float) -> LoggedOperation:
    """Returns an operation as it is once it is undone, at a time in seconds since 1970."""
    return msgspec.structs.replace(operation, undone_at=now)
