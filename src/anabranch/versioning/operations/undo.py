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

import msgspec

from anabranch.errors import Conflict, Denied, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
    SettingChanged,
    TagChanged,
)
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.operations.log import OperationLog, StoredOperation
from anabranch.versioning.operations.logged_records import GARBAGE_RULES, setting_location
from anabranch.versioning.operations.record import log_write, reference_key
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.expiring_branches import due_writes
from anabranch.versioning.records.workspaces import removal_writes
from anabranch.versioning.staging.area import Staging

__all__ = ["Undo", "UndoPlan", "changed_since", "require_kept", "undone"]

_MAX_CHANGES = 10_000


class UndoPlan(msgspec.Struct, frozen=True):
    """The changes of references and settings that undo or restore is going to make. `discarded` of
    a branch are the staging areas that it gets back. `operation` is what is undone, or restored;
    `writes` and `unchanged` make the changes, and are the conditions on which they can be made.
    """

    operation: LoggedOperation
    changes: tuple[ReferenceChanged, ...]
    settings: tuple[SettingChanged, ...]
    writes: tuple[Write, ...]
    unchanged: tuple[Expect, ...]


class Undo:
    """Undoes operations. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
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

        Raises NotFound for an operation that is not in the log, and Conflict if it is given up, or
        if a branch that is to change has uncommitted changes.
        """
        restored = self._log.read(repository, operation_id)
        if restored.operation.given_up_at:
            raise _given_up(restored.operation)
        first_since: dict[bytes, tuple[ReferenceChanged, StoredOperation]] = {}
        for stored in self._log.since(repository, restored.operation.id):
            for change in stored.operation.changes:
                first_since[reference_key(change)] = change, stored
        planner = self._planner(repository)
        emptied: dict[str, tuple[StoredOperation, list[ReferenceChanged]]] = {}
        for change, stored in first_since.values():
            if planner.restore(change) and isinstance(change, BranchChanged) and change.discarded:
                emptied.setdefault(stored.operation.id, (stored, []))[1].append(change)
        for stored, returned in emptied.values():
            taken = stored.operation.without_areas_of(returned)
            planner.writes.append(log_write(repository.partition, taken))
            planner.unchanged.append(stored.unchanged)
        planner.unchanged.append(restored.unchanged)
        return planner.plan(restored.operation)

    def apply(
        self, plan: UndoPlan, writes: Sequence[Write] = (), expect: Sequence[Expect] = ()
    ) -> bool:
        """Makes the changes of a plan with other writes, all or none; returns whether its
        conditions and the others held.
        """
        return self._keyvalue.apply([*plan.writes, *writes], [*plan.unchanged, *expect])

    def _planner(self, repository: Repository) -> _Planner:
        return _Planner(
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
        return planner.plan(taken)


class _Planner:
    """Collects the changes of a plan, with their writes and conditions."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        staging: Staging,
        repository: Repository,
        now: float,
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._staging = staging
        self._repository = repository
        self._now = now
        self.changes: list[ReferenceChanged] = []
        self.settings: list[SettingChanged] = []
        self.writes: list[Write] = []
        self.unchanged: list[Expect] = []

    def plan(self, operation: LoggedOperation) -> UndoPlan:
        """Returns the plan."""
        return UndoPlan(
            operation,
            tuple(self.changes),
            tuple(self.settings),
            tuple(self.writes),
            tuple(self.unchanged),
        )

    def undo_setting(self, change: SettingChanged) -> None:
        """Adds the inverse of a change. Raises Conflict if the setting is not as it left it."""
        partition, key = setting_location(self._repository.partition, change)
        if self._keyvalue.get(partition, key) != change.after:
            raise changed_since(f"the setting {change.kind} has changed since")
        self.settings.append(SettingChanged(change.kind, change.name, change.after, change.before))
        self.unchanged.append(Expect(partition, key, change.after))
        self.writes.append(Write(partition, key, change.before))

    def undo(self, change: ReferenceChanged) -> None:
        """Adds the inverse of a change. Raises Conflict if the reference is not as it left it."""
        if isinstance(change, TagChanged):
            raw, current = self._tag(change.name)
            if current != change.after:
                raise changed_since(f"the tag {change.name} has changed since")
            self._add(TagChanged(current, change.before), raw)
            return
        raw, branch = self._branch(change.name)
        if change.after is None:
            if branch is not None:
                raise changed_since(f"there is another branch {change.name}")
        elif branch is None:
            raise changed_since(f"the branch {change.name} was deleted since")
        elif branch.commit_id != change.after.commit_id:
            raise changed_since(f"the branch {change.name} has moved since, to {branch.commit_id}")
        before, discarded = change.before, self._filled(change.discarded)
        if branch is not None and change.after is not None and before is not None:
            before = _reverted(branch, before, change.after)
        self._require_unexpired(branch, before, discarded)
        self._add(BranchChanged(branch, before, discarded), raw)

    def restore(self, change: ReferenceChanged) -> bool:
        """Adds what makes a reference what it was before a change; returns whether it differs."""
        if isinstance(change, TagChanged):
            raw, current = self._tag(change.name)
            if current == change.before:
                return False
            self._add(TagChanged(current, change.before), raw)
            return True
        raw, branch = self._branch(change.name)
        before, discarded = change.before, self._filled(change.discarded)
        if not discarded and _state(branch) == _state(before):
            return False
        self._require_unexpired(branch, before, discarded)
        self._add(BranchChanged(branch, before, discarded), raw)
        return True

    def _require_unexpired(
        self, branch: Branch | None, before: Branch | None, discarded: tuple[str, ...]
    ) -> None:
        """Raises Conflict if a branch has expired, and would move or get staged changes."""
        if branch is None or before is None or not 0 < branch.expires_at <= self._now:
            return
        if discarded or branch.commit_id != before.commit_id:
            raise changed_since(f"the branch {branch.id} has expired")

    def _filled(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        """Returns staging areas, none of them if they are empty."""
        return () if not tokens or self._staging.is_empty(tokens) else tokens

    def _tag(self, name: str) -> tuple[bytes | None, Tag | None]:
        raw = self._keyvalue.get(self._repository.partition, keys.tag(name))
        return raw, None if raw is None else references.tag_from(raw)

    def _branch(self, name: str) -> tuple[bytes | None, Branch | None]:
        """Returns a branch and its record. Raises Conflict if it has uncommitted changes."""
        raw = self._keyvalue.get(self._repository.partition, keys.branch(name))
        if raw is None:
            return None, None
        branch = references.branch_from(raw)
        if not self._staging.is_empty(branch.tokens):
            raise changed_since(
                f"the branch {name} has uncommitted changes", "Commit them, or reset the branch."
            )
        return raw, branch

    def _add(self, change: ReferenceChanged, record: bytes | None) -> None:
        partition, key = self._repository.partition, reference_key(change)
        if change.after is None and key == keys.branch(self._repository.default_branch):
            raise Denied(
                "cannot delete repository default branch", kind="default_branch_undeletable"
            )
        if len(self.changes) == _MAX_CHANGES:
            raise Invalid(
                f"more than {_MAX_CHANGES} branches and tags have changed since",
                kind="too_many_changes",
            )
        self.changes.append(change)
        self.unchanged.append(Expect(partition, key, record))
        if isinstance(change, BranchChanged):
            self._add_branch(change, key)
        else:
            value = None if change.after is None else references.tag_bytes(change.after)
            self.writes.append(Write(partition, key, value))
        if record is None:  # names are of a branch or of a tag
            other = (keys.tag if isinstance(change, BranchChanged) else keys.branch)(change.name)
            if self._keyvalue.get(partition, other) is not None:
                raise changed_since(f"a branch or a tag is called {change.name}")
            self.unchanged.append(Expect(partition, other, None))

    def _add_branch(self, change: BranchChanged, key: bytes) -> None:
        repository, name = self._repository, change.name
        partition, expires_at = repository.partition, 0
        if change.after is None:
            self.writes.append(Write(partition, key, None))
            workspace = self._keyvalue.get(partition, keys.workspace(name))
            self.writes += removal_writes(repository, name, workspace)
        else:
            branch = self._returned(change.before, change.after, change.discarded)
            self.writes.append(Write(partition, key, references.branch_bytes(branch)))
            expires_at = branch.expires_at
        before = 0 if change.before is None else change.before.expires_at
        self.writes += due_writes(repository, name, before, expires_at)

    def _returned(
        self, current: Branch | None, before: Branch, discarded: tuple[str, ...]
    ) -> Branch:
        """Returns a branch as it was before, with staging areas that are its own again. What was in
        the area that took changes is sealed: an upload that began then must not end in it now. If
        it gets an end that is over, it does not expire.
        """
        expires_at = before.expires_at if before.expires_at > self._now else 0
        if current is not None and current.expires_at == before.expires_at:
            expires_at = current.expires_at
        before = msgspec.structs.replace(before, expires_at=expires_at)
        if current is None:
            token = self._identifiers.staging_token(self._repository.id, before.id)
            return msgspec.structs.replace(before, staging_token=token, sealed_tokens=discarded)
        return msgspec.structs.replace(
            current,
            commit_id=before.commit_id,
            hidden=before.hidden,
            expires_at=expires_at,
            sealed_tokens=(*current.sealed_tokens, *discarded),
        )


def _reverted(current: Branch, before: Branch, after: Branch) -> Branch:
    """Returns a branch with what a change has changed as before it, and all else as it is. Raises
    Conflict if that is not as the change has left it.
    """
    target = msgspec.structs.replace(current, commit_id=before.commit_id)
    if before.hidden != after.hidden:
        if current.hidden != after.hidden:
            raise changed_since(f"the branch {current.id} was hidden or shown since")
        target = msgspec.structs.replace(target, hidden=before.hidden)
    if before.expires_at != after.expires_at:
        if current.expires_at != after.expires_at:
            raise changed_since(f"the branch {current.id} was given another end since")
        target = msgspec.structs.replace(target, expires_at=before.expires_at)
    return target


def _state(branch: Branch | None) -> tuple[str, bool, int] | None:
    return None if branch is None else (branch.commit_id, branch.hidden, branch.expires_at)


def changed_since(reason: str, hint: str = "") -> Conflict:
    """Returns the error of an operation that something since prevents from being undone."""
    return Conflict(
        f"the operation cannot be undone: {reason}",
        kind="changed_since",
        hint=hint or "`anabranch op log` shows what came after: undo that first.",
    )


def require_kept(operation: LoggedOperation) -> None:
    """Raises Conflict for an operation that is undone already or given up."""
    if operation.undone_at:
        raise Conflict(
            f"the operation {operation.id} is undone already",
            kind="operation_undone",
            hint="The undo is an operation itself, which can be undone.",
        )
    if operation.given_up_at:
        raise _given_up(operation)


def undone(operation: LoggedOperation, now: float) -> LoggedOperation:
    """Returns an operation as it is once it is undone, at a time in seconds since 1970."""
    return msgspec.structs.replace(operation, undone_at=now)


def _given_up(operation: LoggedOperation) -> Conflict:
    return Conflict(
        f"the operation {operation.id} can no longer be undone: what it needs was given up",
        kind="operation_given_up",
        hint="Commits that it names may still be there: create a branch from one.",
    )
