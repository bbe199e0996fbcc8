"""Identifiers that an identity provider gave to users when it created them by SCIM.

A person's first login by single sign-on becomes that user, if a claim has the identifier; see
`Provisioning`.

    access  provisioned/ID   the user's name, the time at which the user was created, and the id of
                             the user's record, empty in records of earlier versions, in JSON

An identifier of a user who was deleted means nothing to a later user of the same name.
"""

from __future__ import annotations

import msgspec

from anabranch.access.identities.users import User, Users
from anabranch.access.records.layout import OWN_PARTITION
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["ProvisionedIds"]


class _Record(msgspec.Struct, frozen=True, array_like=True):
    username: str
    created_at: int
    record_id: str = ""


_DECODER = msgspec.json.Decoder(_Record)


class ProvisionedIds:
    """The identifiers of users."""

    def __init__(self, store: KeyValueStore, users: Users) -> None:
        self._store = store
        self._users = users

    def find(self, provisioned_id: str) -> User | None:
        """Returns the user with an identifier, None if there is none."""
        value = self._store.get(OWN_PARTITION, _key(provisioned_id)) if provisioned_id else None
        if value is None:
            return None
        record = _DECODER.decode(value)
        user = self._users.find(record.username)
        if user is None or _Record(user.username, user.created_at, user.record_id) != record:
            return None
        return user

    def replacement(self, user: User, former: str, current: str) -> list[Write]:
        """Returns the writes that replace a user's identifier; an empty one is none."""
        if former == current:
            return []
        writes = [Write(OWN_PARTITION, _key(former), None)] if former else []
        if current:
            value = msgspec.json.encode(_Record(user.username, user.created_at, user.record_id))
            writes.append(Write(OWN_PARTITION, _key(current), value))
        return writes


def _key(provisioned_id: str) -> bytes:
    return b"provisioned/" + provisioned_id.encode("utf-8", "surrogatepass")
