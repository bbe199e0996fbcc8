"""Principals of other systems, such as roles of AWS, that log in as users.

    access  principals/PRINCIPAL            the user, and settings of clients, in JSON
            userPrincipals/USER/PRINCIPAL   empty; the principals of a user

A principal belongs to one user. Both records are one change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.identities.users import Users
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import OWN_PARTITION, PRINCIPALS, USER_PRINCIPALS
from anabranch.access.records.record_pages import list_names
from anabranch.errors import AlreadyExists, Invalid, NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.page import Page, upper_bound

__all__ = ["ExternalPrincipal", "ExternalPrincipals", "Settings"]

_MAX_LENGTH = 2048
_MAX_SETTINGS_BYTES = 16 * 1024


Settings: TypeAlias = list[dict[str, str]] | dict[str, Any]
"""A list in lakeFS's Python client, an object in lakectl."""


class ExternalPrincipal(msgspec.Struct, frozen=True, kw_only=True):
    """A principal and its user. `settings` are kept for clients. `record_id` is random, and empty
    in records of earlier versions.
    """

    id: str
    username: str
    settings: Settings | None = None
    record_id: str = ""


class _Record(msgspec.Struct, frozen=True):
    username: str
    settings: Settings | None = None
    record_id: str = ""


_DECODER = msgspec.json.Decoder(_Record)


class ExternalPrincipals:
    """The stored principals."""

    def __init__(
        self,
        store: KeyValueStore,
        changes: AccessChanges,
        users: Users,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._new_id = new_id
        self._changes = changes
        self._users = users
        users.on_delete(self._removal)

    def find(self, principal: str) -> ExternalPrincipal | None:
        """Returns a principal, None if it belongs to no user."""
        value = self._store.get(OWN_PARTITION, _key(principal))
        if value is None:
            return None
        record = _DECODER.decode(value)
        return ExternalPrincipal(
            id=principal,
            username=record.username,
            settings=record.settings,
            record_id=record.record_id,
        )

    def find_login(self, principals: Iterable[str]) -> tuple[str, SessionBinding] | None:
        """Returns the name of the user to whom the first of these principals that is known belongs,
        and what a session that it opens depends on; None if none is known.
        """
        found = next(filter(None, map(self.find, principals)), None)
        user = None if found is None else self._users.find(found.username)
        if found is None or user is None:
            return None
        return user.username, SessionBinding(
            epoch=user.session_epoch, principal_id=found.id, opener_record=found.record_id
        )

    def get(self, principal: str) -> ExternalPrincipal:
        """Returns a principal; raises NotFound."""
        found = self.find(principal)
        if found is None:
            raise NotFound("external principal not found", kind="external_principal_not_found")
        return found

    def page(self, username: str, prefix: str, after: str, amount: int) -> Page[ExternalPrincipal]:
        """Returns at most `amount` principals of a user, in the order of their bytes; raises
        NotFound for an unknown user.
        """
        self._users.get(username)
        place = _user_prefix(username)
        page = list_names(self._store, place, prefix, after, amount, partition=OWN_PARTITION)
        found = [self.find(name) for name, _ in page.items]
        return Page(
            [principal for principal in found if principal is not None],
            has_more=page.has_more,
            next_offset=page.next_offset,
        )

    def add(self, username: str, principal: str, settings: Settings | None = None) -> None:
        """Gives a user a principal. Raises NotFound for an unknown user, Invalid for a bad name or
        too many settings, and AlreadyExists if the principal belongs to a user.
        """
        if not principal or len(principal) > _MAX_LENGTH or not principal.isprintable():
            raise Invalid("invalid external principal", kind="invalid_external_principal")
        record = msgspec.json.encode(_Record(username, settings, self._new_id()))
        if len(record) > _MAX_SETTINGS_BYTES:
            raise Invalid(
                f"the settings are longer than {_MAX_SETTINGS_BYTES} bytes",
                kind="invalid_external_principal",
            )

        for attempt in self._changes.attempts():
            with attempt:
                self._users.get(username)
                if self.find(principal) is not None:
                    raise AlreadyExists("Already exists", kind="external_principal_exists")
                attempt.write(
                    [
                        Write(OWN_PARTITION, _key(principal), record),
                        Write(OWN_PARTITION, _user_prefix(username) + principal.encode(), b""),
                    ]
                )

    def remove(self, username: str, principal: str) -> None:
        """Takes a principal from a user. Raises NotFound if it is not the user's."""
        for attempt in self._changes.attempts():
            with attempt:
                self._users.get(username)
                if self.get(principal).username != username:
                    raise NotFound(
                        "external principal not found", kind="external_principal_not_found"
                    )
                attempt.write(_removal_of(username, principal))

    def _removal(self, username: str) -> Iterable[Write]:
        place = _user_prefix(username)
        for key, _ in self._store.scan(OWN_PARTITION, place, upper_bound(place)):
            yield from _removal_of(username, key[len(place) :].decode())


def _removal_of(username: str, principal: str) -> list[Write]:
    return [
        Write(OWN_PARTITION, _key(principal), None),
        Write(OWN_PARTITION, _user_prefix(username) + principal.encode(), None),
    ]


def _key(principal: str) -> bytes:
    return PRINCIPALS + principal.encode()


def _user_prefix(username: str) -> bytes:
    return USER_PRINCIPALS + username.encode() + b"/"
