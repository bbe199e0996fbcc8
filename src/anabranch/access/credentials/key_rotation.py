"""Rotation of the installation's key: secrets are encrypted again with the current one.

Each secret is one change, on condition that its record is unchanged, so that servers may run
meanwhile and a rotation that was interrupted is continued by another.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from google.protobuf.message import DecodeError

from anabranch.access.credentials.secret_encryption import SecretCipher
from anabranch.access.records.layout import PARTITION, SETUP_CREDENTIALS, SETUP_PARTITION
from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.records import lakefs_pb2 as records

__all__ = ["KeyRotation", "Rotated"]

_CREDENTIALS = b"uCredentials/"


class Rotated(msgspec.Struct, kw_only=True):
    """The number of secrets that were encrypted again, and of those that the current key encrypted
    before; and the access keys whose secrets neither key decrypts.
    """

    rotated: int = 0
    current: int = 0
    unreadable: list[str] = msgspec.field(default_factory=list)


class KeyRotation:
    """Encrypts all secrets with the current key."""

    def __init__(self, store: KeyValueStore, cipher: SecretCipher) -> None:
        self._store = store
        self._cipher = cipher

    def run(self) -> Rotated:
        """Encrypts all secrets that the other key has encrypted; returns how many there were."""
        result = Rotated()
        for partition, key in list(self._keys()):
            self._rotate(partition, key, result)
        return result

    def _keys(self) -> Iterator[tuple[str, bytes]]:
        for partition, prefix in (
            (SETUP_PARTITION, SETUP_CREDENTIALS),
            (PARTITION, _CREDENTIALS),
        ):
            for key, _ in self._store.scan(partition, prefix, upper_bound(prefix)):
                yield partition, key

    def _rotate(self, partition: str, key: bytes, result: Rotated) -> None:
        while (value := self._store.get(partition, key)) is not None:
            try:
                record = records.CredentialData.FromString(value)
                stored = record.secret_access_key_encrypted_bytes
                if self._cipher.is_current(stored):
                    result.current += 1
                    return
                secret = self._cipher.decrypt(stored)
            except (Corrupt, DecodeError):
                result.unreadable.append(key.rpartition(b"/")[2].decode(errors="replace"))
                return
            record.secret_access_key_encrypted_bytes = self._cipher.encrypt(secret)
            write = Write(partition, key, record.SerializeToString())
            if self._store.apply([write], [Expect(partition, key, value)]):
                result.rotated += 1
                return
