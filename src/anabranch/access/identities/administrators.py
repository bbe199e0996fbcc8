"""Administrators: users who can change users, groups, policies and key pairs without limits.

The last of them cannot be removed by any change, since no user could undo it: not by deleting the
user or the group, not by detaching, changing or deleting a policy, and not by a policy that denies.
Nor can the last one lose the way in, which is an access key, or a login at another system; nor, by
such changes, a permission on all data and records, if the installation has such an administrator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

import msgspec

from anabranch.access.identities.effective_policies import EffectivePolicies
from anabranch.access.identities.users import read_setup_user
from anabranch.access.identities.ways_in import has_access_key, has_external_id, has_principal
from anabranch.access.policies.action_resources import general_resources
from anabranch.access.policies.decision import CompiledStatements
from anabranch.access.policies.permissions import TABLE_ACTIONS, Action, AllBelow, Permission
from anabranch.access.policies.policies import Policy, decode_policy
from anabranch.access.records.layout import (
    DEFAULTS_KEY,
    EXTERNAL_IDS,
    GROUPS,
    INACTIVE,
    KEY_OWNERS,
    OWN_PARTITION,
    PARTITION,
    POLICIES,
    PRINCIPALS,
    SETUP_PARTITION,
    USERS,
    group_policies_prefix,
    inactive_key,
    members_prefix,
    policy_key,
)
from anabranch.access.records.pending_store import PendingStore
from anabranch.access.records.record_pages import scan_names
from anabranch.errors import Conflict
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["AdministratorGuard", "Logins", "has_all_permissions"]

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
_CREDENTIALS = b"uCredentials/"
_RELEVANT = (USERS, GROUPS, POLICIES, b"gUsers/", b"gPolicies/", _USER_POLICIES, _CREDENTIALS)
_OWN_WAYS_IN = (KEY_OWNERS, EXTERNAL_IDS, PRINCIPALS)
_SOME_BRANCH = "\U0010fffd"
"""A branch that only conditions on all branches match: no other names it."""
_EVERYTHING = tuple(
    Permission(action, resource, branch=_SOME_BRANCH)
    for action in Action
    if action not in TABLE_ACTIONS  # permissions on objects stand for them
    for resource in general_resources(action)
)


class Logins(msgspec.Struct, frozen=True, kw_only=True):
    """Whether users can log in here with identities of an OpenID Connect provider, and of AWS."""

    single_sign_on: bool = False
    aws: bool = False


class _Rank(IntEnum):
    """What the best administrator of an installation can do; each includes the one before."""

    NONE = 0
    GRANTS = 1  # change users, groups and policies
    LOGS_IN = 2  # as well: has an access key or another way in
    COMPLETE = 3  # as well: has every permission


class AdministratorGuard:
    """Refuses changes after which there is no administrator. `logins` are the ways in, besides
    access keys.
    """

    def __init__(self, logins: Logins) -> None:
        self._logins = logins

    def check(self, store: KeyValueStore, writes: Sequence[Write]) -> None:
        """Raises Conflict (kind last_administrator) if an administrator can do now what none can
        after these writes.
        """
        if not any(_is_relevant(write) for write in writes):
            return
        after = self._best(PendingStore(store, writes))
        if after is not _Rank.COMPLETE and after < self._best(store):
            raise Conflict(
                "the last administrator cannot be removed, nor lose the permissions of one, nor "
                "the last access key",
                kind="last_administrator",
                hint="Make another user an administrator first, for example a member of `Admins` "
                "with an access key. `anabranch auth recover` on the server's machine replaces a "
                "lost key pair.",
            )

    def _best(self, store: KeyValueStore) -> _Rank:
        best = _Rank.NONE
        for username, rank in _administrators(store):
            if rank > best and _is_active(store, username):
                logs_in = self._logs_in(store, username)
                best = max(best, rank if logs_in else _Rank.GRANTS)
            if best is _Rank.COMPLETE:
                break
        return best

    def _logs_in(self, store: KeyValueStore, username: str) -> bool:
        if has_access_key(store, username):
            return True
        if self._logins.aws and has_principal(store, username):
            return True
        return self._logins.single_sign_on and has_external_id(store, username)


def has_all_permissions(username: str, policies: Iterable[Policy]) -> bool:
    """Returns whether a user with these policies has every permission, whatever the request is.
    Denials of single resources, such as one repository or branch, do not count.
    """
    return _rank(username, policies) is _Rank.COMPLETE


def _rank(username: str, policies: Iterable[Policy]) -> _Rank:
    """Returns the rank of an administrator with a way in, NONE for other users."""
    statements = [statement for policy in policies for statement in policy.statements]
    compiled = CompiledStatements(statements, username)
    if not all(compiled.allow(permission) for permission in _PERMISSIONS):
        return _Rank.NONE
    complete = all(compiled.allow(permission) for permission in _EVERYTHING)
    return _Rank.COMPLETE if complete else _Rank.LOGS_IN


def _is_relevant(write: Write) -> bool:
    """Returns whether a write can take permissions or a way in from a user. New users have none."""
    if write.partition == SETUP_PARTITION:
        return write.value is None
    if write.partition == OWN_PARTITION:
        if write.value is None:
            return write.key.startswith(_OWN_WAYS_IN)
        return write.key.startswith(INACTIVE)
    if write.partition != PARTITION or not write.key.startswith(_RELEVANT):
        return False
    return write.value is None or not write.key.startswith((USERS, _CREDENTIALS))


def _administrators(store: KeyValueStore) -> Iterator[tuple[str, _Rank]]:
    """Yields the users who can change users, groups and policies, with what they have if they can
    log in.
    """
    if store.get(OWN_PARTITION, DEFAULTS_KEY) is None:
        setup_user = read_setup_user(store)
        if setup_user is not None:
            yield setup_user.username, _Rank.COMPLETE
        return
    effective = EffectivePolicies(store)
    for username in _candidates(store):
        rank = _rank(username, effective.of(username))
        if rank is not _Rank.NONE:
            yield username, rank


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
