"""Records that are kept until they expire. Their keys begin with the expiry, so that expired ones
are found without reading others.

    access  PREFIX/EXPIRY/DIGEST   EXPIRY in seconds since 1970, twelve digits
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.records.layout import OWN_PARTITION
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["LATEST_EXPIRY", "ExpiringRecords", "read_expiry"]

LATEST_EXPIRY = 10**12 - 1
"""The latest expiry of a record, in seconds since 1970."""

_EXPIRY_DIGITS = 12
_MAX_REMOVED = 100


class ExpiringRecords:
    """The keys of records of one kind. `clock` returns seconds since 1970."""

    def __init__(self, store: KeyValueStore, prefix: bytes, clock: Callable[[], float]) -> None:
        self._store = store
        self._prefix = prefix
        self._clock = clock

    def key(self, expires_at: int, digest: str) -> bytes:
        """Returns the key of a record; `expires_at` in seconds since 1970."""
        return b"%b%012d/%b" % (self._prefix, expires_at, digest.encode())

    def removals(self) -> list[Write]:
        """Returns the writes that remove some of the expired records."""
        end = b"%b%012d" % (self._prefix, int(self._clock()))
        rows = self._store.scan(OWN_PARTITION, self._prefix, end, limit=_MAX_REMOVED)
        return [Write(OWN_PARTITION, key, None) for key, _ in rows]


def read_expiry(text: str) -> int:
    """Returns the expiry that a client sent, in seconds since 1970; 0 if it is no such number."""
    is_time = text.isascii() and text.isdigit() and len(text) <= _EXPIRY_DIGITS
    return int(text) if is_time else 0
