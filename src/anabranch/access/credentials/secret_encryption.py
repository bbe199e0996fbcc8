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
    """Encrypts and decrypts secrets with the installation's key. While keys are rotated, those that
    were encrypted with the `other_key` are decrypted, too; an empty one is none.
    """

    def __init__(
        self,
        key: Secret,
        random_bytes: Callable[[int], bytes],
        other_key: Secret = Secret(""),  # noqa: B008  immutable
    ) -> None:
        self._key = key
        self._other_key = other_key
        self._random_bytes = random_bytes

    def encrypt(self, secret: Secret) -> bytes:
        """Returns the encrypted secret, different each time. Takes about a millisecond."""
        salt = self._random_bytes(_SALT)
        nonce = self._random_bytes(_NONCE)
        box = _box(self._key, salt)
        return salt + bytes(box.encrypt(secret.reveal().encode(), nonce))

    def decrypt(self, stored: bytes) -> Secret:
        """Returns the secret; raises Corrupt if the bytes were not encrypted with these keys."""
        secret = _decrypt(self._key, stored)
        if secret is None and self._other_key:
            secret = _decrypt(self._other_key, stored)
        if secret is None:
            raise Corrupt(
                "a stored secret access key cannot be decrypted",
                kind="secret_does_not_open",
                hint="Check whether auth.encrypt.secret_key was changed since the key was created.",
            )
        return secret

    def is_current(self, stored: bytes) -> bool:
        """Returns whether a secret was encrypted with the key itself, not with the other one."""
        return _decrypt(self._key, stored) is not None


def _decrypt(key: Secret, stored: bytes) -> Secret | None:
    salt, box = stored[:_SALT], stored[_SALT:]
    try:
        return Secret(_box(key, salt).decrypt(box).decode())
    except (CryptoError, ValueError):
        return None


def _box(key: Secret, salt: bytes) -> SecretBox:
    return SecretBox(hashlib.scrypt(key.reveal().encode(), salt=salt, n=512, r=8, p=1, dklen=32))
