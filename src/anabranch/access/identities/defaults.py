"""The groups and policies that an installation begins with; names and permissions are lakeFS's.

They are stored with the first user, who becomes a member of `Admins`, or, in an installation that
lakeFS or an earlier version set up, when a server starts. From then on they are records like any
others: they can be changed and deleted.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.access.identities.groups import Group, write_group
from anabranch.access.policies.permissions import Action
from anabranch.access.policies.policies import Policy, encode_policy
from anabranch.access.policies.statements import Effect, Statement
from anabranch.access.records.layout import (
    DEFAULTS_KEY,
    OWN_PARTITION,
    PARTITION,
    group_key,
    group_policies_prefix,
    members_prefix,
    policy_key,
    user_key,
)
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.records import lakefs_pb2 as records

__all__ = [
    "ADMINS",
    "administrator_writes",
    "are_stored",
    "default_writes",
    "policy_statements",
    "write_attachment",
    "write_membership",
]

ADMINS = "Admins"

_READ_FILES = ("fs:Read*", "fs:List*", "pr:Read*", "pr:List*")
_READ_TABLES = ("catalog:Read*", "catalog:List*", "catalog:Get*")
_WRITE_FILES = (
    *_READ_FILES,
    Action.WRITE_OBJECT,
    Action.DELETE_OBJECT,
    Action.CREATE_COMMIT,
    Action.CREATE_BRANCH,
    Action.DELETE_BRANCH,
    Action.REVERT_BRANCH,
    Action.CREATE_TAG,
    Action.DELETE_TAG,
    Action.CREATE_IMAGE,
    Action.WRITE_PULL_REQUEST,
)
_OWN_CREDENTIALS = (
    Action.CREATE_CREDENTIALS,
    Action.DELETE_CREDENTIALS,
    Action.LIST_CREDENTIALS,
    Action.READ_CREDENTIALS,
)
_OWN_USER = "arn:lakefs:auth:::user/${user}"

_POLICIES: dict[str, tuple[tuple[str, ...], str]] = {
    "FSFullAccess": (("fs:*", "pr:*", "catalog:*"), "*"),
    "FSReadWriteAll": ((*_WRITE_FILES, "catalog:*"), "*"),
    "FSReadAll": ((*_READ_FILES, *_READ_TABLES), "*"),
    "RepoManagementFullAccess": (
        ("ci:*", "retention:*", "branches:*", Action.READ_CONFIG),
        "*",
    ),
    "RepoManagementReadAll": (
        ("ci:Read*", "retention:Get*", "branches:Get*", Action.READ_CONFIG),
        "*",
    ),
    "AuthFullAccess": (("auth:*",), "*"),
    "AuthManageOwnCredentials": (_OWN_CREDENTIALS, _OWN_USER),
}
"""The actions and the resource of each policy's statement, which allows."""

_GROUPS: dict[str, tuple[str, ...]] = {
    ADMINS: ("AuthFullAccess", "FSFullAccess", "RepoManagementFullAccess"),
    "SuperUsers": ("AuthManageOwnCredentials", "FSFullAccess", "RepoManagementReadAll"),
    "Developers": ("AuthManageOwnCredentials", "FSReadWriteAll", "RepoManagementReadAll"),
    "Viewers": ("AuthManageOwnCredentials", "FSReadAll"),
}
"""The policies of each group."""


def are_stored(store: KeyValueStore) -> bool:
    """Returns whether the default groups have been stored, and whether policies decide what the
    first user may do; before, that user has all permissions.
    """
    return store.get(OWN_PARTITION, DEFAULTS_KEY) is not None


def default_writes(store: KeyValueStore, administrator: str, created_at: int) -> list[Write]:
    """Returns the writes of the groups and policies that are missing, and of the administrator's
    membership. Groups that exist keep their policies.
    """
    writes = [Write(OWN_PARTITION, DEFAULTS_KEY, b"1"), write_membership(ADMINS, administrator)]
    for name, policy in _policies(created_at):
        if store.get(PARTITION, policy_key(name)) is None:
            writes.append(Write(PARTITION, policy_key(name), encode_policy(policy)))
    for group, policies in _GROUPS.items():
        if store.get(PARTITION, group_key(group)) is None:
            writes.append(write_group(Group(id=group, created_at=created_at)))
            writes += [write_attachment(group, name) for name in policies]
    return writes


def administrator_writes(administrator: str, created_at: int) -> list[Write]:
    """Returns the writes which make a user an administrator again, whatever was changed in the
    group `Admins` and its policies.
    """
    policies = dict(_policies(created_at))
    return [
        write_group(Group(id=ADMINS, created_at=created_at)),
        write_membership(ADMINS, administrator),
        *(
            write
            for name in _GROUPS[ADMINS]
            for write in (
                Write(PARTITION, policy_key(name), encode_policy(policies[name])),
                write_attachment(ADMINS, name),
            )
        ),
    ]


def write_membership(group: str, username: str) -> Write:
    """Returns the write that makes a user a member of a group."""
    record = records.SecondaryIndex(primary_key=user_key(username))
    key = members_prefix(group) + username.encode()
    return Write(PARTITION, key, record.SerializeToString())


def policy_statements(name: str) -> tuple[Statement, ...]:
    """Returns the statements that a default policy begins with."""
    actions, resource = _POLICIES[name]
    return (Statement(Effect.ALLOW, tuple(map(str, actions)), (resource,)),)


def _policies(created_at: int) -> Iterator[tuple[str, Policy]]:
    for name in _POLICIES:
        yield name, Policy(id=name, created_at=created_at, statements=policy_statements(name))


def write_attachment(group: str, policy: str) -> Write:
    """Returns the write that attaches a policy to a group."""
    record = records.SecondaryIndex(primary_key=policy_key(policy))
    key = group_policies_prefix(group) + policy.encode()
    return Write(PARTITION, key, record.SerializeToString())
