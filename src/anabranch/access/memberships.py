"""Memberships of users in groups."""

from __future__ import annotations

from anabranch.access.changes import AccessChanges
from anabranch.access.groups import Groups
from anabranch.access.layout import members_prefix, user_key
from anabranch.access.relations import Relations
from anabranch.access.users import Users
from anabranch.keyvalue.contract import KeyValueStore

__all__ = ["memberships"]


def memberships(
    store: KeyValueStore, changes: AccessChanges, groups: Groups, users: Users
) -> Relations:
    """Returns the relations from groups to their members."""
    return Relations(
        store,
        changes,
        "membership",
        prefix=members_prefix,
        target_key=user_key,
        require_owner=groups.get,
        require_target=users.get,
    )
