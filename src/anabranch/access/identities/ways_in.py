"""How users can log in: with access keys, and identities of other systems."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from anabranch.access.identities.users import decode_user, read_setup_user
from anabranch.access.records.layout import (
    OWN_PARTITION,
    PARTITION,
    SETUP_CREDENTIALS,
    SETUP_PARTITION,
    USER_PRINCIPALS,
    credentials_prefix,
    external_id_key,
    key_owner_key,
    user_key,
)
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.page import upper_bound
from anabranch.records import lakefs_pb2 as records

__all__ = ["has_access_key", "has_external_id", "has_principal"]


def has_access_key(store: KeyValueStore, username: str) -> bool:
    """Returns whether a user has an access key that authenticates."""
    setup_user = read_setup_user(store)
    if setup_user is not None and setup_user.username == username:
        rows = store.scan(SETUP_PARTITION, SETUP_CREDENTIALS, upper_bound(SETUP_CREDENTIALS))
        return any(_belongs(value, username) for _, value in rows)
    prefix = credentials_prefix(username)
    names = [key[len(prefix) :] for key, _ in store.scan(PARTITION, prefix, upper_bound(prefix))]
    owners = store.get_many(OWN_PARTITION, [key_owner_key(name.decode()) for name in names])
    return username.encode() in owners


def has_principal(store: KeyValueStore, username: str) -> bool:
    """Returns whether an identity of AWS belongs to a user."""
    prefix = USER_PRINCIPALS + username.encode() + b"/"
    return any(True for _ in store.scan(OWN_PARTITION, prefix, upper_bound(prefix), limit=1))


def has_external_id(store: KeyValueStore, username: str) -> bool:
    """Returns whether a user has an identity at an OpenID Connect provider."""
    setup_user = read_setup_user(store)
    value = store.get(PARTITION, user_key(username))
    user = decode_user(value) if value is not None else None
    if setup_user is not None and setup_user.username == username:
        user = setup_user
    if user is None or not user.external_id:
        return False
    return store.get(OWN_PARTITION, external_id_key(user.external_id)) == username.encode()


def _belongs(value: bytes, username: str) -> bool:
    try:
        return records.CredentialData.FromString(value).user_id == username.encode()
    except DecodeError:
        return False  # a damaged record authenticates nothing
