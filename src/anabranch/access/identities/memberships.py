"""Memberships of users in groups."""

from __future__ import annotations

from anabranch.access.identities.groups import Groups
from anabranch.access.identities.users import Users
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import members_prefix, user_key
from anabranch.access.records.relations import Relations
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
