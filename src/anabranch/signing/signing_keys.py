"""Keys of version 4, derived from a secret for one day, region and service.

    HMAC(HMAC(HMAC(HMAC("AWS4" + secret, date), region), service), "aws4_request")

A key is cached under the secret itself, so that a replaced secret never finds an old key, and only
after a valid signature, so that clients without a secret cannot evict keys.
"""

from __future__ import annotations

import hmac
import threading

from anabranch.model.secret import Secret
from anabranch.signing.credential_scope import TERMINAL, Scope

__all__ = ["SigningKeys", "derive"]


class SigningKeys:
    """A cache of at most `size` derived keys. Thread-safe."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._keys: dict[tuple[str, Scope], bytes] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, secret: Secret, scope: Scope) -> bytes | None:
        """Returns the key if it is cached."""
        return self._keys.get((secret.reveal(), scope))

    def put(self, secret: Secret, scope: Scope, key: bytes) -> None:
        """Stores a key; evicts the oldest one if there are too many."""
        name = (secret.reveal(), scope)
        if name in self._keys:
            return
        with self._lock:
            while self._keys and len(self._keys) >= self._size:
                del self._keys[next(iter(self._keys))]
            self._keys[name] = key


def derive(secret: Secret, scope: Scope) -> bytes:
    """Returns the key that signs within the scope."""
    key = b"AWS4" + secret.reveal().encode()
    for part in (scope.date, scope.region, scope.service, TERMINAL):
        key = hmac.digest(key, part.encode("latin-1"), "sha256")
    return key
