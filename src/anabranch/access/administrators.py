"""Administrators: users who can change users, groups, policies and key pairs without limits.

The last of them cannot be removed by any change, since no user could undo it: not by deleting the
user or the group, not by detaching, changing or deleting a policy, and not by a policy that denies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from anabranch.access.decision import CompiledStatements
from anabranch.access.effective_policies import EffectivePolicies
from anabranch.access.layout import (
    DEFAULTS_KEY,
    GROUPS,
    INACTIVE,
    OWN_PARTITION,
    PARTITION,
    POLICIES,
    SETUP_USER_KEY,
    USERS,
    group_policies_prefix,
    inactive_key,
    members_prefix,
    policy_key,
)
from anabranch.access.pending_store import PendingStore
from anabranch.access.permissions import Action, AllBelow, Permission
from anabranch.access.policies import Policy, decode_policy
from anabranch.access.record_pages import scan_names
from anabranch.access.users import read_setup_user
from anabranch.errors import Conflict
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["is_administrator", "require_administrator_after"]

_ALL_RECORDS = AllBelow("arn:lakefs:auth:::")
_PERMISSIONS = tuple(
    Permission(action, _ALL_RECORDS)
    for action in (
        Action.CREATE_USER,
        Action.CREATE_CREDENTIALS,
        Action.CREATE_POLICY,
        Action.ATTACH_POLICY,
        Action.DETACH_POLICY,
        Action.ADD_GROUP_MEMBER,
    )
)
_USER_POLICIES = b"uPolicies/"
_RELEVANT = (USERS, GROUPS, POLICIES, b"gUsers/", b"gPolicies/", _USER_POLICIES)


def is_administrator(username: str, policies: Iterable[Policy]) -> bool:
    """Returns whether a user with these policies is an administrator, whatever the request is."""
    statements = [statement for policy in policies for statement in policy.statements]
    compiled = CompiledStatements(statements, username)
    return all(compiled.allow(permission) for permission in _PERMISSIONS)


def require_administrator_after(store: KeyValueStore, writes: Sequence[Write]) -> None:
    """Raises Conflict (kind last_administrator) if there is an administrator now and there is none
    after these writes.
    """
    if not any(_is_relevant(write) for write in writes):
        return
    if not _has_administrator(PendingStore(store, writes)) and _has_administrator(store):
        raise Conflict(
            "the last administrator cannot be removed, nor lose the permissions of one",
            kind="last_administrator",
            hint="Make another user an administrator first, for example a member of `Admins`. "
            "`anabranch auth recover` on the server's machine replaces a lost key pair.",
        )


def _is_relevant(write: Write) -> bool:
    """Returns whether a write can take permissions from a user. New users have none."""
    if write.key == SETUP_USER_KEY:
        return write.value is None
    if write.partition == OWN_PARTITION:
        return write.value is not None and write.key.startswith(INACTIVE)
    if write.partition != PARTITION or not write.key.startswith(_RELEVANT):
        return False
    return write.value is None or not write.key.startswith(USERS)


def _has_administrator(store: KeyValueStore) -> bool:
    if store.get(OWN_PARTITION, DEFAULTS_KEY) is None:
        setup_user = read_setup_user(store)
        return setup_user is not None and _is_active(store, setup_user.username)
    effective = EffectivePolicies(store)
    return any(
        _is_active(store, username) and is_administrator(username, effective.of(username))
        for username in _candidates(store)
    )


def _is_active(store: KeyValueStore, username: str) -> bool:
    return store.get(OWN_PARTITION, inactive_key(username)) is None


def _candidates(store: KeyValueStore) -> Iterator[str]:
    """Yields the users who have a policy that allows to attach policies."""
    for group in scan_names(store, GROUPS):
        if any(map(_may_attach, _policies(store, group_policies_prefix(group)))):
            yield from scan_names(store, members_prefix(group))
    for relation in scan_names(store, _USER_POLICIES):
        username, _, name = relation.partition("/policies/")
        value = store.get(PARTITION, policy_key(name))
        if value is not None and _may_attach(decode_policy(name, value)):
            yield username


def _policies(store: KeyValueStore, attachments: bytes) -> Iterator[Policy]:
    names = list(scan_names(store, attachments))
    values = store.get_many(PARTITION, [policy_key(name) for name in names])
    for name, value in zip(names, values, strict=True):
        if value is not None:
            yield decode_policy(name, value)


def _may_attach(policy: Policy) -> bool:
    permission = Permission(Action.ATTACH_POLICY, _ALL_RECORDS)
    return CompiledStatements(policy.statements, "").allow(permission)
