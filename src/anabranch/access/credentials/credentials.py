"""Access keys: a public access key id and a secret that proves its possession.

Generated keys have lakeFS's form: `AKIAJ`, 14 characters of base32, `Q`; a secret of 30 random
bytes in base64. Chosen keys may have any form that headers can contain.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

import msgspec
from google.protobuf.message import DecodeError

from anabranch.access.credentials.secret_encryption import SecretCipher
from anabranch.access.identities.users import Users
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import (
    OWN_PARTITION,
    PARTITION,
    SETUP_CREDENTIALS,
    SETUP_PARTITION,
    credentials_prefix,
    key_owner_key,
)
from anabranch.access.records.record_pages import list_names
from anabranch.errors import Corrupt, Invalid, NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.page import Page, upper_bound
from anabranch.model.secret import Secret
from anabranch.records import lakefs_pb2 as records

__all__ = [
    "MAX_PER_USER",
    "AccessKey",
    "Credential",
    "Credentials",
    "KeyPair",
    "check_key_pair",
    "new_key_pair",
]

MAX_PER_USER = 100
"""The most access keys of one user."""


_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_RANDOM_CHARACTERS = 14
_SECRET_BYTES = 30
_ACCESS_KEY_ID = re.compile(r"[!-~]{3,128}")
_SEPARATORS = frozenset(":/,;=\"'%\\")  # in Basic authentication, AWS signatures, URLs
_SECRET = re.compile(r"[!-~]{8,256}")


class KeyPair(msgspec.Struct, frozen=True):
    """An access key and its secret."""

    access_key_id: str
    secret: Secret


class AccessKey(msgspec.Struct, frozen=True, kw_only=True):
    """An access key of a user, without its secret; `issued_date` in seconds since 1970.
    `record_id` is random, and empty in records of earlier versions.
    """

    access_key_id: str
    username: str
    issued_date: int
    record_id: str = ""


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A key pair of a user; `issued_date` in seconds since 1970, `record_id` as that of
    `AccessKey`.
    """

    access_key_id: str
    secret: Secret
    username: str
    issued_date: int
    record_id: str = ""


