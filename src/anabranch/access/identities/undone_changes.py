"""Undo of changes of policies, groups, memberships and attachments.

What an operation of the installation's log has changed is changed back if it is still as the
operation has left it, and if those whom it concerns are still the same: a membership does not
return to a later user of the name, nor an attachment to a later policy or group. For the same
reason no policy and no group goes that has relations since, which a later one would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from anabranch.access.identities.groups import relations_of
from anabranch.access.policies.permissions import (
    Action,
    Permission,
    group_arn,
    policy_arn,
    user_arn,
)
from anabranch.access.policies.policies import attachments_of
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import (
    PARTITION,
    group_key,
    group_policies_prefix,
    members_prefix,
    policy_key,
    user_policies_prefix,
)
from anabranch.access.records.pending_store import PendingStore
from anabranch.errors import Conflict
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.references.operation import LoggedOperation, SettingChanged
from anabranch.versioning.operations.log import OperationLog
from anabranch.versioning.operations.logged_records import INSTALLATION
from anabranch.versioning.operations.record import log_write
from anabranch.versioning.operations.refusals import changed_since, require_kept
from anabranch.versioning.operations.undo import undone

__all__ = ["UndoneChanges", "needed_to_undo"]

_KEYS = {"policy": policy_key, "group": group_key}
_RELATIONS = {
    "membership": (members_prefix, "group", "user"),
    "group_policy": (group_policies_prefix, "group", "policy"),
    "user_policy": (user_policies_prefix, "user", "policy"),
}
_ARNS = {"policy": policy_arn, "group": group_arn, "user": user_arn}
_ADDED = {
    "policy": Action.CREATE_POLICY,
    "group": Action.CREATE_GROUP,
    "membership": Action.ADD_GROUP_MEMBER,
    "group_policy": Action.ATTACH_POLICY,
    "user_policy": Action.ATTACH_POLICY,
}
_REMOVED = {
    "policy": Action.DELETE_POLICY,
    "group": Action.DELETE_GROUP,
    "membership": Action.REMOVE_GROUP_MEMBER,
    "group_policy": Action.DETACH_POLICY,
    "user_policy": Action.DETACH_POLICY,
}


def needed_to_undo(changes: Iterable[SettingChanged]) -> Iterator[Permission]:
    """Yields the permissions that the inverse of changes needs. Raises Conflict for changes that
    cannot be undone: key pairs and passwords of a user are not in the log.
    """
    for change in changes:
        kind = change.kind
        if kind not in _ADDED:
            raise Conflict(
                f"the operation cannot be undone: it has created, changed or deleted the {kind} "
                f"{change.name}",
                kind="not_undoable",
                hint="Undo has no key pairs and passwords, which are not in the log.",
            )
        owner = _RELATIONS[kind][1] if kind in _RELATIONS else kind
        arn = _ARNS[owner](change.name.partition("/")[0] if kind in _RELATIONS else change.name)
        if change.before is not None and change.after is not None:
            yield Permission(Action.UPDATE_POLICY, arn)
        else:
            yield Permission((_REMOVED if change.before is None else _ADDED)[kind], arn)


class UndoneChanges:
    """Undoes changes of access control. `clock` is that of the log."""

    def __init__(self, store: KeyValueStore, changes: AccessChanges, log: OperationLog) -> None:
        self._store = store
        self._changes = changes
        self._log = log

    def undo(self, operation_id: str, now: float) -> LoggedOperation:
        """Undoes an operation at a time in seconds since 1970, and returns it as it is then.

        Raises NotFound, and Conflict if it is undone already or given up, or if something since is
        in the way.
        """
        for attempt in self._changes.attempts():
            with attempt:
                stored = self._log.read(INSTALLATION, operation_id)
                operation = stored.operation
                require_kept(operation)
                self._require_same(operation)
                writes = [_inverse(each) for each in operation.settings]
                after = PendingStore(self._store, writes)
                for each in operation.settings:
                    _require_related(after, each)
                taken = undone(operation, now)
                attempt.write(writes)
                attempt.write([log_write(INSTALLATION.partition, taken)])
                attempt.require(stored.unchanged)
        return taken

    def _require_same(self, operation: LoggedOperation) -> None:
        for each in operation.settings:
            if self._store.get(PARTITION, _key(each)) != each.after:
                raise changed_since(f"the {each.kind} {each.name} has changed since")
        concerned = {one for each in operation.settings for one in _ends(each)}
        for later in self._log.since(INSTALLATION, operation.id):
            for change in later.operation.settings:
                is_other = None in {change.before, change.after}
                if is_other and (change.kind, change.name) in concerned:
                    raise changed_since(f"there is another {change.kind} {change.name}, or none")


def _key(change: SettingChanged) -> bytes:
    if change.kind in _RELATIONS:
        owner, _, target = change.name.partition("/")
        return _RELATIONS[change.kind][0](owner) + target.encode()
    return _KEYS[change.kind](change.name)


def _inverse(change: SettingChanged) -> Write:
    return Write(PARTITION, _key(change), change.before)


def _require_related(after: KeyValueStore, change: SettingChanged) -> None:
    """Raises Conflict if the store, as it would be after the inverse of a change, had a relation of
    a policy or a group that is not there.
    """
    relations: Sequence[bytes] = ()
    if change.kind in _RELATIONS and change.before is not None:
        for kind, name in _ends(change):
            if kind in _KEYS and after.get(PARTITION, _KEYS[kind](name)) is None:
                raise changed_since(f"there is no {kind} {name}")
    elif change.kind == "policy" and change.before is None:
        relations = attachments_of(after, change.name)
    elif change.kind == "group" and change.before is None:
        relations = relations_of(after, change.name)
    if relations:
        raise changed_since(f"the {change.kind} {change.name} is used since")


def _ends(change: SettingChanged) -> Iterator[tuple[str, str]]:
    """Yields kind and name of those whom a change concerns, and who must be the same as then."""
    if change.kind in _RELATIONS:
        if change.before is not None:
            _, owner_kind, target_kind = _RELATIONS[change.kind]
            owner, _, target = change.name.partition("/")
            yield owner_kind, owner
            yield target_kind, target
    else:
        yield change.kind, change.name
