"""Signatures of a body's chunks, each of which covers the one before it.

The first covers the signature of the request, so chunks cannot be dropped, repeated or
exchanged. The last chunk is empty. Trailing headers are signed after it. [AWS, "Signature
calculations for the Authorization header: transferring payload in multiple chunks"]
"""

from __future__ import annotations

import hashlib
import hmac

__all__ = ["ChunkSeed", "ChunkSignatures"]

_EMPTY = hashlib.sha256(b"").hexdigest()


class ChunkSeed:
    """Start of a chain of chunk signatures: the key, the request's date and scope as they are
    signed, and its signature. Its representation does not contain the key.
    """

    __slots__ = ("_key", "scope", "signature", "timestamp")

    def __init__(self, key: bytes, timestamp: str, scope: str, signature: str) -> None:
        self._key = key
        self.timestamp = timestamp
        self.scope = scope
        self.signature = signature

    def sign(self, text: str) -> str:
        """Returns the signature of a text, in hexadecimal."""
        return hmac.digest(self._key, text.encode("latin-1"), "sha256").hex()


class ChunkSignatures:
    """The signatures of one body, in order."""

    def __init__(self, seed: ChunkSeed) -> None:
        self._seed = seed
        self._previous = seed.signature

    def next(self, digest: str) -> str:
        """Returns the signature of the next chunk, given its data's SHA-256 in hexadecimal."""
        return self._sign("AWS4-HMAC-SHA256-PAYLOAD", f"{_EMPTY}\n{digest}")

    def trailer(self, lines: bytes) -> str:
        """Returns the signature of the trailing headers, given as `name:value` and a newline
        each, in the order in which they are sent.
        """
        return self._sign("AWS4-HMAC-SHA256-TRAILER", hashlib.sha256(lines).hexdigest())

    def _sign(self, algorithm: str, digests: str) -> str:
        seed = self._seed
        text = f"{algorithm}\n{seed.timestamp}\n{seed.scope}\n{self._previous}\n{digests}"
        self._previous = seed.sign(text)
        return self._previous