class Credentials:
    """The stored credentials. A user has at most MAX_PER_USER.

    A record authenticates only through the index of keys. Those that lakeFS's earlier access
    control left in the database are not in it: they are listed and can be deleted.
    """

    def __init__(
        self,
        store: KeyValueStore,
        changes: AccessChanges,
        users: Users,
        cipher: SecretCipher,
        clock: Callable[[], float],
        random_bytes: Callable[[int], bytes],
        new_id: Callable[[], str],
    ) -> None:
        self._new_id = new_id
        self._store = store
        self._changes = changes
        self._users = users
        self._cipher = cipher
        self._clock = clock
        self._random_bytes = random_bytes

    def find(self, access_key_id: str) -> Credential | None:
        """Returns the credential with its secret, or None. Takes about a millisecond to decrypt the
        secret; raises Corrupt if that fails.
        """
        found = self._find(access_key_id)
        if found is None:
            return None
        username, record = found
        return Credential(
            access_key_id=access_key_id,
            secret=self._cipher.decrypt(record.secret_access_key_encrypted_bytes),
            username=username,
            issued_date=record.issued_date.seconds,
            record_id=record.record_id,
        )

    def find_key(self, access_key_id: str) -> AccessKey | None:
        """Returns an access key that authenticates, or None."""
        found = self._find(access_key_id)
        return None if found is None else _access_key(access_key_id, *found)

    def get(self, username: str, access_key_id: str) -> AccessKey:
        """Returns an access key of a user. Raises NotFound if the user has no such key."""
        partition, place = self._place(username)
        value = self._store.get(partition, place + access_key_id.encode())
        if value is None:
            raise NotFound("credentials not found", kind="credentials_not_found")
        return _access_key(access_key_id, username, _parse(access_key_id, value))

    def page(self, username: str, prefix: str, after: str, amount: int) -> Page[AccessKey]:
        """Returns at most `amount` access keys of a user, in the order of their bytes. Raises
        NotFound if the user does not exist.
        """
        self._users.get(username)
        partition, place = self._place(username)
        rows = list_names(self._store, place, prefix, after, amount, partition=partition)
        return Page(
            [_access_key(name, username, _parse(name, value)) for name, value in rows.items],
            has_more=rows.has_more,
            next_offset=rows.next_offset,
        )

    def create(self, username: str, pair: KeyPair | None = None) -> Credential:
        """Adds a credential of a user, generated unless given. Raises NotFound if the user does not
        exist, and Invalid for a bad or taken access key, or if the user has too many.
        """
        credential, record = self._prepare(username, pair)
        key = credential.access_key_id

        for attempt in self._changes.attempts():
            with attempt:
                self._users.get(username)
                partition, place = self._place(username)
                end = upper_bound(place)
                if sum(1 for _ in self._store.scan(partition, place, end)) >= MAX_PER_USER:
                    raise Invalid(
                        "exceeded number of allowed credentials: invalid request",
                        kind="too_many_credentials",
                        hint=f"A user has at most {MAX_PER_USER} access keys; delete one first.",
                    )
                if self._find(key) is not None:
                    raise Invalid("the access key is taken", kind="access_key_taken")
                attempt.write([Write(partition, place + key.encode(), record)])
                if partition != SETUP_PARTITION:
                    attempt.write([_index(key, username)])
        return credential

    def delete(self, username: str, access_key_id: str) -> None:
        """Removes an access key of a user. Raises NotFound if the user has no such key."""
        for attempt in self._changes.attempts():
            with attempt:
                self._users.get(username)
                self.get(username, access_key_id)
                partition, place = self._place(username)
                attempt.write(
                    [
                        Write(partition, place + access_key_id.encode(), None),
                        Write(OWN_PARTITION, key_owner_key(access_key_id), None),
                    ]
                )

    def prepare_for_setup_user(
        self, username: str, pair: KeyPair | None = None
    ) -> tuple[Credential, Write]:
        """Returns a credential of the user whom setup creates, generated unless given, and the
        write that adds it.
        """
        credential, record = self._prepare(username, pair)
        key = SETUP_CREDENTIALS + credential.access_key_id.encode()
        return credential, Write(SETUP_PARTITION, key, record)

    def _prepare(self, username: str, pair: KeyPair | None) -> tuple[Credential, bytes]:
        if pair is None:
            pair = new_key_pair(self._random_bytes)
        else:
            check_key_pair(pair)
        now = int(self._clock())
        record = records.CredentialData(
            access_key_id=pair.access_key_id,
            secret_access_key_encrypted_bytes=self._cipher.encrypt(pair.secret),
            issued_date={"seconds": now},
            user_id=username.encode(),
            record_id=self._new_id(),
        )
        credential = Credential(
            access_key_id=pair.access_key_id,
            secret=pair.secret,
            username=username,
            issued_date=now,
            record_id=record.record_id,
        )
        return credential, record.SerializeToString()

    def _find(self, access_key_id: str) -> tuple[str, records.CredentialData] | None:
        """Returns the name of an access key's user, and the key's record."""
        if not _ACCESS_KEY_ID.fullmatch(access_key_id):
            return None
        name = access_key_id.encode()
        value = self._store.get(SETUP_PARTITION, SETUP_CREDENTIALS + name)
        if value is not None:
            record = _parse(access_key_id, value)
            return record.user_id.decode(), record
        owner = self._store.get(OWN_PARTITION, key_owner_key(access_key_id))
        if owner is None:
            return None
        username = owner.decode()
        if self._users.is_setup_user(username):
            return None  # a migrated user of the same name is another person
        value = self._store.get(PARTITION, credentials_prefix(username) + name)
        return None if value is None else (username, _parse(access_key_id, value))

    def _place(self, username: str) -> tuple[str, bytes]:
        """Returns the partition and the prefix of the keys of a user's key pairs."""
        if self._users.is_setup_user(username):
            return SETUP_PARTITION, SETUP_CREDENTIALS
        return PARTITION, credentials_prefix(username)


def new_key_pair(random_bytes: Callable[[int], bytes]) -> KeyPair:
    """Returns a new key pair: 70 bits of access key, 240 of secret."""
    letters = "".join(_BASE32[byte % 32] for byte in random_bytes(_RANDOM_CHARACTERS))
    secret = base64.b64encode(random_bytes(_SECRET_BYTES)).decode()
    return KeyPair(f"AKIAJ{letters}Q", Secret(secret))


def check_key_pair(pair: KeyPair) -> None:
    """Raises Invalid unless a chosen pair fits into headers and its secret is long enough."""
    key = pair.access_key_id
    if not _ACCESS_KEY_ID.fullmatch(key) or not _SEPARATORS.isdisjoint(key):
        raise Invalid(
            "invalid access key ID",
            kind="invalid_access_key_id",
            hint="3 to 128 letters, digits and signs, without spaces, quotes or any of : / , ; = %",
        )
    if not _SECRET.fullmatch(pair.secret.reveal()):
        raise Invalid(
            "invalid secret access key",
            kind="invalid_secret_access_key",
            hint="8 to 256 letters, digits and signs, without spaces.",
        )


def _access_key(access_key_id: str, username: str, record: records.CredentialData) -> AccessKey:
    return AccessKey(
        access_key_id=access_key_id,
        username=username,
        issued_date=record.issued_date.seconds,
        record_id=record.record_id,
    )


def _parse(access_key_id: str, value: bytes) -> records.CredentialData:
    try:
        return records.CredentialData.FromString(value)
    except DecodeError:
        raise Corrupt("an access key's record cannot be read", path=access_key_id) from None


def _index(access_key_id: str, username: str) -> Write:
    return Write(OWN_PARTITION, key_owner_key(access_key_id), username.encode())
