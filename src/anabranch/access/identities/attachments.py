"""Attachments of policies to groups and to users."""

from __future__ import annotations

from anabranch.access.identities.groups import Groups
from anabranch.access.identities.users import Users
from anabranch.access.policies.policies import Policies
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import group_policies_prefix, policy_key, user_policies_prefix
from anabranch.access.records.relations import Relations
from anabranch.keyvalue.contract import KeyValueStore

__all__ = ["group_attachments", "user_attachments"]


def group_attachments(
    store: KeyValueStore, changes: AccessChanges, groups: Groups, policies: Policies
) -> Relations:
    """Returns the relations from groups to their policies."""
    return Relations(
        store,
        changes,
        "attachment",
        prefix=group_policies_prefix,
        target_key=policy_key,
        require_owner=groups.get,
        require_target=policies.get,
    )


def user_attachments(
    store: KeyValueStore, changes: AccessChanges, users: Users, policies: Policies
) -> Relations:
    """Returns the relations from users to their own policies."""
    return Relations(
        store,
        changes,
        "attachment",
        prefix=user_policies_prefix,
        target_key=policy_key,
        require_owner=users.get,
        require_target=policies.get,
    )
