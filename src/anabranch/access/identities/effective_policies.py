"""Effective policies of users: their own and those of their groups."""

from __future__ import annotations

from anabranch.access.identities.users import read_setup_user
from anabranch.access.policies.policies import Policy, decode_policy
from anabranch.access.records.layout import (
    GROUPS,
    PARTITION,
    group_policies_prefix,
    members_prefix,
    policy_key,
    user_key,
    user_policies_prefix,
)
from anabranch.access.records.record_pages import scan_names
from anabranch.keyvalue.contract import KeyValueStore

__all__ = ["EffectivePolicies"]


class EffectivePolicies:
    """Finds the policies that apply to users."""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store

    def of(self, username: str) -> tuple[Policy, ...]:
        """Returns the user's own policies and those of the user's groups, without duplicates, in
        the order of their names' bytes; none for a user who does not exist.

        Reads one record for each group of the installation, since memberships are stored by group.
        """
        if not self._exists(username):
            return ()
        names = set(scan_names(self._store, user_policies_prefix(username)))
        for group in self.groups_of(username):
            names.update(scan_names(self._store, group_policies_prefix(group)))
        ordered = sorted(names, key=str.encode)
        values = self._store.get_many(PARTITION, [policy_key(name) for name in ordered])
        return tuple(
            decode_policy(name, value)
            for name, value in zip(ordered, values, strict=True)
            if value is not None
        )

    def groups_of(self, username: str) -> list[str]:
        """Returns the names of the user's groups, in the order of their bytes."""
        groups = list(scan_names(self._store, GROUPS))
        keys = [members_prefix(group) + username.encode() for group in groups]
        values = self._store.get_many(PARTITION, keys)
        return [group for group, value in zip(groups, values, strict=True) if value is not None]

    def _exists(self, username: str) -> bool:
        if self._store.get(PARTITION, user_key(username)) is not None:
            return True
        setup_user = read_setup_user(self._store)
        return setup_user is not None and setup_user.username == username
