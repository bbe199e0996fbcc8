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

from anabranch.access.secret_encryption import SecretCipher
from anabranch.access.users import CREDENTIALS_PREFIX, PARTITION
from anabranch.errors import Corrupt, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.model.secret import Secret
from anabranch.records import lakefs_pb2 as records

__all__ = ["Credential", "Credentials", "KeyPair", "check_key_pair", "new_key_pair"]

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


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A key pair of a user; `issued_date` in seconds since 1970."""

    access_key_id: str
    secret: Secret
    username: str
    issued_date: int


class Credentials:
    """The stored credentials, at most one for each user, as in lakeFS."""

    def __init__(
        self,
        store: KeyValueStore,
        cipher: SecretCipher,
        clock: Callable[[], float],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self._store = store
        self._cipher = cipher
        self._clock = clock
        self._random_bytes = random_bytes

    def find(self, access_key_id: str) -> Credential | None:
        """Returns the credential with its secret, or None. Takes about a millisecond to decrypt the
        secret; raises Corrupt if that fails.
        """
        if not _ACCESS_KEY_ID.fullmatch(access_key_id):
            return None
        value = self._store.get(PARTITION, _key(access_key_id))
        if value is None:
            return None
        try:
            record = records.CredentialData.FromString(value)
        except DecodeError:
            raise Corrupt("an access key's record cannot be read", path=access_key_id) from None
        return Credential(
            access_key_id=record.access_key_id,
            secret=self._cipher.decrypt(record.secret_access_key_encrypted_bytes),
            username=record.user_id.decode(),
            issued_date=record.issued_date.seconds,
        )

    def create(self, username: str, pair: KeyPair | None = None) -> Credential:
        """Adds a user's credential, generated unless given; raises Invalid if there is one."""
        prefix = CREDENTIALS_PREFIX
        if any(self._store.scan(PARTITION, prefix, upper_bound(prefix), limit=1)):
            raise Invalid(
                "exceeded number of allowed credentials: invalid request",
                kind="too_many_credentials",
            )
        credential, write = self.prepare(username, pair)
        if not self._store.apply([write], [Expect(write.partition, write.key, None)]):
            raise Invalid("the access key is taken", kind="access_key_taken")
        return credential

    def prepare(self, username: str, pair: KeyPair | None = None) -> tuple[Credential, Write]:
        """Returns a credential, generated unless given, and the write that adds it."""
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
        )
        credential = Credential(
            access_key_id=pair.access_key_id,
            secret=pair.secret,
            username=username,
            issued_date=now,
        )
        return credential, Write(PARTITION, _key(pair.access_key_id), record.SerializeToString())


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


def _key(access_key_id: str) -> bytes:
    return CREDENTIALS_PREFIX + access_key_id.encode()
