"""Keys derived from the key of the installation, one set for each use, which authenticate texts
with HMAC-SHA256. Two uses never accept each other's texts.

While the key of the installation is replaced, texts of the other key are accepted, too.
"""

from __future__ import annotations

import base64
import hmac

from anabranch.model.secret import Secret

__all__ = ["DerivedKey", "DerivedKeys", "decode_base64url", "encode_base64url"]


class DerivedKey:
    """A key for one use."""

    def __init__(self, key: Secret, use: str) -> None:
        self._key = hmac.digest(key.reveal().encode(), f"anabranch {use}".encode(), "sha256")

    def derive(self, purpose: str, text: str) -> str:
        """Returns the text's code for a purpose, in base64url: without the key, one can neither
        make nor guess it.
        """
        message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return encode_base64url(hmac.digest(self._key, message, "sha256"))


class DerivedKeys:
    """The keys for one use: that of `key`, which is used, and that of `other_key`, which is
    accepted; an empty one is none.
    """

    def __init__(self, key: Secret, other_key: Secret, use: str) -> None:
        self.current = DerivedKey(key, use)
        self._keys = [self.current, *([DerivedKey(other_key, use)] if other_key else [])]

    def find(self, purpose: str, text: str, code: str) -> DerivedKey | None:
        """Returns the key that made a text's code, None if none did."""
        given = code.encode("utf-8", "surrogatepass")
        for key in self._keys:
            if hmac.compare_digest(given, key.derive(purpose, text).encode()):
                return key
        return None


def encode_base64url(content: bytes) -> str:
    """Returns bytes in base64url (RFC 4648, section 5), without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Returns the bytes of a text in base64url without padding; raises ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
