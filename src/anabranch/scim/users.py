"""Users as resources of SCIM.

Name, displayed name, e-mail address and `active` are those of the user; other attributes are kept
in a document. Passwords are ignored. A user who is not `active` cannot authenticate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from scim2_models import Email, GroupMembership, UniquenessException

from anabranch.access.access import Access
from anabranch.access.identities.provisioned_ids import ProvisionedIds
from anabranch.access.identities.users import User as AccessUser
from anabranch.access.records.layout import GROUPS, members_prefix
from anabranch.access.records.record_pages import list_names, scan_names
from anabranch.errors import AlreadyExists, Invalid
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.scim.documents import Document, Documents
from anabranch.scim.resources import POLICY, User, fold_case, meta

__all__ = ["SOURCE", "ScimUsers"]

SOURCE = "scim"
"""The source of users who were created by SCIM."""

_DERIVED = {"schemas", "id", "meta", "groups", "password", "user_name", "display_name"}
_UNWANTED = frozenset('*?$"<>\\')
_PAGE = 1000


class ScimUsers:
    """The users. `clock` returns seconds since 1970; `base` in methods is the URL of the
    service.
    """

    def __init__(self, store: KeyValueStore, access: Access, clock: Callable[[], float]) -> None:
        self._store = store
        self._access = access
        self._clock = clock
        self._documents = Documents(store, "users", {"active": True})
        self._provisioned_ids = ProvisionedIds(store, access.users)

    def all(self, base: str, name: str | None = None) -> list[User]:
        """Returns all users, or those of a name, folded by `fold_case`."""
        users = self._all_users()
        if name is not None:
            users = (user for user in users if fold_case(user.username) == name)
        return list(self._resources(users, base))

    def get(self, name: str, base: str) -> User:
        """Returns a user; raises NotFound."""
        return next(self._resources([self._access.users.get(name)], base))

    def create(self, resource: User, base: str) -> User:
        """Adds a user and returns the stored resource. Raises UniquenessException if there is one
        of that name, in any case of letters, and Invalid for a bad name.
        """
        name = resource.user_name or ""
        _check_name(name)
        if resource.active is None:
            resource.active = True

        try:
            for attempt in self._access.changes.attempts():
                with attempt:
                    now = int(self._clock())
                    new = AccessUser(username=name, created_at=now, source=SOURCE)
                    user = self._access.users.with_new_ids(_with_attributes(new, resource))
                    if any(
                        fold_case(other.username) == fold_case(name) for other in self._all_users()
                    ):
                        raise UniquenessException(detail=f"there is a user {name!r}")
                    active = resource.active is not False
                    attempt.write(
                        [
                            *self._access.users.creation(user, active=active),
                            *self._writes(user, resource, now),
                        ]
                    )
        except AlreadyExists as error:
            raise UniquenessException(detail=error.message) from error
        return self.get(name, base)

    def change(self, name: str, change: Callable[[User], User], base: str) -> User:
        """Changes a user to what `change` returns for the present resource, and returns the stored
        one. Raises NotFound, and Conflict for the last administrator.
        """
        for attempt in self._access.changes.attempts():
            with attempt:
                user = self._access.users.get(name)
                resource = change(next(self._resources([user], base)))
                user = _with_attributes(user, resource)
                writes = self._writes(user, resource, int(self._clock()))
                active = resource.active is not False
                attempt.write([*self._access.users.replacement(user, active=active), *writes])
        return self.get(name, base)

    def delete(self, name: str) -> None:
        """Deletes a user. Raises NotFound, and Conflict for the last administrator."""
        self._access.users.delete(name)
        for attempt in self._access.changes.attempts():
            with attempt:
                attempt.write(self._leftover(name))

    def _leftover(self, name: str) -> list[Write]:
        # another request may have created the user again
        return [] if self._access.users.find(name) else [self._documents.removal(name)]

    def _writes(self, user: AccessUser, resource: User, now: int) -> list[Write]:
        attributes = resource.model_dump(
            scim_ctx=None, mode="json", by_alias=True, exclude_none=True, exclude=_DERIVED
        )
        document = Document(created_at=user.created_at, modified_at=now, attributes=attributes)
        former = self._documents.find_many({user.username: user.created_at})[0]
        external_id = resource.external_id or ""
        other = self._provisioned_ids.find(external_id)
        if other is not None and other.username != user.username:
            raise UniquenessException(detail=f"the user {other.username!r} has this externalId")
        return [
            *self._provisioned_ids.replacement(
                user, str(former.attributes.get("externalId", "")), external_id
            ),
            self._documents.write(user.username, document),
        ]

    def _all_users(self) -> Iterator[AccessUser]:
        after = ""
        while True:
            page = self._access.users.page("", after, _PAGE)
            yield from page.items
            if not page.has_more:
                return
            after = page.next_offset

    def _resources(self, users: Iterable[AccessUser], base: str) -> Iterator[User]:
        users = list(users)
        documents = self._documents.find_many({user.username: user.created_at for user in users})
        groups = self._groups_of({user.username for user in users})
        for user, document in zip(users, documents, strict=True):
            resource = User.model_validate(
                {**document.attributes, "userName": user.username},
                scim_ctx=None,
                scim_policy=POLICY,
            )
            resource.id = user.username
            if not self._access.users.is_active(user.username):
                resource.active = False
            elif resource.active is False:
                resource.active = True
            resource.display_name = user.friendly_name or None
            if user.email and not resource.emails:
                resource.emails = [Email(value=user.email, primary=True)]
            names = groups.get(user.username)
            if names:
                resource.groups = [_membership(name, base) for name in names]
            resource.meta = meta("User", base, user.username, user.created_at, document.modified_at)
            yield resource

    def _groups_of(self, usernames: set[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for group in scan_names(self._store, GROUPS):
            place = members_prefix(group)
            if len(usernames) == 1:
                (name,) = usernames
                rows = list_names(self._store, place, name, "", 1).items
                members: Iterable[str] = [row[0] for row in rows]
            else:
                members = scan_names(self._store, place)
            for member in members:
                if member in usernames:
                    found.setdefault(member, []).append(group)
        return found


def _check_name(name: str) -> None:
    # people may choose their names at a provider, and names occur in policies
    unwanted = _UNWANTED.intersection(name)
    if unwanted:
        raise Invalid(f"a user's name cannot contain {min(unwanted)}", kind="invalid_username")


def _membership(group: str, base: str) -> GroupMembership:
    location = meta("Group", base, group, 0, 0).location
    return GroupMembership.model_validate(
        {"value": group, "display": group, "$ref": location}, scim_ctx=None
    )


def _with_attributes(user: AccessUser, resource: User) -> AccessUser:
    """Returns a user with the attributes of the resource that users have."""
    emails: list[Any] = resource.emails or []
    primary = [each.value for each in emails if each.primary] or [each.value for each in emails]
    return msgspec.structs.replace(
        user,
        friendly_name=resource.display_name or "",
        email=str(primary[0] or "") if primary else "",
    )
