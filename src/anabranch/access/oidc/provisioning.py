"""Users and memberships from identities, at each login.

A person is found by the identity at the provider, at the first login by the identifier with which
SCIM created a user, if a claim has it, and never by a name: a user of the same name who was
created here, or who has another identity, is another person. User, identity and memberships of a
new user are one change, so no login ends with half of them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable

import msgspec

from anabranch.access.identities.defaults import write_membership
from anabranch.access.identities.groups import Groups
from anabranch.access.identities.provisioned_ids import ProvisionedIds
from anabranch.access.identities.users import User, Users
from anabranch.access.oidc.configuration import GroupRules
from anabranch.access.oidc.identity import Identity
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import PARTITION, members_prefix
from anabranch.errors import AlreadyExists, Conflict
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["SOURCE", "Provisioning"]

SOURCE = "oidc"
"""The source of users who were created at a login."""

_DIGEST_LENGTH = 8

_log = logging.getLogger(__name__)


class Provisioning:
    """Creates users and updates them. `clock` returns seconds since 1970. With
    `updates_friendly_names`, names that are displayed follow the provider.
    """

    def __init__(
        self,
        store: KeyValueStore,
        changes: AccessChanges,
        users: Users,
        groups: Groups,
        rules: GroupRules,
        clock: Callable[[], float],
        *,
        updates_friendly_names: bool,
    ) -> None:
        self._store = store
        self._changes = changes
        self._users = users
        self._provisioned_ids = ProvisionedIds(store, users)
        self._groups = groups
        self._rules = rules
        self._clock = clock
        self._updates_friendly_names = updates_friendly_names
        self._mapped = frozenset(group for _, group in rules.mapping)

    def provide(self, identity: Identity) -> User:
        """Returns the user of an identity, who is created at the first login, as a member of the
        groups that follow the provider. Raises AlreadyExists if all names for the user are taken.
        """
        try:
            return self._provide(identity, removing=True)
        except Conflict as error:
            if error.kind != "last_administrator":
                raise
            _log.warning(
                "the last administrator is no longer in the groups of the identity provider, "
                "and remains a member here"
            )
            return self._provide(identity, removing=False)

    def _provide(self, identity: Identity, *, removing: bool) -> User:
        for attempt in self._changes.attempts():
            with attempt:
                former = self._users.find_by_external_id(identity.external_id)
                former = former or self._find_provisioned(identity)
                if former is None:
                    user = self._new_user(identity)
                    writes = self._users.creation(user)
                    initial = identity.initial_groups
                    joined = set(self._rules.initial if initial is None else initial) - self._mapped
                    writes += self._joins(joined, user.username)
                else:
                    user = self._update(former, identity)
                    writes = [] if user == former else self._users.replacement(user)
                attempt.write(
                    writes + self._follow_groups(user.username, identity, removing=removing)
                )
        if former is None:
            _log.info("the user %r was created at the first login", user.username)
        return user

    def _find_provisioned(self, identity: Identity) -> User | None:
        """Returns the user whom SCIM created for the person, None if there is none, or one who is
        another user's at a provider.
        """
        user = self._provisioned_ids.find(identity.provisioned_id)
        return None if user is None or user.external_id else user

    def _new_user(self, identity: Identity) -> User:
        digest = hashlib.sha256(identity.external_id.encode()).hexdigest()
        # a name that depends on nothing but the identity, where the wanted one is taken
        names = (identity.username, f"{identity.username}-{digest[:_DIGEST_LENGTH]}")
        free = [name for name in names if self._users.find_similar(name) is None]
        if not free:
            raise AlreadyExists(
                f"users named {' and '.join(map(repr, names))} exist already", kind="user_exists"
            )
        user = User(
            username=free[0],
            created_at=int(self._clock()),
            email=identity.email,
            friendly_name=identity.friendly_name,
            source=SOURCE,
            external_id=identity.external_id,
        )
        return self._users.with_new_ids(user)

    def _update(self, user: User, identity: Identity) -> User:
        changes = {"external_id": identity.external_id}
        if identity.email:
            changes["email"] = identity.email
        if identity.friendly_name and self._updates_friendly_names:
            changes["friendly_name"] = identity.friendly_name
        return msgspec.structs.replace(user, **changes)

    def _follow_groups(self, username: str, identity: Identity, *, removing: bool) -> list[Write]:
        """Returns the writes after which the user is a member of those groups of the mapping in
        whose group of the provider the person is; without `removing`, only those that add.
        """
        wanted = {group for theirs, group in self._rules.mapping if theirs in identity.groups}
        writes = self._joins(wanted, username)
        if removing:
            writes += [
                Write(PARTITION, key, None)
                for key in self._memberships(self._mapped - wanted, username)
                if self._store.get(PARTITION, key) is not None
            ]
        return writes

    def _joins(self, groups: Iterable[str], username: str) -> list[Write]:
        writes = []
        for group in sorted(groups):
            if not _is_name(group) or self._groups.find(group) is None:
                _log.warning("%r cannot join the group %r, which does not exist", username, group)
            elif self._store.get(PARTITION, _membership(group, username)) is None:
                writes.append(write_membership(group, username))
        return writes

    @staticmethod
    def _memberships(groups: Iterable[str], username: str) -> list[bytes]:
        return [_membership(group, username) for group in sorted(groups)]


def _membership(group: str, username: str) -> bytes:
    return members_prefix(group) + username.encode()


def _is_name(group: str) -> bool:
    """Returns whether a text from a claim can be encoded as the key of a group."""
    return "/" not in group and not any("\ud800" <= character <= "\udfff" for character in group)
