"""Encryption of stored secret access keys, so that a copy of the store reveals none.

    salt (8 bytes) | nonce (24) | NaCl secretbox of the secret (16 more than it)

The box's key is scrypt(key of the installation, salt, N=512, r=8, p=1, 32 bytes). This is the
format of lakeFS 1.84, where the installation's key is the setting `auth.encrypt.secret_key`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from anabranch.errors import Corrupt
from anabranch.model.secret import Secret

__all__ = ["SecretCipher"]

_SALT = 8
_NONCE = SecretBox.NONCE_SIZE


class SecretCipher:
    """Encrypts and decrypts secrets with the installation's key."""

    def __init__(self, key: Secret, random_bytes: Callable[[int], bytes]) -> None:
        self._key = key
        self._random_bytes = random_bytes

    def encrypt(self, secret: Secret) -> bytes:
        """Returns the encrypted secret, different each time. Takes about a millisecond."""
        salt = self._random_bytes(_SALT)
        nonce = self._random_bytes(_NONCE)
        return salt + bytes(self._box(salt).encrypt(secret.reveal().encode(), nonce))

    def decrypt(self, stored: bytes) -> Secret:
        """Returns the secret; raises Corrupt if the bytes were not encrypted with this key."""
        salt, box = stored[:_SALT], stored[_SALT:]
        try:
            return Secret(self._box(salt).decrypt(box).decode())
        except (CryptoError, ValueError):
            raise Corrupt(
                "a stored secret access key cannot be decrypted",
                kind="secret_does_not_open",
                hint="Check whether auth.encrypt.secret_key was changed since the key was created.",
            ) from None

    def _box(self, salt: bytes) -> SecretBox:
        key = self._key.reveal().encode()
        return SecretBox(hashlib.scrypt(key, salt=salt, n=512, r=8, p=1, dklen=32))
