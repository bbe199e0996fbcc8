"""Access control lists of groups: a permission of four that stands for a policy.

    Read   read and list all data
    Write  also write it
    Super  everything but to administer users
    Admin  everything

lakeFS stores a group's permission as a policy, which is attached to the group and named after it.
"""

from __future__ import annotations

from typing import Literal, get_args

from anabranch.access.identities.defaults import policy_statements, write_attachment
from anabranch.access.identities.groups import Groups
from anabranch.access.policies.policies import Policies, Policy, encode_policy
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import PARTITION, group_policies_prefix, policy_key
from anabranch.errors import Invalid, NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["GroupACLs", "GroupPermission"]

GroupPermission = Literal["Read", "Write", "Super", "Admin"]

_POLICIES: dict[str, tuple[str, ...]] = {
    "Read": ("FSReadAll", "AuthManageOwnCredentials"),
    "Write": ("FSReadWriteAll", "RepoManagementReadAll", "AuthManageOwnCredentials"),
    "Super": ("FSFullAccess", "RepoManagementReadAll", "AuthManageOwnCredentials"),
    "Admin": ("FSFullAccess", "RepoManagementFullAccess", "AuthFullAccess"),
}
"""The default policies whose statements a permission has."""


class GroupACLs:
    """The access control lists of groups."""

    def __init__(
        self, store: KeyValueStore, changes: AccessChanges, groups: Groups, policies: Policies
    ) -> None:
        self._store = store
        self._changes = changes
        self._groups = groups
        self._policies = policies

    def get(self, group: str) -> str:
        """Returns a group's permission. Raises NotFound if there is no such group, or if it has no
        access control list.
        """
        self._groups.get(group)
        name = _policy_name(group)
        policy = self._policies.find(name)
        # the policy of a deleted group is not that of a later group of the same name
        attachment = group_policies_prefix(group) + name.encode()
        if policy is None or not policy.acl or self._store.get(PARTITION, attachment) is None:
            raise NotFound(
                f"group {group} has no access control list",
                kind="acl_not_found",
                hint="Its permissions are those of its policies.",
            )
        return policy.acl

    def set(self, group: str, permission: str, created_at: int) -> None:
        """Sets a group's permission, at a time in seconds since 1970. Raises NotFound if there is
        no such group, and Invalid for another permission.
        """
        if permission not in _POLICIES:
            names = ", ".join(get_args(GroupPermission))
            raise Invalid(
                f"no permission of groups is called {permission!r}",
                kind="invalid_acl",
                hint=f"The permissions are {names}.",
            )
        name = _policy_name(group)
        statements = tuple(
            statement for policy in _POLICIES[permission] for statement in policy_statements(policy)
        )
        policy = Policy(id=name, created_at=created_at, statements=statements, acl=permission)

        for attempt in self._changes.attempts():
            with attempt:
                self._groups.get(group)
                attempt.write(
                    [
                        Write(PARTITION, policy_key(name), encode_policy(policy)),
                        write_attachment(group, name),
                    ]
                )


def _policy_name(group: str) -> str:
    return f"ACL(_-_){group}"
